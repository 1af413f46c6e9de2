package act_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/act"
	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/simulator/simtest"
)

// choosyCloud knows accelerators and has minimums of its own.
type choosyCloud struct {
	*world
	own map[string]int64
}

func (choosyCloud) GPULabel() string   { return "accelerator" }
func (choosyCloud) GPUTypes() []string { return []string{"t4"} }

func (c choosyCloud) ResourceLimits(defaults cloudprovider.ResourceLimits) cloudprovider.ResourceLimits {
	if c.own != nil {
		return cloudprovider.ResourceLimits{Min: c.own}
	}
	return defaults
}

// Nodes a1, a2, b1, b2 of 4 cores and one gibibyte each, b1 and b2 with two accelerators, and a foreign one of 2 cores; the plan takes a1, b1 and a2.
func TestTheMinimumsOfTheClusterAreCheckedOnTheNewestDataBeforeTheTaint(t *testing.T) {
	const short = report.CodeMinimalResourceLimitExceeded
	for name, test := range map[string]struct {
		minimums map[string]int64
		own      map[string]int64 // of the cloud
		before   func(*stage)
		whole    bool // group a goes as a whole
		started  []string
		refused  map[string]report.Code
	}{
		"no minimum":                 {started: []string{"a1", "b1", "a2"}},
		"enough is left":             {minimums: map[string]int64{"cpu": 6, "memory": 1 << 30}, started: []string{"a1", "b1", "a2"}},
		"cores":                      {minimums: map[string]int64{"cpu": 7}, started: []string{"a1", "b1"}, refused: map[string]report.Code{"a2": short}},
		"memory":                     {minimums: map[string]int64{"memory": 4 << 30}, started: []string{"a1"}, refused: map[string]report.Code{"b1": short, "a2": short}},
		"accelerators":               {minimums: map[string]int64{"t4": 3}, started: []string{"a1", "a2"}, refused: map[string]report.Code{"b1": short}},
		"the cloud's own minimum":    {minimums: map[string]int64{"cpu": 1}, own: map[string]int64{"cpu": 18}, refused: map[string]report.Code{"a1": short, "b1": short, "a2": short}},
		"of a group as a whole none": {minimums: map[string]int64{"cpu": 11}, whole: true, started: []string{"b1"}, refused: map[string]report.Code{"a1": short, "a2": short}},
		"a node that has gone since the plan": {
			minimums: map[string]int64{"cpu": 6}, before: func(s *stage) { delete(s.nodes, "b2") },
			started: []string{"a1", "b1"}, refused: map[string]report.Code{"a2": short},
		},
		"a node whose removal is in progress": {
			minimums: map[string]int64{"cpu": 6}, before: func(s *stage) { s.Shrink(silent(t), planOf(s.candidate("b", "b2"))) },
			started: []string{"a1", "b1"}, refused: map[string]report.Code{"a2": short},
		},
		"a node without a machine does not count": {
			minimums: map[string]int64{"cpu": 6}, before: func(s *stage) { s.nodes["foreign"].Labels = map[string]string{"type": "virtual-kubelet"} },
			started: []string{"a1", "b1"}, refused: map[string]report.Code{"a2": short},
		},
		"nodes that cannot be listed": {
			minimums: map[string]int64{"cpu": 1}, before: func(s *stage) { s.nodesErr = errors.New("away") },
			refused: map[string]report.Code{"a1": report.CodeUnexpectedError, "b1": report.CodeUnexpectedError, "a2": report.CodeUnexpectedError},
		},
		"nodes are not listed for nothing": {before: func(s *stage) { s.nodesErr = errors.New("away") }, started: []string{"a1", "b1", "a2"}},
	} {
		t.Run(name, func(t *testing.T) {
			options := defaults()
			options.Minimums = test.minimums
			s := newStage(t, options)
			s.Actuator = act.New(act.Collaborators{
				Cloud: choosyCloud{s.world, test.own}, Kube: s.world, Lister: listers{s.world}, Workloads: everything{}, Observer: s.world, Clock: s.time,
			}, options)
			small := func(name string) simtest.NodeBuilder { return node(name).CPU("3900m").Memory("1Gi") }
			large := func(name string) simtest.NodeBuilder {
				return small(name).Label("accelerator", "t4").Resource("nvidia.com/gpu", "2")
			}
			s.add("a", small("a1"), small("a2"))
			s.add("b", large("b1"), large("b2"))
			s.nodes["foreign"] = node("foreign").CPU("2").Memory("1Gi").Build()
			if test.before != nil {
				test.before(s)
			}
			first, second := s.candidate("a", "a1"), s.candidate("a", "a2")
			first.Atomic, second.Atomic = test.whole, test.whole
			got := s.Shrink(silent(t), planOf(first, s.candidate("b", "b1"), second))
			if diff := cmp.Diff(test.started, names(got.Started)); diff != "" {
				t.Errorf("started (-want +got):\n%s", diff)
			}
			if len(test.refused) == 0 {
				test.refused = map[string]report.Code{}
			}
			if diff := cmp.Diff(test.refused, refusedCodes(got.Refused)); diff != "" {
				t.Errorf("refused (-want +got):\n%s", diff)
			}
			for node := range test.refused {
				if s.look(node) != unmarked {
					t.Errorf("node %s was touched: %s", node, s.look(node))
				}
			}
		})
	}
}

func TestTheMinimumsComeFromTheCommandLine(t *testing.T) {
	got := act.NewOptions(config.Options{Limits: config.Limits{
		Cores: config.Range{Min: 3}, Memory: config.Range{Min: 5 << 30}, GPUs: []config.GPULimit{{Type: "t4", Count: config.Range{Min: 2}}},
	}}).Minimums
	if diff := cmp.Diff(map[string]int64{"cpu": 3, "memory": 5 << 30, "t4": 2}, got); diff != "" {
		t.Errorf("minimums (-want +got):\n%s", diff)
	}
}
