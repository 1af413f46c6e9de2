package simulator_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/simulator"
)

// compareClasses asks about all pods that are to be placed, and expects the same answers for pods of one class.
func (c *contest) compareClasses(t *testing.T, rebuilt *simulator.Snapshot) {
	t.Helper()
	numbers := c.fast.Classes(c.snapshot, c.world.Pending)
	plainNumbers := c.plain.Classes(c.snapshot, c.world.Pending)
	var answers [][]verdict
	for i, pod := range c.world.Pending {
		answers = append(answers, c.compare(t, pod, rebuilt))
		for kind, numbers := range map[string][]int{"with the fast path": numbers, "without it": plainNumbers} {
			first := slices.Index(numbers, numbers[i])
			if !reflect.DeepEqual(answers[first], answers[i]) {
				t.Fatalf("%s are %s and %s of one class, but the answers differ (-%[2]s +%[3]s):\n%s\n%s\nafter\n%s", kind,
					c.world.Pending[first].Name, pod.Name, cmp.Diff(answers[first], answers[i], cmp.AllowUnexported(verdict{})),
					c.describe(pod, nil), c.story())
			}
		}
	}
}

// classmates are some pods of one class.
func (c *contest) classmates() []*corev1.Pod {
	first := c.sibling()
	pods := []*corev1.Pod{first}
	for range 2 + c.generator.Of(6) {
		pods = append(pods, c.generator.Sibling(first))
	}
	var mates []*corev1.Pod
	for i, number := range c.fast.Classes(c.snapshot, pods) {
		if number == 0 {
			mates = append(mates, pods[i])
		}
	}
	return mates
}

// placeAll places a class at once, and compares with what comes of placing its pods one by one.
func (c *contest) placeAll(t *testing.T) {
	t.Helper()
	pods, search := c.classmates(), c.searchOrder()
	c.note("place %d like %s anywhere after %d from %d", len(pods), pods[0].Name, search.StartAfter, search.From)
	rebuilt := c.rebuild(t)
	var want []simulator.Placement
	var wantErr error
	for next := search; len(want) < len(pods); {
		place, _, err := c.plain.PlaceAnywhere(t.Context(), rebuilt, pods[len(want)], next)
		if wantErr = err; err != nil || place.Node == "" {
			break
		}
		want, next.StartAfter = append(want, place), place.Index
	}
	got, err := c.fast.PlaceAll(t.Context(), c.snapshot, pods, search)
	if !slices.Equal(want, got) || (wantErr != nil) != (err != nil) {
		t.Fatalf("%d pods like %s (-one by one +at once), errors %v and %v:\n%s\n%s\nafter\n%s", len(pods), pods[0].Name, wantErr, err,
			cmp.Diff(want, got), c.describe(pods[0], nil), c.story())
	}
	for i, place := range got {
		c.now.lies = append(c.now.lies, lying{pod: pods[i], node: place.Node})
	}
}

// fill fills a node with a class, and compares with what comes of placing its pods one by one.
func (c *contest) fill(t *testing.T) {
	t.Helper()
	pods, node := c.classmates(), c.anyNode()
	c.note("fill %s with %d like %s", node, len(pods), pods[0].Name)
	rebuilt := c.rebuild(t)
	count := 0
	var want *simulator.Rejection
	var wantErr error
	for ; count < len(pods); count++ {
		if want, wantErr = c.plain.Place(t.Context(), rebuilt, pods[count], node); want != nil || wantErr != nil {
			break
		}
	}
	placed, got, err := c.fast.Fill(t.Context(), c.snapshot, pods, node)
	if diff := cmp.Diff([]any{count, want, wantErr != nil}, []any{placed, got, err != nil}); diff != "" {
		t.Fatalf("%d pods like %s on %s (-one by one +at once):\n%s\n%s\nafter\n%s", len(pods), pods[0].Name, node, diff,
			c.describe(pods[0], nil), c.story())
	}
	for _, pod := range pods[:placed] {
		c.now.lies = append(c.now.lies, lying{pod: pod, node: node})
	}
}
