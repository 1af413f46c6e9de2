package clusterstate_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/clusterstate"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/simulator/readiness"
	"example.com/cluster-autoscaler/simulator/simtest"
)

// story is a random life of a few groups, the same for the same seed.
type story struct {
	random *rand.Rand
	at     time.Time
	fleets []*fleet
	born   int
}

func newStory(seed uint64) *story {
	s := &story{random: rand.New(rand.NewPCG(seed, 7)), at: t0}
	for i := range 1 + s.random.IntN(3) {
		f := newFleet(fmt.Sprintf("g%d", i), s.random.IntN(3), 5+s.random.IntN(20), s.random.IntN(6))
		f.group.Options.ZeroOrMaxNodeScaling = s.random.IntN(4) == 0
		f.group.Options.AllowNonAtomicScaleUpToMax = s.random.IntN(2) == 0
		s.fleets = append(s.fleets, f)
	}
	s.fleets = append(s.fleets, strangers())
	return s
}

// next lets some time pass and some things happen.
func (s *story) next() observation.Observation {
	s.at = s.at.Add(time.Duration(1+s.random.IntN(400)) * time.Second)
	for _, f := range s.fleets {
		for range s.random.IntN(4) {
			s.happen(f)
		}
		f.group.Stale, f.group.Suspended = nil, ""
		switch s.random.IntN(12) {
		case 0:
			f.group.Stale = errors.New("stale")
		case 1:
			f.group.Suspended = "suspended"
		case 2:
			f.group.Target = max(0, f.group.Target+s.random.IntN(7)-3)
		}
	}
	seen := see(s.at, s.fleets...)
	if len(seen.Groups) > 0 && s.random.IntN(10) == 0 { // one group cannot be described
		seen.GroupErrors = []cloudprovider.GroupError{{Group: seen.Groups[0].ID, Err: errors.New("unreadable")}}
		seen.Groups = seen.Groups[1:]
	}
	return seen
}

func (s *story) happen(f *fleet) {
	if s.random.IntN(2) == 0 || len(f.machines) == 0 {
		s.born++
		id := fmt.Sprintf("test:///%s-%d", f.group.ID, s.born)
		f.machines = append(f.machines, &machine{instance: &cloudprovider.Instance{
			ID: id, State: cloudprovider.InstanceState(s.random.IntN(4)), Placeholder: s.random.IntN(3) == 0,
		}})
		return
	}
	at := s.random.IntN(len(f.machines))
	m := f.machines[at]
	switch s.random.IntN(7) {
	case 0:
		f.machines = append(f.machines[:at:at], f.machines[at+1:]...)
	case 1:
		if m.instance != nil {
			changed := *m.instance
			broken(cloudprovider.InstanceState(s.random.IntN(4)))(&changed)
			m.instance = &changed
		}
	case 2:
		m.gone = !m.gone
	case 3:
		if m.node != nil && m.instance != nil {
			m.instance = nil
		}
	case 4:
		m.foreign = !m.foreign
	default:
		s.register(m)
	}
}

func (s *story) register(m *machine) {
	if m.instance == nil {
		return
	}
	created := s.at.Add(-time.Duration(s.random.IntN(3000)) * time.Second)
	b := simtest.Node(m.instance.ID[len("test:///"):]).CreatedAt(created)
	switch s.random.IntN(5) {
	case 0:
		b = b.NotReady(created)
	case 1:
		b = b.Condition("Suspended", corev1.ConditionTrue, created)
	case 2:
		b = b.ProviderID("")
	}
	m.node = b.Build()
	if s.random.IntN(6) == 0 {
		m.node = readiness.Override(m.node, readiness.ReasonResourceNotReady)
	}
}

// outcomes are random answers of the cloud.
func (s *story) resizes(state clusterstate.State) []report.ResizeOutcome {
	var outcomes []report.ResizeOutcome
	for _, group := range state.Groups {
		if s.random.IntN(3) > 0 {
			continue
		}
		by := 1 + s.random.IntN(4)
		outcome := report.ResizeOutcome{
			Resize: report.Resize{Group: group.Group, From: group.Target, To: group.Target + by, Max: group.Max}, At: s.at, Deadline: s.at.Add(15 * time.Minute),
		}
		cause := errors.New("because")
		switch s.random.IntN(7) {
		case 0:
			outcome.Err = cause
		case 1:
			outcome.Err = &cloudprovider.TransientError{OutcomeUnknown: s.random.IntN(2) == 0, Err: cause}
		case 2:
			outcome.Err, outcome.Granted = &cloudprovider.StaleBoundsError{Group: group.Group, Err: cause}, s.random.IntN(by)
		case 3:
			outcome.Err = &cloudprovider.ConfigurationError{Group: group.Group, Err: cause}
		case 4:
			outcome.Err = &cloudprovider.OutOfResourcesError{Group: group.Group, Until: s.at.Add(time.Hour), Err: cause}
		default:
			outcome.Granted = by
		}
		outcomes = append(outcomes, outcome)
	}
	return outcomes
}

