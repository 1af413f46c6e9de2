package act_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/act"
	"example.com/cluster-autoscaler/core/scaledown"
)

// serverError is how the API server answers when a pod has two budgets, among others.
func serverError(text string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: text}}
}

// replace puts another node under the name of n, after a while.
func replace(after time.Duration, change func(*corev1.Node)) func(*stage) {
	return func(s *stage) {
		s.later(after, func() {
			n := node("n").Build()
			n.ResourceVersion = "1"
			change(n)
			s.nodes["n"] = n
		})
	}
}

func otherUID(n *corev1.Node) { n.UID = "anew" }

func otherMachine(n *corev1.Node) { n.Spec.ProviderID = "anew" }

func TestANodeIsReplacedUnderTheSameNameWhileItIsRemoved(t *testing.T) {
	slow := func(s *stage) { s.stops["p1"] = time.Minute }
	refusing := func(s *stage) { s.refuse["p1"] = always(tooManyRequests) }
	held := func(s *stage) { s.nodes["n"].Annotations = map[string]string{delay: ""} }
	lost := func(s *stage) {
		s.groups["g"].errs = []error{&cloudprovider.TransientError{Err: errors.New("busy")}}
	}
	hide := func(s *stage) { s.shows["n"] = shown{node: s.nodes["n"], until: start.Add(time.Hour)} }
	for name, st := range map[string]story{
		"before its pods are looked at":                   {pods: []string{"p1"}, during: replace(time.Second, otherUID), result: "Internal"},
		"while an eviction is tried, by the same machine": {pods: []string{"p1"}, before: refusing, during: replace(8*time.Second, otherUID), want: []string{"5 evict p1: refused"}, result: "Internal"},
		"while an eviction is tried, by another machine":  {pods: []string{"p1"}, before: refusing, during: replace(8*time.Second, otherMachine), want: []string{"5 evict p1: refused"}, result: "Internal"},
		"while its pods end":                              {pods: []string{"p1"}, before: slow, during: replace(8*time.Second, otherUID), want: []string{"5 evict p1 30"}, result: "Internal"},
		"while it is held":                                {before: held, during: replace(8*time.Second, otherUID), result: "FailedToDelete"},
		"unseen by the informers, right before the end":   {during: func(s *stage) { hide(s); replace(time.Second, otherMachine)(s) }, result: "Internal"},
		"between two attempts to end it": {
			before: lost, during: replace(8*time.Second, otherUID),
			want: []string{"5 delete g n: the cloud could not answer for now: busy"}, result: "Internal",
		},
	} {
		st.err = "does not exist any more"
		t.Run(name, st.play)
	}
}

func TestANodeIsDeletedWhileItIsRemoved(t *testing.T) {
	gone := func(after time.Duration) func(*stage) {
		return func(s *stage) { s.later(after, func() { delete(s.nodes, "n"); delete(s.pods, "p1") }) }
	}
	for name, st := range map[string]story{
		"while an eviction is tried": {
			pods: []string{"p1"}, before: func(s *stage) { s.refuse["p1"] = always(tooManyRequests) }, during: gone(8 * time.Second),
			want: []string{"5 evict p1: refused"}, result: "Internal",
		},
		"while its pods end": {
			pods: []string{"p1"}, before: func(s *stage) { s.stops["p1"] = time.Minute }, during: gone(8 * time.Second),
			want: []string{"5 evict p1 30"}, result: "Internal",
		},
		"right before the end, unseen by the informers": {
			during: func(s *stage) {
				s.shows["n"] = shown{node: s.nodes["n"], until: start.Add(time.Hour)}
				gone(time.Second)(s)
			},
			result: "Internal",
		},
	} {
		st.err, st.leaves = "does not exist any more", "gone"
		t.Run(name, st.play)
	}
}

