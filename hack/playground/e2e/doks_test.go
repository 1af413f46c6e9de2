package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider/digitalocean/dotest"
)

// doksStory begins a story with a DOKS cluster of its own in the place of AWS. Its autoscalers see the nodes of all stories, but no pools other than its
// own.
func doksStory(t *testing.T) *story {
	s := parallelStory(t)
	added, err := s.cluster.AddDOKS()
	if err != nil {
		t.Fatal(err)
	}
	s.doks = added
	return s
}

// pool adds a pool whose nodes carry the story's label, and returns its id, which begins with the namespace.
func (s *story) pool(p dotest.Pool) string {
	s.t.Helper()
	p.ID = s.namespace + "-" + p.ID
	p.Labels = withStory(p.Labels, s.namespace)
	if p.Size == "" {
		p.Size = "m-2vcpu-16gb"
	}
	if p.Delays == (dotest.Delays{}) {
		p.Delays = dotest.Delays{
			List: 200 * time.Millisecond, Droplet: 300 * time.Millisecond, Running: 300 * time.Millisecond, Fail: time.Second, Delete: 300 * time.Millisecond,
		}
	}
	if err := s.doks.AddPool(p); err != nil {
		s.t.Fatal(err)
	}
	return p.ID
}

// ofKind makes pods ask for nodes of the groups of a kind, which a label tells.
func ofKind(kind string) func(*corev1.PodTemplateSpec) {
	return func(p *corev1.PodTemplateSpec) { p.Spec.NodeSelector["kind"] = kind }
}

// ordered are the counts that requests asked of a pool.
func (s *story) ordered(pool string) []int {
	s.t.Helper()
	var all []int
	for _, call := range s.doks.Writes() {
		if call.Operation != dotest.UpdateNodePool || call.Pool != pool {
			continue
		}
		var body struct{ Count int }
		if err := json.Unmarshal([]byte(call.Body), &body); err != nil {
			s.t.Fatalf("the body of %s %s: %v", call.Method, call.Path, err)
		}
		all = append(all, body.Count)
	}
	return all
}

// deleted are the requests that deleted a node of a pool, by the node's id.
func (s *story) deleted(pool string) []string {
	var nodes []string
	for _, call := range s.doks.Writes() {
		if call.Operation == dotest.DeleteNode && call.Pool == pool {
			nodes = append(nodes, call.Node)
		}
	}
	return nodes
}

// checkOnlyNamedNodesEnded makes sure that DOKS never had to choose which node goes.
func (s *story) checkOnlyNamedNodesEnded() {
	s.t.Helper()
	for _, ending := range s.doks.Endings() {
		if ending.Cause != dotest.CauseNamed {
			s.t.Errorf("DOKS ended node %s, which nobody named", ending.Node.Name)
		}
	}
}

func TestDOKSAPoolAtZeroGrowsForPodsThatAskForItsLabelsAndTolerateItsTaints(t *testing.T) {
	s := doksStory(t)
	dedicated := corev1.Taint{Key: "dedicated", Value: "batch", Effect: corev1.TaintEffectNoSchedule}
	plain := s.pool(dotest.Pool{ID: "plain", Size: "c-8", AutoScale: true, Max: 3})
	batch := s.pool(dotest.Pool{
		ID: "batch", Size: "c-8", AutoScale: true, Max: 3, Labels: map[string]string{"kind": "batch"},
		Taints: []dotest.Taint{{Key: dedicated.Key, Value: dedicated.Value, Effect: string(dedicated.Effect)}},
	})
	s.deployment("sums", 2, "5", "1Gi", ofKind("batch"), tolerating(dedicated))
	s.deployment("stranger", 1, "5", "1Gi", ofKind("batch")) // doesn't tolerate the taint
	s.waitUnschedulable("sums", 2)
	s.waitUnschedulable("stranger", 1)

	s.installed("ca", "--scale-down-unneeded-time=10m")
	s.waitRunning("sums", 2)
	sums, err := s.pods(t.Context(), "sums")
	if err != nil {
		t.Fatal(err)
	}
	s.waitEvent("Pod", sums[0].Name, "TriggeredScaleUp", fmt.Sprintf("{%s 0->2 (max: 3)}", batch))
	stranger, err := s.pods(t.Context(), "stranger")
	if err != nil {
		t.Fatal(err)
	}
	s.waitEvent("Pod", stranger[0].Name, "NotTriggerScaleUp", "untolerated taint")
	s.always(3*time.Second, "nothing more is bought", func(context.Context) (bool, string, error) {
		diff := cmp.Diff(map[string][]int{plain: nil, batch: {2}}, map[string][]int{plain: s.ordered(plain), batch: s.ordered(batch)})
		return diff == "", diff, nil
	})
	s.waitNodes(2)
}

