package simulator_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/simtest"
	"example.com/cluster-autoscaler/simulator/simtest/randomcluster"
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

// classmates are some pods of one class, the class of some pod that is to be placed.
func (c *contest) classmates() []*corev1.Pod {
	return c.classOf(c.sibling(), 3+c.generator.Of(6))
}

// classOf are the pod and up to that many less one of its class.
func (c *contest) classOf(first *corev1.Pod, count int) []*corev1.Pod {
	pods := []*corev1.Pod{first}
	for range count - 1 {
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

// tryAll places many of each class that is to be placed, and takes them back.
func (c *contest) tryAll(t *testing.T) {
	t.Helper()
	for _, pod := range c.world.Pending {
		c.snapshot.Fork()
		c.saved = append(c.saved, c.now.clone())
		c.placeAll(t, c.classOf(pod, 12))
		c.close(t, true)
	}
}

// placeAll places a class at once, and compares with what comes of placing its pods one by one.
func (c *contest) placeAll(t *testing.T, pods []*corev1.Pod) {
	t.Helper()
	search := c.searchOrder()
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

// With a spread or affinity, a node that was refused to one pod may suit the next: none may be left out for good.
func TestAClassPlacedAtOnceGoesWhereItsPodsWouldGoOneByOne(t *testing.T) {
	t.Parallel()
	app := simtest.Pod("p").Label("app", "a")
	for name, pod := range map[string]simtest.PodBuilder{
		"plain":                       app.Requests("1", ""),
		"spread over zones":           app.Spread(corev1.LabelTopologyZone, 1, "app", "a"),
		"spread over nodes":           app.Spread(corev1.LabelHostname, 1, "app", "a").Requests("500m", ""),
		"away from each other":        app.AntiAffinity(corev1.LabelHostname, "app", "a"),
		"near each other":             app.Affinity(corev1.LabelTopologyZone, "app", "a").Requests("1", ""),
		"near each other, and spread": app.Affinity(corev1.LabelTopologyZone, "app", "a").Spread(corev1.LabelHostname, 1, "app", "a"),
		"with a port":                 app.HostPort(8080),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world := randomcluster.World{Pending: []*corev1.Pod{pod.Build()}}
			for i, zone := range []string{"z0", "z0", "z1", "z1", "z2"} {
				world.Cluster.Nodes = append(world.Cluster.Nodes, simtest.Node(fmt.Sprint("n", i)).Zone(zone).MaxPods("2").Build())
			}
			c := contestIn(t, world, randomcluster.New(randomcluster.FromBytes(nil)), &coverage{rejected: map[string]int{}})
			c.placeAll(t, c.classOf(world.Pending[0], 16))
			if len(c.now.lies) == 0 {
				t.Error("no pod was placed")
			}
		})
	}
}
