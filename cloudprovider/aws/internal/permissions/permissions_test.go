package permissions_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider/aws/internal/permissions"
)

// root is the folder of the repository.
const root = "../../../.."

// clients are the packages that call AWS, by the service prefix of IAM.
func clients() map[string]string {
	return map[string]string{"autoscaling": "asgapi", "ec2": "ec2api", "eks": "eksapi", "pricing": "pricingapi"}
}

// A call that is added without a line in the table would have no policy and no word in the documents.
func TestTheTableHoldsExactlyTheActionsThatTheCodeCalls(t *testing.T) {
	call := regexp.MustCompile(`\bapi\.([A-Z]\w+)\(ctx\b`)
	called := map[string]bool{}
	for service, folder := range clients() {
		files, err := filepath.Glob(filepath.Join("..", folder, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", folder, files, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, match := range call.FindAllStringSubmatch(string(text), -1) {
				called[service+":"+match[1]] = true
			}
		}
	}
	var listed []string
	for _, action := range permissions.Actions() {
		listed = append(listed, action.Name)
		if action.Without == "" {
			t.Errorf("%s: nothing says what does not work without it", action.Name)
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(called)), listed); diff != "" {
		t.Errorf("actions (-called +listed):\n%s", diff)
	}
}

// statement is one statement of an IAM policy.
type statement struct {
	Effect    string
	Action    []string
	Resource  string
	Condition map[string]map[string]string
}

func policies(t *testing.T) map[string][]statement {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "deploy/aws/iam-policy*.json"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]statement{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var policy struct {
			Version   string
			Statement []statement
		}
		if err := json.Unmarshal(text, &policy); err != nil || policy.Version != "2012-10-17" {
			t.Fatalf("%s: version %q, %v", file, policy.Version, err)
		}
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "iam-policy"), ".json")
		found[strings.TrimPrefix(name, "-")] = policy.Statement
	}
	return found
}

func TestThePoliciesGrantExactlyWhatTheTableSays(t *testing.T) {
	want := map[string][]string{}
	for _, action := range permissions.Actions() {
		want[action.Policy] = append(want[action.Policy], action.Name)
	}
	got := map[string][]string{}
	for name, statements := range policies(t) {
		for _, s := range statements {
			got[name] = append(got[name], s.Action...)
			if s.Effect != "Allow" || s.Resource != "*" {
				t.Errorf("policy %q: effect %q on %q", name, s.Effect, s.Resource)
			}
		}
		slices.Sort(got[name])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("actions by policy (-table +files):\n%s", diff)
	}
}

// AWS knows no conditions on groups for reading, and without one a write could hit every group of the account.
func TestWritesAreLimitedToTaggedGroupsAndReadsAreNot(t *testing.T) {
	for name, statements := range policies(t) {
		for _, s := range statements {
			for _, text := range s.Action {
				_, operation, _ := strings.Cut(text, ":")
				action, known := permissions.Of(operation)
				if limited := len(s.Condition) > 0; known && limited != action.Writes() {
					t.Errorf("policy %q: %s is limited %v, writes %v", name, text, limited, action.Writes())
				}
			}
		}
	}
}

func TestTheDocumentNamesEveryActionAndWhatItIsFor(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs/aws.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, action := range permissions.Actions() {
		row := "| `" + action.Name + "` |"
		if !strings.Contains(string(text), row) || !strings.Contains(string(text), action.Without+" |") {
			t.Errorf("docs/aws.md lacks a row %s … | %s |", row, action.Without)
		}
	}
}

func TestADenialIsNewsOnce(t *testing.T) {
	var m permissions.Memory
	var got []permissions.Change
	for _, code := range []string{"success", "AccessDenied", "UnauthorizedOperation", "Throttling", "success", "success", "AccessDeniedException"} {
		got = append(got, m.Note("DescribeInstanceTypes", code))
	}
	want := []permissions.Change{
		permissions.None, permissions.Missing, permissions.None, permissions.None, permissions.Granted, permissions.None, permissions.Missing,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if m.Note("DescribeImages", "AccessDenied") != permissions.Missing {
		t.Error("operations are not told apart")
	}
	if m.Note("SetDesiredCapacity", "AccessDenied") != permissions.Missing || m.Note("SetDesiredCapacity", "success") != permissions.None {
		t.Error("a write to another group has made up for a denied one")
	}
	if m.Note("GetCallerIdentity", "AccessDenied") != permissions.None {
		t.Error("an operation that nothing needs counts")
	}
}