func TestAnAnnotationThatForbidsTheRemovalEndsItAtAnyTime(t *testing.T) {
	forbid := func(s *stage) {
		s.later(8*time.Second, func() {
			n := s.nodes["n"].DeepCopy()
			metav1.SetMetaDataAnnotation(&n.ObjectMeta, scaledown.DisabledAnnotation, "true")
			s.nodes["n"] = n
		})
	}
	for name, st := range map[string]story{
		"while an eviction is tried": {
			pods: []string{"p1"}, before: func(s *stage) { s.refuse["p1"] = always(tooManyRequests) },
			want: []string{"5 evict p1: refused", "15 update n []"}, result: "Internal",
		},
		"between two attempts to end the machine": {
			before: func(s *stage) {
				s.groups["g"].errs = []error{&cloudprovider.TransientError{Err: errors.New("busy")}}
			},
			want: []string{"5 delete g n: the cloud could not answer for now: busy", "15 update n []"}, result: "Internal",
		},
	} {
		st.during, st.err = forbid, "annotation"
		t.Run(name, st.play)
	}
}

func TestEvictionsNeverSucceed(t *testing.T) {
	selecting := func(name string) *policyv1.PodDisruptionBudget {
		pdb := budget(1)
		pdb.Name = name
		return pdb
	}
	for name, st := range map[string]story{
		"429 for ever": {
			before: func(s *stage) { s.evictErr = tooManyRequests() }, err: "the budget allows no disruption",
		},
		"500 for ever": {
			before: func(s *stage) { s.evictErr = serverError("etcd is full") }, err: "evicting pod default/p1: etcd is full",
		},
		"500 for ever, with one budget": {
			before: func(s *stage) {
				s.evictErr = serverError("etcd is full")
				s.pdbs = []*policyv1.PodDisruptionBudget{selecting("guard")}
			},
			err: "evicting pod default/p1: etcd is full",
		},
		"time-outs for ever": {
			before: func(s *stage) { s.evictErr = context.DeadlineExceeded }, err: "evicting pod default/p1: context deadline exceeded",
		},
		"two budgets select the pod, and each other's": {
			before: func(s *stage) {
				s.evictErr = serverError("This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.")
				s.pdbs = []*policyv1.PodDisruptionBudget{selecting("b"), selecting("a")}
			},
			err: "pod default/p1 cannot be evicted while more than one PodDisruptionBudget selects it (default/a, default/b)",
		},
		"the budgets cannot be listed any more": {
			before: func(s *stage) { s.evictErr = tooManyRequests() },
			during: func(s *stage) { s.later(6*time.Second, func() { s.budgetErr = errors.New("away") }) }, err: "the budget allows no disruption",
		},
	} {
		prepare := st.before
		st.pods, st.result = []string{"p1"}, "FailedToEvictPods"
		st.want = append(refusals(5, "p1"), "125 update n []")
		st.before = func(s *stage) { s.run(pod("p1", "n").Label("app", "x")); prepare(s) }
		t.Run(name, st.play)
	}
}

func TestAPodWithTwoBudgetsIsToldByType(t *testing.T) {
	s := newStage(t, defaults())
	s.add("g", node("n"))
	s.run(pod("p1", "n").Label("app", "x"))
	other := budget(1)
	other.Name = "other"
	s.pdbs = []*policyv1.PodDisruptionBudget{budget(1), other}
	s.evictErr = serverError("more than one")
	s.Shrink(silent(t), planOf(s.candidate("g", "n", "p1")))
	s.play(time.Hour)
	finished := s.Finished()
	if len(finished) != 1 {
		t.Fatalf("finished: %v", finished)
	}
	contested, ok := errors.AsType[*act.ContestedError](finished[0].Err)
	if !ok || contested.Pod.Name != "p1" || !errors.Is(finished[0].Err, s.evictErr) {
		t.Fatalf("error %v, want it to tell of contested pod p1", finished[0].Err)
	}
	if diff := cmp.Diff([]string{"default/guard", "default/other"}, contested.Budgets); diff != "" {
		t.Errorf("budgets (-want +got):\n%s", diff)
	}
}

