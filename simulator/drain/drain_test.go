package drain_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/simulator/drain"
	"example.com/cluster-autoscaler/simulator/podfacts"
	"example.com/cluster-autoscaler/simulator/simtest"
)

const (
	safeToEvict  = drain.SafeToEvictAnnotation
	localVolumes = drain.SafeToEvictLocalVolumesAnnotation
	runsAsDaemon = podfacts.DaemonSetPodAnnotation
)

var now = simtest.Epoch.Add(24 * time.Hour)

// workloads are the controllers that exist, by kind and name; broken ones cannot be looked up.
type workloads struct {
	replicas map[string]int32
	broken   map[string]error
}

func (w workloads) find(kind, name string) (replicas int32, ok bool, err error) {
	if err := w.broken[kind+"/"+name]; err != nil {
		return 0, false, err
	}
	replicas, ok = w.replicas[kind+"/"+name]
	return replicas, ok, nil
}

func (w workloads) ReplicationController(_, name string) (*corev1.ReplicationController, bool, error) {
	replicas, ok, err := w.find("ReplicationController", name)
	return &corev1.ReplicationController{Spec: corev1.ReplicationControllerSpec{Replicas: &replicas}}, ok, err
}

func (w workloads) ReplicaSet(_, name string) (*appsv1.ReplicaSet, bool, error) {
	replicas, ok, err := w.find("ReplicaSet", name)
	if replicas < 0 {
		return &appsv1.ReplicaSet{}, ok, err
	}
	return &appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Replicas: &replicas}}, ok, err
}

func (w workloads) StatefulSet(_, name string) (*appsv1.StatefulSet, bool, error) {
	replicas, ok, err := w.find("StatefulSet", name)
	return &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Replicas: &replicas}}, ok, err
}

func (w workloads) DaemonSet(_, name string) (*appsv1.DaemonSet, bool, error) {
	_, ok, err := w.find("DaemonSet", name)
	return &appsv1.DaemonSet{}, ok, err
}

func (w workloads) Job(_, name string) (*batchv1.Job, bool, error) {
	_, ok, err := w.find("Job", name)
	return &batchv1.Job{}, ok, err
}

var errDenied = errors.New("denied")

func existing() workloads {
	return workloads{
		replicas: map[string]int32{
			"ReplicaSet/rs": 3, "ReplicaSet/single": 1, "ReplicaSet/unset": -1, "StatefulSet/single": 1, "DaemonSet/ds": 0, "Job/job": 0,
			"ReplicationController/rc": 3, "ReplicationController/single": 1,
		},
		broken: map[string]error{"ReplicaSet/denied": errDenied, "DaemonSet/denied": errDenied},
	}
}

func defaults() drain.Options {
	return drain.Options{
		SkipNodesWithSystemPods: true, SkipNodesWithLocalStorage: true, SkipNodesWithCustomControllerPods: true, SystemPodTimeout: time.Hour,
	}
}

// verdict is what becomes of one pod: the list it lands in, the rule that put it there, and the reason if that blocks.
type verdict struct {
	List   string
	Rule   string // empty: no rule had anything to say
	Reason drain.Reason
}

// The verdicts of rules that never block.
var (
	move         = verdict{List: "move"}
	daemon       = verdict{List: "daemonSet", Rule: "DaemonSet"}
	onCompletion = verdict{List: "onCompletion", Rule: "OnCompletion"}
)

// moves is the verdict about a pod that the rule lets go before others are asked.
func moves(rule string) verdict { return verdict{List: "move", Rule: rule} }

func skipped(rule string) verdict { return verdict{Rule: rule} }

func blocks(rule string, reason drain.Reason) verdict {
	return verdict{List: "blocks", Rule: rule, Reason: reason}
}

// verdictOf evaluates a node with nothing but this pod.
func verdictOf(pod *corev1.Pod, c drain.Context) verdict {
	decision := drain.Judge(pod, c)
	v := verdict{Rule: decision.Rule, Reason: decision.Reason}
	switch result := drain.Evaluate([]*corev1.Pod{pod}, c); {
	case result.Blocking != nil:
		v = blocks(result.Blocking.Rule, result.Blocking.Reason)
	case len(result.Move) > 0:
		v.List = "move"
	case len(result.DaemonSet) > 0:
		v.List = "daemonSet"
	case len(result.OnCompletion) > 0:
		v.List = "onCompletion"
	}
	return v
}

