package scaledown_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/simulator/simtest"
)

func TestAVerdictListsAllThatKeepsTheNodePutTogether(t *testing.T) {
	w := world{
		nodes: []simtest.NodeBuilder{node("n", "1000m"), node("other", "1000m")},
		pods: []simtest.PodBuilder{
			bare("bare", "10m", "n"), pod("moves", "10m", "n"),
			pod("web-1", "10m", "n").EmptyDir("scratch", ""), pod("web-2", "10m", "n").EmptyDir("scratch", ""),
		},
	}
	got, ok := verdicts(plan(t, newPlanner(t, defaults()), w, start))["n"].(report.BlockedByPod)
	if !ok || got.Pod.Name != "bare" {
		t.Fatalf("verdict %v, want the first pod that blocks", got)
	}
	want := []report.Blocker{
		{Why: "LocalStorageRequested", Kind: "ReplicaSet", Namespace: "default", Name: "rs", Pods: 2},
		{Why: "NotReplicated", Kind: "Pod", Namespace: "default", Name: "bare", Pods: 1},
	}
	if diff := cmp.Diff(want, got.All); diff != "" {
		t.Errorf("blockers (-want +got):\n%s", diff)
	}
	const text = "pod default/bare blocks: NotReplicated; all that blocks: 2 pods of ReplicaSet default/rs: LocalStorageRequested, Pod default/bare: NotReplicated"
	if got.String() != text {
		t.Errorf("text %q, want %q", got, text)
	}
}
