package scaledown_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/core/scaledown"
	"example.com/cluster-autoscaler/simulator/podfacts"
	"example.com/cluster-autoscaler/simulator/simtest"
	"example.com/cluster-autoscaler/simulator/taints"
)

// sized are controllers that want so many pods, nil: they don't say, and have so many; Jobs also know how many are to succeed and how many have.
type sized struct {
	world
	wanted      *int32
	there       int32
	completions *int32
	succeeded   int32
}

func (s sized) ReplicationController(_, name string) (*corev1.ReplicationController, bool, error) {
	ok, err := found(name)
	return &corev1.ReplicationController{
		Spec: corev1.ReplicationControllerSpec{Replicas: s.wanted}, Status: corev1.ReplicationControllerStatus{Replicas: s.there},
	}, ok, err
}

func (s sized) ReplicaSet(_, name string) (*appsv1.ReplicaSet, bool, error) {
	ok, err := found(name)
	return &appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Replicas: s.wanted}, Status: appsv1.ReplicaSetStatus{Replicas: s.there}}, ok, err
}

func (s sized) StatefulSet(_, name string) (*appsv1.StatefulSet, bool, error) {
	ok, err := found(name)
	return &appsv1.StatefulSet{
		Spec: appsv1.StatefulSetSpec{Replicas: s.wanted}, Status: appsv1.StatefulSetStatus{Replicas: 1000, CurrentReplicas: s.there},
	}, ok, err
}

func (s sized) Job(_, name string) (*batchv1.Job, bool, error) {
	ok, err := found(name)
	return &batchv1.Job{
		Spec:   batchv1.JobSpec{Parallelism: s.wanted, Completions: s.completions},
		Status: batchv1.JobStatus{Active: s.there, Succeeded: s.succeeded},
	}, ok, err
}

// ttl is for how long room is kept in these tests.
const ttl = 5 * time.Minute

// planAfter makes a plan that knows of the evictions.
func planAfter(t *testing.T, planner *scaledown.Planner, w world, evicted ...scaledown.Evicted) scaledown.Plan {
	t.Helper()
	in := w.in(t, start)
	in.Evicted = evicted
	before := layout(in.Snapshot)
	p, err := planner.Plan(t.Context(), in)
	must(t, err)
	if after := layout(in.Snapshot); after != before || in.Snapshot.Depth() != 0 {
		t.Fatalf("the plan changed the snapshot:\nbefore %s\nafter  %s", before, after)
	}
	return p
}

// keeping are the default options, with room kept for evicted pods.
func keeping() scaledown.Options {
	options := defaults()
	options.EvictedPodTTL = ttl
	return options
}

// evicted are pods that were evicted a minute ago.
func evicted(pods ...simtest.PodBuilder) []scaledown.Evicted {
	var out []scaledown.Evicted
	for _, p := range pods {
		out = append(out, scaledown.Evicted{Pod: p.Build(), At: start.Add(-time.Minute)})
	}
	return out
}

