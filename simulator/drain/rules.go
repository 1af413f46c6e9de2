package drain

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/cluster-autoscaler/simulator/podfacts"
)

// outcome is what a rule says about a pod.
type outcome int

const (
	undecided         outcome = iota // ask the next rule
	drainOK                          // the pod may go
	skip                             // the pod doesn't count
	waitForCompletion                // the node waits for the pod to end
	block                            // the node is kept
)

type verdict struct {
	outcome outcome
	reason  Reason
	err     error
}

func keep(reason Reason) verdict { return verdict{outcome: block, reason: reason} }

// rules are asked in this order; the first that decides ends the chain. The order is a contract: with safe-to-evict=true a pod
// without controller object still blocks, and an old kube-system pod goes even with local storage.
func rules() [12]func(*corev1.Pod, Context) verdict {
	return [...]func(*corev1.Pod, Context) verdict{
		mirror, longTerminating, replicaCount, daemonSet, safeToEvict, terminal,
		onCompletion, replicated, system, notSafeToEvict, localStorage, budget,
	}
}

func mirror(pod *corev1.Pod, _ Context) verdict {
	if podfacts.IsMirror(pod) {
		return verdict{outcome: skip}
	}
	return verdict{}
}

func longTerminating(pod *corev1.Pod, c Context) verdict {
	if podfacts.IsLongTerminating(pod, c.At) {
		return verdict{outcome: skip}
	}
	return verdict{}
}

// replicaCount keeps pods whose controller is gone, since nobody would make them anew, or has too few replicas.
func replicaCount(pod *corev1.Pod, c Context) verdict {
	owner := metav1.GetControllerOfNoCopy(pod)
	if !c.Options.SkipNodesWithCustomControllerPods || c.Workloads == nil || owner == nil {
		return verdict{}
	}
	version, err := schema.ParseGroupVersion(owner.APIVersion)
	if err != nil {
		return verdict{} // a reference that nothing can be looked up by
	}
	w, namespace, name := c.Workloads, pod.Namespace, owner.Name
	switch {
	case owner.Kind == "ReplicationController":
		rc, ok, err := w.ReplicationController(namespace, name)
		if err != nil || !ok {
			return notFound(err)
		}
		return enoughReplicas(rc.Spec.Replicas, c)
	case podfacts.IsDaemonSet(pod):
		if version.Group != "apps" || owner.Kind != "DaemonSet" {
			return verdict{}
		}
		_, ok, err := w.DaemonSet(namespace, name)
		if err != nil {
			return verdict{outcome: block, reason: UnexpectedError, err: err}
		}
		return found(ok, nil)
	case owner.Kind == "Job":
		_, ok, err := w.Job(namespace, name)
		return found(ok, err)
	case owner.Kind == "ReplicaSet":
		rs, ok, err := w.ReplicaSet(namespace, name)
		if err != nil || !ok {
			return notFound(err)
		}
		return enoughReplicas(rs.Spec.Replicas, c)
	case owner.Kind == "StatefulSet" && version.Group == "apps":
		_, ok, err := w.StatefulSet(namespace, name)
		return found(ok, err)
	default:
		return verdict{}
	}
}

func found(ok bool, err error) verdict {
	if err != nil || !ok {
		return notFound(err)
	}
	return verdict{}
}

func notFound(err error) verdict {
	return verdict{outcome: block, reason: ControllerNotFound, err: err}
}

func enoughReplicas(replicas *int32, c Context) verdict {
	if replicas != nil && int(*replicas) < c.Options.MinReplicaCount {
		return keep(MinReplicasReached)
	}
	return verdict{}
}

func daemonSet(pod *corev1.Pod, _ Context) verdict {
	if podfacts.IsDaemonSet(pod) {
		return verdict{outcome: drainOK}
	}
	return verdict{}
}

func safeToEvict(pod *corev1.Pod, _ Context) verdict {
	if pod.Annotations[SafeToEvictAnnotation] == "true" {
		return verdict{outcome: drainOK}
	}
	return verdict{}
}

// terminal lets pods go that have ended for good.
func terminal(pod *corev1.Pod, _ Context) verdict {
	restart, phase := pod.Spec.RestartPolicy, pod.Status.Phase
	ended := phase == corev1.PodFailed ||
		phase == corev1.PodSucceeded && (restart == corev1.RestartPolicyNever || restart == corev1.RestartPolicyOnFailure)
	if ended {
		return verdict{outcome: drainOK}
	}
	return verdict{}
}

func onCompletion(pod *corev1.Pod, _ Context) verdict {
	if pod.Annotations[SafeToEvictAnnotation] == "on-completion" {
		return verdict{outcome: waitForCompletion}
	}
	return verdict{}
}

// replicated keeps pods that nobody would make anew.
func replicated(pod *corev1.Pod, c Context) verdict {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return keep(NotReplicated)
	}
	if !c.Options.SkipNodesWithCustomControllerPods {
		return verdict{}
	}
	switch owner.Kind {
	case "ReplicationController", "Job", "ReplicaSet", "StatefulSet":
		return verdict{}
	default:
		return keep(NotReplicated)
	}
}

// system keeps pods of kube-system that no budget guards, until they are old enough to have shown that they are no one-off.
func system(pod *corev1.Pod, c Context) verdict {
	if !c.Options.SkipNodesWithSystemPods || pod.Namespace != metav1.NamespaceSystem || c.Budgets.selects(pod) {
		return verdict{}
	}
	if !pod.CreationTimestamp.IsZero() && c.At.After(pod.CreationTimestamp.Add(c.Options.SystemPodTimeout)) {
		return verdict{outcome: drainOK}
	}
	return keep(UnmovableKubeSystemPod)
}

func notSafeToEvict(pod *corev1.Pod, _ Context) verdict {
	if pod.Annotations[SafeToEvictAnnotation] == "false" {
		return keep(NotSafeToEvictAnnotation)
	}
	return verdict{}
}

// localStorage keeps pods that would lose data, unless all of their volumes on the node are declared dispensable.
func localStorage(pod *corev1.Pod, c Context) verdict {
	if !c.Options.SkipNodesWithLocalStorage {
		return verdict{}
	}
	// The names are taken as they stand, blanks included.
	dispensable := strings.Split(pod.Annotations[SafeToEvictLocalVolumesAnnotation], ",")
	for _, volume := range pod.Spec.Volumes {
		if isLocal(volume) && !slices.Contains(dispensable, volume.Name) {
			return keep(LocalStorageRequested)
		}
	}
	return verdict{}
}

func isLocal(volume corev1.Volume) bool {
	return volume.HostPath != nil || volume.EmptyDir != nil && volume.EmptyDir.Medium != corev1.StorageMediumMemory
}

func budget(pod *corev1.Pod, c Context) verdict {
	if c.Budgets.Exhausted(pod) != nil {
		return keep(NotEnoughPdb)
	}
	return verdict{}
}
