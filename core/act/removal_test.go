package act_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/act"
	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/core/scaledown"
	"example.com/cluster-autoscaler/simulator/taints"
)

const (
	marked   = "[hard cordoned by=cluster-autoscaler]"
	unmarked = "[]"
	delay    = "delay-deletion.cluster-autoscaler.kubernetes.io/backup"
	dsEvict  = "cluster-autoscaler.kubernetes.io/enable-ds-eviction"
	evictOK  = "cluster-autoscaler.kubernetes.io/safe-to-evict"
)

func TestAnEmptyNodeGoes(t *testing.T) {
	s := newStage(t, defaults())
	s.add("g", node("n"))
	plan := planOf(s.candidate("g", "n"))
	got := s.Shrink(silent(t), plan)
	if got.Err != nil || len(got.Started) != 1 || len(got.Refused) != 0 {
		t.Fatalf("started %v, refused %v, error %v", got.Started, got.Refused, got.Err)
	}
	if diff := cmp.Diff([]observation.Deletion{{Node: "n", Group: "g", Since: start}}, s.Deletions()); diff != "" {
		t.Errorf("deletions in progress (-want +got):\n%s", diff)
	}
	s.play(time.Hour)
	want := []string{"0 update n " + marked, "5 delete g n: <nil>"}
	if diff := cmp.Diff(want, s.takeLog()); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	outcome := report.RemovalOutcome{
		Removal: plan.Empty[0].Removal, Result: report.RemovalOK, Started: start, Ended: start.Add(5 * time.Second),
	}
	if diff := cmp.Diff([]report.RemovalOutcome{outcome}, s.Finished()); diff != "" {
		t.Errorf("finished (-want +got):\n%s", diff)
	}
	if again := s.Finished(); len(again) != 0 {
		t.Errorf("finished is told twice: %v", again)
	}
	if diff := cmp.Diff([]string{"tainted n", "begun n", "ended n Ok"}, s.events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestAnAcceptedRemovalIsToldOfForFiveMinutes(t *testing.T) {
	s := newStage(t, defaults())
	s.add("g", node("n"))
	s.Shrink(silent(t), planOf(s.candidate("g", "n")))
	s.play(10 * time.Second)
	want := []observation.Deletion{{Node: "n", Group: "g", Since: start, Accepted: true}}
	if diff := cmp.Diff(want, s.Deletions()); diff != "" {
		t.Errorf("deletions (-want +got):\n%s", diff)
	}
	s.time.SetTime(start.Add(5*time.Minute + 5*time.Second))
	if got := s.Deletions(); len(got) != 0 {
		t.Errorf("five minutes later still %v", got)
	}
}

// story is a removal of node n of group g, which is empty or holds pods p1, p2, ...
type story struct {
	pods    []string // to move; none: the node is planned as empty
	options func(*act.Options)
	before  func(*stage) // changes the world before the plan is carried out
	during  func(*stage) // changes it after the taint is set
	until   time.Duration
	want    []string // what happens after the taint
	result  string   // of the removal; empty: it is not over
	err     string   // part of the outcome's error
	leaves  string   // what a failed removal leaves of the node; default: unmarked
}

func (st story) play(t *testing.T) {
	options := defaults()
	if st.options != nil {
		st.options(&options)
	}
	s := newStage(t, options)
	s.add("g", node("n"), node("other"))
	for _, name := range st.pods {
		s.run(pod(name, "n"))
	}
	if st.before != nil {
		st.before(s)
	}
	if got := s.Shrink(silent(t), planOf(s.candidate("g", "n", st.pods...))); got.Err != nil {
		t.Fatal(got.Err)
	}
	if st.during != nil {
		st.during(s)
	}
	s.takeLog()
	if st.until == 0 {
		st.until = time.Hour
	}
	s.play(st.until)
	if diff := cmp.Diff(st.want, s.takeLog()); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	finished := s.Finished()
	if diff := cmp.Diff(wanted(st.result), results(finished)); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if len(finished) == 1 && st.err != "" && !containsText(finished[0].Err, st.err) {
		t.Errorf("error %v, want it to tell of %q", finished[0].Err, st.err)
	}
	if st.result != "" && st.result != "Ok" {
		if st.leaves == "" {
			st.leaves = unmarked
		}
		if got := s.look("n"); got != st.leaves {
			t.Errorf("node n is left as %s, want %s", got, st.leaves)
		}
		if got := s.Deletions(); len(got) != 0 {
			t.Errorf("still in progress: %v", got)
		}
	}
}

func wanted(result string) []string {
	if result == "" {
		return nil
	}
	return []string{"n " + result}
}

func containsText(err error, text string) bool {
	return err != nil && strings.Contains(err.Error(), text)
}

// refusals are the lines of 12 refused attempts to evict the pods, ten seconds apart.
func refusals(from int, pods ...string) (lines []string) {
	for i := range 12 {
		for _, p := range pods {
			lines = append(lines, fmt.Sprintf("%d evict %s: refused", from+10*i, p))
		}
	}
	return lines
}

func always(err func() error) func() error { return err }

func budget(allowed int32) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "guard"},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed},
	}
}

