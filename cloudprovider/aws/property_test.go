package aws_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws"
	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
)

const (
	rounds      = 60 // of ten seconds each
	stormRounds = 40 // of them with faults and adversaries
)

// jumping is a clock that is wrong by what the test says. The provider's own goroutine reads it, too.
type jumping struct {
	clock.Clock
	wrong *atomic.Int64 // nanoseconds
}

func (j jumping) Now() time.Time                       { return j.Clock.Now().Add(time.Duration(j.wrong.Load())) }
func (j jumping) Since(t time.Time) time.Duration      { return j.Now().Sub(t) }
func (j jumping) NewTimer(d time.Duration) clock.Timer { return still{j.Clock}.NewTimer(d) }

// weather is one random story about a group: what the loop does to it, what befalls it, and what has to hold all the time.
type weather struct {
	*rig
	random  *rand.Rand
	options aws.Options
	wrong   atomic.Int64 // of our clock, in nanoseconds
	served  map[string]bool
	removes []func() // of faults that wait
	// arrivals counts the machines that came right before a write, cuts the places that were withdrawn.
	arrivals, cuts int
	log            []string
}

func (w *weather) note(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf("%s ", w.clock.Now().Format(time.TimeOnly))+fmt.Sprintf(format, args...))
}

// one is true once in so many times.
func (w *weather) one(in int) bool { return w.random.IntN(in) == 0 }

func (w *weather) seconds(most int) time.Duration {
	return time.Duration(w.random.IntN(most+1)) * time.Second
}

func newWeather(t *testing.T, seed uint64) *weather {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 6))
	w := &weather{random: random, served: map[string]bool{}}
	group := awstest.Group{
		Name: "a", Min: random.IntN(3), Max: 14, Zones: []string{"eu-west-1a", "eu-west-1b"}[:1+random.IntN(2)],
		Timing: awstest.Timing{
			Request: w.seconds(25), Launch: time.Second + w.seconds(50), ScaleIn: w.seconds(4) * time.Duration(random.IntN(2)), Terminate: w.seconds(90), HealthCheck: w.seconds(30),
			Retry: 10*time.Second + w.seconds(50), Linger: w.seconds(20),
		},
	}
	group.Desired = group.Min + 2 + random.IntN(4)
	w.options = aws.Options{Nodes: []string{fmt.Sprintf("%d:12:a", random.IntN(2))}}
	w.rig = newRig(t, w.options, group)
	w.restart()
	w.refresh()
	return w
}

// restart is a process that died, and the next one.
func (w *weather) restart() {
	w.note("a new process")
	options := w.options
	options.Clock = jumping{Clock: w.clock, wrong: &w.wrong}
	w.provider = w.connect(options)
}

// befall lets something happen outside of our process.
func (w *weather) befall() {
	machines := w.machines("a")
	switch w.random.IntN(12) {
	case 0, 1, 2:
		left := w.random.IntN(2)
		w.note("stock of %d", left)
		w.server.SetStock(awstest.StockRule{Left: left})
	case 3:
		w.note("plenty of stock")
		w.server.SetStock(awstest.StockRule{Left: awstest.Unlimited})
	case 4:
		if n := w.desired("a") + 1 + w.random.IntN(2); n <= 14 {
			w.note("somebody sets desired to %d", n)
			w.must(w.server.SetDesired("a", n))
		}
	case 5:
		if n := w.desired("a") - 1; n >= 3 {
			w.note("somebody sets desired to %d", n)
			w.must(w.server.SetDesired("a", n))
		}
	case 6:
		if len(machines) > 0 {
			id := machines[w.random.IntN(len(machines))].ID
			w.note("machine %s dies", id)
			w.must(w.server.KillInstance(id))
		}
	case 7:
		w.wrong.Store(int64(time.Duration(w.random.IntN(7200)-3600) * time.Second))
		w.note("our clock is wrong by %s", time.Duration(w.wrong.Load()))
	case 8:
		w.restart()
		w.wrong.Store(0)
	default:
	}
}

