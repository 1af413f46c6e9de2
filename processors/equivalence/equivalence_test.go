package equivalence_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/processors/equivalence"
	"example.com/cluster-autoscaler/simulator/simtest"
)

func TestGroups(t *testing.T) {
	set := simtest.Pod("").Requests("1", "1Gi").OwnedBy("ReplicaSet", "web")
	pod := func(name string, change func(*corev1.Pod)) *corev1.Pod {
		return set.With(func(p *corev1.Pod) {
			p.Name, p.UID = name, ""
			change(p)
		}).Build()
	}
	same := func(*corev1.Pod) {}
	for name, tc := range map[string]struct {
		pods []*corev1.Pod
		want [][]string
	}{
		"equal pods of one controller are one group": {
			pods: []*corev1.Pod{pod("a", same), pod("b", same)}, want: [][]string{{"a", "b"}},
		},
		"groups come in the order of their first pods": {
			pods: []*corev1.Pod{pod("b", same), simtest.Pod("x").Build(), pod("a", same)}, want: [][]string{{"b", "a"}, {"x"}},
		},
		"environment and projected volumes do not matter": {
			pods: []*corev1.Pod{pod("a", same), pod("b", func(p *corev1.Pod) {
				p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "POD", Value: "b"}}
				p.Spec.Volumes = []corev1.Volume{{Name: "token", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{}}}}
				p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "token", MountPath: "/token"}}
			})},
			want: [][]string{{"a", "b"}},
		},
		"other volumes do": {
			pods: []*corev1.Pod{pod("a", same), pod("b", func(p *corev1.Pod) {
				p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
			})},
			want: [][]string{{"a"}, {"b"}},
		},
		"one label more makes two groups": {
			pods: []*corev1.Pod{pod("a", same), pod("b", func(p *corev1.Pod) { p.Labels = map[string]string{"rev": "2"} })},
			want: [][]string{{"a"}, {"b"}},
		},
		"pods without controller are alone": {
			pods: []*corev1.Pod{simtest.Pod("a").Build(), simtest.Pod("b").Build()}, want: [][]string{{"a"}, {"b"}},
		},
		"pods of a DaemonSet are alone": {
			pods: []*corev1.Pod{simtest.Pod("a").DaemonSet("agent").Build(), simtest.Pod("b").DaemonSet("agent").Build()},
			want: [][]string{{"a"}, {"b"}},
		},
		"hostname, namespace and annotations do not matter": {
			pods: []*corev1.Pod{pod("a", same), pod("b", func(p *corev1.Pod) {
				p.Spec.Hostname, p.Namespace, p.Annotations = "b", "other", map[string]string{"k": "v"}
			})},
			want: [][]string{{"a", "b"}},
		},
		"1000m is 1": {
			pods: []*corev1.Pod{pod("a", same), simtest.Pod("b").Requests("1000m", "1Gi").OwnedBy("ReplicaSet", "web").Build()},
			want: [][]string{{"a", "b"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := make([]*corev1.Pod, 0, len(tc.pods))
			for _, p := range tc.pods {
				before = append(before, p.DeepCopy())
			}
			var got [][]string
			for _, group := range equivalence.Groups(tc.pods) {
				var names []string
				for _, p := range group {
					names = append(names, p.Name)
				}
				got = append(got, names)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, tc.pods); diff != "" {
				t.Errorf("the pods themselves were changed: %s", diff)
			}
		})
	}
}

func TestBeyondTenShapesPodsOfOneControllerAreAlone(t *testing.T) {
	var pods []*corev1.Pod
	for i := range 10 {
		pods = append(pods, simtest.Pod(fmt.Sprintf("s%d", i)).OwnedBy("ReplicaSet", "web").Label("n", fmt.Sprint(i)).Build())
	}
	for i := range 4 {
		pods = append(pods, simtest.Pod(fmt.Sprintf("t%d", i)).OwnedBy("ReplicaSet", "web").Label("n", "ten").Build())
	}
	pods = append(pods, simtest.Pod("again").OwnedBy("ReplicaSet", "web").Label("n", "3").Build())
	groups := equivalence.Groups(pods)
	if len(groups) != 14 {
		t.Fatalf("got %d groups, want 14", len(groups))
	}
	if got := len(groups[3]); got != 2 {
		t.Errorf("a pod of a known shape is not joined: its group has %d pods", got)
	}
}