// ownedPod is a running pod of an existing ReplicaSet.
func ownedPod() simtest.PodBuilder { return simtest.Pod("p").On("n").OwnedBy("ReplicaSet", "rs") }

func systemPod(age time.Duration) simtest.PodBuilder {
	return ownedPod().Namespace("kube-system").CreatedAt(now.Add(-age))
}

func budget(namespace string, selector *metav1.LabelSelector, allowed int32) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pdb"},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: selector},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed},
	}
}

func everything() *metav1.LabelSelector { return &metav1.LabelSelector{} }

// The numbers are those of the worked cases in scale-down 7.3 and 7.10.
func TestOnePodOnANode(t *testing.T) {
	t.Parallel()
	type testCase struct {
		pod     simtest.PodBuilder
		options func(*drain.Options) // nil: defaults
		budget  *policyv1.PodDisruptionBudget
		want    verdict
	}
	anyController := func(o *drain.Options) { o.SkipNodesWithCustomControllerPods = false }
	twoReplicas := func(o *drain.Options) { o.MinReplicaCount = 2 }
	foreign := func(kind, version string) simtest.PodBuilder {
		return simtest.Pod("p").On("n").ControlledBy(metav1.OwnerReference{Kind: kind, APIVersion: version, Name: "unknown"})
	}
	cases := map[string]testCase{
		"SD037: a pod without controller blocks":                     {pod: simtest.Pod("p").On("n"), want: blocks("Replicated", drain.NotReplicated)},
		"SD038: a pod of a ReplicaSet moves":                         {pod: ownedPod(), want: move},
		"SD039: a mirror pod doesn't count":                          {pod: simtest.Pod("p").Mirror().HostPath("v"), want: skipped("Mirror")},
		"SD040: nothing blocks on a DaemonSet pod":                   {pod: simtest.Pod("p").DaemonSet("ds").Annotation(safeToEvict, "false").EmptyDir("v", ""), want: daemon},
		"SD041: but its DaemonSet has to exist":                      {pod: simtest.Pod("p").DaemonSet("gone"), want: blocks("ReplicaCount", drain.ControllerNotFound)},
		"SD042: unless custom controllers are fine":                  {pod: simtest.Pod("p").DaemonSet("gone"), options: anyController, want: daemon},
		"SD043: an annotated pod of a foreign kind is a DaemonSet's": {pod: foreign("CustomDaemonSet", "crd/v1").Annotation(runsAsDaemon, "true"), want: daemon},
		"SD044: a controller of an unknown kind isn't one":           {pod: foreign("Foo", "example.com/v1"), want: blocks("Replicated", drain.NotReplicated)},
		"SD044: unless custom controllers are fine":                  {pod: foreign("Foo", "example.com/v1"), options: anyController, want: move},
		"SD045: a StatefulSet has to exist":                          {pod: simtest.Pod("p").OwnedBy("StatefulSet", "gone"), want: blocks("ReplicaCount", drain.ControllerNotFound)},
		"SD045: unless custom controllers are fine":                  {pod: simtest.Pod("p").OwnedBy("StatefulSet", "gone"), options: anyController, want: move},
		"SD046: a StatefulSet of another group isn't looked up":      {pod: foreign("StatefulSet", "apps.kruise.io/v1"), want: move},
		"SD047: too few replicas block":                              {pod: simtest.Pod("p").OwnedBy("ReplicaSet", "single"), options: twoReplicas, want: blocks("ReplicaCount", drain.MinReplicasReached)},
		"SD047: also in a ReplicationController":                     {pod: simtest.Pod("p").OwnedBy("ReplicationController", "single"), options: twoReplicas, want: blocks("ReplicaCount", drain.MinReplicasReached)},
		"SD047: as many as demanded don't":                           {pod: simtest.Pod("p").OwnedBy("ReplicaSet", "rs"), options: twoReplicas, want: move},
		"SD047: nor does an unset number":                            {pod: simtest.Pod("p").OwnedBy("ReplicaSet", "unset"), options: twoReplicas, want: move},
		"SD048: the minimum is off with custom controllers": {
			pod: simtest.Pod("p").OwnedBy("ReplicaSet", "single"), want: move,
			options: func(o *drain.Options) { o.MinReplicaCount, o.SkipNodesWithCustomControllerPods = 2, false },
		},
		"SD049: the minimum doesn't apply to StatefulSets":             {pod: simtest.Pod("p").OwnedBy("StatefulSet", "single"), options: twoReplicas, want: move},
		"SD050: a missing controller blocks even a pod that may go":    {pod: simtest.Pod("p").OwnedBy("ReplicaSet", "gone").Annotation(safeToEvict, "true"), want: blocks("ReplicaCount", drain.ControllerNotFound)},
		"SD051: safe-to-evict overrides all that follows":              {pod: simtest.Pod("p").Namespace("kube-system").EmptyDir("v", "").Annotation(safeToEvict, "true"), budget: budget("kube-system", everything(), 0), want: moves("SafeToEvict")},
		"SD052: safe-to-evict=false blocks":                            {pod: ownedPod().Annotation(safeToEvict, "false"), want: blocks("NotSafeToEvict", drain.NotSafeToEvictAnnotation)},
		"SD053: a duration is as if absent":                            {pod: ownedPod().Annotation(safeToEvict, "10m"), want: move},
		"SD053: so are capitals":                                       {pod: simtest.Pod("p").Annotation(safeToEvict, "TRUE"), want: blocks("Replicated", drain.NotReplicated)},
		"SD054: on-completion makes the node wait":                     {pod: simtest.Pod("p").Annotation(safeToEvict, "on-completion").HostPath("v"), want: onCompletion},
		"SD055: a young kube-system pod blocks":                        {pod: systemPod(30 * time.Minute), want: blocks("System", drain.UnmovableKubeSystemPod)},
		"SD056: an old one goes":                                       {pod: systemPod(time.Hour + time.Second), want: moves("System")},
		"SD057: exactly the time-out is young":                         {pod: systemPod(time.Hour), want: blocks("System", drain.UnmovableKubeSystemPod)},
		"SD058: an unknown age is young":                               {pod: systemPod(0).CreatedAt(time.Time{}), want: blocks("System", drain.UnmovableKubeSystemPod)},
		"SD059: an old one goes whatever else it says":                 {pod: systemPod(2*time.Hour).Annotation(safeToEvict, "false").HostPath("v"), want: moves("System")},
		"SD060: a budget replaces the time-out":                        {pod: systemPod(30 * time.Minute), budget: budget("kube-system", everything(), 1), want: move},
		"SD060: and blocks when used up":                               {pod: systemPod(30 * time.Minute), budget: budget("kube-system", everything(), 0), want: blocks("PDB", drain.NotEnoughPdb)},
		"SD060: even an old one":                                       {pod: systemPod(2 * time.Hour), budget: budget("kube-system", everything(), 0), want: blocks("PDB", drain.NotEnoughPdb)},
		"SD061: a budget of another namespace says nothing":            {pod: systemPod(30 * time.Minute), budget: budget("default", everything(), 1), want: blocks("System", drain.UnmovableKubeSystemPod)},
		"SD062: the rule for kube-system can be off":                   {pod: systemPod(5 * time.Minute), options: func(o *drain.Options) { o.SkipNodesWithSystemPods = false }, want: move},
		"SD063: an emptyDir blocks":                                    {pod: ownedPod().EmptyDir("v", ""), want: blocks("LocalStorage", drain.LocalStorageRequested)},
		"SD063: one in memory doesn't":                                 {pod: ownedPod().EmptyDir("v", corev1.StorageMediumMemory), want: move},
		"SD063: one in huge pages does":                                {pod: ownedPod().EmptyDir("v", corev1.StorageMediumHugePages), want: blocks("LocalStorage", drain.LocalStorageRequested)},
		"SD063: so does a path of the node":                            {pod: ownedPod().HostPath("v"), want: blocks("LocalStorage", drain.LocalStorageRequested)},
		"SD064: dispensable volumes don't block":                       {pod: ownedPod().EmptyDir("a", "").EmptyDir("b", "").Annotation(localVolumes, "a,b"), want: move},
		"SD064: all of them have to be listed":                         {pod: ownedPod().EmptyDir("a", "").EmptyDir("b", "").Annotation(localVolumes, "a"), want: blocks("LocalStorage", drain.LocalStorageRequested)},
		"SD064: blanks count":                                          {pod: ownedPod().EmptyDir("a", "").EmptyDir("b", "").Annotation(localVolumes, "a, b"), want: blocks("LocalStorage", drain.LocalStorageRequested)},
		"SD065: the rule for local storage can be off":                 {pod: ownedPod().EmptyDir("v", ""), options: func(o *drain.Options) { o.SkipNodesWithLocalStorage = false }, want: move},
		"a claim isn't local storage":                                  {pod: ownedPod().Claim("c"), want: move},
		"SD066: a budget without selector selects nothing":             {pod: ownedPod(), budget: budget("default", nil, 0), want: move},
		"SD066: one with an empty selector selects everything":         {pod: ownedPod(), budget: budget("default", everything(), 0), want: blocks("PDB", drain.NotEnoughPdb)},
		"a budget that selects other labels says nothing":              {pod: ownedPod().Label("app", "a"), budget: budget("default", &metav1.LabelSelector{MatchLabels: map[string]string{"app": "b"}}, 0), want: move},
		"SD067: a failed pod may go":                                   {pod: ownedPod().Annotation(safeToEvict, "false").With(phase(corev1.PodFailed)), want: moves("Terminal")},
		"a pod that succeeded for good may go":                         {pod: simtest.Pod("p").With(phase(corev1.PodSucceeded)).With(restart(corev1.RestartPolicyOnFailure)), want: moves("Terminal")},
		"SD068: one that is started again has not ended":               {pod: simtest.Pod("p").With(phase(corev1.PodSucceeded)), want: blocks("Replicated", drain.NotReplicated)},
		"SD069: a pod that should have ended doesn't count":            {pod: ownedPod().DeletedAt(now.Add(-60 * time.Second)).Grace(0), want: skipped("LongTerminating")},
		"SD070: one within its grace period moves":                     {pod: ownedPod().DeletedAt(now.Add(-180 * time.Second)).Grace(360), want: move},
		"SD071: 60 s after deletion with the default grace isn't over": {pod: ownedPod().DeletedAt(now.Add(-60 * time.Second)), want: move},
		"SD071: 61 s is":                                               {pod: ownedPod().DeletedAt(now.Add(-61 * time.Second)), want: skipped("LongTerminating")},
		"SD200: annotated, with a missing ReplicaSet":                  {pod: simtest.Pod("p").OwnedBy("ReplicaSet", "gone").Annotation(runsAsDaemon, "true"), want: daemon},
		"SD200: annotated, with a missing ReplicationController":       {pod: simtest.Pod("p").OwnedBy("ReplicationController", "gone").Annotation(runsAsDaemon, "true"), want: blocks("ReplicaCount", drain.ControllerNotFound)},
		"SD201: a ReplicaSet of a foreign group has to exist":          {pod: foreign("ReplicaSet", "example.com/v1"), want: blocks("ReplicaCount", drain.ControllerNotFound)},
		"SD201: unless its version can't be read":                      {pod: foreign("ReplicaSet", "a/b/v1"), want: move},
		"SD202: an old kube-system pod with a budget isn't free to go": {pod: systemPod(2*time.Hour).Annotation(safeToEvict, "false"), budget: budget("kube-system", everything(), 1), want: blocks("NotSafeToEvict", drain.NotSafeToEvictAnnotation)},
		"a Job has to exist":                                           {pod: simtest.Pod("p").OwnedBy("Job", "gone"), want: blocks("ReplicaCount", drain.ControllerNotFound)},
		"a pod of a Job moves":                                         {pod: simtest.Pod("p").OwnedBy("Job", "job"), want: move},
		"a DaemonSet of another group isn't looked up":                 {pod: foreign("DaemonSet", "apps.kruise.io/v1"), want: daemon},
		"a ReplicaSet that can't be looked up counts as missing":       {pod: simtest.Pod("p").OwnedBy("ReplicaSet", "denied"), want: blocks("ReplicaCount", drain.ControllerNotFound)},
		"a DaemonSet that can't be looked up is an error":              {pod: simtest.Pod("p").DaemonSet("denied"), want: blocks("ReplicaCount", drain.UnexpectedError)},
		"a pod with resource claims keeps its node":                    {pod: ownedPod().With(claim), want: blocks("ResourceClaims", drain.ResourceClaimsNotSimulated)},
		"even if it says that it may go":                               {pod: ownedPod().With(claim).Annotation(safeToEvict, "true"), want: blocks("ResourceClaims", drain.ResourceClaimsNotSimulated)},
		"a DaemonSet pod with resource claims doesn't, it only ends":   {pod: simtest.Pod("p").DaemonSet("ds").With(claim), want: daemon},
		"nor does one that the node waits for":                         {pod: simtest.Pod("p").With(claim).Annotation(safeToEvict, "on-completion"), want: onCompletion},
		"resource claims are the last reason given":                    {pod: simtest.Pod("p").With(claim), want: blocks("Replicated", drain.NotReplicated)},
		"a device that the scheduler allocates counts as a claim, too": {pod: ownedPod().With(extendedClaim), want: blocks("ResourceClaims", drain.ResourceClaimsNotSimulated)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := defaults()
			if c.options != nil {
				c.options(&options)
			}
			var pdbs []*policyv1.PodDisruptionBudget
			if c.budget != nil {
				pdbs = append(pdbs, c.budget)
			}
			got := verdictOf(c.pod.Build(), drain.Context{At: now, Workloads: existing(), Budgets: drain.NewBudgets(pdbs), Options: options})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

func phase(phase corev1.PodPhase) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.Phase = phase }
}

func restart(policy corev1.RestartPolicy) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.RestartPolicy = policy }
}