func TestWhatIsFoundAfterTheTaint(t *testing.T) {
	undone := []string{"5 update n []"}
	for name, st := range map[string]story{
		"SD148: an empty node that got a pod to move stays": {
			during: func(s *stage) { s.run(pod("late", "n")) }, want: undone, result: "Internal", err: "default/late",
		},
		"an empty node that got a pod that ends by itself stays": {
			during: func(s *stage) { s.run(pod("late", "n").Annotation(evictOK, "on-completion")) }, want: undone, result: "Internal", err: "OnCompletion",
		},
		"an empty node that got an expendable pod goes": {
			during: func(s *stage) { s.run(pod("late", "n").Priority(-11)) }, want: []string{"5 delete g n: <nil>"}, result: "Ok",
		},
		"an empty node that got a mirror pod goes": {
			during: func(s *stage) { s.run(pod("late", "n").Mirror()) }, want: []string{"5 delete g n: <nil>"}, result: "Ok",
		},
		"an empty node that got a pod of another scheduler goes if only ours count": {
			options: func(o *act.Options) { o.Pods.AllowedSchedulers = []string{"ours"} },
			during: func(s *stage) {
				s.run(pod("late", "n").DaemonSet("ds").With(func(p *corev1.Pod) { p.Spec.SchedulerName = "theirs" }))
			},
			want: []string{"5 delete g n: <nil>"}, result: "Ok",
		},
		"SD149: a node to drain that got a bare pod stays": {
			pods: []string{"p1"}, during: func(s *stage) { s.run(pod("late", "n").With(func(p *corev1.Pod) { p.OwnerReferences = nil })) },
			want: undone, result: "Internal", err: "NotReplicated",
		},
		"SD150: a node to drain whose budget is used up stays": {
			pods: []string{"p1"},
			before: func(s *stage) {
				s.run(pod("p1", "n").Label("app", "x"))
				s.pdbs = []*policyv1.PodDisruptionBudget{budget(1)}
			},
			during: func(s *stage) { s.pdbs = []*policyv1.PodDisruptionBudget{budget(0)} },
			want:   undone, result: "Internal", err: "default/guard",
		},
		"SD215: a node to drain that got a pod that ends by itself stays": {
			pods: []string{"p1"}, during: func(s *stage) { s.run(pod("late", "n").Annotation(evictOK, "on-completion")) },
			want: undone, result: "Internal", err: "OnCompletion",
		},
		"a node that was annotated meanwhile stays": {
			during: func(s *stage) { s.nodes["n"].Annotations[scaledown.DisabledAnnotation] = "true" },
			want:   undone, result: "Internal", err: "annotation",
		},
	} {
		t.Run(name, st.play)
	}
}

func TestANodeThatIsGoneNeedsNothing(t *testing.T) {
	s := newStage(t, defaults())
	s.add("g", node("n"))
	s.Shrink(silent(t), planOf(s.candidate("g", "n")))
	s.takeLog()
	delete(s.nodes, "n")
	s.play(time.Hour)
	if diff := cmp.Diff([]string(nil), s.takeLog()); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"n Internal"}, results(s.Finished())); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

