package observation_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
	"k8s.io/utils/clock"

	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/simtest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("k8s.io/klog/v2.(*flushDaemon).run.func1"))
}

// server is an API server that refuses to list and watch some resources.
type server struct {
	*fake.Clientset
	mu      sync.Mutex
	refused map[string]error // by resource
	watches map[string][]*watch.RaceFreeFakeWatcher
}

func newServer(objects ...runtime.Object) *server {
	s := &server{Clientset: fake.NewClientset(objects...), refused: map[string]error{}, watches: map[string][]*watch.RaceFreeFakeWatcher{}}
	s.PrependReactor("list", "*", func(action k8stesting.Action) (bool, runtime.Object, error) {
		err := s.refusal(action.GetResource().Resource)
		return err != nil, nil, err
	})
	s.PrependWatchReactor("*", func(action k8stesting.Action) (bool, watch.Interface, error) {
		resource := action.GetResource().Resource
		if err := s.refusal(resource); err != nil {
			return true, nil, err
		}
		w := watch.NewRaceFreeFake()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.watches[resource] = append(s.watches[resource], w)
		return true, w, nil
	})
	return s
}

func (s *server) refusal(resource string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused[resource]
}

// refuse makes the server refuse the resource, also to those that watch it now; nil: it doesn't any more.
func (s *server) refuse(resource string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused[resource] = err
	if err == nil {
		return
	}
	for _, w := range s.watches[resource] {
		w.Stop()
	}
	s.watches[resource] = nil
}

// watcher is the one that watches the resource now.
func (s *server) watcher(resource string) *watch.RaceFreeFakeWatcher {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watches[resource][len(s.watches[resource])-1]
}

func forbidden(resource string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", errors.New("no rule allows it"))
}

// reading starts the source and returns what stops it.
func (s *server) reading(t *testing.T) (source *observation.Source, logs func() string) {
	t.Helper()
	source = newSourceWith(t, s.Clientset, &cloud{}, clock.RealClock{}, observation.Options{})
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true), ktesting.Verbosity(0)))
	ctx, stop := context.WithCancel(klog.NewContext(t.Context(), logger))
	done := make(chan struct{})
	go func() {
		defer close(done)
		source.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-done
	})
	underlier, ok := logger.GetSink().(ktesting.Underlier)
	if !ok {
		t.Fatal("the logger has no buffer")
	}
	return source, func() string { return underlier.GetBuffer().String() }
}

// wait lets time pass in a synctest bubble.
func wait(d time.Duration) {
	clock.RealClock{}.Sleep(d)
	synctest.Wait()
}

// quiet is a context whose logger says nothing.
func quiet(t *testing.T) context.Context {
	t.Helper()
	return klog.NewContext(t.Context(), klog.Logger{})
}

func feature(t *testing.T, source *observation.Source, name string) observation.Feature {
	t.Helper()
	for _, f := range source.Features() {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("there is no feature %s", name)
	return observation.Feature{}
}

func TestASourceReadsEverythingOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, _ := newServer(simtest.Node("n").Build(), simtest.Pod("p").On("n").Build()).reading(t)
		if err := source.WaitForSync(quiet(t)); err != nil {
			t.Fatal(err)
		}
		for _, f := range source.Features() {
			if f.Err != nil {
				t.Errorf("%s is off: %v", f.Name, f.Err)
			}
		}
		seen, err := source.Observe(t.Context(), now, nil)
		if err != nil || len(seen.Nodes) != 1 || len(seen.Snapshot.Pods("n")) != 1 {
			t.Errorf("observed %d nodes and %d pods, %v; want one each", len(seen.Nodes), len(seen.Snapshot.Pods("n")), err)
		}
	})
}

