package podfacts_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/simulator/podfacts"
	"example.com/cluster-autoscaler/simulator/simtest"
)

// facts are the predicates that hold for a pod.
type facts struct{ DaemonSet, Mirror, Static, Claims bool }

func TestKindsOfPods(t *testing.T) {
	t.Parallel()
	notController := func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Name: "ds", APIVersion: "apps/v1"}}
	}
	cases := map[string]struct {
		pod  simtest.PodBuilder
		want facts
	}{
		"a plain pod is none of them":             {pod: simtest.Pod("p").OwnedBy("ReplicaSet", "rs")},
		"the controller is a DaemonSet":           {pod: simtest.Pod("p").DaemonSet("ds"), want: facts{DaemonSet: true}},
		"of any API group":                        {pod: simtest.Pod("p").ControlledBy(metav1.OwnerReference{Kind: "DaemonSet", APIVersion: "kruise.io/v1", Name: "ds"}), want: facts{DaemonSet: true}},
		"an owner that isn't the controller":      {pod: simtest.Pod("p").With(notController)},
		"a pod annotated as one of a DaemonSet":   {pod: simtest.Pod("p").OwnedBy("Custom", "c").Annotation(podfacts.DaemonSetPodAnnotation, "true"), want: facts{DaemonSet: true}},
		"the annotation has to be exactly true":   {pod: simtest.Pod("p").Annotation(podfacts.DaemonSetPodAnnotation, "True")},
		"a mirror pod is static":                  {pod: simtest.Pod("p").Mirror(), want: facts{Mirror: true, Static: true}},
		"any value marks a mirror pod":            {pod: simtest.Pod("p").Annotation(corev1.MirrorPodAnnotationKey, ""), want: facts{Mirror: true}},
		"a pod from a file is static":             {pod: simtest.Pod("p").Annotation(podfacts.ConfigSourceAnnotation, "file"), want: facts{Static: true}},
		"a pod from the API server isn't":         {pod: simtest.Pod("p").Annotation(podfacts.ConfigSourceAnnotation, "api")},
		"a pod with claims":                       {pod: simtest.Pod("p").With(func(p *corev1.Pod) { p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "c"}} }), want: facts{Claims: true}},
		"a pod for which the scheduler made some": {pod: simtest.Pod("p").With(func(p *corev1.Pod) { p.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{} }), want: facts{Claims: true}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pod := c.pod.Build()
			got := facts{
				DaemonSet: podfacts.IsDaemonSet(pod), Mirror: podfacts.IsMirror(pod), Static: podfacts.IsStatic(pod), Claims: podfacts.HasResourceClaims(pod),
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("facts (-want +got):\n%s", diff)
			}
		})
	}
}

// Worked case P05.
func TestOnlyPodsBelowTheCutoffAreExpendable(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pod  simtest.PodBuilder
		want bool
	}{
		"below":               {pod: simtest.Pod("p").Priority(-11), want: true},
		"at the cut-off":      {pod: simtest.Pod("p").Priority(-10)},
		"without priority":    {pod: simtest.Pod("p")},
		"of the default kind": {pod: simtest.Pod("p").Priority(0)},
	} {
		if got := podfacts.IsExpendable(c.pod.Build(), -10); got != c.want {
			t.Errorf("%s: expendable = %t, want %t", name, got, c.want)
		}
	}
	if podfacts.IsExpendable(simtest.Pod("p").Build(), 10) {
		t.Error("a pod without priority is expendable")
	}
}

func TestLongTerminating(t *testing.T) {
	t.Parallel()
	now := simtest.Epoch.Add(time.Hour)
	deleted := func(ago time.Duration) simtest.PodBuilder { return simtest.Pod("p").DeletedAt(now.Add(-ago)) }
	for name, c := range map[string]struct {
		pod  simtest.PodBuilder
		want bool
	}{
		"not deleted":                           {pod: simtest.Pod("p")},
		"exactly default grace and margin":      {pod: deleted(60 * time.Second)},
		"just over":                             {pod: deleted(61 * time.Second), want: true},
		"no grace, over the margin":             {pod: deleted(31 * time.Second).Grace(0), want: true},
		"a long grace period isn't used up yet": {pod: deleted(180 * time.Second).Grace(360)},
	} {
		if got := podfacts.IsLongTerminating(c.pod.Build(), now); got != c.want {
			t.Errorf("%s: long terminating = %t, want %t", name, got, c.want)
		}
	}
}