func TestADrain(t *testing.T) {
	for name, st := range map[string]story{
		"pods are evicted and waited for": {
			pods: []string{"p1", "p2"}, before: func(s *stage) { s.stops["p2"] = 7 * time.Second },
			want: []string{"5 evict p1 30", "5 evict p2 30", "15 delete g n: <nil>"}, result: "Ok",
		},
		"SD151: two of four evictions are refused": {
			pods: []string{"p1", "p2", "p3", "p4"},
			before: func(s *stage) {
				s.refuse["p2"], s.refuse["p4"] = always(tooManyRequests), always(tooManyRequests)
			},
			want: append(append([]string{"5 evict p1 30", "5 evict p2: refused", "5 evict p3 30", "5 evict p4: refused"}, refusals(5, "p2", "p4")[2:]...),
				"125 update n []"),
			result: "FailedToEvictPods", err: "p2",
		},
		"SD152: a pod that is gone already": {
			pods: []string{"p1"}, during: func(s *stage) {
				s.onEviction = nil
				s.refuse["p1"] = func() error { delete(s.pods, "p1"); return notFound() }
			},
			want: []string{"5 evict p1: refused", "5 delete g n: <nil>"}, result: "Ok",
		},
		"SD153: the grace period is capped": {
			pods: []string{"p1"}, before: func(s *stage) { s.run(pod("p1", "n").Grace(3600)); s.stops["p1"] = 620 * time.Second },
			want: []string{"5 evict p1 600", "625 delete g n: <nil>"}, result: "Ok",
		},
		"SD154: a short grace period is kept": {
			pods: []string{"p1"}, before: func(s *stage) { s.run(pod("p1", "n").Grace(10)) },
			want: []string{"5 evict p1 10", "5 delete g n: <nil>"}, result: "Ok",
		},
		"SD155: a pod that does not end": {
			pods: []string{"p1"}, before: func(s *stage) { s.stops["p1"] = time.Hour },
			want: []string{"5 evict p1 30", "635 update n []"}, result: "FailedToEvictPods", err: "timeout",
		},
		"SD214: a pod that should have ended long ago": {
			pods: []string{"p1"},
			before: func(s *stage) {
				s.run(pod("stuck", "n").DeletedAt(start.Add(-time.Hour)))
				s.stops["stuck"] = time.Hour
			},
			want: []string{"5 evict p1 30", "5 evict stuck 30", "635 update n []"}, result: "FailedToEvictPods",
		},
		"SD154: a pod that says nothing has 30 s": {
			pods: []string{"p1"},
			before: func(s *stage) {
				s.run(pod("p1", "n").With(func(p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = nil }))
			},
			want: []string{"5 evict p1 30", "5 delete g n: <nil>"}, result: "Ok",
		},
		"the limit is that of the group, not of the pod": {
			pods: []string{"p1"}, options: func(o *act.Options) { o.Drain.MaxGracefulTermination = time.Minute },
			before: func(s *stage) { s.run(pod("p1", "n").Grace(10)); s.stops["p1"] = time.Hour },
			want:   []string{"5 evict p1 10", "95 update n []"}, result: "FailedToEvictPods",
		},
		"without a cap a pod that is quick enough goes": {
			pods: []string{"p1"}, options: func(o *act.Options) { o.Drain.MaxGracefulTermination = 0 },
			before: func(s *stage) { s.run(pod("p1", "n").Grace(3600)); s.stops["p1"] = 29 * time.Second },
			want:   []string{"5 evict p1 3600", "35 delete g n: <nil>"}, result: "Ok",
		},
		"evictions are tried for as long as the flag says": {
			pods: []string{"p1"}, options: func(o *act.Options) { o.Drain.MaxPodEvictionTime = 25 * time.Second },
			before: func(s *stage) { s.refuse["p1"] = always(tooManyRequests) },
			want:   []string{"5 evict p1: refused", "15 evict p1: refused", "25 evict p1: refused", "30 update n []"}, result: "FailedToEvictPods",
		},
		"SD217: without a cap pods may take 30 s": {
			pods: []string{"p1"}, options: func(o *act.Options) { o.Drain.MaxGracefulTermination = 0 },
			before: func(s *stage) { s.run(pod("p1", "n").Grace(3600)); s.stops["p1"] = time.Hour },
			want:   []string{"5 evict p1 3600", "35 update n []"}, result: "FailedToEvictPods",
		},
		"SD156: a pod that was made anew elsewhere": {
			pods: []string{"p1"}, before: func(s *stage) {
				s.onEviction = func(string) { s.pods["p1"] = pod("p1", "other").With(anew).Build(); delete(s.endsAt, "p1") }
			},
			want: []string{"5 evict p1 30", "5 delete g n: <nil>"}, result: "Ok",
		},
		"a pod that was replaced by another one elsewhere before it was evicted": {
			pods: []string{"p1"}, during: func(s *stage) {
				s.refuse["p1"] = func() error { s.pods["p1"] = pod("p1", "other").With(anew).Build(); return conflict() }
			},
			want: []string{"5 evict p1: refused", "5 delete g n: <nil>"}, result: "Ok",
		},
		"SD157: pods of DaemonSets are evicted unless they say otherwise": {
			pods: []string{"p1"},
			before: func(s *stage) {
				s.run(pod("d1", "n").DaemonSet("ds"), pod("d2", "n").DaemonSet("ds").Annotation(dsEvict, "false"), pod("d3", "n").DaemonSet("ds").Annotation(dsEvict, "x"))
				s.stops["d1"] = time.Hour
			},
			want: []string{"5 evict d1 30", "5 evict p1 30", "5 delete g n: <nil>"}, result: "Ok",
		},
		"nor do they go if the flag says so": {
			pods: []string{"p1"}, options: func(o *act.Options) { o.Drain.DaemonSetsWhenDrained = false },
			before: func(s *stage) {
				s.run(pod("d1", "n").DaemonSet("ds"), pod("d2", "n").DaemonSet("ds").Annotation(dsEvict, "true"))
			},
			want: []string{"5 evict d2 30", "5 evict p1 30", "5 delete g n: <nil>"}, result: "Ok",
		},
		"those of an empty node go if the flag says so": {
			options: func(o *act.Options) { o.Drain.DaemonSetsOnEmpty = true },
			before: func(s *stage) {
				s.run(pod("d1", "n").DaemonSet("ds"), pod("d2", "n").DaemonSet("ds").Annotation(dsEvict, "false"))
			},
			want: []string{"5 evict d1 30", "5 delete g n: <nil>"}, result: "Ok",
		},
		"SD158: on an empty node they are not, unless they say so": {
			before: func(s *stage) {
				s.run(pod("d1", "n").DaemonSet("ds"), pod("d2", "n").DaemonSet("ds").Annotation(dsEvict, "true"))
			},
			want: []string{"5 evict d2 30", "5 delete g n: <nil>"}, result: "Ok",
		},
		"SD159: an empty node goes even if they are not evicted": {
			before: func(s *stage) {
				s.run(pod("d1", "n").DaemonSet("ds").Annotation(dsEvict, "true"))
				s.refuse["d1"] = always(tooManyRequests)
			},
			want: append(refusals(5, "d1"), "125 delete g n: <nil>"), result: "Ok",
		},
		"SD216: so does a drained one": {
			pods: []string{"p1"},
			before: func(s *stage) {
				s.run(pod("d1", "n").DaemonSet("ds"))
				s.refuse["d1"] = always(tooManyRequests)
			},
			want: append(append([]string{"5 evict d1: refused", "5 evict p1 30"}, refusals(5, "d1")[1:]...), "125 delete g n: <nil>"), result: "Ok",
		},
		"the first attempt is made even without time": {
			pods: []string{"p1"}, options: func(o *act.Options) { o.Drain.MaxPodEvictionTime = 0 },
			before: func(s *stage) { s.refuse["p1"] = always(tooManyRequests) },
			want:   []string{"5 evict p1: refused", "5 update n []"}, result: "FailedToEvictPods",
		},
		"mirror pods stay": {
			pods: []string{"p1"}, before: func(s *stage) { s.run(pod("m", "n").Mirror()) },
			want: []string{"5 evict p1 30", "5 delete g n: <nil>"}, result: "Ok",
		},
	} {
		t.Run(name, st.play)
	}
}

