package document_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/core/scenario/document"
	"example.com/cluster-autoscaler/simulator/defaults"
)

func TestOddInputIsSaidOnOneLineToo(t *testing.T) {
	nested := func(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }
	long := strings.Repeat("x", 1000)
	for name, test := range map[string]struct {
		file string
		want []string
	}{
		"values that are long": {
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"priority":"` + long + `"}}`,
			[]string{`a.yaml: document 1: spec.priority: want a whole number of 32 bits, got the string "` + long[:59] + `...`},
		},
		"names of fields that are long or odd": {
			ours("NodeGroup", "g", `{maxSize: 1, "`+long+`": 1, "a\nb": 1, "a.b": 1, "": 1, `+capacity+"}"),
			[]string{
				`a.yaml: document 1: spec[""]: there is no such field`,
				`a.yaml: document 1: spec["a\nb"]: there is no such field`,
				`a.yaml: document 1: spec[a.b]: there is no such field`,
				`a.yaml: document 1: spec[` + long[:300] + `...]: there is no such field`,
			},
		},
		"names of entries that are odd": {
			`{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1","labels":{"a\u0000b":1,"[]":2,"":3}}}`,
			[]string{
				`a.yaml: document 1: metadata.labels[""]: want a string, got the number 3`,
				`a.yaml: document 1: metadata.labels["[]"]: want a string, got the number 2`,
				`a.yaml: document 1: metadata.labels["a\x00b"]: want a string, got the number 1`,
			},
		},
		"objects that are nested too deep": {
			`{"apiVersion":"scenario.cluster-autoscaler/v1","kind":"Pods","metadata":{"name":"p"},"spec":` + nested(300) + "}",
			[]string{"a.yaml: document 1: objects and lists are nested deeper than 200"},
		},
		"objects that are nested much too deep": {
			`{"kind":"Pod","apiVersion":"v1","spec":` + nested(20000) + "}",
			[]string{"a.yaml: document 1: reading JSON: invalid character '[' exceeded max depth"},
		},
		"a quantity where several kinds of number may stand": {
			`{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"p"},"spec":{"maxUnavailable":true}}`,
			[]string{"a.yaml: document 1: spec.maxUnavailable: true is neither a number nor a percentage"},
		},
		"bytes that are none": {
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"binaryData":{"a":3,"b":"aGk="}}`,
			[]string{"a.yaml: document 1: binaryData[a]: want a string, got the number 3"},
		},
		"items that are no list": {`{"apiVersion":"v1","kind":"List","items":{}}`, []string{"a.yaml: document 1: items: want a list"}},
		"items of nothing":       {`{"apiVersion":"v1","kind":"List","items":null}`, nil},
		"JSON that ends in a text": {
			`{"apiVersion":"v1","kind":"No`, []string{"a.yaml: document 1: the file ends within the document"},
		},
		"JSON that is broken within": {
			`{"apiVersion":"v1","kind":"Node","metadata":{"name":tru}}`,
			[]string{"a.yaml: document 1: reading JSON: invalid character '}' in literal true (expecting 'e')"},
		},
		"JSON of another alphabet": {"{\"a\" \xff", []string{"a.yaml: document 1: the file is not text: want YAML or JSON in UTF-8"}},
		"a long line that is no text": {
			"a: " + strings.Repeat("x", 200_000) + "\x00", []string{"a.yaml: document 1: the file is not text: want YAML or JSON in UTF-8"},
		},
		"a blank line that never ends":   {strings.Repeat(" ", 200_000), []string{"a.yaml: there is nothing in it: want documents in YAML or JSON"}},
		"an empty file":                  {"", []string{"a.yaml: there is nothing in it: want documents in YAML or JSON"}},
		"a file with empty documents":    {"# nothing\n---\n---\nnull\n", []string{"a.yaml: there is nothing in it: want documents in YAML or JSON"}},
		"nothing in JSON":                {"null", []string{"a.yaml: there is nothing in it: want documents in YAML or JSON"}},
		"a name of a million characters": {`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"` + strings.Repeat("n", 1_000_000) + `"}}`, []string{"a.yaml: document 1: metadata.name: is 1000000 characters long, want at most 253"}},
		"a kind of a million characters": {
			`{"apiVersion":"` + document.APIVersion + `","kind":"` + strings.Repeat("K", 1_000_000) + `","metadata":{"name":"p"}}`,
			[]string{`a.yaml: document 1: kind: there is no kind "` + strings.Repeat("K", 300-len(`there is no kind "`)) + " [...] " +
				strings.Repeat("K", 150-len(`" in `+document.APIVersion+`: want NodeGroup, Pods or Scenario`)) + `" in ` + document.APIVersion + `: want NodeGroup, Pods or Scenario`},
		},
		"a document behind many blanks":  {strings.Repeat(" \n", 1000) + node("n1"), nil},
		"a document after JSON, by line": {"{\"apiVersion\":\"v1\",\n\"kind\":\"Node\",\n\"metadata\":{\n\"name\":\"n1\"}}\n---\na: b: c\n", []string{"a.yaml: document 2: line 6: mapping values are not allowed in this context"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, all(test.file)); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAVolumeOfAnotherClaimIsNotBound(t *testing.T) {
	c := mustResolve(t, documents(
		"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: c}\nspec: {volumeName: v}\n",
		"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: lost}\nspec: {volumeName: w}\nstatus: {phase: Lost}\n",
		"apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: v}\nspec: {claimRef: {namespace: x, name: c}}\n",
		"apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: w}\n",
	))
	for i, phase := range []corev1.PersistentVolumeClaimPhase{corev1.ClaimPending, corev1.ClaimLost} {
		if got := c.PersistentVolumeClaims[i].Status.Phase; got != phase || c.PersistentVolumes[i].Status.Phase != corev1.VolumePending {
			t.Errorf("claim %d is %s, volume %s", i, got, c.PersistentVolumes[i].Status.Phase)
		}
	}
}

func TestEveryWorkloadMakesPodsOfItsKind(t *testing.T) {
	c := mustResolve(t, documents(
		"apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: w}\n", "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: w}\n", "apiVersion: batch/v1\nkind: Job\nmetadata: {name: w}\n",
	))
	var got []string
	add := func(set *document.PodSet, ok bool) {
		pod := set.Next(epoch, "")
		got = append(got, fmt.Sprintf("%v %s %s %d", ok, pod.OwnerReferences[0].APIVersion, set.Kind, len(pod.Spec.Tolerations)))
	}
	none := defaults.Priorities{}
	add(document.PodSetOf(c.StatefulSets[0], none, 0))
	add(document.PodSetOf(c.DaemonSets[0], none, 0))
	add(document.PodSetOf(c.Jobs[0], none, 0))
	if diff := cmp.Diff([]string{"true apps/v1 StatefulSet 2", "true apps/v1 DaemonSet 6", "true batch/v1 Job 2"}, got); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
}

func TestAWorkloadThatIsOverOrBeingDeletedMakesNoPods(t *testing.T) {
	job := func(name, condition string) string {
		return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: " + name + "}\nspec: {parallelism: 2}\nstatus: {conditions: [" + condition + "]}\n"
	}
	c := mustResolve(t, documents(
		job("complete", "{type: Complete, status: 'True'}"), job("failed", "{type: Failed, status: 'True', reason: BackoffLimitExceeded}"),
		job("resumed", "{type: Suspended, status: 'False'}, {type: Failed, status: 'False'}"), job("new", ""),
		"apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: going, deletionTimestamp: 2026-01-01T00:00:00Z, finalizers: [foregroundDeletion]}\nspec: {replicas: 2}\n",
	))
	var busy []string
	for _, job := range c.Jobs {
		if _, ok := document.PodSetOf(job, defaults.Priorities{}, 0); ok {
			busy = append(busy, job.Name)
		}
	}
	if _, ok := document.PodSetOf(c.ReplicaSets[0], defaults.Priorities{}, 0); ok {
		busy = append(busy, c.ReplicaSets[0].Name)
	}
	if diff := cmp.Diff([]string{"resumed", "new"}, busy); diff != "" {
		t.Errorf("workloads that make pods (-want +got):\n%s", diff)
	}
}