func claim(p *corev1.Pod) { p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}} }

func extendedClaim(p *corev1.Pod) {
	p.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: "made"}
}

func TestWithoutLookupsNoControllerIsMissing(t *testing.T) {
	t.Parallel()
	pod := simtest.Pod("p").OwnedBy("ReplicaSet", "gone").Build()
	result := drain.Evaluate([]*corev1.Pod{pod}, drain.Context{At: now, Options: defaults()})
	if diff := cmp.Diff(drain.Result{Move: []*corev1.Pod{pod}}, result); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
}

func TestWithoutBudgetsYoungSystemPodsBlock(t *testing.T) {
	t.Parallel()
	got := verdictOf(systemPod(time.Minute).Build(), drain.Context{At: now, Options: defaults()})
	if diff := cmp.Diff(blocks("System", drain.UnmovableKubeSystemPod), got); diff != "" {
		t.Errorf("verdict (-want +got):\n%s", diff)
	}
}

func TestAFailedLookupIsToldWithTheReason(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]drain.Reason{"ReplicaSet": drain.ControllerNotFound, "DaemonSet": drain.UnexpectedError} {
		pod := simtest.Pod("p").OwnedBy(kind, "denied").Build()
		result := drain.Evaluate([]*corev1.Pod{pod}, drain.Context{At: now, Workloads: existing(), Options: defaults()})
		if b := result.Blocking; b == nil || b.Reason != want || !errors.Is(b.Err, errDenied) || b.Pod != pod {
			t.Errorf("%s: blocking = %+v, want %s by %q", kind, b, want, errDenied)
		}
	}
}

func TestPodsAreTakenByNamespaceAndNameAndTheFirstThatBlocksIsReported(t *testing.T) {
	t.Parallel()
	old := systemPod(time.Hour + time.Second).With(named("p1")).Build() // worked case SD073
	young := systemPod(time.Minute).With(named("p2")).Build()
	younger := systemPod(time.Second).With(named("p3")).Build()
	fromDaemonSet := simtest.Pod("z").DaemonSet("ds").Build() // namespace default comes before kube-system
	waiting := simtest.Pod("a").Annotation(safeToEvict, "on-completion").Build()
	given := []*corev1.Pod{younger, young, old, fromDaemonSet, waiting}
	result := drain.Evaluate(given, drain.Context{At: now, Workloads: existing(), Options: defaults()})
	want := drain.Result{
		Move: []*corev1.Pod{old}, DaemonSet: []*corev1.Pod{fromDaemonSet}, OnCompletion: []*corev1.Pod{waiting},
		Blocking: &drain.Blocking{Pod: young, Rule: "System", Reason: drain.UnmovableKubeSystemPod},
	}
	if diff := cmp.Diff(want, result); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	if given[0] != younger {
		t.Error("the pods were sorted in place")
	}
}

func named(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Name = name }
}
