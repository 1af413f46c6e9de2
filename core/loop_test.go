package core_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"example.com/cluster-autoscaler/cloudprovider/simulated"
	"example.com/cluster-autoscaler/simulator/simtest"
)

// took is how long an iteration takes in a live story.
const took = time.Millisecond

// live lets the loop run in a bubble of virtual time while the story goes on.
func live(t *testing.T, s setting, story func(*world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s.clock = clock.RealClock{}
		w := newWorldOf(t, s)
		w.source.observed = func() { w.clock.Sleep(took) }
		ctx, stop := context.WithCancel(w.ctx)
		done := make(chan struct{})
		go func() {
			defer close(done)
			w.autoscaler.Run(ctx)
		}()
		synctest.Wait()
		story(w)
		stop()
		<-done
	})
}

// until lets time pass until so long after the start, and plays the cluster's part every 50 ms.
func (w *world) until(after time.Duration) {
	for end := w.start.Add(after); w.clock.Now().Before(end); {
		w.clock.Sleep(min(50*time.Millisecond, end.Sub(w.clock.Now())))
		synctest.Wait()
		w.settle()
	}
	synctest.Wait()
}

// passes are the times at which iterations began, rounded to ten times what one takes.
func (w *world) passes() []time.Duration {
	var out []time.Duration
	for _, at := range w.source.began() {
		out = append(out, at.Sub(w.start).Truncate(10*took))
	}
	return out
}

// young is a pod that was made just now.
func (w *world) young(name, cpu string) simtest.PodBuilder {
	return pod(name, cpu).CreatedAt(w.clock.Now().Truncate(time.Second))
}

func wantPasses(t testing.TB, w *world, want ...time.Duration) {
	t.Helper()
	if diff := cmp.Diff(want, w.passes()); diff != "" {
		t.Errorf("iterations (-want +got):\n%s", diff)
	}
}

const second = time.Second

func TestTheFirstIterationBeginsAtOnceAndTheOthersAfterThePause(t *testing.T) {
	live(t, setting{groups: []simulated.Group{group("g", 0, 9, 0)}}, func(w *world) {
		w.until(25 * second)
		wantPasses(t, w, 0, 10*second, 20*second)
	})
}

// L01: the two iterations after one that began work follow at once.
func TestWorkThatWasBegunIsLookedAfterAtOnceTwice(t *testing.T) {
	live(t, setting{groups: []simulated.Group{group("g", 0, 9, 0)}}, func(w *world) {
		w.until(5 * second)
		w.put(pod("p", "3").CreatedAt(w.start).Unschedulable(w.start).Build()) // nobody is woken
		w.until(25 * second)
		wantPasses(t, w, 0, 10*second, 10*second, 10*second, 20*second)
		w.wantTarget("g", 1)
	})
}

func TestAPodThatFitsNowhereCutsThePauseShort(t *testing.T) {
	live(t, setting{groups: []simulated.Group{group("g", 0, 9, 0)}}, func(w *world) {
		w.until(5 * second)
		w.arrive(pod("p", "30"))
		w.until(14 * second)
		wantPasses(t, w, 0, 5*second)
		w.until(16 * second)
		wantPasses(t, w, 0, 5*second, 15*second)
	})
}

// L03: pods that come while an iteration runs make one wake-up.
func TestPodsThatComeDuringAnIterationMakeOneMore(t *testing.T) {
	live(t, setting{groups: []simulated.Group{group("g", 0, 9, 0)}}, func(w *world) {
		w.until(5 * second)
		for range 3 {
			w.arrive(pods(3, "p", "30")...)
		}
		w.until(9 * second)
		wantPasses(t, w, 0, 5*second, 5*second) // the first of them started one
	})
}

func TestAChangeInTheCloudCutsThePauseShort(t *testing.T) {
	live(t, setting{groups: []simulated.Group{group("g", 0, 9, 0)}, cloud: simulated.Options{NotifyChanges: true}}, func(w *world) {
		w.until(4 * second)
		before := len(w.source.began())
		_, err := w.cloud.SetTarget("g", 1)
		w.must(err)
		w.until(5 * second)
		if got := len(w.source.began()) - before; got != 1 {
			t.Errorf("%d iterations in the second after the change, want 1: %v", got, w.passes())
		}
	})
}

func TestWithoutFrequentLoopsNothingCutsThePauseShort(t *testing.T) {
	s := setting{groups: []simulated.Group{group("g", 0, 9, 0)}, cloud: simulated.Options{NotifyChanges: true}, flags: []string{"--frequent-loops-enabled=false"}}
	live(t, s, func(w *world) {
		w.until(5 * second)
		w.put(w.young("new", "3").Build())
		w.arrive(pod("p", "3"))
		w.until(35 * second)
		wantPasses(t, w, 0, 10*second, 20*second, 30*second)
		w.wantTarget("g", 2)
	})
}