func anew(p *corev1.Pod) { p.UID = "anew" }

func TestTheOutcomeOfAFailedDrainTellsOfEveryPod(t *testing.T) {
	options := defaults()
	options.Drain.PriorityGroups = []config.DrainGroup{{Priority: 0, GracePeriod: time.Minute}, {Priority: 1000, GracePeriod: time.Minute}}
	s := newStage(t, options)
	s.add("g", node("n"))
	s.run(pod("p1", "n"), pod("p2", "n"), pod("p3", "n").Priority(1000))
	s.refuse["p2"] = always(tooManyRequests)
	s.Shrink(silent(t), planOf(s.candidate("g", "n", "p1", "p2", "p3")))
	s.play(time.Hour)
	finished := s.Finished()
	if len(finished) != 1 {
		t.Fatalf("finished: %v", finished)
	}
	type result struct {
		Pod      string
		TimedOut bool
		Err      string
	}
	var got []result
	for _, e := range finished[0].Evictions {
		r := result{Pod: e.Pod.Name, TimedOut: e.TimedOut}
		if e.Err != nil {
			r.Err = e.Err.Error()
		}
		got = append(got, r)
	}
	want := []result{
		{Pod: "p1"},
		{Pod: "p2", TimedOut: true, Err: "evicting pod default/p2: the budget allows no disruption"},
		{Pod: "p3", Err: "not attempted: the drain ended before"}, // 162
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("evictions (-want +got):\n%s", diff)
	}
}

