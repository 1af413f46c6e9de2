package core_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"example.com/cluster-autoscaler/cloudprovider/simulated"
)

// stepped plays the story with Step, in steps of half a second, and returns when iterations began.
func stepped(t *testing.T, flags []string, cloud simulated.Options, story func(*world)) []time.Duration {
	t.Helper()
	clk := clocktesting.NewFakeClock(epoch)
	w := newWorldOf(t, setting{groups: []simulated.Group{group("g", 0, 9, 0)}, flags: flags, cloud: cloud, clock: clk})
	if story != nil {
		story(w)
	}
	var began []time.Duration
	for since := time.Duration(0); since <= 30*second; since += 500 * time.Millisecond {
		clk.SetTime(epoch.Add(since))
		w.settle()
		if next := w.autoscaler.NextStep(); len(began) == 0 != next.IsZero() {
			t.Fatalf("after %s the next iteration is at %s", since, next)
		}
		before := w.autoscaler.NextStep()
		_, made, err := w.autoscaler.Step(w.ctx)
		w.must(err)
		if made {
			began = append(began, since)
		} else if !clk.Now().Before(before) && before.Sub(epoch) > began[len(began)-1] {
			t.Errorf("after %s no iteration was made, although it was to be at %s", since, before.Sub(epoch))
		}
		if _, again, _ := w.autoscaler.Step(w.ctx); again {
			t.Fatalf("after %s two iterations were made at one time", since)
		}
	}
	return began
}

func TestSteppedIterationsBeginWhenRunWouldBeginThem(t *testing.T) {
	at := func(seconds ...float64) []time.Duration {
		var out []time.Duration
		for _, s := range seconds {
			out = append(out, time.Duration(s*float64(second)))
		}
		return out
	}
	for name, test := range map[string]struct {
		flags []string
		cloud simulated.Options
		story func(*world)
		want  []time.Duration
	}{
		"nothing happens": {want: at(0, 10, 20, 30)},
		"work that was begun is looked after at once, twice": {
			story: func(w *world) {
				w.at(5*second, func() { w.put(pod("p", "3").CreatedAt(w.start).Unschedulable(w.start).Build()) })
			},
			want: at(0, 10, 10.5, 11, 21),
		},
		"a pod that fits nowhere cuts the pause short": {
			story: func(w *world) { w.at(5*second, func() { w.arrive(pod("p", "30")) }) },
			want:  at(0, 5, 15, 25),
		},
		"a pod that comes with the end of a pause makes one iteration": {
			story: func(w *world) { w.at(10*second, func() { w.arrive(pod("p", "30")) }) },
			want:  at(0, 10, 20, 30),
		},
		"a burst of new pods is over soon after the last one": {
			story: func(w *world) { w.at(5*second, func() { w.put(w.young("p", "30").Build()) }) },
			want:  at(0, 5, 5.5, 15.5, 25.5),
		},
		"a change in the cloud cuts the pause short": {
			cloud: simulated.Options{NotifyChanges: true},
			story: func(w *world) { w.at(4*second, func() { _, err := w.cloud.SetTarget("g", 1); w.must(err) }) },
			want:  at(0, 0.5, 4, 14, 14.5, 24.5), // the machine appears after 10 seconds
		},
		"without frequent loops nothing cuts it short": {
			flags: []string{"--frequent-loops-enabled=false"}, cloud: simulated.Options{NotifyChanges: true},
			story: func(w *world) { w.at(5*second, func() { w.arrive(pod("p", "3")) }) },
			want:  at(0, 10, 20, 30),
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, stepped(t, test.flags, test.cloud, test.story)); diff != "" {
				t.Errorf("iterations (-want +got):\n%s", diff)
			}
		})
	}
}