func (w *weather) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// disturb lets a fault or an adversary meet the next calls.
func (w *weather) disturb() {
	writes := []string{"SetDesiredCapacity", "TerminateInstanceInAutoScalingGroup", "SetInstanceProtection"}
	reads := []string{"DescribeAutoScalingGroups", "DescribeScalingActivities"}
	all := append(writes, reads...)
	action := all[w.random.IntN(len(all))]
	fault := awstest.Fault{Action: action, Count: 1 + w.random.IntN(2)}
	switch w.random.IntN(6) {
	case 0:
		fault.Effect = awstest.Throttle{}
	case 1:
		fault.Effect = awstest.Drop{}
	case 2:
		fault.Effect = awstest.Drop{Side: awstest.AfterEffect}
	case 3:
		fault.Effect = awstest.ErrorAnswer{Status: 500, Side: awstest.AfterEffect}
	case 4: // answers lag
		fault.Action = reads[w.random.IntN(len(reads))]
		fault.Effect = awstest.Stale{Age: time.Duration(1+w.random.IntN(9)) * time.Second}
	default: // whatever is missing arrives right before a write
		fault.Action = writes[w.random.IntN(len(writes))]
		fault.Effect = awstest.Hook{Before: w.arriveNow}
	}
	w.note("%T of %s, %d times", fault.Effect, fault.Action, fault.Count)
	w.removes = append(w.removes, w.server.Inject(fault))
}

// calm takes the faults away that wait.
func (w *weather) calm() {
	for _, remove := range w.removes {
		remove()
	}
}

// arriveNow lets a machine of the group appear that is missing, whatever AWS has in stock.
func (w *weather) arriveNow() {
	if w.desired("a") <= len(w.machines("a")) {
		return
	}
	w.server.SetStock(awstest.StockRule{Left: awstest.Unlimited})
	if w.server.Rebalance("a") == nil && w.server.LaunchNow("a") == nil {
		w.arrivals++
	}
	w.server.SetStock(awstest.StockRule{Left: 0})
}

// act does what the loop might do.
func (w *weather) act() {
	group := w.group("a")
	state := group.State()
	choice := w.random.IntN(8)
	if len(places(state, false)) > 0 && w.one(2) {
		choice = 2
	}
	switch choice {
	case 0, 1:
		delta := 1 + w.random.IntN(3)
		granted, err := group.IncreaseSize(w.ctx(), delta)
		w.note("raise by %d: %d, %v", delta, granted, err)
	case 2:
		if w.one(2) { // the adversary was waiting for this
			w.note("a machine comes right before the write")
			w.removes = append(w.removes, w.server.Inject(awstest.Fault{Action: "SetDesiredCapacity", Count: 1, Effect: awstest.Hook{Before: w.arriveNow}}))
		}
		lowered, err := group.DecreaseTargetSize(w.ctx(), 1+w.random.IntN(4))
		w.note("withdraw: %d, %v", lowered, err)
		w.cuts += lowered
	case 3:
		if all := places(state, false); len(all) > 0 {
			got, err := group.DeleteNodes(w.ctx(), all[:1])
			w.note("delete a place: %v, %v", got, err)
		}
	case 4:
		w.shrink(group, group.DeleteNodes, 1)
	case 5:
		w.shrink(group, group.DeleteNodes, 2)
	case 6:
		w.shrink(group, group.(cloudprovider.ForceDeleter).ForceDeleteNodes, 1)
	default:
	}
	if failed := places(state, true); len(failed) > 0 && !w.one(3) {
		got, err := group.DeleteNodes(w.ctx(), failed)
		w.note("delete %d failed places: %v, %v", len(failed), got, err)
	}
}

type deletion func(ctx context.Context, nodes []cloudprovider.NodeRef) ([]cloudprovider.DeleteOutcome, error)