func TestPodsGoInTheOrderOfTheirPriority(t *testing.T) {
	for name, st := range map[string]story{
		"SD160: each pod belongs to the highest group not above it": {
			pods: []string{"a", "b", "c", "d", "e"},
			options: func(o *act.Options) {
				o.Drain.PriorityGroups = []config.DrainGroup{
					{Priority: 10, GracePeriod: 4 * time.Second}, {Priority: 1000, GracePeriod: 3 * time.Second},
					{Priority: 2000, GracePeriod: 2 * time.Second}, {Priority: 2000000000, GracePeriod: time.Second},
				}
			},
			before: func(s *stage) {
				s.run(pod("a", "n").Priority(2000000005), pod("b", "n").Priority(500), pod("c", "n").Priority(100), pod("d", "n"), pod("e", "n").Priority(1000))
			},
			want:   []string{"5 evict b 4", "5 evict c 4", "5 evict d 4", "5 evict e 3", "5 evict a 1", "5 delete g n: <nil>"},
			result: "Ok",
		},
		"SD161: each group is gone before the next begins": {
			pods: []string{"a", "b", "c"},
			options: func(o *act.Options) {
				o.Drain.PriorityGroups = []config.DrainGroup{
					{Priority: 0, GracePeriod: 3 * time.Second}, {Priority: 1000, GracePeriod: 2 * time.Second}, {Priority: 2000000000, GracePeriod: time.Second},
				}
			},
			before: func(s *stage) {
				s.run(pod("a", "n").Priority(100), pod("b", "n").Priority(2000), pod("c", "n").Priority(2000000000))
				s.stops["a"], s.stops["b"] = 12*time.Second, time.Second
			},
			want:   []string{"5 evict a 3", "20 evict b 2", "25 evict c 1", "25 delete g n: <nil>"},
			result: "Ok",
		},
		"SD162: pods of DaemonSets have to go, too, and those of later groups are not attempted": {
			pods: []string{"a"},
			options: func(o *act.Options) {
				o.Drain.PriorityGroups = []config.DrainGroup{{Priority: 0, GracePeriod: time.Second}}
			},
			before: func(s *stage) {
				s.run(pod("d", "n").DaemonSet("ds"))
				s.refuse["d"] = always(tooManyRequests)
			},
			want:   append(append([]string{"5 evict a 1", "5 evict d: refused"}, refusals(5, "d")[1:]...), "125 update n []"),
			result: "FailedToEvictPods", err: "default/d",
		},
	} {
		t.Run(name, st.play)
	}
}