func (s *story) repairs(state clusterstate.State) []report.RepairOutcome {
	var outcomes []report.RepairOutcome
	for _, group := range state.Groups {
		outcome := report.RepairOutcome{RepairAction: report.RepairAction{Kind: report.DeleteUnregistered, Group: group.Group}, At: s.at}
		switch s.random.IntN(6) {
		case 0:
			for range s.random.IntN(4) {
				outcome.Outcomes = append(outcome.Outcomes, cloudprovider.DeleteOutcome{})
			}
		case 1:
			outcome.Kind, outcome.Lowered = report.DecreaseTarget, s.random.IntN(4)
		case 2:
			outcome.Err = errors.New("no")
		default:
			continue
		}
		outcomes = append(outcomes, outcome)
	}
	return outcomes
}

// play lets the registry see the whole story and returns all states.
func play(t *testing.T, seed uint64, steps int, check func(*testing.T, clusterstate.State)) []clusterstate.State {
	t.Helper()
	s, r := newStory(seed), newRegistry()
	var states []clusterstate.State
	note := func(state clusterstate.State) clusterstate.State {
		check(t, state)
		states = append(states, state)
		return state
	}
	for range steps {
		state := note(r.Observe(s.next()))
		state = note(r.AfterRepair(s.repairs(state)))
		state = note(r.AfterScaleUp(s.resizes(state), triggered))
		if s.random.IntN(4) == 0 && len(state.Groups) > 0 {
			r.Ended([]report.RemovalOutcome{{Removal: report.Removal{Group: state.Groups[0].Group}, Result: report.RemovalOK, Ended: s.at}})
		}
		note(r.AfterScaleDown(nil, nil))
	}
	return states
}

func addsUp(t *testing.T, state clusterstate.State) {
	t.Helper()
	whole := func(what string, c report.NodeCounts) {
		t.Helper()
		if sum := c.Ready + c.NotStarted + c.Suspended + c.Unready + c.Deleted; sum != c.Registered {
			t.Fatalf("%s: the classes make %d of %d registered nodes: %+v", what, sum, c.Registered, c)
		}
		if c.ResourceUnready > c.Unready {
			t.Fatalf("%s: more nodes wait for a device than are unready: %+v", what, c)
		}
	}
	whole("all nodes", state.Cluster.Counts)
	whole("managed nodes", state.Cluster.Managed)
	if state.Cluster.Managed.Registered > state.Cluster.Counts.Registered {
		t.Fatalf("more managed nodes than nodes: %+v", state.Cluster)
	}
	for _, g := range state.Groups {
		whole(string(g.Group), g.Counts)
		long := 0
		for _, u := range g.Unregistered {
			if u.Long {
				long++
			}
		}
		switch {
		case len(g.Unregistered) != g.Counts.Unregistered+g.Counts.LongUnregistered || long != g.Counts.LongUnregistered:
			t.Fatalf("%s: unregistered instances and their counts differ: %+v", g.Group, g)
		case g.Upcoming < 0 || g.Lost < 0 || g.Missing < 0 || g.Target < 0:
			t.Fatalf("%s: a number is negative: %+v", g.Group, g)
		case g.Upcoming > g.Target:
			t.Fatalf("%s: more is upcoming than the target: %+v", g.Group, g)
		case len(g.Ready) > g.Counts.Ready || len(g.NotStarted) > g.Counts.NotStarted:
			t.Fatalf("%s: more names than nodes: %+v", g.Group, g)
		case g.ScalingUp && (g.Request == nil || g.Upcoming == 0):
			t.Fatalf("%s: scaling up without anything to come: %+v", g.Group, g)
		case g.Request != nil && g.Request.Increase <= 0:
			t.Fatalf("%s: a request for nothing: %+v", g.Group, g.Request)
		case g.Backoff != nil && g.Backoff.Until.Before(state.At):
			t.Fatalf("%s: a back-off that is over: %+v", g.Group, g.Backoff)
		case (g.SafeToScaleUp() == nil) != (g.SetAside == nil && g.Healthy && g.Backoff == nil):
			t.Fatalf("%s: growing is judged by something else: %v", g.Group, g.SafeToScaleUp())
		}
	}
}

func TestWhateverIsObservedTheCountsAddUp(t *testing.T) {
	for seed := range uint64(60) {
		play(t, seed, 30, addsUp)
	}
}

func TestTheSameStoryMakesTheSameStates(t *testing.T) {
	silent := func(*testing.T, clusterstate.State) {}
	for seed := range uint64(10) {
		first, second := play(t, seed, 40, silent), play(t, seed, 40, silent)
		if diff := cmp.Diff(first, second); diff != "" {
			t.Fatalf("seed %d: two plays of one story differ:\n%s", seed, diff)
		}
	}
}
