package shapes_test

import (
	"flag"
	"fmt"
	"maps"
	"runtime"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"example.com/cluster-autoscaler/core/report"
)

// divide makes the shapes smaller, so that all of them can be run in a minute.
var divide = flag.Int("shapes.divide", 20, "the shapes have this fraction of their published number of nodes and pods; 1 is the published size")

// scaled is the shape's size, made smaller.
func (s shape) scaled(by int) size {
	nodes := max(1, s.full.nodes/by)
	return size{nodes, nodes * s.full.perNode()}
}

// grown is the size with so many times the pods on the same number of nodes, or so many times the nodes with as many pods on each.
func (s shape) grown(from size, by string, times int) size {
	switch {
	case by == "pods":
		return size{from.nodes, from.pods * times}
	case s.pinned:
		return size{from.nodes * times, from.pods}
	default:
		return size{from.nodes * times, from.pods * times}
	}
}

// BenchmarkShapes is one whole RunOnce on each of the published shapes, with the fast path of the simulator and without. The informers read before the
// timer starts, and what they take is ingest-µs/pod; events are sent and pods evicted after it has stopped. ms-to-last-write is the part of RunOnce
// up to the last write to the cloud or to a node.
func BenchmarkShapes(b *testing.B) {
	for _, s := range shapes() {
		b.Run(s.name, func(b *testing.B) {
			size := s.scaled(*divide)
			b.Run(fmt.Sprintf("pods=%d/nodes=%d", size.pods, size.nodes), func(b *testing.B) {
				b.Run("fastpath=on", func(b *testing.B) { measure(b, s, size, false) })
				b.Run("fastpath=off", func(b *testing.B) { measure(b, s, size, true) })
			})
		})
	}
}

// BenchmarkGrowth is BenchmarkShapes with once, twice and four times the pods, and the nodes. hack/growth.awk makes a table of it.
func BenchmarkGrowth(b *testing.B) {
	for _, s := range shapes() {
		b.Run(s.name, func(b *testing.B) {
			for _, by := range []string{"pods", "nodes"} {
				b.Run("by="+by, func(b *testing.B) {
					for _, times := range []int{1, 2, 4} {
						size := s.grown(s.scaled(*divide), by, times)
						b.Run(fmt.Sprintf("times=%d/pods=%d/nodes=%d", times, size.pods, size.nodes), func(b *testing.B) {
							measure(b, s, size, false)
						})
					}
				})
			}
		})
	}
}

// BenchmarkIngest is the reading of Idle5k: through informers, as at the start of the process, and straight through the transform and the stores,
// which leaves out client-go's reflectors, queues and notifications. ns/op ends when the snapshot has everything.
func BenchmarkIngest(b *testing.B) {
	s := shapes()[4]
	size := s.scaled(*divide)
	for _, through := range []string{"informers", "stores"} {
		b.Run(fmt.Sprintf("pods=%d/nodes=%d/through=%s", size.pods, size.nodes, through), func(b *testing.B) {
			b.ReportAllocs()
			var sum sums
			for b.Loop() {
				b.StopTimer()
				c, err := s.build(size)
				if err != nil {
					b.Fatal(err)
				}
				w := newWorld(b, c, false)
				runtime.GC()
				b.StartTimer()
				if through == "informers" {
					sum.ingest += w.load()
				} else {
					sum.ingest += w.fill(c)
				}
				sum.ingested += size.pods
				b.StopTimer()
				w.close()
				b.StartTimer()
			}
			sum.report(b)
		})
	}
}

func TestEveryShapeComesToItsDecisionWithAndWithoutTheFastPath(t *testing.T) {
	for _, s := range shapes() {
		for _, frameworkOnly := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, framework only %t", s.name, frameworkOnly), func(t *testing.T) {
				w := loaded(t, s, s.tiny, frameworkOnly)
				first := w.run()
				w.judge(s, s.tiny, first)
				for n := 1; n < 4 && s.update != nil; n++ {
					w.next(s, s.tiny, n)
					w.judge(s, s.tiny, w.run())
				}
				for _, other := range []size{{s.tiny.nodes + 1, s.tiny.pods}, {s.tiny.nodes - 1, s.tiny.pods}} {
					if s.check(w, other, first.told) == nil {
						t.Errorf("the decision for %+v passes for one for %+v", s.tiny, other)
					}
				}
				w.close()
			})
		}
	}
}

func TestObjectsPassTheProductionTransform(t *testing.T) {
	s := shapes()[0]
	w := loaded(t, s, s.tiny, false)
	defer w.close()
	pods, err := w.source.Factory().Core().V1().Pods().Lister().List(labels.Everything())
	if err != nil || len(pods) != s.tiny.pods {
		t.Fatalf("%d pods, %v; want %d", len(pods), err, s.tiny.pods)
	}
	for _, pod := range pods {
		if pod.ManagedFields != nil || pod.Spec.Volumes != nil || pod.Spec.Containers[0].Env != nil {
			t.Fatalf("pod %s was not trimmed: %+v", pod.Name, pod)
		}
	}
}