// s-0 and s-1 share a budget of one. A pod takes eight minutes to end, and another minute passes until its replacement is ready.
func TestARefusalWhileAPodOfTheBudgetIsEndingDoesNotEndTheDrain(t *testing.T) {
	s := newStage(t, defaults())
	s.add("g", node("n"), node("n2"))
	s.run(pod("s-0", "n").Label("app", "x").Grace(480), pod("s-1", "n").Label("app", "x").Grace(480))
	s.pdbs = []*policyv1.PodDisruptionBudget{budget(1)}
	s.stops["s-0"], s.stops["s-1"] = 8*time.Minute, 8*time.Minute
	s.refuse["s-1"] = func() error {
		if s.time.Since(start) < 5*time.Second+9*time.Minute {
			return tooManyRequests()
		}
		return nil
	}
	s.Shrink(silent(t), planOf(s.candidate("g", "n", "s-0", "s-1")))
	s.takeLog()
	s.play(time.Hour)
	var accepted []string
	for _, line := range s.takeLog() {
		if !strings.Contains(line, "refused") {
			accepted = append(accepted, line)
		}
	}
	want := []string{"5 evict s-0 480", "545 evict s-1 480", "1025 delete g n: <nil>"}
	if diff := cmp.Diff(want, accepted); diff != "" {
		t.Errorf("log without refusals (-want +got):\n%s", diff)
	}
}

func TestARefusalWithoutAnEndingPodEndsTheDrainAtTheUsualTime(t *testing.T) {
	for name, other := range map[string]func(*corev1.Pod){
		"nothing ends":                     func(*corev1.Pod) {},
		"a pod should have ended long ago": func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: start.Add(-time.Hour)} },
		"a pod of another budget is ending": func(p *corev1.Pod) {
			p.Labels["app"] = "y"
			p.DeletionTimestamp = &metav1.Time{Time: start.Add(time.Hour)}
		},
		"a pod of another namespace is ending": func(p *corev1.Pod) { p.Namespace = "z"; p.DeletionTimestamp = &metav1.Time{Time: start.Add(time.Hour)} },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, defaults())
			s.add("g", node("n"), node("n2"))
			s.run(pod("s-1", "n").Label("app", "x"), pod("o", "n2").Label("app", "x").With(other))
			s.pdbs = []*policyv1.PodDisruptionBudget{budget(1)}
			s.refuse["s-1"] = always(tooManyRequests)
			s.Shrink(silent(t), planOf(s.candidate("g", "n", "s-1")))
			s.takeLog()
			s.play(time.Hour)
			if diff := cmp.Diff(append(refusals(5, "s-1"), "125 update n []"), s.takeLog()); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
			if finished := s.Finished(); len(finished) != 1 || !containsText(finished[0].Err, "default/guard") {
				t.Errorf("outcome %v, want it to name the budget", finished)
			}
		})
	}
}

func TestAnnotationsDelayTheEndOfTheMachine(t *testing.T) {
	annotated := func(s *stage) { s.nodes["n"].Annotations = map[string]string{delay: ""} }
	for name, st := range map[string]story{
		"SD163: until they are taken away": {
			before: annotated,
			during: func(s *stage) { s.later(12*time.Second, func() { delete(s.nodes["n"].Annotations, delay) }) },
			want:   []string{"15 delete g n: <nil>"}, result: "Ok",
		},
		"SD164: for two minutes at most": {before: annotated, want: []string{"125 delete g n: <nil>"}, result: "Ok"},
		"SD165: not at all if that is off": {
			before: annotated, options: func(o *act.Options) { o.ScaleDown.DeletionDelayTimeout = 0 },
			want: []string{"5 delete g n: <nil>"}, result: "Ok",
		},
		"a second one of them, too": {
			before: func(s *stage) { s.nodes["n"].Annotations = map[string]string{delay: "", delay + "-2": ""} },
			during: func(s *stage) { s.later(12*time.Second, func() { delete(s.nodes["n"].Annotations, delay) }) },
			want:   []string{"125 delete g n: <nil>"}, result: "Ok",
		},
		"those of a drained node, after its pods are gone": {
			pods: []string{"p1"}, before: func(s *stage) { annotated(s); s.stops["p1"] = 10 * time.Second },
			during: func(s *stage) { s.later(32*time.Second, func() { delete(s.nodes["n"].Annotations, delay) }) },
			want:   []string{"5 evict p1 30", "35 delete g n: <nil>"}, result: "Ok",
		},
		"another annotation does not": {
			before: func(s *stage) {
				s.nodes["n"].Annotations = map[string]string{"delay-deletion.cluster-autoscaler.kubernetes.io": ""}
			},
			want: []string{"5 delete g n: <nil>"}, result: "Ok",
		},
		"the node is gone meanwhile": {
			before: annotated, during: func(s *stage) { s.later(12*time.Second, func() { delete(s.nodes, "n") }) },
			result: "FailedToDelete", err: "does not exist", leaves: "gone",
		},
		"also those that came after the plan": {
			during: func(s *stage) { s.nodes["n"].Annotations[delay] = "" }, want: []string{"125 delete g n: <nil>"}, result: "Ok",
		},
	} {
		t.Run(name, st.play)
	}
}