func TestTheFeaturesAreTheOptionalResources(t *testing.T) {
	var got []string
	for _, f := range newSource(t, &cloud{}, observation.Options{}).Features() {
		if f.Err == nil {
			t.Errorf("%s is on before anything was read", f.Name)
		}
		got = append(got, f.Name)
	}
	want := []string{
		"csidrivers.storage.k8s.io", "csinodes.storage.k8s.io", "csistoragecapacities.storage.k8s.io", "daemonsets.apps", "jobs.batch", "namespaces",
		"persistentvolumeclaims", "persistentvolumes", "poddisruptionbudgets.policy", "priorityclasses.scheduling.k8s.io", "replicasets.apps",
		"replicationcontrollers", "services", "statefulsets.apps", "storageclasses.storage.k8s.io", "volumeattachments.storage.k8s.io",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestADeniedOptionalResourceIsOffAndComesBack(t *testing.T) {
	missing := apierrors.NewNotFound(schema.GroupResource{Resource: "persistentvolumeclaims"}, "")
	for name, refusal := range map[string]error{"forbidden": forbidden("persistentvolumeclaims"), "absent": missing} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer()
				s.refuse("persistentvolumeclaims", refusal)
				start := clock.RealClock{}.Now()
				source, logs := s.reading(t)
				if err := source.WaitForSync(quiet(t)); err != nil {
					t.Fatal(err)
				}
				f := feature(t, source, "persistentvolumeclaims")
				if f.Err == nil || f.Err.Error() != refusal.Error() {
					t.Errorf("the feature has error %v, want %v", f.Err, refusal)
				}
				if !source.PluginDisabled("VolumeBinding") || source.PluginDisabled("NodeResourcesFit") {
					t.Error("the plug-ins that need claims are not those left out")
				}
				if got := strings.Count(logs(), "Cannot list a resource"); got != 1 || !strings.Contains(logs(), `resource="persistentvolumeclaims"`) {
					t.Errorf("%d lines in the log, want one that names the resource:\n%s", got, logs())
				}
				s.refuse("persistentvolumeclaims", nil)
				wait(5*time.Minute - time.Second)
				if feature(t, source, "persistentvolumeclaims").Err == nil {
					t.Error("the resource was tried again before five minutes were over")
				}
				wait(time.Second)
				f = feature(t, source, "persistentvolumeclaims")
				if f.Err != nil || f.Since.Sub(start) < 5*time.Minute {
					t.Errorf("the feature has error %v since %s, want it on since a moment ago", f.Err, f.Since)
				}
				if source.PluginDisabled("VolumeBinding") {
					t.Error("the plug-ins that need claims are still left out")
				}
			})
		})
	}
}

// Each resource whose absence makes a plug-in refuse wrongly puts it out of action, and all have to be there to bring it back.
func TestPluginsAreLeftOutWhileSomethingTheyNeedCannotBeRead(t *testing.T) {
	for _, resource := range []string{"persistentvolumeclaims", "persistentvolumes", "storageclasses"} {
		t.Run(resource, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer()
				s.refuse(resource, forbidden(resource))
				source, _ := s.reading(t)
				if err := source.WaitForSync(quiet(t)); err != nil {
					t.Fatal(err)
				}
				name := resource
				if resource == "storageclasses" {
					name += ".storage.k8s.io"
				}
				for _, plugin := range simulator.PluginsNeeding(name) {
					if !source.PluginDisabled(plugin) {
						t.Errorf("%s is asked without %s", plugin, resource)
					}
				}
			})
		})
	}
}

func TestAServerThatIsOutOfOrderIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.refuse("services", apierrors.NewInternalError(errors.New("etcd")))
		source, _ := s.reading(t)
		synced := make(chan error, 1)
		go func() { synced <- source.WaitForSync(quiet(t)) }()
		wait(time.Hour)
		select {
		case err := <-synced:
			t.Fatalf("synced (%v) although an optional resource may be there", err)
		default:
		}
		s.refuse("services", nil)
		wait(2 * time.Second)
		if err := <-synced; err != nil || feature(t, source, "services").Err != nil {
			t.Errorf("errors %v and %v, want the resource to be read", err, feature(t, source, "services").Err)
		}
	})
}

func TestADeniedRequiredResourceIsNamedOnceAMinute(t *testing.T) {
	for _, resource := range []string{"pods", "nodes"} {
		t.Run(resource, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer()
				s.refuse(resource, forbidden(resource))
				source, _ := s.reading(t)
				logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
				underlier, ok := logger.GetSink().(ktesting.Underlier)
				if !ok {
					t.Fatal("the logger has no buffer")
				}
				synced := make(chan error, 1)
				go func() { synced <- source.WaitForSync(klog.NewContext(t.Context(), logger)) }()
				for minute := range 3 {
					wait(time.Minute)
					log := underlier.GetBuffer().String()
					if got := strings.Count(log, "Waiting for a resource"); got != minute+1 || strings.Count(log, `resource="`+resource+`"`) != minute+1 {
						t.Errorf("after %d minutes %d lines, want one a minute that names the resource:\n%s", minute+1, got, log)
					}
				}
				if !strings.Contains(underlier.GetBuffer().String(), "no rule allows it") {
					t.Error("the log does not say why")
				}
				s.refuse(resource, nil)
				wait(2 * time.Second)
				select {
				case err := <-synced:
					if err != nil {
						t.Error(err)
					}
				default:
					t.Error("not synced two seconds after the resource was allowed")
				}
			})
		})
	}
}

func TestWaitingEndsWithTheContextAndSaysForWhat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.refuse("pods", forbidden("pods"))
		s.refuse("services", apierrors.NewInternalError(errors.New("etcd")))
		source, _ := s.reading(t)
		ctx, cancel := context.WithTimeout(quiet(t), time.Hour)
		defer cancel()
		err := source.WaitForSync(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "waiting for pods") || !strings.Contains(err.Error(), "no rule allows it") {
			t.Errorf("error %v, want the end of the context, the required resource and the refusal", err)
		}
	})
}