// A workload of which some pod is ending at any time: its replacements never become ready.
func TestARefusalIsNotWaitedForForEverWhilePodsOfTheBudgetKeepEnding(t *testing.T) {
	for name, test := range map[string]struct {
		options func(*act.Options)
		ends    string
	}{
		"ten minutes of grace":                 {ends: "755 update n []"}, // 5 + 600 + 30 + 120
		"no cap of the grace":                  {options: func(o *act.Options) { o.Drain.MaxGracefulTermination = 0 }, ends: "155 update n []"},
		"a longer time to try than the others": {options: func(o *act.Options) { o.Drain.MaxPodEvictionTime = time.Hour }, ends: "4235 update n []"},
	} {
		t.Run(name, func(t *testing.T) {
			options := defaults()
			if test.options != nil {
				test.options(&options)
			}
			s := newStage(t, options)
			s.add("g", node("n"), node("n2"))
			s.run(pod("p", "n").Label("app", "x"), pod("restless", "n2").Label("app", "x"))
			s.pdbs = []*policyv1.PodDisruptionBudget{budget(1)}
			s.refuse["p"] = func() error {
				s.pods["restless"] = pod("restless", "n2").Label("app", "x").DeletedAt(s.time.Now()).Build()
				return tooManyRequests()
			}
			s.Shrink(silent(t), planOf(s.candidate("g", "n", "p")))
			s.play(3 * time.Hour)
			log := s.takeLog()
			if last := log[len(log)-1]; last != test.ends {
				t.Errorf("the last of %d lines is %q, want %q", len(log), last, test.ends)
			}
			if diff := cmp.Diff([]string{"n FailedToEvictPods"}, results(s.Finished())); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPodsWithoutOwnerOrWithSeveral(t *testing.T) {
	owners := func(controllers ...string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.OwnerReferences = nil
			for i, kind := range []string{"ReplicaSet", "StatefulSet"} {
				is := slices.Contains(controllers, kind)
				p.OwnerReferences = append(p.OwnerReferences, metav1.OwnerReference{APIVersion: "apps/v1", Kind: kind, Name: fmt.Sprint("o", i), Controller: &is})
			}
		}
	}
	goes := []string{"5 evict late 30", "5 evict p1 30", "5 delete g n: <nil>"}
	stays := []string{"5 update n []"}
	for name, st := range map[string]story{
		"no owner": {during: func(s *stage) { s.run(pod("late", "n").With(func(p *corev1.Pod) { p.OwnerReferences = nil })) }, want: stays, result: "Internal", err: "NotReplicated"},
		"no owner, but it says that it may go": {during: func(s *stage) {
			s.run(pod("late", "n").Annotation(evictOK, "true").With(func(p *corev1.Pod) { p.OwnerReferences = nil }))
		}, want: goes, result: "Ok"},
		"two owners, one of them controls it":     {during: func(s *stage) { s.run(pod("late", "n").With(owners("StatefulSet"))) }, want: goes, result: "Ok"},
		"two owners, neither of them controls it": {during: func(s *stage) { s.run(pod("late", "n").With(owners())) }, want: stays, result: "Internal", err: "NotReplicated"},
	} {
		st.pods = []string{"p1"}
		t.Run(name, st.play)
	}
}

func TestTheInformersCannotBeAsked(t *testing.T) {
	away := errors.New("the informer is away")
	for name, st := range map[string]story{
		"for the pods of an empty node":   {during: func(s *stage) { s.listErr = away }},
		"for the pods of a node to drain": {pods: []string{"p1"}, during: func(s *stage) { s.listErr = away }},
		"for the budgets":                 {pods: []string{"p1"}, during: func(s *stage) { s.budgetErr = away }},
	} {
		st.want, st.result, st.err = []string{"5 update n []"}, "Internal", away.Error()
		t.Run(name, st.play)
	}
}

func TestTheAPIServerTimesOut(t *testing.T) {
	timeout := apierrors.NewTimeoutError("the request timed out", 1)
	for name, st := range map[string]story{
		"between taint and eviction": {
			pods:   []string{"p1"},
			during: func(s *stage) { s.evictErr = timeout; s.later(30*time.Second, func() { s.evictErr = nil }) },
			want:   []string{"5 evict p1: refused", "15 evict p1: refused", "25 evict p1: refused", "35 evict p1 30", "35 delete g n: <nil>"}, result: "Ok",
		},
		"when the node is read for the last time, for a while": {
			during: func(s *stage) { s.nodeErr = timeout; s.later(20*time.Second, func() { s.nodeErr = nil }) },
			want:   []string{"25 delete g n: <nil>"}, result: "Ok",
		},
		"when the node is read for the last time, for long; the taint goes later": {
			during: func(s *stage) { s.nodeErr = timeout; s.later(10*time.Minute, func() { s.nodeErr = nil }) },
			want:   []string{"645 update n []"}, result: "Internal", err: "timed out",
		},
		"when the taint is to be taken away": {
			before: func(s *stage) { s.groups["g"].errs = []error{errors.New("no")} },
			during: func(s *stage) { s.unmarkErr["n"] = timeout; s.later(time.Minute, func() { delete(s.unmarkErr, "n") }) },
			want:   []string{"5 delete g n: no", "75 update n []"}, result: "FailedToDelete", err: "no",
		},
	} {
		t.Run(name, st.play)
	}
}

// What the API server does with a write of which it gives no answer.
func TestAWriteOfTheTaintHasNoAnswer(t *testing.T) {
	for name, test := range map[string]struct {
		before func(*stage)
		want   []string
	}{
		"it is carried out": {
			before: func(s *stage) { s.lostAnswer["n2"] = true },
			want:   []string{"0 update n1 " + marked, "0 update n2 " + marked, "0 update n1 []", "0 update n2 []"},
		},
		"it is not": {
			before: func(s *stage) { s.updateErr["n2"] = context.DeadlineExceeded },
			want:   []string{"0 update n1 " + marked, "0 update n1 []"},
		},
		"nor is the one that takes it back, for a while": {
			before: func(s *stage) {
				s.updateErr["n2"], s.unmarkErr["n1"] = context.DeadlineExceeded, context.DeadlineExceeded
				s.later(45*time.Second, func() { clear(s.updateErr); clear(s.unmarkErr) })
			},
			want: []string{"0 update n1 " + marked, "70 update n1 []"}, // after 10, 20 and 40 s
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, defaults())
			s.add("g", node("n1"), node("n2"))
			test.before(s)
			got := s.Shrink(silent(t), planOf(s.candidate("g", "n1"), s.candidate("g", "n2")))
			if got.Err == nil || !strings.Contains(got.Err.Error(), "node n2") || len(got.Started) != 0 {
				t.Errorf("started %v, error %v; want the trouble of n2", names(got.Started), got.Err)
			}
			s.play(time.Hour)
			if diff := cmp.Diff(test.want, s.takeLog()); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
			for _, name := range []string{"n1", "n2"} {
				if got := s.look(name); got != unmarked {
					t.Errorf("node %s is left as %s", name, got)
				}
			}
			for _, event := range s.events {
				if strings.HasPrefix(event, "begun") || strings.HasPrefix(event, "ended") {
					t.Errorf("a removal is told of: %s", event)
				}
			}
		})
	}
}

// Three nodes are handed over in one call that fails in the middle, or fails and yet has been carried out.
func TestTheCloudPerformsADeletionInPart(t *testing.T) {
	refused, unknown := errors.New("no"), &cloudprovider.TransientError{OutcomeUnknown: true, Err: errors.New("no answer")}
	for name, test := range map[string]struct {
		halves  []half
		before  func(*stage)
		want    []string
		results []string
	}{
		"a refusal after one was ended": {
			halves:  []half{{ends: 1, err: refused}},
			want:    []string{"15 delete g n1,n2,n3: no", "15 update n2 []", "15 update n3 []"},
			results: []string{"n1 FailedToDelete", "n2 FailedToDelete", "n3 FailedToDelete"},
		},
		"a refusal after all were ended, whose nodes are still there": {
			halves:  []half{{ends: 3, err: refused, lingers: true}},
			want:    []string{"15 delete g n1,n2,n3: no", "15 update n1 []", "15 update n2 []", "15 update n3 []"},
			results: []string{"n1 FailedToDelete", "n2 FailedToDelete", "n3 FailedToDelete"},
		},
		"no answer after one was ended": {
			halves:  []half{{ends: 1, err: unknown}},
			want:    []string{"15 delete g n1,n2,n3: " + unknown.Error(), "25 delete g n1,n2,n3: <nil>"},
			results: []string{"n1 Ok", "n2 Ok", "n3 Ok"},
		},
		"no answer after all were ended": {
			halves:  []half{{ends: 3, err: unknown}},
			want:    []string{"15 delete g n1,n2,n3: " + unknown.Error(), "25 delete g n1,n2,n3: <nil>"},
			results: []string{"n1 Ok", "n2 Ok", "n3 Ok"},
		},
		"no answer ever, one more ended each time": {
			halves: []half{{ends: 1, err: unknown}, {err: unknown}, {err: unknown}, {err: unknown}},
			want: []string{
				"15 delete g n1,n2,n3: " + unknown.Error(), "25 delete g n1,n2,n3: " + unknown.Error(), "35 delete g n1,n2,n3: " + unknown.Error(),
				"45 delete g n1,n2,n3: " + unknown.Error(), "45 update n2 []", "45 update n3 []",
			},
			results: []string{"n1 FailedToDelete", "n2 FailedToDelete", "n3 FailedToDelete"},
		},
		"single nodes are refused": {
			before:  func(s *stage) { s.groups["g"].nodeErrs = map[string][]error{"n2": {refused}, "n3": {unknown}} },
			want:    []string{"15 delete g n1,n2,n3: <nil>", "15 update n2 []", "25 delete g n3: <nil>"},
			results: []string{"n1 Ok", "n2 FailedToDelete", "n3 Ok"},
		},
		"fewer fates are told than nodes were named": {
			before:  func(s *stage) { s.groups["g"].silent = 1; s.groups["g"].nodeErrs = map[string][]error{"n3": {refused}} },
			want:    []string{"15 delete g n1,n2,n3: <nil>", "15 update n3 []"},
			results: []string{"n1 FailedToDelete", "n2 FailedToDelete", "n3 FailedToDelete"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			options := defaults()
			options.ScaleDown.DeletionBatcherInterval = 10 * time.Second
			s := newStage(t, options)
			s.add("g", node("n1"), node("n2"), node("n3")).halves = test.halves
			if test.before != nil {
				test.before(s)
			}
			s.Shrink(silent(t), planOf(s.candidate("g", "n1"), s.candidate("g", "n2"), s.candidate("g", "n3")))
			s.takeLog()
			s.play(time.Hour)
			if diff := cmp.Diff(test.want, s.takeLog()); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
			finished := s.Finished()
			got := results(finished)
			sortStrings(got)
			if diff := cmp.Diff(test.results, got); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
			for _, outcome := range finished {
				if failed := outcome.Result != "Ok"; failed != outcome.RefusedByCloud || failed != (outcome.Err != nil) {
					t.Errorf("outcome %+v, want it told by the cloud if it failed", outcome)
				}
			}
			for _, name := range []string{"n1", "n2", "n3"} {
				if got := s.look(name); got != unmarked && got != "gone" {
					t.Errorf("node %s is left as %s", name, got)
				}
			}
		})
	}
}