func TestNoMachineEndsWithAPodThatCameAtTheLastMoment(t *testing.T) {
	arrives := func(s *stage) {
		s.hidden["late"] = true
		s.run(pod("late", "n"))
	}
	for name, st := range map[string]story{
		"on an empty node": {during: arrives, want: []string{"5 update n []"}, result: "Internal", err: "default/late"},
		"on a drained node, while its pods end": {
			pods: []string{"p1"}, during: func(s *stage) { s.onEviction = func(string) { s.pods["late"] = pod("late", "n").Build() } },
			want: []string{"5 evict p1 30", "5 update n []"}, result: "Internal", err: "default/late",
		},
		"on a node that waits for an annotation": {
			before: func(s *stage) { s.nodes["n"].Annotations = map[string]string{delay: ""} },
			during: func(s *stage) { s.later(60*time.Second, func() { s.pods["late"] = pod("late", "n").Build() }) },
			want:   []string{"125 update n []"}, result: "Internal", err: "default/late",
		},
		"nor if nobody can tell": {
			during: func(s *stage) { s.podErr = errors.New("the API server is away") },
			want:   []string{"35 update n []"}, result: "Internal", err: "the API server is away",
		},
		"it ends once that can be told again": {
			during: func(s *stage) {
				s.podErr = errors.New("the API server is away")
				s.later(20*time.Second, func() { s.podErr = nil })
			},
			want: []string{"25 delete g n: <nil>"}, result: "Ok",
		},
	} {
		t.Run(name, st.play)
	}
}

func TestTheCloudRefuses(t *testing.T) {
	transient := &cloudprovider.TransientError{OutcomeUnknown: true, Err: errors.New("no answer")}
	refused := errors.New("no")
	s := func(errs ...error) func(*stage) { return func(s *stage) { s.groups["g"].errs = errs } }
	for name, st := range map[string]story{
		"SD167: the node goes back": {
			before: s(refused), want: []string{"5 delete g n: no", "5 update n []"}, result: "FailedToDelete", err: "no",
		},
		"an answer that was lost is asked for again": {
			before: s(transient), want: []string{"5 delete g n: " + transient.Error(), "15 delete g n: <nil>"}, result: "Ok",
		},
		"but not for ever": {
			before: s(transient, transient, transient, transient),
			want: []string{
				"5 delete g n: " + transient.Error(), "15 delete g n: " + transient.Error(), "25 delete g n: " + transient.Error(),
				"35 delete g n: " + transient.Error(), "35 update n []",
			},
			result: "FailedToDelete",
		},
		"a pod that comes between two attempts is noticed": {
			before: s(transient), during: func(s *stage) { s.later(10*time.Second, func() { s.pods["late"] = pod("late", "n").Build() }) },
			want: []string{"5 delete g n: " + transient.Error(), "15 update n []"}, result: "Internal",
		},
		"the node alone": {
			before: func(s *stage) { s.groups["g"].nodeErrs = map[string][]error{"n": {refused}} },
			want:   []string{"5 delete g n: <nil>", "5 update n []"}, result: "FailedToDelete",
		},
		"the node alone, for a moment": {
			before: func(s *stage) { s.groups["g"].nodeErrs = map[string][]error{"n": {transient}} },
			want:   []string{"5 delete g n: <nil>", "15 delete g n: <nil>"}, result: "Ok",
		},
		"the group is gone": {
			during: func(s *stage) { delete(s.groups, "g") }, want: []string{"5 update n []"}, result: "FailedToDelete", err: "does not exist any more",
		},
	} {
		t.Run(name, st.play)
	}
}

