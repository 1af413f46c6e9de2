package drain_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/simulator/drain"
	"example.com/cluster-autoscaler/simulator/simtest"
)

func TestRulesAreAskedInTheOrderThatIsAContract(t *testing.T) {
	t.Parallel()
	var got []string
	for _, rule := range drain.Rules() {
		got = append(got, rule.Name())
	}
	want := []string{
		"Mirror", "LongTerminating", "ReplicaCount", "DaemonSet", "SafeToEvict", "Terminal",
		"OnCompletion", "Replicated", "System", "NotSafeToEvict", "LocalStorage", "PDB", "ResourceClaims",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}

// ruleCase is what one rule says about one pod, whatever others would say.
type ruleCase struct {
	pod     simtest.PodBuilder
	options drain.Options                 // as they stand: a rule whose flag is not set is off
	budget  *policyv1.PodDisruptionBudget // nil: none
	want    drain.Decision                // without the name of the rule; zero: nothing
}

var (
	nothing = drain.Decision{}
	letsGo  = drain.Decision{Outcome: drain.DrainOK}
	passes  = drain.Decision{Outcome: drain.Skip}
)

func keeps(reason drain.Reason) drain.Decision {
	return drain.Decision{Outcome: drain.BlockDrain, Reason: reason}
}

func checkRule(t *testing.T, name string, cases map[string]ruleCase) {
	t.Helper()
	var rule drain.Rule
	for _, r := range drain.Rules() {
		if r.Name() == name {
			rule = r
		}
	}
	if rule == nil {
		t.Fatalf("there is no rule %s", name)
	}
	for about, c := range cases {
		t.Run(about, func(t *testing.T) {
			var pdbs []*policyv1.PodDisruptionBudget
			if c.budget != nil {
				pdbs = append(pdbs, c.budget)
			}
			got := rule.Judge(c.pod.Build(), &drain.Context{At: now, Workloads: existing(), Budgets: drain.NewBudgets(pdbs), Options: c.options})
			if c.want.Outcome != drain.Undecided {
				c.want.Rule = name
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
		})
	}
}

func bare() simtest.PodBuilder { return simtest.Pod("p").On("n") }

func owners(refs ...metav1.OwnerReference) simtest.PodBuilder {
	return bare().With(func(p *corev1.Pod) { p.OwnerReferences = refs })
}

func owner(kind, name string, controller bool) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "apps/v1", Kind: kind, Name: name, Controller: &controller}
}

func TestMirror(t *testing.T) {
	t.Parallel()
	checkRule(t, "Mirror", map[string]ruleCase{
		"a mirror pod does not count":       {pod: bare().Mirror(), want: passes},
		"whatever the value":                {pod: bare().Annotation(corev1.MirrorPodAnnotationKey, ""), want: passes},
		"a pod from another source does":    {pod: bare().Annotation("kubernetes.io/config.source", "file"), want: nothing},
		"and a pod that says nothing of it": {pod: bare(), want: nothing},
	})
}

func TestLongTerminating(t *testing.T) {
	t.Parallel()
	ending := func(since time.Duration) simtest.PodBuilder { return bare().DeletedAt(now.Add(-since)).Grace(10) }
	checkRule(t, "LongTerminating", map[string]ruleCase{
		"past its grace period and half a minute": {pod: ending(40*time.Second + 1), want: passes},
		"not before": {pod: ending(40 * time.Second), want: nothing},
		"a grace period that was not set is 30 s": {pod: bare().DeletedAt(now.Add(-time.Minute - 1)), want: passes},
		"a pod that is not ending":                {pod: bare(), want: nothing},
	})
}

