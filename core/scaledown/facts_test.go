package scaledown

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/simulator/drain"
	"example.com/cluster-autoscaler/simulator/simtest"
)

func TestAnOrdinaryPodEitherMovesOrBlocks(t *testing.T) {
	t.Parallel()
	pods := map[string]*corev1.Pod{
		"alone":             simtest.Pod("p").Build(),
		"of a ReplicaSet":   simtest.Pod("p").OwnedBy("ReplicaSet", "r").Build(),
		"of a Job":          simtest.Pod("p").OwnedBy("Job", "j").Build(),
		"of the system":     simtest.Pod("p").Namespace("kube-system").Build(),
		"with a local disk": simtest.Pod("p").OwnedBy("ReplicaSet", "r").EmptyDir("cache", "").Build(),
		"with a claim":      simtest.Pod("p").OwnedBy("StatefulSet", "s").Claim("c").Build(),
		"mirrored":          simtest.Pod("p").Mirror().Build(),
		"of a DaemonSet":    simtest.Pod("p").DaemonSet("d").Build(),
		"marked as such":    simtest.Pod("p").Annotation("cluster-autoscaler.kubernetes.io/daemonset-pod", "true").Build(),
		"ended":             simtest.Pod("p").With(func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }).Build(),
		"ending":            simtest.Pod("p").DeletedAt(simtest.Epoch).Build(),
		"waited for":        simtest.Pod("p").Annotation("cluster-autoscaler.kubernetes.io/safe-to-evict", "on-completion").Build(),
	}
	told := 0
	for name, pod := range pods {
		if !ordinary(pod) {
			continue
		}
		told++
		for _, options := range []config.ScaleDown{{}, {SkipNodesWithSystemPods: true, SkipNodesWithLocalStorage: true}} {
			found := drain.Evaluate([]*corev1.Pod{pod}, drain.Context{At: simtest.Epoch, Options: DrainRules(options)})
			if found.Blocking == nil && len(found.Move) == 0 {
				t.Errorf("a pod %s neither blocks nor moves", name)
			}
		}
	}
	if told != 6 {
		t.Errorf("%d of the pods are ordinary, want 6", told)
	}
}
