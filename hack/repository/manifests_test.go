package repository_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"example.com/cluster-autoscaler/core/config"
)

const awsManifests = root + "/deploy/aws/"

// documents reads the objects of a manifest by their kind.
func documents(t *testing.T, path string) map[string][]byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]byte{}
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		var head struct{ Kind string }
		if err := yaml.Unmarshal([]byte(document), &head); err != nil || head.Kind == "" {
			t.Fatalf("%s: kind %q, %v", path, head.Kind, err)
		}
		found[head.Kind] = []byte(document)
	}
	return found
}

func deployment(t *testing.T, path string) appsv1.Deployment {
	t.Helper()
	var d appsv1.Deployment
	if err := yaml.UnmarshalStrict(documents(t, path)["Deployment"], &d); err != nil || d.Name == "" {
		t.Fatalf("%s: %v", path, err)
	}
	return d
}

// group tells the flags that name node groups, in which the examples differ.
func group(argument string) bool {
	return strings.HasPrefix(argument, "--nodes=") || strings.HasPrefix(argument, "--node-group-auto-discovery=")
}

func TestTheExamplesForAWSDifferInNothingButHowGroupsAreFound(t *testing.T) {
	discovery, explicit := deployment(t, awsManifests+"cluster-autoscaler.yaml"), deployment(t, awsManifests+"explicit-groups.yaml")
	for _, d := range []appsv1.Deployment{discovery, explicit} {
		command := d.Spec.Template.Spec.Containers[0].Command
		kept := slices.DeleteFunc(slices.Clone(command), group)
		if len(kept) == len(command) {
			t.Errorf("%v names no group", command)
		}
		for _, argument := range command[1:] {
			name, _, _ := strings.Cut(strings.TrimPrefix(argument, "--"), "=")
			if !slices.ContainsFunc(config.Table(), func(f config.Flag) bool { return f.Name == name }) {
				t.Errorf("there is no flag %s", argument)
			}
		}
		d.Spec.Template.Spec.Containers[0].Command = kept
	}
	if diff := cmp.Diff(discovery, explicit); diff != "" {
		t.Errorf("explicit-groups.yaml (-cluster-autoscaler.yaml +explicit-groups.yaml):\n%s", diff)
	}
}

// Pod Identity has no effect while the annotation of IRSA is there.
func TestTheServiceAccountsForEKSAreThatOfTheManifest(t *testing.T) {
	account := func(file string) corev1.ServiceAccount {
		var a corev1.ServiceAccount
		if err := yaml.UnmarshalStrict(documents(t, awsManifests+file)["ServiceAccount"], &a); err != nil {
			t.Fatal(err)
		}
		return a
	}
	const annotation = "eks.amazonaws.com/role-arn"
	plain, irsa, identity := account("cluster-autoscaler.yaml"), account("eks-irsa.yaml"), account("eks-pod-identity.yaml")
	if irsa.Annotations[annotation] == "" || identity.Annotations[annotation] != "" {
		t.Errorf("annotations %v and %v", irsa.Annotations, identity.Annotations)
	}
	irsa.Annotations, identity.Annotations = nil, nil
	if diff := cmp.Diff(plain, irsa); diff != "" {
		t.Errorf("eks-irsa.yaml (-manifest +file):\n%s", diff)
	}
	if diff := cmp.Diff(plain, identity); diff != "" {
		t.Errorf("eks-pod-identity.yaml (-manifest +file):\n%s", diff)
	}
}

func TestTheTrustPoliciesAreForTheServiceAccount(t *testing.T) {
	for file, want := range map[string]string{
		"eks-irsa-trust-policy.json": "system:serviceaccount:kube-system:cluster-autoscaler", "eks-pod-identity-trust-policy.json": "pods.eks.amazonaws.com",
	} {
		text, err := os.ReadFile(filepath.Join(awsManifests, file))
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(text) || !strings.Contains(string(text), want) {
			t.Errorf("%s: not valid, or without %s", file, want)
		}
	}
}

func TestEveryFlagForAWSIsInTheDocument(t *testing.T) {
	text, err := os.ReadFile(root + "/docs/aws.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, flag := range config.Table() {
		if strings.HasPrefix(flag.Name, "aws-") && !strings.Contains(string(text), "| `--"+flag.Name) {
			t.Errorf("docs/aws.md lacks a row for --%s", flag.Name)
		}
	}
}

// Who searches for a line of the log must find it in the document as it is told.
func TestTheSymptomsOfTheDocumentAreToldByTheCode(t *testing.T) {
	var sources strings.Builder
	walk(t, func(path string, text []byte) {
		if strings.HasPrefix(path, "cloudprovider/aws/") && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			sources.Write(text)
		}
	})
	text, err := os.ReadFile(root + "/docs/aws.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "## Troubleshooting")
	checked := 0
	for row := range strings.SplitSeq(table, "\n") {
		cells := strings.Split(row, "|")
		if len(cells) < 3 {
			continue
		}
		quoted := strings.Split(cells[1], "`")
		for i := 1; i < len(quoted); i += 2 {
			for piece := range strings.SplitSeq(quoted[i], "…") {
				if piece = strings.Trim(piece, " :"); len(piece) < 8 || strings.HasPrefix(piece, "--") {
					continue
				}
				checked++
				if !strings.Contains(plain(sources.String()), piece) {
					t.Errorf("no code tells %q", piece)
				}
			}
		}
	}
	if checked < 10 {
		t.Errorf("%d texts were found in the table", checked)
	}
}

// plain joins texts that the code puts together from two lines.
func plain(code string) string {
	return joined.ReplaceAllString(code, "")
}

var joined = regexp.MustCompile(`" \+\s*"`)