func TestReplicaCount(t *testing.T) {
	t.Parallel()
	on := drain.Options{SkipNodesWithCustomControllerPods: true, MinReplicaCount: 2}
	checkRule(t, "ReplicaCount", map[string]ruleCase{
		"a controller that exists":                      {pod: ownedPod(), options: on, want: nothing},
		"one that does not":                             {pod: bare().OwnedBy("ReplicaSet", "gone"), options: on, want: keeps(drain.ControllerNotFound)},
		"is not missed if the rule is off":              {pod: bare().OwnedBy("ReplicaSet", "gone"), want: nothing},
		"too few replicas":                              {pod: bare().OwnedBy("ReplicaSet", "single"), options: on, want: keeps(drain.MinReplicasReached)},
		"no owner":                                      {pod: bare(), options: on, want: nothing},
		"of several owners the controller is looked up": {pod: owners(owner("ReplicaSet", "gone", false), owner("ReplicaSet", "rs", true)), options: on, want: nothing},
		"wherever it stands":                            {pod: owners(owner("ReplicaSet", "gone", true), owner("ReplicaSet", "rs", false)), options: on, want: keeps(drain.ControllerNotFound)},
		"of two controllers the first":                  {pod: owners(owner("ReplicaSet", "rs", true), owner("ReplicaSet", "gone", true)), options: on, want: nothing},
		"owners of which none is the controller":        {pod: owners(owner("ReplicaSet", "gone", false), owner("Job", "gone", false)), options: on, want: nothing},
	})
}

func TestDaemonSet(t *testing.T) {
	t.Parallel()
	checkRule(t, "DaemonSet", map[string]ruleCase{
		"its controller is one":                  {pod: bare().DaemonSet("ds"), want: letsGo},
		"it says so":                             {pod: ownedPod().Annotation(runsAsDaemon, "true"), want: letsGo},
		"a value that is not exactly true":       {pod: ownedPod().Annotation(runsAsDaemon, "True"), want: nothing},
		"a DaemonSet that is not its controller": {pod: owners(owner("DaemonSet", "ds", false)), want: nothing},
		"neither":                                {pod: ownedPod(), want: nothing},
	})
}

func TestSafeToEvict(t *testing.T) {
	t.Parallel()
	cases := map[string]ruleCase{
		"it says so":          {pod: bare().Annotation(safeToEvict, "true"), want: letsGo},
		"it says nothing":     {pod: bare(), want: nothing},
		"another annotation":  {pod: bare().Annotation("example.com/safe-to-evict", "true"), want: nothing},
		"what ends by itself": {pod: bare().Annotation(safeToEvict, "on-completion"), want: nothing},
	}
	for _, junk := range junkValues() {
		cases["junk "+junk] = ruleCase{pod: bare().Annotation(safeToEvict, junk), want: nothing}
	}
	checkRule(t, "SafeToEvict", cases)
}

// junkValues look like something that safe-to-evict could say, and are as if absent.
func junkValues() []string {
	return []string{"", " true", "true ", "TRUE", "True", "yes", "1", "t", "10m", "{\"true\"}", "False", "FALSE", "false ", "no", "0", "onCompletion", "On-Completion", "on-completion,"}
}

func TestTerminal(t *testing.T) {
	t.Parallel()
	ended := func(phase corev1.PodPhase, policy corev1.RestartPolicy) simtest.PodBuilder {
		return bare().With(func(p *corev1.Pod) { p.Status.Phase, p.Spec.RestartPolicy = phase, policy })
	}
	checkRule(t, "Terminal", map[string]ruleCase{
		"failed for good":                       {pod: ended(corev1.PodFailed, corev1.RestartPolicyNever), want: letsGo},
		"failed, whatever the policy":           {pod: ended(corev1.PodFailed, corev1.RestartPolicyAlways), want: letsGo},
		"succeeded":                             {pod: ended(corev1.PodSucceeded, corev1.RestartPolicyNever), want: letsGo},
		"succeeded, to be restarted on failure": {pod: ended(corev1.PodSucceeded, corev1.RestartPolicyOnFailure), want: letsGo},
		"succeeded, to be restarted":            {pod: ended(corev1.PodSucceeded, corev1.RestartPolicyAlways), want: nothing},
		"running":                               {pod: ended(corev1.PodRunning, corev1.RestartPolicyNever), want: nothing},
	})
}

func TestOnCompletion(t *testing.T) {
	t.Parallel()
	cases := map[string]ruleCase{
		"it says so":      {pod: bare().Annotation(safeToEvict, "on-completion"), want: drain.Decision{Outcome: drain.WaitForCompletion}},
		"it says nothing": {pod: bare(), want: nothing},
	}
	for _, junk := range junkValues() {
		cases["junk "+junk] = ruleCase{pod: bare().Annotation(safeToEvict, junk), want: nothing}
	}
	checkRule(t, "OnCompletion", cases)
}