func TestKeyIsTheUIDOrElseTheName(t *testing.T) {
	t.Parallel()
	withUID := simtest.Pod("p").With(func(p *corev1.Pod) { p.UID = "u" }).Build()
	without := simtest.Pod("p").Namespace("ns").With(func(p *corev1.Pod) { p.UID = "" }).Build()
	if diff := cmp.Diff([]string{"u", "ns/p"}, []string{podfacts.Key(withUID), podfacts.Key(without)}); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

func TestPriorityDefaultsToZero(t *testing.T) {
	t.Parallel()
	if got := [...]int32{podfacts.Priority(simtest.Pod("p").Build()), podfacts.Priority(simtest.Pod("p").Priority(7).Build())}; got != [...]int32{0, 7} {
		t.Errorf("priorities = %v, want 0 and 7", got)
	}
}

func TestTPURequestsAreTakenFromACopy(t *testing.T) {
	t.Parallel()
	const tpu = "cloud-tpus.google.com/v2"
	pod := simtest.Pod("p").Requests("1", "").Request(tpu, "8").Build()
	before := pod.DeepCopy()
	want := simtest.Pod("p").Requests("1", "").Build()
	if diff := cmp.Diff(want, podfacts.WithoutTPURequests(pod)); diff != "" {
		t.Errorf("cleaned pod (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, pod); diff != "" {
		t.Errorf("the pod itself was changed (-before +after):\n%s", diff)
	}
	if plain := simtest.Pod("p").Requests("1", "").Build(); podfacts.WithoutTPURequests(plain) != plain {
		t.Error("a pod without such requests was copied")
	}
}

func TestRequestsAreTheLargerOfRunningAndInitialising(t *testing.T) {
	t.Parallel()
	always := corev1.ContainerRestartPolicyAlways
	request := func(cpu string) corev1.Container {
		return corev1.Container{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}}
	}
	sidecar := request("50m")
	sidecar.RestartPolicy = &always
	for name, c := range map[string]struct {
		change func(*corev1.Pod)
		want   string
	}{
		"containers alone":                       {change: func(*corev1.Pod) {}, want: "100m"},
		"sidecars run beside them":               {change: func(p *corev1.Pod) { p.Spec.InitContainers = []corev1.Container{sidecar} }, want: "150m"},
		"a greedy start beside earlier sidecars": {change: func(p *corev1.Pod) { p.Spec.InitContainers = []corev1.Container{sidecar, request("1")} }, want: "1050m"},
		"overhead is on top": {change: func(p *corev1.Pod) {
			p.Spec.Overhead = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m")}
		}, want: "110m"},
		"the pod level overrides":                 {change: func(p *corev1.Pod) { c := request("3"); p.Spec.Resources = &c.Resources }, want: "3"},
		"a resize that the node hasn't done yet":  {change: resized("100m", "400m"), want: "400m"},
		"a resize downward that hasn't been done": {change: resized("500m", "100m"), want: "500m"},
	} {
		pod := simtest.Pod("p").Requests("100m", "").With(c.change).Build()
		if got := podfacts.Requests(pod)[corev1.ResourceCPU]; got.Cmp(resource.MustParse(c.want)) != 0 {
			t.Errorf("%s: %s, want %s", name, got.String(), c.want)
		}
	}
}

// resized is a pod in the middle of a resize in place: the spec wants one thing, the node still gives another.
func resized(given, wanted string) func(*corev1.Pod) {
	list := func(cpu string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	}
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Requests = list(wanted)
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: p.Spec.Containers[0].Name, AllocatedResources: list(given), Resources: &corev1.ResourceRequirements{Requests: list(given)},
		}}
	}
}

func TestRequestsOneAfterTheOtherAreThoseOfEachPod(t *testing.T) {
	t.Parallel()
	small, large := corev1.Pod{}, corev1.Pod{}
	small.Spec.Containers = []corev1.Container{{Resources: requesting("1")}}
	large.Spec.Containers = []corev1.Container{{Resources: requesting("2")}}
	same := small
	overhead, resized := small, small
	overhead.Spec.Overhead = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3")}
	resized.Status.ContainerStatuses = []corev1.ContainerStatus{{AllocatedResources: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")}}}
	prefix := large
	prefix.Spec.Containers = append(slices.Clone(large.Spec.Containers), small.Spec.Containers...)
	shorter := prefix
	shorter.Spec.Containers = prefix.Spec.Containers[:1]
	var of podfacts.RequestsOf
	for i, pod := range []*corev1.Pod{&small, &same, &overhead, &small, &resized, &same, &large, &large, &prefix, &shorter, &prefix} {
		if diff := cmp.Diff(podfacts.Requests(pod), of.Next(pod)); diff != "" {
			t.Errorf("pod %d (-alone +in turn):\n%s", i, diff)
		}
	}
}

func requesting(cpu string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}
}