func TestRoomIsKeptForPodsThatWereEvictedLately(t *testing.T) {
	one := world{nodes: []simtest.NodeBuilder{node("n1", "1000m")}}
	two := world{ // n3 is full and takes no part
		nodes:   []simtest.NodeBuilder{node("n1", "1000m"), node("n2", "1000m"), node("n3", "1000m")},
		pods:    []simtest.PodBuilder{pod("full", "1000m", "n3")},
		groupOf: map[string]cloudprovider.GroupID{"n3": ""}, options: full("g"),
	}
	gone := pod("gone", "500m", "was-here")
	for name, test := range map[string]struct {
		world   world
		sized   sized
		evicted []scaledown.Evicted
		options func(*scaledown.Options)
		want    string // unneeded
		keeps   map[string]report.Reason
	}{
		"SD084: its room is on the only node": {
			world: one, sized: sized{wanted: new(int32(2)), there: 1}, evicted: evicted(gone),
			keeps: map[string]report.Reason{"n1": report.NoPlaceToMovePods{Pod: ref("gone")}},
		},
		"SD085: a static pod needs no other node": {
			world: one, evicted: evicted(gone.Annotation(podfacts.ConfigSourceAnnotation, "file")), want: "n1",
		},
		"SD085: nor does a mirror pod": {world: one, evicted: evicted(gone.Mirror()), want: "n1"},
		"SD085: nor one of a DaemonSet": {
			world: one, evicted: evicted(simtest.Pod("gone").Requests("500m", "").DaemonSet("agent").On("was-here")), want: "n1",
		},
		"SD086: room is kept for as many as the controller lacks": {
			world: two, sized: sized{wanted: new(int32(2)), there: 1},
			evicted: evicted(pod("a", "1000m", "was-here"), pod("b", "1000m", "was-here")), want: "n1",
			keeps: map[string]report.Reason{"n2": report.NoPlaceToMovePods{Pod: ref("a")}},
		},
		"if it lacks two, for two": {
			world: two, sized: sized{wanted: new(int32(2))}, evicted: evicted(pod("a", "1000m", "was-here"), pod("b", "1000m", "was-here")),
			keeps: map[string]report.Reason{"n1": report.NoPlaceToMovePods{Pod: ref("b")}, "n2": report.NoPlaceToMovePods{Pod: ref("a")}},
		},
		"by default none is kept": {
			world: one, sized: sized{wanted: new(int32(2))}, evicted: evicted(gone), want: "n1",
			options: func(o *scaledown.Options) { o.EvictedPodTTL = 0 },
		},
		"nor for one that was evicted long ago": {
			world: one, sized: sized{wanted: new(int32(2))}, want: "n1",
			evicted: []scaledown.Evicted{{Pod: gone.Build(), At: start.Add(-ttl)}},
		},
		"nor if its controller has made it anew":                          {world: one, sized: sized{wanted: new(int32(2)), there: 2}, evicted: evicted(gone), want: "n1"},
		"a controller that does not say how many pods it wants wants one": {world: one, sized: sized{there: 1}, evicted: evicted(gone), want: "n1"},
		"of a StatefulSet the pods of the current revision count": {
			world: one, sized: sized{wanted: new(int32(2)), there: 1}, evicted: evicted(gone.With(owned("StatefulSet"))),
			keeps: map[string]report.Reason{"n1": report.NoPlaceToMovePods{Pod: ref("gone")}},
		},
		"a ReplicationController counts as a ReplicaSet does": {
			world: one, sized: sized{wanted: new(int32(2)), there: 2}, evicted: evicted(gone.With(owned("ReplicationController"))), want: "n1",
		},
		"a Job that is nearly done makes no more": {
			world: one, sized: sized{wanted: new(int32(3)), there: 1, completions: new(int32(5)), succeeded: 4}, evicted: evicted(gone.With(owned("Job"))), want: "n1",
		},
		"one that is not does": {
			world: one, sized: sized{wanted: new(int32(3)), there: 1, completions: new(int32(5)), succeeded: 3}, evicted: evicted(gone.With(owned("Job"))),
			keeps: map[string]report.Reason{"n1": report.NoPlaceToMovePods{Pod: ref("gone")}},
		},
		"the first owner that makes pods counts": {
			world: one, sized: sized{wanted: new(int32(2)), there: 2}, want: "n1",
			evicted: evicted(gone.With(func(p *corev1.Pod) {
				other := p.OwnerReferences[0]
				other.Kind, other.Controller = "Other", nil
				p.OwnerReferences = append(p.OwnerReferences[:0:0], other, p.OwnerReferences[0])
			})),
		},
		"where nobody would make it anew it is judged as it is": {
			world: one, evicted: evicted(bare("gone", "500m", "was-here")),
			keeps: map[string]report.Reason{"n1": report.BlockedByPod{Pod: ref("gone"), Why: "NotReplicated"}},
		},
		"so it is where its controller is gone": {
			world: one, evicted: evicted(gone.OwnedBy("ReplicaSet", "missing")),
			keeps: map[string]report.Reason{"n1": report.BlockedByPod{Pod: ref("gone"), Why: "ControllerNotFound"}},
		},
		"a pod that is still ending on its old node is no obstacle": {
			world: world{
				nodes:     []simtest.NodeBuilder{node("n1", "1000m"), node("was-here", "1000m").Taint(taints.ToBeDeleted, unix(start), corev1.TaintEffectNoSchedule)},
				pods:      []simtest.PodBuilder{gone.DeletedAt(start)},
				deletions: []observation.Deletion{{Node: "was-here", Group: "g", Drain: true}},
			},
			sized: sized{wanted: new(int32(1))}, evicted: evicted(gone),
			keeps: map[string]report.Reason{"n1": report.NoPlaceToMovePods{Pod: ref("gone")}},
		},
		"it counts for how used a node is": {
			world: world{nodes: []simtest.NodeBuilder{node("n1", "1000m")}, pods: []simtest.PodBuilder{pod("p", "400m", "n1")}},
			sized: sized{wanted: new(int32(2)), there: 1}, evicted: evicted(gone),
			keeps: map[string]report.Reason{"n1": report.NotUnderutilized{Resource: corev1.ResourceCPU, Got: 0.9, Threshold: 0.5}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			options := keeping()
			if test.options != nil {
				test.options(&options)
			}
			w := test.world
			w.seen = func(o *observation.Observation) { o.Workloads = test.sized }
			p := planAfter(t, newPlanner(t, options), w, test.evicted...)
			if got := unneeded(p); got != test.want {
				t.Errorf("unneeded: got %q, want %q", got, test.want)
			}
			all := verdicts(p)
			for node, want := range test.keeps {
				if place, ok := all[node].(report.NoPlaceToMovePods); ok { // the nearest node is told elsewhere
					all[node] = report.NoPlaceToMovePods{Pod: place.Pod}
				}
				if diff := cmp.Diff(want, all[node]); diff != "" {
					t.Errorf("verdict of %s (-want +got):\n%s", node, diff)
				}
			}
			if p.NoRoom != nil {
				t.Errorf("pod %s found no room", p.NoRoom)
			}
		})
	}
}