func TestReplicated(t *testing.T) {
	t.Parallel()
	on := drain.Options{SkipNodesWithCustomControllerPods: true}
	keep := keeps(drain.NotReplicated)
	checkRule(t, "Replicated", map[string]ruleCase{
		"no owner":                               {pod: bare(), options: on, want: keep},
		"no owner, custom controllers are fine":  {pod: bare(), want: keep},
		"owners of which none is the controller": {pod: owners(owner("ReplicaSet", "rs", false), owner("Job", "job", false)), options: on, want: keep},
		"of several owners the controller":       {pod: owners(owner("Foo", "foo", false), owner("ReplicaSet", "rs", true)), options: on, want: nothing},
		"of an unknown kind":                     {pod: owners(owner("ReplicaSet", "rs", false), owner("Foo", "foo", true)), options: on, want: keep},
		"of an unknown kind, which is fine":      {pod: owners(owner("Foo", "foo", true)), want: nothing},
		"ReplicationController":                  {pod: bare().OwnedBy("ReplicationController", "rc"), options: on, want: nothing},
		"Job":                                    {pod: bare().OwnedBy("Job", "job"), options: on, want: nothing},
		"StatefulSet":                            {pod: bare().OwnedBy("StatefulSet", "single"), options: on, want: nothing},
	})
}

func TestSystem(t *testing.T) {
	t.Parallel()
	on := drain.Options{SkipNodesWithSystemPods: true, SystemPodTimeout: 10 * time.Minute}
	keep := keeps(drain.UnmovableKubeSystemPod)
	checkRule(t, "System", map[string]ruleCase{
		"young":                       {pod: systemPod(10 * time.Minute), options: on, want: keep},
		"old":                         {pod: systemPod(10*time.Minute + 1), options: on, want: letsGo},
		"of unknown age":              {pod: systemPod(0).CreatedAt(time.Time{}), options: on, want: keep},
		"guarded by a budget":         {pod: systemPod(0), options: on, budget: budget("kube-system", everything(), 0), want: nothing},
		"by one that cannot be read":  {pod: systemPod(time.Hour), options: on, budget: unreadable("kube-system"), want: nothing},
		"by one of another namespace": {pod: systemPod(0), options: on, budget: budget("default", everything(), 1), want: keep},
		"in another namespace":        {pod: ownedPod(), options: on, want: nothing},
		"off":                         {pod: systemPod(0), want: nothing},
	})
}

func TestNotSafeToEvict(t *testing.T) {
	t.Parallel()
	cases := map[string]ruleCase{
		"it says so":      {pod: bare().Annotation(safeToEvict, "false"), want: keeps(drain.NotSafeToEvictAnnotation)},
		"it says nothing": {pod: bare(), want: nothing},
	}
	for _, junk := range junkValues() {
		cases["junk "+junk] = ruleCase{pod: bare().Annotation(safeToEvict, junk), want: nothing}
	}
	checkRule(t, "NotSafeToEvict", cases)
}

