package scaledown

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/simulator/drain"
)

// blockers are all pods of the node that block, put together by rule and controller, in that order; a pod without controller stands alone. nil: only
// one does. It costs a look at each pod of the node, once per recheck.
func blockers(pods []*corev1.Pod, c drain.Context) []report.Blocker {
	var all []report.Blocker
	for _, pod := range pods {
		decision := drain.Judge(pod, c)
		if decision.Outcome != drain.BlockDrain {
			continue
		}
		one := report.Blocker{Why: string(decision.Reason), Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, Pods: 1}
		if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
			one.Kind, one.Name = owner.Kind, owner.Name
		}
		at, known := slices.BinarySearchFunc(all, one, compareBlockers)
		if known {
			all[at].Pods++
		} else {
			all = slices.Insert(all, at, one)
		}
	}
	if len(all) == 1 && all[0].Pods == 1 {
		return nil
	}
	return all
}

func compareBlockers(a, b report.Blocker) int {
	return cmp.Or(cmp.Compare(a.Why, b.Why), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