func TestDOKSABurstIsServedAndTheNodesGoWhenItIsOver(t *testing.T) {
	s := doksStory(t)
	pool := s.pool(dotest.Pool{ID: "workers", AutoScale: true, Min: 1, Max: 10, Count: 1})
	s.waitNodes(1)
	s.deployment("web", 12, "600m", "256Mi") // three fit on a node
	s.waitUnschedulable("web", 9)

	s.installed("ca")
	s.waitRunning("web", 12)
	if diff := cmp.Diff([]int{4}, s.ordered(pool)); diff != "" {
		t.Errorf("counts asked for (-want +got):\n%s", diff)
	}
	s.scale("web", 1)
	s.waitNodes(1)
	s.waitRunning("web", 1)
	s.eventually("the pool has one node", func(context.Context) (bool, string, error) {
		got := fmt.Sprintf("count %d, %d nodes", s.doks.Pool(pool).Count, len(s.doks.Nodes(pool)))
		return got == "count 1, 1 nodes", got, nil
	})
	s.always(4*time.Second, "the minimum stays", func(ctx context.Context) (bool, string, error) {
		nodes, err := s.nodes(ctx)
		return len(nodes) == 1 && len(s.deleted(pool)) == 3, fmt.Sprintf("%d nodes, deleted %v", len(nodes), s.deleted(pool)), err
	})
	if diff := cmp.Diff([]int{4}, s.ordered(pool)); diff != "" {
		t.Errorf("counts asked for (-want +got):\n%s", diff)
	}
	s.checkOnlyNamedNodesEnded()
}

// While a pool scales somebody switches its auto-scale off: it is not the autoscaler's any more, whatever its pods and nodes would call for.
func TestDOKSAPoolThatIsSwitchedOffWhileItScalesIsLeftAlone(t *testing.T) {
	s := doksStory(t)
	leisurely := dotest.Delays{List: 500 * time.Millisecond, Droplet: 2 * time.Second, Running: 2 * time.Second, Delete: 300 * time.Millisecond}
	off := s.pool(dotest.Pool{ID: "off", AutoScale: true, Max: 9, Labels: map[string]string{"kind": "off"}, Delays: leisurely})
	on := s.pool(dotest.Pool{ID: "on", AutoScale: true, Max: 9, Labels: map[string]string{"kind": "on"}})
	a := s.installed("ca")
	s.deployment("old", 2, "1200m", "256Mi", ofKind("off"))
	s.eventually("the pool is asked for nodes", func(context.Context) (bool, string, error) {
		calls := s.ordered(off)
		return len(calls) > 0 && s.doks.Pool(off).Count == 2, fmt.Sprint(calls), nil
	})
	if err := s.doks.SwitchAutoScale(off, false, 0, 0); err != nil {
		t.Fatal(err)
	}
	s.waitRunning("old", 2) // DOKS brings the nodes that were asked for

	s.scale("old", 4)
	s.waitUnschedulable("old", 2)
	s.deployment("new", 2, "1200m", "256Mi", ofKind("on"))
	s.waitRunning("new", 2)
	s.scale("old", 0)
	s.scale("new", 0)
	s.eventually("the nodes of the other pool are gone", func(context.Context) (bool, string, error) {
		return len(s.doks.Nodes(on)) == 0, fmt.Sprintf("%d nodes", len(s.doks.Nodes(on))), nil
	})
	s.always(4*time.Second, "the nodes of the pool that is off stay in service", func(ctx context.Context) (bool, string, error) {
		nodes, err := s.nodes(ctx)
		nodes = slices.DeleteFunc(nodes, func(n corev1.Node) bool { return n.Labels["kind"] != "off" })
		marked := tainted(nodes, deletionTaint)
		return len(nodes) == 2 && len(marked) == 0, fmt.Sprintf("%d nodes, marked %v", len(nodes), marked), err
	})
	// The pods of a Deployment come one by one, so there may be a request for each.
	if got := s.ordered(off); slices.Max(got) != 2 || len(s.deleted(off)) > 0 {
		t.Errorf("counts asked for: %v, deleted: %v; want up to 2 and nothing", got, s.deleted(off))
	}
	if got := s.ordered(on); slices.Max(got) != 2 || len(s.deleted(on)) != 2 {
		t.Errorf("of the other pool, counts asked for: %v, deleted: %v; want up to 2 and two nodes", got, s.deleted(on))
	}
	s.checkOnlyNamedNodesEnded()
	if log := logOf(t, a); !strings.Contains(log, off) {
		t.Errorf("the log doesn't name the pool that was switched off: %s", tail(log))
	}
}

// DigitalOcean allows a token 5,000 requests an hour. With 13 pools, the autoscaler that operators know uses them up by looking alone.
func TestDOKSAnIdleMinuteCostsFewRequestsHoweverManyPoolsThereAre(t *testing.T) {
	s := doksStory(t)
	const pools, limit = 13, 5000
	for i := range pools {
		s.pool(dotest.Pool{ID: fmt.Sprintf("pool-%d", i), AutoScale: true, Min: 1, Max: 3, Count: 1})
	}
	s.waitNodes(pools)
	s.installed("ca", "--scan-interval=10s", "--scale-down-unneeded-time=10m")
	s.waitLoops()
	s.eventually("the templates of all pools are read", func(context.Context) (bool, string, error) {
		n := s.doks.Count(dotest.GetTemplate)
		return n >= pools, fmt.Sprint(n), nil
	})

	began := s.doks.Calls()
	since, seen := began[len(began)-1].Time, map[string]int{}
	s.eventually("a minute has passed", func(context.Context) (bool, string, error) {
		return time.Since(since) > time.Minute, "", nil
	})
	sum := 0
	for _, call := range s.doks.Calls()[len(began):] {
		if call.Time.Before(since.Add(time.Minute)) {
			seen[call.Operation]++
			sum++
		}
	}
	t.Logf("Requests of an idle minute, %d pools: %v; %d an hour", pools, seen, 60*sum)
	if sum == 0 || 60*sum > limit/5 {
		t.Errorf("%d requests in a minute: %v; want some, and not more than a fifth of what is allowed, %d an hour", sum, seen, limit)
	}
	if writes := s.doks.Writes(); len(writes) > 0 {
		t.Errorf("requests changed something: %+v", writes)
	}
}