func TestAResourceThatIsDeniedLaterIsOffAndComesBack(t *testing.T) {
	t.Run("an optional one", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newServer()
			source, _ := s.reading(t)
			if err := source.WaitForSync(quiet(t)); err != nil {
				t.Fatal(err)
			}
			s.refuse("persistentvolumes", forbidden("persistentvolumes"))
			wait(2 * time.Minute) // the informer tries again and again, less and less often
			if feature(t, source, "persistentvolumes").Err == nil || !source.PluginDisabled("VolumeZone") {
				t.Error("the resource counts as read")
			}
			s.refuse("persistentvolumes", nil)
			wait(5 * time.Minute)
			if err := feature(t, source, "persistentvolumes").Err; err != nil || source.PluginDisabled("VolumeZone") {
				t.Errorf("the resource is off: %v", err)
			}
		})
	})
	t.Run("a required one: nothing is decided on what was read long ago", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(simtest.Node("n").Build())
			source, _ := s.reading(t)
			if err := source.WaitForSync(quiet(t)); err != nil {
				t.Fatal(err)
			}
			s.refuse("pods", forbidden("pods"))
			wait(2 * time.Minute)
			if _, err := source.Observe(t.Context(), now, nil); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "reading pods") {
				t.Errorf("error %v, want the refusal", err)
			}
			s.refuse("pods", nil)
			wait(2 * time.Second)
			if _, err := source.Observe(t.Context(), now, nil); err != nil {
				t.Error(err)
			}
		})
	})
}

func TestAnEventOfTheServerThatIsNoRefusalChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		source, _ := s.reading(t)
		if err := source.WaitForSync(quiet(t)); err != nil {
			t.Fatal(err)
		}
		s.refuse("pods", apierrors.NewInternalError(errors.New("etcd")))
		wait(2 * time.Minute)
		if _, err := source.Observe(t.Context(), now, nil); err != nil {
			t.Errorf("a hiccup of the server is taken for a refusal: %v", err)
		}
	})
}

// Cases L02 and L03.
func TestWhichPodsWakeTheLoop(t *testing.T) {
	refused := simtest.Pod("p")
	tests := map[string]struct {
		pod  simtest.PodBuilder
		want bool
	}{
		"one that was refused 8 s ago":                  {refused.Unschedulable(now.Add(-8 * time.Second)), true},
		"one that was refused 10 s ago":                 {refused.Unschedulable(now.Add(-10 * time.Second)), true},
		"not one that was refused 12 s ago":             {refused.Unschedulable(now.Add(-12 * time.Second)), false},
		"nor one that nobody has judged":                {refused, false},
		"nor one with scheduling gates":                 {judged(refused, corev1.ConditionFalse, corev1.PodReasonSchedulingGated), false},
		"nor one that has a node":                       {refused.Unschedulable(now).On("n"), false},
		"nor one that is ending":                        {refused.Unschedulable(now).DeletedAt(now), false},
		"nor one that has failed":                       {phase(refused.Unschedulable(now), corev1.PodFailed), false},
		"nor one that was scheduled, whenever that was": {judged(refused, corev1.ConditionTrue, ""), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer()
				source, _ := s.reading(t)
				if err := source.WaitForSync(quiet(t)); err != nil {
					t.Fatal(err)
				}
				wait(now.Sub(clock.RealClock{}.Now()))
				s.watcher("pods").Add(test.pod.Build())
				synctest.Wait()
				if got := drained(source.Woken()); got != map[bool]int{true: 1}[test.want] {
					t.Errorf("added: %d wake-ups", got)
				}
				s.watcher("pods").Modify(test.pod.Build())
				synctest.Wait()
				if got := drained(source.Woken()); got != map[bool]int{true: 1}[test.want] {
					t.Errorf("updated: %d wake-ups", got)
				}
			})
		})
	}
}

func TestABurstOfPodsIsOneWakeUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		source, _ := s.reading(t)
		if err := source.WaitForSync(quiet(t)); err != nil {
			t.Fatal(err)
		}
		wait(now.Sub(clock.RealClock{}.Now()))
		for _, name := range []string{"a", "b", "c"} {
			s.watcher("pods").Add(simtest.Pod(name).Unschedulable(now).Build())
		}
		synctest.Wait()
		if got := drained(source.Woken()); got != 1 {
			t.Errorf("%d wake-ups, want 1", got)
		}
	})
}

func drained(woken <-chan struct{}) (count int) {
	for {
		select {
		case <-woken:
			count++
		default:
			return count
		}
	}
}
