package act_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/act"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/scaledown"
	"example.com/cluster-autoscaler/simulator/simtest"
	"example.com/cluster-autoscaler/simulator/taints"
)

func soft(name string, at time.Time) simtest.NodeBuilder {
	return node(name).Taint(taints.DeletionCandidate, strconv.FormatInt(at.Unix(), 10), "PreferNoSchedule")
}

func hard(b simtest.NodeBuilder) simtest.NodeBuilder {
	return b.Taint(taints.ToBeDeleted, strconv.FormatInt(start.Add(-3*time.Minute).Unix(), 10), "NoSchedule")
}

func TestSoftTaints(t *testing.T) {
	for name, test := range map[string]struct {
		options func(*act.Options)
		before  func(*stage)
		want    []string
		err     string
	}{
		"are taken away first, then set": {
			want: []string{"0 update s1 []", "0 update s2 []", "0 update n1 [soft]", "0 update n2 [soft]"},
		},
		"SD169: no more of them than allowed are changed": {
			options: func(o *act.Options) { o.SoftTaints.MaxBulkCount = 3 },
			want:    []string{"0 update s1 []", "0 update s2 []", "0 update n1 [soft]"},
		},
		"SD170: nor any when the time is up": {
			options: func(o *act.Options) { o.SoftTaints.MaxBulkTime = time.Second },
			before:  func(s *stage) { s.onUpdate = func(string) { s.time.Step(time.Second) } },
			want:    []string{"0 update s1 []"},
		},
		"SD171: a node that is being removed is left alone": {
			before: func(s *stage) { s.nodes["n1"] = hard(node("n1")).Build(); s.nodes["s1"] = node("s1").Build() },
			want:   []string{"0 update s2 []", "0 update n2 [soft]"},
		},
		"the trouble of one node stops no other": {
			before: func(s *stage) { s.updateErr["s1"] = errors.New("away"); delete(s.nodes, "n1") },
			want:   []string{"0 update s2 []", "0 update n2 [soft]"}, err: "away",
		},
	} {
		t.Run(name, func(t *testing.T) {
			options := defaults()
			if test.options != nil {
				test.options(&options)
			}
			s := newStage(t, options)
			s.add("g", soft("s1", start), soft("s2", start), node("n1"), node("n2"))
			if test.before != nil {
				test.before(s)
			}
			err := s.SoftTaints(silent(t), scaledown.SoftTaint{Add: []string{"n1", "n2"}, Remove: []string{"s1", "s2"}})
			if (err != nil) != (test.err != "") || test.err != "" && !containsText(err, test.err) {
				t.Errorf("error %v, want %q", err, test.err)
			}
			if diff := cmp.Diff(test.want, s.takeLog()); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatAnEarlierProcessLeftIsCleanedAtTheStart(t *testing.T) {
	ours := func(b simtest.NodeBuilder) simtest.NodeBuilder {
		return hard(b).Cordoned().Annotation(act.CordonAnnotation, "cluster-autoscaler")
	}
	theirs := func(b simtest.NodeBuilder) simtest.NodeBuilder {
		return hard(b).Cordoned().Annotation(act.CordonAnnotation, "other")
	}
	for name, test := range map[string]struct {
		options   func(*act.Options)
		node      simtest.NodeBuilder
		unmanaged bool
		broken    error
		want      string
		events    []string
	}{
		"SD172: taint and cordon go together": {
			node: ours(node("n")), want: "[]", events: []string{"cleaned ToBeDeletedByClusterAutoscaler of n: <nil>"},
		},
		"a cordon that somebody else set stays": {
			node: theirs(node("n")), want: "[cordoned]", events: []string{"cleaned ToBeDeletedByClusterAutoscaler of n: <nil>"},
		},
		"the cordon of an autoscaler that makes no note of it goes": {
			node: hard(node("n")).Cordoned(), want: "[]", events: []string{"cleaned ToBeDeletedByClusterAutoscaler of n: <nil>"},
		},
		"but not if we don't cordon": {
			options: func(o *act.Options) { o.ScaleDown.CordonBeforeTerminating = false },
			node:    hard(node("n")).Cordoned(), want: "[cordoned]", events: []string{"cleaned ToBeDeletedByClusterAutoscaler of n: <nil>"},
		},
		"our own goes even then": {
			options: func(o *act.Options) { o.ScaleDown.CordonBeforeTerminating = false },
			node:    ours(node("n")), want: "[]", events: []string{"cleaned ToBeDeletedByClusterAutoscaler of n: <nil>"},
		},
		"SD172: a node of no group is not touched":           {node: ours(node("n")), unmanaged: true, want: marked},
		"a node without the taint is not touched":            {node: node("n").Cordoned(), want: "[cordoned]"},
		"L08: soft taints stay, since they are looked after": {node: soft("n", start.Add(-time.Hour)), want: "[soft]"},
		"they go if they are off, on nodes of no group, too": {
			options: func(o *act.Options) { o.SoftTaints.MaxBulkCount = 0 },
			node:    soft("n", start), unmanaged: true, want: "[]", events: []string{"cleaned DeletionCandidateOfClusterAutoscaler of n: <nil>"},
		},
		"L07: young ones stay while their times may be taken over": {
			options: func(o *act.Options) { o.SoftTaints.MaxBulkCount, o.SoftTaints.CandidateTTL = 0, time.Hour },
			node:    soft("n", start.Add(-time.Hour+time.Second)), want: "[soft]",
		},
		"L07: old ones go": {
			options: func(o *act.Options) { o.SoftTaints.MaxBulkCount, o.SoftTaints.CandidateTTL = 0, time.Hour },
			node:    soft("n", start.Add(-time.Hour)), want: "[]", events: []string{"cleaned DeletionCandidateOfClusterAutoscaler of n: <nil>"},
		},
		"L07: so do those of which nobody knows the age": {
			options: func(o *act.Options) { o.SoftTaints.MaxBulkCount, o.SoftTaints.CandidateTTL = 0, time.Hour },
			node:    node("n").Taint(taints.DeletionCandidate, "x", "PreferNoSchedule"), want: "[]", events: []string{"cleaned DeletionCandidateOfClusterAutoscaler of n: <nil>"},
		},
		"a failure is told": {
			node: ours(node("n")), broken: errors.New("away"), want: marked,
			events: []string{"cleaned ToBeDeletedByClusterAutoscaler of n: updating node n: away"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			options := defaults()
			if test.options != nil {
				test.options(&options)
			}
			s := newStage(t, options)
			s.add("g", test.node)
			s.updateErr["n"] = test.broken
			seen := observation.Observation{At: start}
			seen.Nodes, _ = s.Nodes(silent(t))
			if !test.unmanaged {
				seen.Members = map[string]cloudprovider.GroupID{"n": "g"}
			}
			if err := s.CleanLeftovers(silent(t), seen); !errors.Is(err, test.broken) || (err == nil) != (test.broken == nil) {
				t.Errorf("error %v, want %v", err, test.broken)
			}
			if got := s.look("n"); got != test.want {
				t.Errorf("node n is %s, want %s", got, test.want)
			}
			if diff := cmp.Diff(test.events, s.events); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// A process dies in the middle of a drain; its successor finds the node as it was left.
func TestARestartInTheMiddleOfADrainLeavesNothingBehind(t *testing.T) {
	s := newStage(t, defaults())
	s.add("web", node("n1"), node("n2"), node("n3"))
	s.run(pod("a", "n2"))
	s.stops["a"] = 10 * time.Minute
	s.Shrink(silent(t), planOf(s.candidate("web", "n2", "a")))
	s.play(3 * time.Minute)
	successor := newActuator(s.world, s.time, defaults())
	seen := observation.Observation{At: s.time.Now(), Members: map[string]cloudprovider.GroupID{"n1": "web", "n2": "web", "n3": "web"}}
	seen.Nodes, _ = s.Nodes(silent(t))
	if err := successor.CleanLeftovers(silent(t), seen); err != nil {
		t.Fatal(err)
	}
	if got := s.look("n2"); got != unmarked {
		t.Errorf("node n2 is left as %s", got)
	}
	if next := successor.Step(silent(t), s.time.Now()); !next.IsZero() {
		t.Errorf("the successor has something to do at %v", next)
	}
}

// A node is looked at once, for the deletion taint the first time that it is seen in a node group: what somebody puts on it later is theirs.
func TestEachNodeIsTidiedUpWhenItFirstComesInSight(t *testing.T) {
	options := defaults()
	options.SoftTaints.MaxBulkCount = 0
	s := newStage(t, options)
	s.add("g", hard(node("managed")), hard(node("unlisted")), soft("marked", start))
	seen := observation.Observation{At: start}
	for _, step := range []struct {
		members []string
		change  func()
		want    string // the nodes that are tainted
	}{
		{members: []string{"managed"}, want: "unlisted"},
		{members: []string{"managed"}, want: "unlisted"},
		{members: []string{"managed", "unlisted", "marked"}},
		{
			members: []string{"managed", "unlisted", "marked", "other"}, want: "managed marked",
			change: func() {
				s.nodes["managed"], s.nodes["marked"] = hard(node("managed")).Build(), soft("marked", start).Build()
				s.nodes["other"] = hard(node("other")).Build()
			},
		},
		{members: nil, want: "managed marked"},
		{
			members: []string{"managed", "unlisted", "marked", "other"}, want: "marked",
			change: func() {
				s.nodes["managed"] = hard(node("managed").With(func(n *corev1.Node) { n.UID = "another" })).Build()
			},
		},
	} {
		if step.change != nil {
			step.change()
		}
		seen.Nodes, _ = s.Nodes(silent(t))
		seen.Members = map[string]cloudprovider.GroupID{}
		for _, name := range step.members {
			seen.Members[name] = "g"
		}
		if err := s.CleanLeftovers(silent(t), seen); err != nil {
			t.Fatal(err)
		}
		var left []string
		for _, n := range seen.Nodes {
			if s.look(n.Name) != unmarked {
				left = append(left, n.Name)
			}
		}
		if got := strings.Join(left, " "); got != step.want {
			t.Errorf("with %v in the group, %q is left tainted, want %q", step.members, got, step.want)
		}
	}
}

// Whoever watches a cluster whose nodes come and go must not remember all of them for ever.
func TestNodesThatAreGoneMakeRoomForOthers(t *testing.T) {
	s := newStage(t, defaults())
	seen := observation.Observation{At: start, Members: map[string]cloudprovider.GroupID{"n": "g"}}
	s.add("g", hard(node("n")))
	for i := range 10 {
		clear(s.nodes)
		if i%5 == 0 { // a node that comes back after others have taken its place is another one
			s.nodes["n"] = hard(node("n")).Build()
		} else {
			other := node("other" + strconv.Itoa(i)).Build()
			s.nodes[other.Name] = other
		}
		seen.Nodes, _ = s.Nodes(silent(t))
		if err := s.CleanLeftovers(silent(t), seen); err != nil {
			t.Fatal(err)
		}
		if got := s.look("n"); got != unmarked && got != "gone" {
			t.Errorf("step %d: node n is left as %s", i, got)
		}
	}
}