func TestEvictionsAndTaintsAreCounted(t *testing.T) {
	s := shapes()[1]
	w := loaded(t, s, s.tiny, false)
	defer w.close()
	if f := w.run(); f.toLastWrite <= 0 || f.toLastWrite > f.took {
		t.Errorf("the last write came after %v of %v", f.toLastWrite, f.took)
	}
	nodes, cloud, _ := w.api.tally.sum()
	if evicted := w.drain(); nodes != 12 || cloud != 0 || evicted != 12*40 {
		t.Errorf("%d taints, %d writes to the cloud, %d evictions; want 12, 0 and 480", nodes, cloud, evicted)
	}
}

// figures are what was measured in one iteration.
type figures struct {
	told report.Report
	took time.Duration
	// toLastWrite is the part up to the last write; zero: there was none.
	toLastWrite time.Duration
}

// run makes one iteration.
func (w *world) run() figures {
	w.Helper()
	start := time.Now()
	told := w.iterate()
	f := figures{told: told, took: time.Since(start)}
	if _, _, last := w.api.tally.sum(); last.After(start) {
		f.toLastWrite = last.Sub(start)
	}
	return f
}

// judge fails unless the iteration came to the right decision and told the world of it, and returns how many events it sent and how long sending
// took.
func (w *world) judge(s shape, size size, f figures) (events int, took time.Duration) {
	w.Helper()
	byReason, took, err := w.emitter.flush(w.clock.Now())
	w.must(err)
	for _, n := range byReason {
		events += n
	}
	if s.events != nil {
		if want := s.events(size); !maps.Equal(byReason, want) {
			w.Fatalf("%d nodes, %d pods: events %v, want %v", size.nodes, size.pods, byReason, want)
		}
	}
	if err := s.check(w, size, f.told); err != nil {
		w.Fatalf("%d nodes, %d pods: %v", size.nodes, size.pods, err)
	}
	return events, took
}

// loaded is a new world of the shape whose informers have read everything.
func loaded(tb testing.TB, s shape, size size, frameworkOnly bool) *world {
	tb.Helper()
	c, err := s.build(size)
	if err != nil {
		tb.Fatal(err)
	}
	w := newWorld(tb, c, frameworkOnly)
	w.ingest = w.load()
	return w
}

// next makes ready for the n-th iteration from 0 and returns how many objects were handed over and how long it took to take them in.
func (w *world) next(s shape, size size, n int) (objects int, took time.Duration) {
	w.Helper()
	w.clock.Step(scanInterval)
	nodes, pods := s.update(w, size, n)
	return len(nodes) + len(pods), w.update(nodes, pods)
}

func measure(b *testing.B, s shape, size size, frameworkOnly bool) {
	b.Helper()
	b.ReportAllocs()
	sum := sums{}
	if s.update == nil {
		for b.Loop() {
			b.StopTimer()
			w := loaded(b, s, size, frameworkOnly)
			runtime.GC()
			b.StartTimer()
			f := w.run()
			b.StopTimer()
			sum.add(f)
			sum.addEvents(w.judge(s, size, f))
			sum.ingest += w.ingest
			sum.ingested += w.pending + w.placed
			w.close()
			b.StartTimer()
		}
		sum.report(b)
		return
	}
	w := loaded(b, s, size, frameworkOnly)
	first := w.run()
	w.judge(s, size, first)
	sum.ingest, sum.ingested = w.ingest, w.pending+w.placed
	n := 0
	for b.Loop() {
		b.StopTimer()
		n++
		sum.addChanges(w.next(s, size, n))
		runtime.GC()
		b.StartTimer()
		f := w.run()
		b.StopTimer()
		sum.add(f)
		sum.addEvents(w.judge(s, size, f))
		b.StartTimer()
	}
	sum.report(b)
	b.ReportMetric(milliseconds(first.took), "ms-first")
	reportHeap(b)
	w.close()
}

// reportHeap says how much of the heap is in use once garbage was collected, and how much of that is objects rather than gaps between them.
func reportHeap(b *testing.B) {
	b.Helper()
	runtime.GC()
	runtime.GC() // what finalizers have let go of
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	b.ReportMetric(float64(stats.HeapInuse)/1e6, "MB-heap")
	b.ReportMetric(float64(stats.HeapAlloc)/1e6, "MB-objects")
}

// sums are what was measured in all iterations.
type sums struct {
	iterations            int
	toLastWrite           time.Duration
	ingest, change, event time.Duration
	// ingested, changed and events are how many pods were read at first, objects handed over later, and events sent.
	ingested, changed, events int
}

func (s *sums) add(f figures) {
	s.iterations++
	s.toLastWrite += f.toLastWrite
}

func (s *sums) addEvents(events int, took time.Duration) {
	s.events += events
	s.event += took
}

func (s *sums) addChanges(objects int, took time.Duration) {
	s.changed += objects
	s.change += took
}

func (s *sums) report(b *testing.B) {
	b.Helper()
	each := func(total time.Duration, by int, unit string) {
		if total > 0 && by > 0 {
			b.ReportMetric(float64(total.Nanoseconds())/float64(by)/1e3, unit)
		}
	}
	if s.toLastWrite > 0 {
		b.ReportMetric(milliseconds(s.toLastWrite)/float64(s.iterations), "ms-to-last-write")
	}
	each(s.ingest, s.ingested, "ingest-µs/pod")
	each(s.change, s.changed, "ingest-µs/change")
	if s.events > 0 {
		b.ReportMetric(float64(s.events)/float64(s.iterations), "events/op")
		each(s.event, s.events, "µs/event")
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
