package taints_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/simulator/simtest"
	"example.com/cluster-autoscaler/simulator/taints"
)

func rules() taints.Rules {
	return taints.Rules{
		StartupKeys: []string{"example.com/starting", "node.kubernetes.io/memory-pressure"}, StartupPrefixes: []string{"warmup.example.com/"},
		StatusKeys: []string{"example.com/status"},
	}
}

func TestClassify(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]taints.Kind{
		"dedicated":                                            taints.KindLasting,
		"node.kubernetes.io/out-of-service":                    taints.KindLasting,
		"ToBeDeletedByClusterAutoscaler":                       taints.KindDeletion,
		"DeletionCandidateOfClusterAutoscaler":                 taints.KindDeletion,
		"node.kubernetes.io/not-ready":                         taints.KindCondition,
		"node.kubernetes.io/unreachable":                       taints.KindCondition,
		"node.kubernetes.io/unschedulable":                     taints.KindCondition,
		"node.kubernetes.io/memory-pressure":                   taints.KindCondition,
		"node.kubernetes.io/disk-pressure":                     taints.KindCondition,
		"node.kubernetes.io/pid-pressure":                      taints.KindCondition,
		"node.kubernetes.io/network-unavailable":               taints.KindCondition,
		"node.cloudprovider.kubernetes.io/uninitialized":       taints.KindCondition,
		"node.cloudprovider.kubernetes.io/shutdown":            taints.KindCondition,
		"cloud.google.com/impending-node-termination":          taints.KindCondition,
		"NodeWithImpairedVolumes":                              taints.KindCondition,
		"startup-taint.cluster-autoscaler.kubernetes.io/agent": taints.KindStartup,
		"ignore-taint.cluster-autoscaler.kubernetes.io/agent":  taints.KindStartup,
		"warmup.example.com/cache":                             taints.KindStartup,
		"example.com/starting":                                 taints.KindStartup,
		"example.com/starting-not":                             taints.KindLasting,
		"status-taint.cluster-autoscaler.kubernetes.io/load":   taints.KindStatus,
		"example.com/status":                                   taints.KindStatus,
		"example.com/status-not":                               taints.KindLasting,
	} {
		if got := rules().Classify(key); got != want {
			t.Errorf("%s is %s, want %s", key, got, want)
		}
	}
}

func TestWithoutFlagsOnlyTheBuiltInKeysPass(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"warmup.example.com/cache", "example.com/starting", "example.com/status"} {
		if got := (taints.Rules{}).Classify(key); got != taints.KindLasting {
			t.Errorf("%s is %s, want lasting", key, got)
		}
	}
}

// Worked cases T07 and T14.
func TestLastingTaintsStayInOrder(t *testing.T) {
	t.Parallel()
	given := []corev1.Taint{
		{Key: "dedicated", Value: "x"}, {Key: "node.kubernetes.io/unreachable"}, {Key: "status-taint.cluster-autoscaler.kubernetes.io/u"},
		{Key: "startup-taint.cluster-autoscaler.kubernetes.io/s"}, {Key: "ignore-taint.cluster-autoscaler.kubernetes.io/z"},
		taints.NewDeletionCandidate(simtest.Epoch), taints.NewToBeDeleted(simtest.Epoch), {Key: "node.kubernetes.io/out-of-service"}, {Key: "keep"},
	}
	want := []corev1.Taint{{Key: "dedicated", Value: "x"}, {Key: "node.kubernetes.io/out-of-service"}, {Key: "keep"}}
	if diff := cmp.Diff(want, rules().Lasting(given)); diff != "" {
		t.Errorf("lasting taints (-want +got):\n%s", diff)
	}
}

func TestOnlyStartupTaintsMakeANodeUnready(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		keys []string
		want string
	}{
		"none":                            {keys: []string{"dedicated"}},
		"a status taint":                  {keys: []string{"status-taint.cluster-autoscaler.kubernetes.io/load", "example.com/status"}},
		"the first is told":               {keys: []string{"dedicated", "warmup.example.com/cache", "example.com/starting"}, want: "warmup.example.com/cache"},
		"a condition declared as passing": {keys: []string{"node.kubernetes.io/memory-pressure"}, want: "node.kubernetes.io/memory-pressure"},
	} {
		node := simtest.Node("n")
		for _, key := range c.keys {
			node = node.Taint(key, "", corev1.TaintEffectNoSchedule)
		}
		got, ok := rules().Startup(node.Build())
		if got.Key != c.want || ok != (c.want != "") {
			t.Errorf("%s: startup taint = %q, %t, want %q", name, got.Key, ok, c.want)
		}
	}
}

func TestOwnTaintsCarryTheirTime(t *testing.T) {
	t.Parallel()
	at := simtest.Epoch.Add(90 * time.Second)
	want := []corev1.Taint{
		{Key: "ToBeDeletedByClusterAutoscaler", Value: "1767225690", Effect: corev1.TaintEffectNoSchedule},
		{Key: "DeletionCandidateOfClusterAutoscaler", Value: "1767225690", Effect: corev1.TaintEffectPreferNoSchedule},
	}
	got := []corev1.Taint{taints.NewToBeDeleted(at), taints.NewDeletionCandidate(at)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("taints (-want +got):\n%s", diff)
	}
	if read, err := taints.Time(got[0]); err != nil || !read.Equal(at) {
		t.Errorf("time read back = %v, %v, want %v", read, err, at)
	}
	for _, value := range []string{"", "abc", "1.5"} {
		if _, err := taints.Time(corev1.Taint{Key: taints.ToBeDeleted, Value: value}); err == nil {
			t.Errorf("value %q was read as a time", value)
		}
	}
}

func TestFindAndWithout(t *testing.T) {
	t.Parallel()
	node := simtest.Node("n").Taint("a", "1", corev1.TaintEffectNoSchedule).Taint("b", "", corev1.TaintEffectNoExecute).
		Taint("a", "2", corev1.TaintEffectNoExecute).Build()
	if got, ok := taints.Find(node, "a"); !ok || got.Value != "1" {
		t.Errorf("found %+v, %t, want the first with key a", got, ok)
	}
	if _, ok := taints.Find(node, "c"); ok {
		t.Error("found a taint that isn't there")
	}
	before := node.DeepCopy()
	want := []corev1.Taint{{Key: "b", Effect: corev1.TaintEffectNoExecute}}
	if diff := cmp.Diff(want, taints.Without(node.Spec.Taints, "a")); diff != "" {
		t.Errorf("taints without a (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, node); diff != "" {
		t.Errorf("the node was changed (-before +after):\n%s", diff)
	}
}