func TestALonePodIsHelpedSoonAfterItsWake(t *testing.T) {
	live(t, setting{groups: []simulated.Group{group("g", 0, 9, 0)}}, func(w *world) {
		w.until(5 * second)
		w.put(w.young("p", "3").Build())
		w.settle()
		w.until(5*second + 250*time.Millisecond)
		w.wantTarget("g", 0)
		w.until(5*second + 350*time.Millisecond)
		w.wantTarget("g", 1)
	})
}

func TestABurstIsHelpedByOnePlan(t *testing.T) {
	for name, test := range map[string]struct {
		pods  int
		every time.Duration
		by    time.Duration // when it has been bought for
		want  int           // nodes bought by then
	}{
		"that ends":                 {pods: 50, every: 20 * time.Millisecond, by: 1400 * time.Millisecond, want: 50},
		"that goes on for too long": {pods: 40, every: 200 * time.Millisecond, by: 2050 * time.Millisecond, want: 10},
	} {
		t.Run(name, func(t *testing.T) {
			live(t, setting{groups: []simulated.Group{group("g", 0, 99, 0)}}, func(w *world) {
				w.until(5 * second)
				for i := range test.pods {
					w.until(5*second + time.Duration(i)*test.every)
					if w.clock.Since(w.start) >= 5*second+test.by-50*time.Millisecond {
						break
					}
					if writes := w.writes(); len(writes) > 0 {
						t.Fatalf("writes %v while the burst goes on", writes)
					}
					w.put(w.young(fmt.Sprintf("p-%02d", i), "3").Build())
					w.settle()
				}
				w.until(5*second + test.by)
				if writes := w.writes(); len(writes) != 1 || w.target("g") != test.want {
					t.Errorf("writes %v, want one that buys %d", writes, test.want)
				}
			})
		})
	}
}

func TestTheWindowForAcceleratorsIsNotCutShortAndCostsFewIterations(t *testing.T) {
	gpu := of(group("g", 0, 9, 0), simtest.Node("t").Resource("nvidia.com/gpu", "1"))
	live(t, setting{groups: []simulated.Group{gpu}}, func(w *world) {
		w.until(5 * second)
		w.put(w.young("p", "1").Request("nvidia.com/gpu", "1").Build())
		w.settle()
		w.until(34 * second)
		w.wantTarget("g", 0)
		if got := len(w.passes()); got > 6 {
			t.Errorf("%d iterations in 34 seconds: %v", got, w.passes())
		}
		w.until(35*second + 100*time.Millisecond)
		w.wantTarget("g", 1)
	})
}

func TestAClusterThatCannotBeObservedIsNotAskedWithoutPause(t *testing.T) {
	live(t, setting{groups: []simulated.Group{group("g", 0, 9, 0)}}, func(w *world) {
		w.until(5 * second)
		w.put(w.young("p", "3").Build())
		w.settle()
		w.until(5*second + 200*time.Millisecond)
		w.source.fail(errors.New("no route to host"))
		w.until(40 * second)
		if got := len(w.passes()); got > 6 {
			t.Errorf("%d iterations in 40 seconds: %v", got, w.passes())
		}
	})
}

func TestHealthFollowsTheIterations(t *testing.T) {
	live(t, setting{groups: []simulated.Group{group("g", 0, 9, 0)}}, func(w *world) {
		w.cloud.Inject(simulated.Fault{On: simulated.IncreaseSize, Err: errors.New("out of order")}, simulated.Fault{On: simulated.ReadTemplates, Err: errors.New("out of order")})
		w.arrive(pod("p", "3"))
		w.until(20 * time.Minute)
		if err := w.health.Err(); err != nil || w.metric("cluster_autoscaler_errors_total") != 0 {
			t.Errorf("health %v, %v errors; want none while only groups are in trouble", err, w.metric("cluster_autoscaler_errors_total"))
		}
		w.cloud.Inject(simulated.Fault{On: simulated.Refresh}) // throttled, for good
		w.until(34 * time.Minute)
		if err := w.health.Err(); err != nil {
			t.Errorf("health %v before --max-failing-time is over", err)
		}
		w.until(36 * time.Minute)
		if w.health.Err() == nil || w.metric("cluster_autoscaler_errors_total", "cloudProviderError") < 50 {
			t.Errorf("health %v, %v errors; want trouble after 16 minutes without the cloud", w.health.Err(), w.metric("cluster_autoscaler_errors_total", "cloudProviderError"))
		}
		w.cloud.Clear(simulated.Refresh, "")
		w.until(37 * time.Minute)
		if err := w.health.Err(); err != nil {
			t.Errorf("health %v once the cloud is back", err)
		}
	})
}