func TestPodsThatAreOverOnNodesThatAreGoneAreLeftOut(t *testing.T) {
	pod := func(name, phase string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\nspec: {nodeName: gone}\nstatus: {phase: " + phase + "}\n"
	}
	c := mustResolve(t, documents(
		pod("done", "Succeeded"), pod("failed", "Failed"), pod("deleted, deletionTimestamp: 2026-01-01T00:00:00Z", "Running"),
		"apiVersion: v1\nkind: Pod\nmetadata: {name: waits}\n",
	))
	if diff := cmp.Diff([]string{"waits"}, names(c.Pods)); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
}

func TestTheStartIsAWholeSecondNotBeforeTheNewestTimeStamp(t *testing.T) {
	c := mustResolve(t, "apiVersion: v1\nkind: Node\nmetadata: {name: n1, creationTimestamp: '2026-03-01T00:00:00.5Z'}\n")
	if got := c.Start.Format("15:04:05.0"); got != "00:00:01.0" {
		t.Errorf("starts at %s", got)
	}
}

func TestWhatWasDeletedMayComeAgain(t *testing.T) {
	mustResolve(t, documents(node("n1"), scenario(`{timeline: [{at: 1m, delete: [{kind: Node, name: n1}]},
  {at: 2m, apply: [{apiVersion: v1, kind: Node, metadata: {name: n1}}]}, {at: 3m, delete: [{kind: Node, name: n1}]}]}`)))
}

func TestOwnersWithoutANamespaceCanCloseACircleToo(t *testing.T) {
	want := []string{"a.yaml: document 1: metadata.ownerReferences: the owners form a cycle: Node n1 -> Node n1"}
	if diff := cmp.Diff(want, all("apiVersion: v1\nkind: Node\nmetadata: {name: n1, ownerReferences: [{kind: Node, name: n1}]}\n")); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	got := all(documents(
		"apiVersion: v1\nkind: Pod\nmetadata: {name: p, ownerReferences: [{kind: Node, name: n1}]}\n",
		"apiVersion: v1\nkind: Node\nmetadata: {name: n1, ownerReferences: [{kind: Namespace, name: x}]}\n",
		"apiVersion: v1\nkind: Namespace\nmetadata: {name: x, ownerReferences: [{kind: Node, name: n1}]}\n",
		"apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: r, ownerReferences: [{kind: Node, name: n1}]}\n",
	))
	if len(got) != 1 {
		t.Errorf("errors: %q", got)
	}
}