// shrink ends machines by name, as after their nodes were drained.
func (w *weather) shrink(group cloudprovider.NodeGroup, end deletion, count int) {
	var nodes []cloudprovider.NodeRef
	for _, instance := range group.State().Instances {
		if instance.State == cloudprovider.InstanceRunning && len(nodes) < count && !w.one(3) {
			nodes = append(nodes, cloudprovider.RefOfInstance(instance))
		}
	}
	got, err := end(w.ctx(), nodes)
	w.note("end %v: %v, %v", nodes, got, err)
}

// check holds what happened so far against what must never happen.
func (w *weather) check() {
	w.t.Helper()
	w.served = w.rig.served(w.served)
	guilty := map[int]bool{} // calls after which there may be more machines than are wanted
	for _, call := range w.server.Writes() {
		c := call.Change
		if c == nil {
			continue
		}
		lowered := c.DesiredFrom - c.DesiredTo
		guilty[call.Number] = lowered > 0 && (call.Action == "SetDesiredCapacity" || lowered > c.LiveFrom-c.LiveTo)
		if call.Action == "SetDesiredCapacity" && c.DesiredTo > c.DesiredFrom && c.DesiredTo > min(c.Max, 12) {
			w.t.Errorf("call %d raised desired to %d, above the maximum", call.Number, c.DesiredTo)
		}
	}
	for _, event := range w.server.Events() {
		if event.Kind == awstest.EventEnding && event.Cause == awstest.CauseScaleIn && guilty[event.Call] && w.served[event.Instance] {
			w.t.Errorf("%s: machine %s, which served, was ended because of our call %d", event.Time.Format(time.TimeOnly), event.Instance, event.Call)
		}
	}
}

// round is ten seconds.
func (w *weather) round(stormy bool) {
	w.clock.Step(10 * time.Second)
	w.server.Advance()
	if stormy {
		if w.one(3) {
			w.befall()
		}
		if w.one(3) {
			w.disturb()
		}
	}
	if err := w.provider.Refresh(w.ctx()); err != nil {
		w.note("refresh: %v", err)
	}
	if len(w.provider.NodeGroups()) == 0 {
		return
	}
	if stormy {
		w.act()
	} else if failed := places(w.state("a"), true); len(failed) > 0 {
		got, err := w.group("a").DeleteNodes(w.ctx(), failed)
		w.note("delete %d failed places: %v, %v", len(failed), got, err)
	}
	w.check()
}

// Whatever befalls us, AWS ends no machine in use because of a write of ours, and once the storm is over the group is as large as it is wanted to be.
func TestNoStoryEndsAMachineInUse(t *testing.T) {
	arrivals, cuts := 0, 0
	worlds := 10
	if slow {
		worlds = 3
	}
	for seed := range uint64(worlds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newWeather(t, seed)
			defer func() { arrivals, cuts = arrivals+w.arrivals, cuts+w.cuts }()
			for i := range rounds {
				if i == stormRounds {
					w.note("the storm is over")
					w.server.SetStock(awstest.StockRule{Left: awstest.Unlimited})
					w.calm()
					w.wrong.Store(0)
					w.restart()
				}
				w.round(i < stormRounds)
				if t.Failed() {
					break
				}
			}
			state := w.state("a")
			live, desired := len(w.machines("a")), w.desired("a")
			if !t.Failed() && (live != desired || state.Target != desired || len(places(state, false)) > 0) {
				t.Errorf("in the end %d machines, desired %d, target %d: %s", live, desired, state.Target, shape(state))
			}
			if t.Failed() {
				for _, line := range w.log {
					t.Log(line)
				}
			}
		})
	}
	if arrivals < worlds || 2*cuts < worlds {
		t.Errorf("%d machines came right before a write and %d places were withdrawn: the stories are too tame", arrivals, cuts)
	}
}
