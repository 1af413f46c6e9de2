package observation_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"

	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/simulator/simtest"
)

// checked is a source of thirty nodes n0 to n29 with a pod each, whose snapshot is checked.
type checked struct {
	*testing.T
	*observation.Source
	ctx     context.Context //nolint:containedctx // that of the test, with its logger
	rebuilt int
	log     fmt.Stringer
}

// newChecked is told of what changes, with AssumeTold, or has to look for it, with AssumeSynced.
func newChecked(t *testing.T, assume func(*observation.Source)) *checked {
	t.Helper()
	c := &checked{T: t}
	c.Source = newSource(t, &cloud{}, observation.Options{Rebuilt: func() { c.rebuilt++ }})
	assume(c.Source)
	for i := range 30 {
		node := simtest.Node(fmt.Sprint("n", i)).Build()
		pod := simtest.Pod(fmt.Sprint("p", i)).On(node.Name).Build()
		if err := errors.Join(storeOf(t, c.Source, node).Add(node), storeOf(t, c.Source, pod).Add(pod)); err != nil {
			t.Fatal(err)
		}
	}
	logger := ktesting.NewLogger(ktesting.NopTL{}, ktesting.NewConfig(ktesting.BufferLogs(true)))
	underlier, ok := logger.GetSink().(ktesting.Underlier)
	if !ok {
		t.Fatal("the logger has no buffer")
	}
	c.ctx, c.log = klog.NewContext(t.Context(), logger), underlier.GetBuffer()
	return c
}

// observe makes so many observations and returns the last.
func (c *checked) observe(times int) observation.Observation {
	c.Helper()
	var seen observation.Observation
	for range times {
		var err error
		if seen, err = c.Observe(c.ctx, now, nil); err != nil {
			c.Fatal(err)
		}
	}
	return seen
}

func (c *checked) wantRebuilt(times int, differs string) {
	c.Helper()
	lines := strings.Count(c.log.String(), "Building the snapshot anew")
	if c.rebuilt != times || lines != times || !strings.Contains(c.log.String(), differs) {
		c.Errorf("rebuilt %d times with %d lines in the log, want %d that say %q:\n%s", c.rebuilt, lines, times, differs, c.log)
	}
}

// everyNode is how many observations it takes until each node was checked.
const everyNode = observation.CheckEvery * observation.CheckParts

func TestASnapshotThatDiffersFromTheStoresIsMadeAnew(t *testing.T) {
	for name, assume := range map[string]func(*observation.Source){
		"without events": (*observation.Source).AssumeSynced, "with events": (*observation.Source).AssumeTold,
	} {
		t.Run(name, func(t *testing.T) {
			c := newChecked(t, assume)
			seen := c.observe(everyNode)
			c.wantRebuilt(0, "")
			lost := seen.Snapshot.Pods("n7")[0]
			if err := seen.Snapshot.RemovePod(lost, "n7"); err != nil {
				t.Fatal(err)
			}
			seen = c.observe(everyNode + 1)
			c.wantRebuilt(1, "node n7")
			if on := seen.Snapshot.Pods("n7"); len(on) != 1 || on[0] != lost {
				t.Errorf("the pods of the node are %v", names(on))
			}
			c.observe(everyNode + 1)
			c.wantRebuilt(1, "")
		})
	}
}

func TestAChangeThatIsNeverToldIsFound(t *testing.T) {
	changes := map[string]func(*checked) error{
		"a pod that came": func(c *checked) error {
			pod := simtest.Pod("late").On("n7").Build()
			return storeOf(c.T, c.Source, pod).Add(pod)
		},
		"a pod that a node was nominated for": func(c *checked) error {
			pod := simtest.Pod("late").Unschedulable(now).Nominated("n7").Build()
			return storeOf(c.T, c.Source, pod).Add(pod)
		},
		"a pod that has gone": func(c *checked) error {
			pod := simtest.Pod("p7").On("n7").Build()
			return storeOf(c.T, c.Source, pod).Delete(pod)
		},
		"a node that has changed": func(c *checked) error {
			node := simtest.Node("n7").CPU("99").Build()
			return storeOf(c.T, c.Source, node).Update(node)
		},
		"a node that has gone": func(c *checked) error {
			node := simtest.Node("n7").Build()
			return storeOf(c.T, c.Source, node).Delete(node)
		},
		"a node that came": func(c *checked) error {
			node := simtest.Node("n7-late").Build()
			return storeOf(c.T, c.Source, node).Add(node)
		},
	}
	for name, happen := range changes {
		t.Run(name, func(t *testing.T) {
			c := newChecked(t, (*observation.Source).AssumeTold)
			c.observe(1)
			if err := happen(c); err != nil {
				t.Fatal(err)
			}
			seen := c.observe(everyNode + 1)
			c.wantRebuilt(1, "node n7")
			if diff := cmp.Diff(c.afresh(), pictureOf(seen)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// afresh is what a source sees that has never seen anything else than what is stored now.
func (c *checked) afresh() picture {
	c.Helper()
	again := newSource(c.T, &cloud{}, observation.Options{})
	again.AssumeSynced()
	for _, stores := range [][2]cache.Store{
		{storeOf(c.T, c.Source, &corev1.Node{}), storeOf(c.T, again, &corev1.Node{})},
		{storeOf(c.T, c.Source, &corev1.Pod{}), storeOf(c.T, again, &corev1.Pod{})},
	} {
		for _, object := range stores[0].List() {
			if err := stores[1].Add(object); err != nil {
				c.Fatal(err)
			}
		}
	}
	return pictureOf(observe(c.T, again))
}

func TestAChangeThatIsToldLateIsNoDifference(t *testing.T) {
	c := newChecked(t, (*observation.Source).AssumeTold)
	c.observe(1)
	for round := range everyNode {
		if round%2 == 1 { // checks are at even ones
			c.observe(1)
			continue
		}
		var late []*corev1.Pod
		for i := range 30 {
			pod := simtest.Pod(fmt.Sprint("p", i)).On(fmt.Sprint("n", i)).With(func(p *corev1.Pod) { p.ResourceVersion = fmt.Sprint(round) }).Build()
			if err := storeOf(t, c.Source, pod).Update(pod); err != nil {
				t.Fatal(err)
			}
			late = append(late, pod)
		}
		c.observe(1)
		for _, pod := range late {
			c.Tell(pod)
		}
	}
	c.wantRebuilt(0, "")
}
