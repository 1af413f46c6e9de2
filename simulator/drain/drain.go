package drain

import (
	"cmp"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/simulator/podfacts"
)

// Reason says why a pod keeps its node. The texts are values of metric labels.
type Reason string

// The reasons of scale-down 2.2, and the one for pods that are not simulated.
const (
	NoReason                   Reason = "NoReason"
	ControllerNotFound         Reason = "ControllerNotFound"
	MinReplicasReached         Reason = "MinReplicasReached"
	NotReplicated              Reason = "NotReplicated"
	LocalStorageRequested      Reason = "LocalStorageRequested"
	NotSafeToEvictAnnotation   Reason = "NotSafeToEvictAnnotation"
	UnmovableKubeSystemPod     Reason = "UnmovableKubeSystemPod"
	NotEnoughPdb               Reason = "NotEnoughPdb"
	UnexpectedError            Reason = "UnexpectedError"
	ResourceClaimsNotSimulated Reason = "ResourceClaimsNotSimulated"
)

// The annotations by which a pod speaks about its own removal.
const (
	SafeToEvictAnnotation             = "cluster-autoscaler.kubernetes.io/safe-to-evict"
	SafeToEvictLocalVolumesAnnotation = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
)

// Workloads looks up the controllers of pods. ok is false where the object does not exist; err is set where this cannot be told.
type Workloads interface {
	ReplicationController(namespace, name string) (rc *corev1.ReplicationController, ok bool, err error)
	ReplicaSet(namespace, name string) (rs *appsv1.ReplicaSet, ok bool, err error)
	StatefulSet(namespace, name string) (ss *appsv1.StatefulSet, ok bool, err error)
	DaemonSet(namespace, name string) (ds *appsv1.DaemonSet, ok bool, err error)
	Job(namespace, name string) (job *batchv1.Job, ok bool, err error)
}

// Options switch rules on and off. The zero value has the three rules off that have a flag.
type Options struct {
	SkipNodesWithSystemPods           bool          // --skip-nodes-with-system-pods
	SkipNodesWithLocalStorage         bool          // --skip-nodes-with-local-storage
	SkipNodesWithCustomControllerPods bool          // --skip-nodes-with-custom-controller-pods
	MinReplicaCount                   int           // --min-replica-count; only with SkipNodesWithCustomControllerPods
	SystemPodTimeout                  time.Duration // --blocking-system-pod-distruption-timeout
}

// Context is what the rules may look at besides the pod.
type Context struct {
	At        time.Time
	Workloads Workloads // nil: controllers are not looked up, and none is missing
	Budgets   *Budgets  // nil: there are no PodDisruptionBudgets
	Options   Options
}

// Blocking is the pod that keeps the node.
type Blocking struct {
	Pod    *corev1.Pod
	Reason Reason
	// Err says what went wrong with UnexpectedError, and with ControllerNotFound if the controller could not be looked up; else nil.
	Err error
}

// Result sorts the pods of one node. Pods that are ignored are in none of the lists. With Blocking set the lists hold what was
// looked at before the blocking pod.
type Result struct {
	Move         []*corev1.Pod // need a place elsewhere
	DaemonSet    []*corev1.Pod // go with the node
	OnCompletion []*corev1.Pod // the node waits for them to end
	Blocking     *Blocking     // nil: the node can be drained
}

// Evaluate sorts the pods of one node by the rules, in ascending order of namespace and name whatever order they come in. The
// first pod that blocks ends the evaluation.
func Evaluate(pods []*corev1.Pod, c Context) Result {
	if !slices.IsSortedFunc(pods, byName) {
		pods = slices.SortedStableFunc(slices.Values(pods), byName)
	}
	var result Result
	for _, pod := range pods {
		v := judge(pod, c)
		switch v.outcome {
		case skip:
		case waitForCompletion:
			result.OnCompletion = append(result.OnCompletion, pod)
		case block:
			result.Blocking = &Blocking{Pod: pod, Reason: v.reason, Err: v.err}
			return result
		case undecided, drainOK:
			if podfacts.IsDaemonSet(pod) {
				result.DaemonSet = append(result.DaemonSet, pod)
				continue
			}
			if podfacts.HasResourceClaims(pod) {
				result.Blocking = &Blocking{Pod: pod, Reason: ResourceClaimsNotSimulated}
				return result
			}
			result.Move = append(result.Move, pod)
		}
	}
	return result
}

func byName(a, b *corev1.Pod) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

func judge(pod *corev1.Pod, c Context) verdict {
	for _, rule := range rules() {
		if v := rule(pod, c); v.outcome != undecided {
			return v
		}
	}
	return verdict{}
}
