package simulator_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/simtest"
)

// twin is a pod that shares all its parts with the first, as informers have it.
func twin(first *corev1.Pod, name string) *corev1.Pod {
	pod := *first
	pod.Name, pod.UID = name, types.UID("pod-default-"+name)
	return &pod
}

// Whatever a rule about pods could go by tells classes apart.
func TestPodsOfOneClassAreEqualInAllThatCounts(t *testing.T) {
	t.Parallel()
	first := simtest.Pod("first").Requests("100m", "").Label("app", "a").Annotation("a", "b").OwnedBy("ReplicaSet", "rs").On("n").Build()
	first.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	one, later := int32(1), metav1.NewTime(simtest.Epoch.Add(time.Hour))
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		want   bool // of the same class
	}{
		"equal":                   {func(*corev1.Pod) {}, true},
		"made later":              {func(p *corev1.Pod) { p.CreationTimestamp = later }, true},
		"not ready":               {func(p *corev1.Pod) { p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady}} }, true},
		"other labels":            {func(p *corev1.Pod) { p.Labels = map[string]string{"app": "b"} }, false},
		"no labels":               {func(p *corev1.Pod) { p.Labels = nil }, false},
		"other annotations":       {func(p *corev1.Pod) { p.Annotations = map[string]string{"a": "c"} }, false},
		"no owner":                {func(p *corev1.Pod) { p.OwnerReferences = nil }, false},
		"another owner":           {func(p *corev1.Pod) { p.OwnerReferences = []metav1.OwnerReference{{Name: "rs2"}} }, false},
		"other local volumes":     {func(p *corev1.Pod) { p.Spec.Volumes = []corev1.Volume{*p.Spec.Volumes[0].DeepCopy()} }, false},
		"fewer local volumes":     {func(p *corev1.Pod) { p.Spec.Volumes = nil }, false},
		"ended":                   {func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, false},
		"being deleted":           {func(p *corev1.Pod) { p.DeletionTimestamp = &later }, false},
		"of another priority":     {func(p *corev1.Pod) { p.Spec.Priority = &one }, false},
		"in another namespace":    {func(p *corev1.Pod) { p.Namespace = "other" }, false},
		"restarted by other rule": {func(p *corev1.Pod) { p.Spec.RestartPolicy = corev1.RestartPolicyNever }, false},
		"with resource claims":    {func(p *corev1.Pod) { p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "claim"}} }, false},
		"with a device": {func(p *corev1.Pod) {
			p.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: "claim"}
		}, false},
		"resized": {func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{AllocatedResources: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}}}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			second := twin(first, "second")
			test.change(second)
			third := twin(second, "third")
			snapshot := simtest.Snapshot(t, []*corev1.Node{simtest.Node("n").CPU("4").Build()}, []*corev1.Pod{first, second, third})
			classes := map[string]int{}
			for _, who := range snapshot.Residents("n") {
				classes[who.Pod.Name] = who.Class()
			}
			switch {
			case classes["first"] == 0:
				t.Error("the first pod has no class")
			case (classes["first"] == classes["second"]) != test.want:
				t.Errorf("classes %v; want the same for the first and the second: %t", classes, test.want)
			case classes["second"] != classes["third"]:
				t.Errorf("classes %v; want the same for the second and the third", classes)
			}
		})
	}
}

// A pod keeps its number and its key where it goes, and has its place in the order of names there.
func TestResidentsAreKnownWhereTheyGo(t *testing.T) {
	t.Parallel()
	first := simtest.Pod("b").Requests("100m", "").On("n").Build()
	snapshot := simtest.Snapshot(t, []*corev1.Node{simtest.Node("n").CPU("4").Build(), simtest.Node("o").CPU("4").Build()},
		[]*corev1.Pod{first, twin(first, "d"), simtest.Pod("a").On("o").Build(), simtest.Pod("c").On("o").Build(), simtest.Pod("e").On("o").Build()})
	mover := simtest.Scheduler(t).Mover(snapshot, nil)
	defer mover.Close()
	snapshot.Fork()
	before := snapshot.Residents("n")
	must(t, snapshot.ReplaceNode(simtest.Node("n").CPU("4").Build()))
	for _, who := range before {
		placement, _, err := mover.Place(t.Context(), who, "n", 0)
		must(t, err)
		if placement.Node != "o" {
			t.Fatalf("pod %s went to %q", who.Pod.Name, placement.Node)
		}
	}
	var names string
	after := map[string]simulator.Resident{}
	for _, who := range snapshot.Residents("o") {
		names += who.Pod.Name
		after[who.Key()] = who
	}
	if names != "abcde" {
		t.Errorf("residents %s, want abcde", names)
	}
	for _, who := range before {
		if now := after[who.Key()]; now.Number() != who.Number() || now.Class() != who.Class() || now.Priority() != who.Priority() || who.Number() < 0 {
			t.Errorf("pod %s: number %d, class %d; before %d, %d", who.Pod.Name, now.Number(), now.Class(), who.Number(), who.Class())
		}
	}
	must(t, snapshot.Revert())
	if back := snapshot.Residents("n"); len(back) != 2 || back[0].Number() != before[0].Number() || len(snapshot.Residents("o")) != 3 {
		t.Errorf("after the way back n has %d residents, o %d", len(back), len(snapshot.Residents("o")))
	}
}
