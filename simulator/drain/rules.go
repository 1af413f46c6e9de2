package drain

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/cluster-autoscaler/simulator/podfacts"
)

// Rule decides about a pod, or leaves it to the next rule. Safe for concurrent use.
type Rule interface {
	// Name is what decisions call the rule.
	Name() string
	// Judge looks at the pod alone: what other rules would say about it is not asked. Undecided: the rule has nothing to say, or is off.
	Judge(pod *corev1.Pod, c *Context) Decision
}

// Rules lists the rules in the order in which they are asked. The first that decides ends the chain, except that the last one is asked
// about every pod that may go.
func Rules() []Rule {
	chain := chainOfRules()
	return append(chain[:], lastRule())
}

// chainOfRules has its order as a contract: with safe-to-evict=true a pod without controller object still blocks, and an old kube-system pod
// goes even with local storage.
func chainOfRules() [12]Rule {
	return [...]Rule{
		mirror{}, longTerminating{}, replicaCount{}, daemonSet{}, safeToEvict{}, terminal{},
		onCompletion{}, replicated{}, system{}, notSafeToEvict{}, localStorage{}, budget{},
	}
}

func lastRule() Rule { return resourceClaims{} }

func ok(r Rule) Decision { return Decision{Rule: r.Name(), Outcome: DrainOK} }

func skip(r Rule) Decision { return Decision{Rule: r.Name(), Outcome: Skip} }

func keep(r Rule, reason Reason, err error) Decision {
	return Decision{Rule: r.Name(), Outcome: BlockDrain, Reason: reason, Err: err}
}

// mirror passes over the API server's images of pods that the kubelet runs from files.
type mirror struct{}

func (mirror) Name() string { return "Mirror" }

func (r mirror) Judge(pod *corev1.Pod, _ *Context) Decision {
	if podfacts.IsMirror(pod) {
		return skip(r)
	}
	return Decision{}
}

// longTerminating passes over pods that should have ended long ago.
type longTerminating struct{}

func (longTerminating) Name() string { return "LongTerminating" }

func (r longTerminating) Judge(pod *corev1.Pod, c *Context) Decision {
	if podfacts.IsLongTerminating(pod, c.At) {
		return skip(r)
	}
	return Decision{}
}

// replicaCount keeps pods whose controller is gone, since nobody would make them anew, or has too few replicas.
type replicaCount struct{}

func (replicaCount) Name() string { return "ReplicaCount" }

func (r replicaCount) Judge(pod *corev1.Pod, c *Context) Decision {
	owner := metav1.GetControllerOfNoCopy(pod)
	if !c.Options.SkipNodesWithCustomControllerPods || c.Workloads == nil || owner == nil {
		return Decision{}
	}
	version, err := schema.ParseGroupVersion(owner.APIVersion)
	if err != nil {
		return Decision{} // a reference that nothing can be looked up by
	}
	w, namespace, name := c.Workloads, pod.Namespace, owner.Name
	switch {
	case owner.Kind == "ReplicationController":
		rc, found, err := w.ReplicationController(namespace, name)
		if err != nil || !found {
			return keep(r, ControllerNotFound, err)
		}
		return r.enough(rc.Spec.Replicas, c)
	case podfacts.IsDaemonSet(pod):
		if version.Group != "apps" || owner.Kind != "DaemonSet" {
			return Decision{}
		}
		_, found, err := w.DaemonSet(namespace, name)
		if err != nil {
			return keep(r, UnexpectedError, err)
		}
		return r.exists(found, nil)
	case owner.Kind == "Job":
		_, found, err := w.Job(namespace, name)
		return r.exists(found, err)
	case owner.Kind == "ReplicaSet":
		rs, found, err := w.ReplicaSet(namespace, name)
		if err != nil || !found {
			return keep(r, ControllerNotFound, err)
		}
		return r.enough(rs.Spec.Replicas, c)
	case owner.Kind == "StatefulSet" && version.Group == "apps":
		_, found, err := w.StatefulSet(namespace, name)
		return r.exists(found, err)
	default:
		return Decision{}
	}
}

func (r replicaCount) exists(found bool, err error) Decision {
	if err != nil || !found {
		return keep(r, ControllerNotFound, err)
	}
	return Decision{}
}

func (r replicaCount) enough(replicas *int32, c *Context) Decision {
	if replicas != nil && int(*replicas) < c.Options.MinReplicaCount {
		return keep(r, MinReplicasReached, nil)
	}
	return Decision{}
}

// daemonSet lets pods go that end with their node.
type daemonSet struct{}

func (daemonSet) Name() string { return "DaemonSet" }

func (r daemonSet) Judge(pod *corev1.Pod, _ *Context) Decision {
	if podfacts.IsDaemonSet(pod) {
		return ok(r)
	}
	return Decision{}
}

// safeToEvict lets pods go that say so.
type safeToEvict struct{}