func TestARefusalByTheCloudIsToldFromOtherFailures(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		want bool
	}{"refused": {errors.New("no"), true}, "occupied": {nil, false}} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, defaults())
			s.add("g", node("n")).errs = []error{test.err}
			s.Shrink(silent(t), planOf(s.candidate("g", "n")))
			if test.err == nil {
				s.run(pod("late", "n"))
			}
			s.play(time.Minute)
			if finished := s.Finished(); len(finished) != 1 || finished[0].RefusedByCloud != test.want {
				t.Errorf("finished %+v, want RefusedByCloud %t", finished, test.want)
			}
		})
	}
}

func TestACordonThatSomebodyElseSetStays(t *testing.T) {
	for name, test := range map[string]struct {
		cordon  bool // of somebody else
		flag    bool // --cordon-node-before-terminating
		tainted string
		after   string
	}{
		"ours goes":                {tainted: "[hard cordoned by=cluster-autoscaler]", after: "[]", flag: true},
		"SD213: theirs stays":      {cordon: true, tainted: "[hard cordoned by=other]", after: "[cordoned]", flag: true},
		"theirs stays without one": {cordon: true, tainted: "[hard cordoned]", after: "[cordoned]"},
		"no cordon":                {tainted: "[hard]", after: "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			options := defaults()
			options.ScaleDown.CordonBeforeTerminating = test.flag
			s := newStage(t, options)
			n := node("n")
			if test.cordon {
				n = n.Cordoned()
			}
			s.add("g", n).errs = []error{errors.New("no")}
			s.Shrink(silent(t), planOf(s.candidate("g", "n")))
			if got := s.look("n"); got != test.tainted {
				t.Errorf("tainted: got %s, want %s", got, test.tainted)
			}
			s.play(time.Minute)
			if got := s.look("n"); got != test.after {
				t.Errorf("afterwards: got %s, want %s", got, test.after)
			}
		})
	}
}

func TestATaintThatCannotBeTakenAwayIsNotForgotten(t *testing.T) {
	s := newStage(t, defaults())
	s.add("g", node("n"))
	s.groups["g"].errs = []error{errors.New("no")}
	s.Shrink(silent(t), planOf(s.candidate("g", "n")))
	s.unmarkErr["n"] = errors.New("the API server is away")
	s.play(10 * time.Second)
	if diff := cmp.Diff([]string{"n FailedToDelete"}, results(s.Finished())); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if got := s.Shrink(silent(t), planOf(s.candidate("g", "n"))); len(got.Started) != 0 || len(got.Refused) != 1 {
		t.Errorf("a node that still has its old taint is started again: %+v", got)
	}
	s.play(2 * time.Minute)
	if got := s.look("n"); got != marked {
		t.Errorf("the node is %s while the API server is away", got)
	}
	delete(s.unmarkErr, "n")
	s.play(10 * time.Minute)
	if got := s.look("n"); got != unmarked {
		t.Errorf("the node is left as %s", got)
	}
	if _, tainted := taints.Find(s.nodes["n"], taints.ToBeDeleted); tainted {
		t.Error("the taint is still there")
	}
}

func TestConflictsOnTheWayBackAreOvercome(t *testing.T) {
	s := newStage(t, defaults())
	s.add("g", node("n")).errs = []error{errors.New("no")}
	s.Shrink(silent(t), planOf(s.candidate("g", "n")))
	s.conflicts["n"] = 2
	s.takeLog()
	s.play(time.Minute)
	want := []string{"5 delete g n: no", "5 conflict n", "5.75 conflict n", "6.5 update n []"}
	if diff := cmp.Diff(want, s.takeLog()); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}
