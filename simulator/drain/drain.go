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

// Outcome is what a rule says about a pod.
type Outcome string

// The outcomes of scale-down 2.1. A pod about which no rule says anything may go.
const (
	Undecided         Outcome = ""
	DrainOK           Outcome = "DrainOk"           // the pod may go
	Skip              Outcome = "Skip"              // the pod does not count
	WaitForCompletion Outcome = "WaitForCompletion" // the node waits for the pod to end
	BlockDrain        Outcome = "BlockDrain"        // the node is kept
)

// Decision is what becomes of one pod. The zero value: no rule objects, and the pod may go.
type Decision struct {
	Rule    string // the name of the rule that decided; empty with Undecided
	Outcome Outcome
	Reason  Reason // with BlockDrain, else empty
	// Err says what could not be found out: with UnexpectedError, with ControllerNotFound if the controller could not be looked
	// up, with NotEnoughPdb if the budget could not be read. Else nil.
	Err error
}

// Moves says that the pod the decision is about needs a place elsewhere.
func (d Decision) Moves(pod *corev1.Pod) bool {
	return (d.Outcome == Undecided || d.Outcome == DrainOK) && !podfacts.IsDaemonSet(pod)
}

// Blocking is the pod that keeps the node, and the decision about it.
type Blocking struct {
	Pod    *corev1.Pod
	Rule   string // the name of the rule that keeps it
	Reason Reason
	Err    error // as in Decision
}

// Result sorts the pods of one node. Pods that are ignored are in none of the lists. With Blocking set the lists hold what was
// looked at before the blocking pod.
type Result = Sorted[*corev1.Pod]

// Sorted is a Result whose pods come with something else about them.
type Sorted[P any] struct {
	Move         []P       // need a place elsewhere
	DaemonSet    []P       // go with the node
	OnCompletion []P       // the node waits for them to end
	Blocking     *Blocking // nil: the node can be drained
}

// Evaluate sorts the pods of one node by the rules, in ascending order of namespace and name whatever order they come in. The
// first pod that blocks ends the evaluation.
func Evaluate(pods []*corev1.Pod, c Context) Result {
	if !slices.IsSortedFunc(pods, byName) {
		pods = slices.SortedStableFunc(slices.Values(pods), byName)
	}
	rules := chainOfRules()
	return Sort(pods, func(pod *corev1.Pod) Judged {
		decision := judge(&rules, pod, &c)
		return Judged{Pod: pod, Decision: decision, Moves: decision.Moves(pod)}
	})
}

// Judged is a pod and what the rules say about it; Moves is Decision.Moves of it.
type Judged struct {
	Pod      *corev1.Pod
	Decision Decision
	Moves    bool
}

// Sort is Evaluate for pods that are in order already, by what judge says about each.
func Sort[P any](pods []P, judge func(P) Judged) Sorted[P] {
	var result Sorted[P]
	for _, p := range pods {
		switch judged := judge(p); judged.Decision.Outcome {
		case Skip:
		case WaitForCompletion:
			result.OnCompletion = append(result.OnCompletion, p)
		case BlockDrain:
			d := judged.Decision
			result.Blocking = &Blocking{Pod: judged.Pod, Rule: d.Rule, Reason: d.Reason, Err: d.Err}
			return result
		case Undecided, DrainOK:
			if !judged.Moves {
				result.DaemonSet = append(result.DaemonSet, p)
				continue
			}
			if result.Move == nil {
				result.Move = make([]P, 0, len(pods))
			}
			result.Move = append(result.Move, p)
		}
	}
	return result
}

func byName(a, b *corev1.Pod) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// Judge asks the rules about one pod until one of them decides. A pod that may go but cannot be simulated elsewhere blocks after all.
func Judge(pod *corev1.Pod, c Context) Decision {
	rules := chainOfRules()
	return judge(&rules, pod, &c)
}

func judge(rules *[12]Rule, pod *corev1.Pod, c *Context) Decision {
	var decision Decision
	for _, rule := range rules {
		if decision = rule.Judge(pod, c); decision.Outcome != Undecided {
			break
		}
	}
	return unlessKept(decision, pod, c)
}

// unlessKept is the decision, or that of the last rule where it keeps a pod that might go.
func unlessKept(decision Decision, pod *corev1.Pod, c *Context) Decision {
	if decision.Outcome == Undecided || decision.Outcome == DrainOK {
		if last := lastRule().Judge(pod, c); last.Outcome != Undecided {
			return last
		}
	}
	return decision
}