func (safeToEvict) Name() string { return "SafeToEvict" }

func (r safeToEvict) Judge(pod *corev1.Pod, _ *Context) Decision {
	if pod.Annotations[SafeToEvictAnnotation] == "true" {
		return ok(r)
	}
	return Decision{}
}

// terminal lets pods go that have ended for good.
type terminal struct{}

func (terminal) Name() string { return "Terminal" }

func (r terminal) Judge(pod *corev1.Pod, _ *Context) Decision {
	restart, phase := pod.Spec.RestartPolicy, pod.Status.Phase
	ended := phase == corev1.PodFailed ||
		phase == corev1.PodSucceeded && (restart == corev1.RestartPolicyNever || restart == corev1.RestartPolicyOnFailure)
	if ended {
		return ok(r)
	}
	return Decision{}
}

// onCompletion makes the node wait for pods that say so.
type onCompletion struct{}

func (onCompletion) Name() string { return "OnCompletion" }

func (r onCompletion) Judge(pod *corev1.Pod, _ *Context) Decision {
	if pod.Annotations[SafeToEvictAnnotation] == "on-completion" {
		return Decision{Rule: r.Name(), Outcome: WaitForCompletion}
	}
	return Decision{}
}

// replicated keeps pods that nobody would make anew.
type replicated struct{}

func (replicated) Name() string { return "Replicated" }

func (r replicated) Judge(pod *corev1.Pod, c *Context) Decision {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return keep(r, NotReplicated, nil)
	}
	if !c.Options.SkipNodesWithCustomControllerPods {
		return Decision{}
	}
	switch owner.Kind {
	case "ReplicationController", "Job", "ReplicaSet", "StatefulSet":
		return Decision{}
	default:
		return keep(r, NotReplicated, nil)
	}
}

// system keeps pods of kube-system that no budget guards, until they are old enough to have shown that they are no one-off.
type system struct{}

func (system) Name() string { return "System" }

func (r system) Judge(pod *corev1.Pod, c *Context) Decision {
	if !c.Options.SkipNodesWithSystemPods || pod.Namespace != metav1.NamespaceSystem || c.Budgets.guards(pod) {
		return Decision{}
	}
	if !pod.CreationTimestamp.IsZero() && c.At.After(pod.CreationTimestamp.Add(c.Options.SystemPodTimeout)) {
		return ok(r)
	}
	return keep(r, UnmovableKubeSystemPod, nil)
}

// notSafeToEvict keeps pods that say so.
type notSafeToEvict struct{}

func (notSafeToEvict) Name() string { return "NotSafeToEvict" }

func (r notSafeToEvict) Judge(pod *corev1.Pod, _ *Context) Decision {
	if pod.Annotations[SafeToEvictAnnotation] == "false" {
		return keep(r, NotSafeToEvictAnnotation, nil)
	}
	return Decision{}
}

// localStorage keeps pods that would lose data, unless all of their volumes on the node are declared dispensable.
type localStorage struct{}

func (localStorage) Name() string { return "LocalStorage" }

func (r localStorage) Judge(pod *corev1.Pod, c *Context) Decision {
	if !c.Options.SkipNodesWithLocalStorage {
		return Decision{}
	}
	// The names are taken as they stand, blanks included.
	dispensable := strings.Split(pod.Annotations[SafeToEvictLocalVolumesAnnotation], ",")
	for _, volume := range pod.Spec.Volumes {
		if isLocal(volume) && !slices.Contains(dispensable, volume.Name) {
			return keep(r, LocalStorageRequested, nil)
		}
	}
	return Decision{}
}

func isLocal(volume corev1.Volume) bool {
	return volume.HostPath != nil || volume.EmptyDir != nil && volume.EmptyDir.Medium != corev1.StorageMediumMemory
}

// budget keeps pods of a PodDisruptionBudget that allows no disruption any more, or of which it is unknown whom it guards.
type budget struct{}

func (budget) Name() string { return "PDB" }

func (budget) Judge(pod *corev1.Pod, c *Context) Decision {
	if i, found := c.Budgets.exhausted(pod); found {
		return exhausted(&c.Budgets.all[i])
	}
	return Decision{}
}

// exhausted is the decision about a pod of a budget that allows nothing any more.
func exhausted(b *selectingBudget) Decision { return keep(budget{}, NotEnoughPdb, b.err) }

// resourceClaims keeps pods for whose devices no other place can be looked for. Those that end with the node need none.
type resourceClaims struct{}

func (resourceClaims) Name() string { return "ResourceClaims" }

func (r resourceClaims) Judge(pod *corev1.Pod, _ *Context) Decision {
	if podfacts.HasResourceClaims(pod) && !podfacts.IsDaemonSet(pod) {
		return keep(r, ResourceClaimsNotSimulated, nil)
	}
	return Decision{}
}
