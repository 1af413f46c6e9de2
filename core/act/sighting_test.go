package act_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/core/act"
)

func dynamic(o *act.Options) { o.ScaleDown.DynamicDelayAfterTaint = true }

// deletions are the lines about orders to the cloud.
func deletions(log []string) (out []string) {
	for _, line := range log {
		if strings.Contains(line, " delete ") {
			out = append(out, line)
		}
	}
	return out
}

func TestTheDynamicPauseIsTwiceTheTimeThatTheTaintTakesToShow(t *testing.T) {
	for name, st := range map[string]story{
		"nothing to wait for": {
			options: dynamic, want: []string{"0 delete g n: <nil>"}, result: "Ok",
		},
		"it shows after 420 ms, which is noticed at the next look": {
			options: dynamic, before: func(s *stage) { s.lag = 420 * time.Millisecond },
			want: []string{"1.35 delete g n: <nil>"}, result: "Ok", // 0.45 + 2 * 0.45
		},
		"it shows at the last moment": {
			options: dynamic, before: func(s *stage) { s.lag = 30 * time.Second },
			want: []string{"90 delete g n: <nil>"}, result: "Ok",
		},
		"it does not show in time: the fixed pause": {
			options: dynamic, before: func(s *stage) { s.lag = 30*time.Second + time.Millisecond },
			want: []string{"35 delete g n: <nil>"}, result: "Ok",
		},
		"a pod that comes meanwhile is seen": {
			options: dynamic, before: func(s *stage) {
				s.lag = time.Second
				s.later(2*time.Second, func() { s.pods["late"] = pod("late", "n").Build() })
			},
			want: []string{"3 update n []"}, result: "Internal", err: "default/late",
		},
		"a node that is replaced meanwhile is noticed at once": {
			options: dynamic, before: func(s *stage) { s.lag = time.Second },
			during: func(s *stage) {
				s.later(500*time.Millisecond, func() { s.nodes["n"].UID = "anew"; s.nodes["n"].Spec.Taints = nil; delete(s.shows, "n") })
			},
			result: "Internal", err: "does not exist", leaves: "[cordoned by=cluster-autoscaler]",
		},
		"without the option the pause is fixed": {
			before: func(s *stage) { s.lag = time.Second }, want: []string{"5 delete g n: <nil>"}, result: "Ok",
		},
	} {
		t.Run(name, st.play)
	}
}

// A part waits for the slowest of its nodes, and longer if an earlier part took longer within the hour.
func TestTheDynamicPauseFollowsTheLongestMeasurementOfTheLastHour(t *testing.T) {
	options := defaults()
	dynamic(&options)
	s := newStage(t, options)
	s.add("g", node("n1"), node("n2"), node("n3"), node("d"))
	s.add("h", node("m1"), node("m2"))
	s.run(pod("p", "d"))
	at := func(after, lag time.Duration, candidates ...string) {
		s.play(after)
		s.lag = lag
		plan := planOf()
		for _, name := range candidates {
			id, pods := s.groups["g"].id, []string(nil)
			if strings.HasPrefix(name, "m") {
				id = "h"
			}
			if name == "d" {
				pods = []string{"p"}
			}
			c := planOf(s.candidate(id, name, pods...))
			plan.Empty, plan.Drain = append(plan.Empty, c.Empty...), append(plan.Drain, c.Drain...)
		}
		if got := s.Shrink(silent(t), plan); got.Err != nil {
			t.Fatal(got.Err)
		}
	}
	// The first of the two nodes shows late.
	s.onUpdate = func(name string) {
		if name == "n1" {
			s.shows[name] = shown{node: s.shows[name].node, until: s.time.Now().Add(2 * time.Second)}
		}
	}
	at(0, time.Second, "n1", "m1")
	at(time.Hour, time.Second, "n2")               // what was measured at 2 s counts
	at(time.Hour+time.Minute, time.Second, "n3")   // no longer, but that of n2
	at(3*time.Hour, 100*time.Millisecond, "d")     // none of them does
	at(3*time.Hour+time.Second, time.Minute, "m2") // no measurement: nothing of the last hour counts then
	s.play(4 * time.Hour)
	want := []string{
		"6 delete g n1: <nil>", "6 delete h m1: <nil>", "3605 delete g n2: <nil>", "3663 delete g n3: <nil>", "10800.3 delete g d: <nil>", "10836 delete h m2: <nil>",
	}
	if diff := cmp.Diff(want, deletions(s.takeLog())); diff != "" {
		t.Errorf("orders (-want +got):\n%s", diff)
	}
}

// Of five nodes that are tainted one after the other, each update taking a second, the first has shown long before the last is tainted.
func TestTheTimeThatTaintingTakesIsNotMeasured(t *testing.T) {
	options := defaults()
	dynamic(&options)
	s := newStage(t, options)
	s.add("g", node("n1"), node("n2"), node("n3"), node("n4"), node("n5"))
	s.onUpdate = func(string) { s.time.Step(time.Second) }
	plan := planOf(s.candidate("g", "n1"), s.candidate("g", "n2"), s.candidate("g", "n3"), s.candidate("g", "n4"), s.candidate("g", "n5"))
	s.Shrink(silent(t), plan)
	s.play(time.Minute)
	want := []string{"7 delete g n1: <nil>", "7 delete g n2: <nil>", "7 delete g n3: <nil>", "7 delete g n4: <nil>", "7 delete g n5: <nil>"}
	if diff := cmp.Diff(want, deletions(s.takeLog())); diff != "" {
		t.Errorf("orders (-want +got):\n%s", diff)
	}
}