// ref is what takes the place of the pod of the name, as reports have it.
func ref(name string) report.PodRef {
	p := pod(name, "", "").Build()
	return report.PodRef{Namespace: p.Namespace, Name: name, UID: "in place of " + p.UID}
}

// owned makes the first owner one of another kind.
func owned(kind string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.OwnerReferences[0].Kind = kind }
}

func TestTheFirstEvictedPodWithoutRoomIsToldAndThoseBeforeItKeepTheirs(t *testing.T) {
	w := world{
		nodes: []simtest.NodeBuilder{node("n1", "1000m")}, options: full("g"),
		seen: func(o *observation.Observation) { o.Workloads = sized{wanted: new(int32(9))} },
	}
	order := []scaledown.Evicted{ // the order in which they were evicted counts, not that of the list
		{Pod: pod("small", "100m", "was-here").Build(), At: start.Add(-time.Second)},
		{Pod: pod("big", "5", "was-here").Build(), At: start.Add(-2 * time.Second)},
		{Pod: pod("first", "500m", "was-here").Build(), At: start.Add(-3 * time.Second)},
	}
	p := planAfter(t, newPlanner(t, keeping()), w, order...)
	if p.NoRoom == nil || p.NoRoom.Name != "big" {
		t.Errorf("%v has no room, want big", p.NoRoom)
	}
	why, ok := verdicts(p)["n1"].(report.NoPlaceToMovePods)
	if !ok || why.Pod != ref("first") {
		t.Errorf("n1 is kept for %v, want for the pod that was evicted first", verdicts(p)["n1"])
	}
}

func TestWhatGuestsOfOnePlanChangeIsForgottenByTheNext(t *testing.T) {
	w := world{
		nodes: []simtest.NodeBuilder{node("n1", "1000m"), node("n2", "100m")}, pods: []simtest.PodBuilder{pod("p", "100m", "n1")},
		groupOf: map[string]cloudprovider.GroupID{"n2": ""},
		seen:    func(o *observation.Observation) { o.Workloads = sized{wanted: new(int32(9))} },
	}
	planner := newPlanner(t, keeping())
	in := w.in(t, start)
	for i, step := range []struct {
		evicted []scaledown.Evicted
		want    string
	}{{evicted(pod("gone", "800m", "was-here")), ""}, {nil, "n1"}} {
		in.Evicted = step.evicted
		p, err := planner.Plan(t.Context(), in) // the same snapshot, so that what is known of its nodes counts
		must(t, err)
		if got := unneeded(p); got != step.want {
			t.Errorf("plan %d: unneeded %q, want %q: %v", i+1, got, step.want, verdicts(p))
		}
	}
}

func TestARemovalDoesNotTellOfPodsThatAreNotThere(t *testing.T) {
	w := world{
		nodes: []simtest.NodeBuilder{node("n1", "1000m"), node("n2", "1000m"), node("n3", "1000m")}, options: map[cloudprovider.GroupID]func(*observation.GroupOptions){"g": both},
		groupOf: map[string]cloudprovider.GroupID{"n1": "", "n3": ""},
		seen:    func(o *observation.Observation) { o.Workloads = sized{wanted: new(int32(9))} },
	}
	p := planAfter(t, newPlanner(t, keeping()), w, evicted(pod("gone", "800m", "n2"))...)
	if going(p) != "/n2" || len(p.Drain) != 1 || len(p.Drain[0].Removal.Pods) != 0 {
		t.Errorf("going %q, drained %+v; want n2 without pods", going(p), p.Drain)
	}
}

func TestAnEvictedPodThatFitsNoNodeHoldsNone(t *testing.T) {
	w := world{
		nodes: []simtest.NodeBuilder{node("n1", "1000m")},
		seen:  func(o *observation.Observation) { o.Workloads = sized{wanted: new(int32(9))} },
	}
	p := planAfter(t, newPlanner(t, keeping()), w, evicted(pod("gone", "100m", "was-here").NodeSelector("no-such", "label"))...)
	if unneeded(p) != "n1" || p.NoRoom == nil {
		t.Errorf("unneeded %q, no room for %v; want n1, and the pod", unneeded(p), p.NoRoom)
	}
}
