package repository_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root is the folder of the repository.
const root = "../.."

// longest is how many lines a file may have without a reason in allowedLong.
const longest = 600

// allowedLong names longer files with their reason.
var allowedLong = map[string]string{}

// walk calls do with every file of the repository that git would list, but for generated module files.
func walk(t *testing.T, do func(path string, text []byte)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if name == ".git" || name == "bin" || name == "testdata" {
				return filepath.SkipDir
			}
			return nil
		}
		if name == "go.sum" || name == "go.mod" || !entry.Type().IsRegular() {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		do(filepath.ToSlash(relative), text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A reader opens doc.go first: it says what a package answers, and what may not live there.
func TestEveryPackageHasOneCommentAndItIsInDocGo(t *testing.T) {
	comments := map[string][]string{}
	walk(t, func(path string, text []byte) {
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return
		}
		folder := filepath.Dir(path)
		if comments[folder] == nil {
			comments[folder] = []string{}
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return
		}
		if file.Doc != nil {
			comments[folder] = append(comments[folder], path)
		}
	})
	for folder, files := range comments {
		if len(files) != 1 {
			t.Errorf("%s: package comments in %v, want exactly one", folder, files)
			continue
		}
		if name := filepath.Base(files[0]); name != "doc.go" && name != "main.go" {
			t.Errorf("%s: the package comment is in %s, want doc.go", folder, name)
		}
	}
}

// A grab-bag has no home for knowledge: name a package after what it gives.
func TestNoPackageIsAGrabBag(t *testing.T) {
	banned := regexp.MustCompile(`(^|/)(utils?|common|helpers?|misc|base|shared|types)(/|$)`)
	walk(t, func(path string, _ []byte) {
		if folder := filepath.ToSlash(filepath.Dir(path)); strings.HasSuffix(path, ".go") && banned.MatchString(folder) {
			t.Errorf("%s: a package needs a name that says what it gives", path)
		}
	})
}

// What is left to do belongs to the issue tracker, where somebody finds it.
func TestNothingIsLeftOver(t *testing.T) {
	leftOver := regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`)
	walk(t, func(path string, text []byte) {
		if strings.HasSuffix(path, ".go") && leftOver.Match(text) {
			t.Errorf("%s: %q", path, leftOver.Find(text))
		}
	})
}

// A long file has more than one reason to change.
func TestNoProductFileIsTooLong(t *testing.T) {
	walk(t, func(path string, text []byte) {
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, ".pb.go") || allowedLong[path] != "" {
			return // made by a generator, or nobody's product
		}
		if lines := strings.Count(string(text), "\n"); lines > longest {
			t.Errorf("%s has %d lines, want at most %d, or a reason in allowedLong", path, lines, longest)
		}
	})
}