func TestLocalStorage(t *testing.T) {
	t.Parallel()
	on := drain.Options{SkipNodesWithLocalStorage: true}
	keep := keeps(drain.LocalStorageRequested)
	two := bare().EmptyDir("a", "").HostPath("b")
	checkRule(t, "LocalStorage", map[string]ruleCase{
		"on disk":                        {pod: bare().EmptyDir("a", ""), options: on, want: keep},
		"of the node":                    {pod: bare().HostPath("a"), options: on, want: keep},
		"in memory":                      {pod: bare().EmptyDir("a", corev1.StorageMediumMemory), options: on, want: nothing},
		"in huge pages":                  {pod: bare().EmptyDir("a", corev1.StorageMediumHugePages), options: on, want: keep},
		"none":                           {pod: bare().Claim("c"), options: on, want: nothing},
		"off":                            {pod: two, want: nothing},
		"all dispensable":                {pod: two.Annotation(localVolumes, "b,a"), options: on, want: nothing},
		"more than there are":            {pod: two.Annotation(localVolumes, "a,c,b"), options: on, want: nothing},
		"one of two":                     {pod: two.Annotation(localVolumes, "b"), options: on, want: keep},
		"a blank behind the comma":       {pod: two.Annotation(localVolumes, "a, b"), options: on, want: keep},
		"a blank before the comma":       {pod: two.Annotation(localVolumes, "a ,b"), options: on, want: keep},
		"a blank in front of everything": {pod: two.Annotation(localVolumes, " a,b"), options: on, want: keep},
		"an empty list":                  {pod: two.Annotation(localVolumes, ""), options: on, want: keep},
		"empty entries":                  {pod: two.Annotation(localVolumes, ",a,,b,"), options: on, want: nothing},
		"another separator":              {pod: two.Annotation(localVolumes, "a;b"), options: on, want: keep},
		"a word for all of them":         {pod: two.Annotation(localVolumes, "true"), options: on, want: keep},
	})
}

func TestPDB(t *testing.T) {
	t.Parallel()
	checkRule(t, "PDB", map[string]ruleCase{
		"a budget that is used up":       {pod: ownedPod(), budget: budget("default", everything(), 0), want: keeps(drain.NotEnoughPdb)},
		"one that is overdrawn":          {pod: ownedPod(), budget: budget("default", everything(), -1), want: keeps(drain.NotEnoughPdb)},
		"one with something left":        {pod: ownedPod(), budget: budget("default", everything(), 1), want: nothing},
		"one without selector":           {pod: ownedPod(), budget: budget("default", nil, 0), want: nothing},
		"one of another namespace":       {pod: ownedPod(), budget: budget("kube-system", everything(), 0), want: nothing},
		"even a pod that says it may go": {pod: ownedPod().Annotation(safeToEvict, "true"), budget: budget("default", everything(), 0), want: keeps(drain.NotEnoughPdb)},
		"none":                           {pod: ownedPod(), want: nothing},
	})
}

func TestOfBudgetsThatOverlapEveryOneHasToAllowIt(t *testing.T) {
	t.Parallel()
	wide, narrow := budget("default", everything(), 2), budgetFor("a", "a", 1)
	budgets := drain.NewBudgets([]*policyv1.PodDisruptionBudget{wide, narrow})
	inBoth, inOne := pods("a")[0], pods("b")[0]
	judge := func(pod *corev1.Pod) drain.Reason {
		return drain.Judge(pod, drain.Context{At: now, Budgets: budgets, Options: drain.Options{}}).Reason
	}
	for _, pod := range []*corev1.Pod{inBoth, inOne} {
		pod.OwnerReferences = []metav1.OwnerReference{owner("ReplicaSet", "rs", true)}
	}
	if a, b := judge(inBoth), judge(inOne); a != "" || b != "" {
		t.Fatalf("blocked by %q and %q, want neither", a, b)
	}
	budgets.Lower([]*corev1.Pod{inBoth}) // counts in both
	if a, b := judge(inBoth), judge(inOne); a != drain.NotEnoughPdb || b != "" {
		t.Errorf("blocked by %q and %q, want the one in both only", a, b)
	}
	if got := budgets.Exhausted(inBoth); got != narrow {
		t.Errorf("exhausted = %v, want the narrow one", got)
	}
	budgets.Lower([]*corev1.Pod{inOne})
	if b := judge(inOne); b != drain.NotEnoughPdb {
		t.Errorf("blocked by %q, want %q", b, drain.NotEnoughPdb)
	}
}

func TestResourceClaims(t *testing.T) {
	t.Parallel()
	checkRule(t, "ResourceClaims", map[string]ruleCase{
		"a claim":                            {pod: ownedPod().With(claim), want: keeps(drain.ResourceClaimsNotSimulated)},
		"one that the scheduler made":        {pod: ownedPod().With(extendedClaim), want: keeps(drain.ResourceClaimsNotSimulated)},
		"of a pod that needs no other place": {pod: bare().DaemonSet("ds").With(claim), want: nothing},
		"none":                               {pod: ownedPod(), want: nothing},
	})
}
