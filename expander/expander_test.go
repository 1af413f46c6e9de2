package expander_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/expander"
	"example.com/cluster-autoscaler/simulator/simtest"
)

func option(group string, nodes, pods int, cpu, memory string) expander.Option {
	o := expander.Option{
		Group: cloudprovider.GroupID(group), Nodes: nodes, Node: simtest.Node("t").CPU(cpu).Memory(memory).Build(),
	}
	for i := range pods {
		o.Pods = append(o.Pods, simtest.Pod(fmt.Sprintf("p%d", i)).Requests("1", "1Gi").Build())
	}
	return o
}

func TestChoose(t *testing.T) {
	three := func(o expander.Option) expander.Option {
		o.Pods = []*corev1.Pod{simtest.Pod("big").Requests("3", "8Gi").Build()}
		return o
	}
	a, b := three(option("a", 1, 0, "4", "16Gi")), three(option("b", 1, 0, "8", "16Gi"))
	noCapacity := three(option("none", 1, 0, "4", "16Gi"))
	noCapacity.Node.Status.Capacity = nil
	for name, tc := range map[string]struct {
		chain   []config.Expander
		options []expander.Option
		want    string // group; "" means none
		dropped map[string]string
	}{
		"X01: least-waste takes the smaller machine": {
			chain: []config.Expander{config.ExpanderLeastWaste}, options: []expander.Option{b, a}, want: "a", dropped: map[string]string{"b": "least-waste"},
		},
		"least-waste does not take a machine of unknown size": {
			chain: []config.Expander{config.ExpanderLeastWaste}, options: []expander.Option{noCapacity, b}, want: "b",
			dropped: map[string]string{"none": "least-waste"},
		},
		"a machine of unknown size is better than none": {
			chain: []config.Expander{config.ExpanderLeastWaste}, options: []expander.Option{noCapacity}, want: "none",
		},
		"X04: least-nodes breaks the tie of most-pods": {
			chain: []config.Expander{config.ExpanderMostPods, config.ExpanderLeastNodes},
			options: []expander.Option{
				option("three", 3, 7, "4", "16Gi"), option("two", 2, 7, "4", "16Gi"), option("one", 1, 5, "4", "16Gi"),
			},
			want: "two", dropped: map[string]string{"three": "least-nodes", "one": "most-pods"},
		},
		"the only option is taken unasked": {
			chain: []config.Expander{config.ExpanderMostPods}, options: []expander.Option{b}, want: "b",
		},
		"no option, no choice": {chain: []config.Expander{config.ExpanderLeastWaste, config.ExpanderMostPods}},
		"X03: most-pods drops the smallest, and what is equal at the end is drawn": {
			chain: []config.Expander{config.ExpanderMostPods}, options: []expander.Option{option("five", 1, 5, "4", "16Gi"), option("x", 1, 7, "4", "16Gi"), option("y", 2, 7, "4", "16Gi")},
			want: "y", dropped: map[string]string{"five": "most-pods", "x": "random"}, // by the seed
		},
		"what is equal at the end is drawn": {
			chain: []config.Expander{config.ExpanderMostPods}, options: []expander.Option{option("x", 1, 3, "4", "16Gi"), option("y", 2, 3, "4", "16Gi")},
			want: "y", dropped: map[string]string{"x": "random"}, // by the seed
		},
	} {
		t.Run(name, func(t *testing.T) {
			chain, err := expander.New(tc.chain, expander.Sources{}, rand.New(rand.NewPCG(3, 3)))
			if err != nil {
				t.Fatal(err)
			}
			choice := chain.Choose(t.Context(), expander.Question{Options: tc.options})
			got := ""
			if choice.Taken >= 0 {
				got = string(tc.options[choice.Taken].Group)
			}
			if got != tc.want {
				t.Errorf("took %q, want %q", got, tc.want)
			}
			var dropped map[string]string
			for _, d := range choice.Dropped {
				if dropped == nil {
					dropped = map[string]string{}
				}
				dropped[string(d.Group)] = d.Reason.(report.DroppedByExpander).Expander
			}
			if diff := cmp.Diff(tc.dropped, dropped); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The machines of the worked cases X01 and X02: the first and the third tie.
func TestWasteIsTheSumOfBothShares(t *testing.T) {
	pod := simtest.Pod("p").Requests("3", "8Gi").Build()
	for _, tc := range []struct {
		nodes       int
		cpu, memory string
		want        float64
	}{
		{1, "4", "16Gi", 0.75}, {1, "8", "16Gi", 1.125}, {2, "2", "8Gi", 0.75},
	} {
		o := option("g", tc.nodes, 0, tc.cpu, tc.memory)
		o.Pods = []*corev1.Pod{pod}
		if got, known := expander.Waste(o); !known || got != tc.want {
			t.Errorf("%d nodes of %s and %s waste %v (known: %v), want %v", tc.nodes, tc.cpu, tc.memory, got, known, tc.want)
		}
	}
}

func TestTiesAreDrawnFromTheGivenSource(t *testing.T) {
	// X02: A and C tie; a fair source takes each about half of the time.
	big := []*corev1.Pod{simtest.Pod("big").Requests("3", "8Gi").Build()}
	options := []expander.Option{option("a", 1, 0, "4", "16Gi"), option("c", 2, 0, "2", "8Gi"), option("b", 1, 0, "8", "16Gi")}
	for i := range options {
		options[i].Pods = big
	}
	run := func(seed uint64) (taken [3]int) {
		chain, err := expander.New([]config.Expander{config.ExpanderLeastWaste, config.ExpanderRandom}, expander.Sources{}, rand.New(rand.NewPCG(seed, 0)))
		if err != nil {
			t.Fatal(err)
		}
		for range 1000 {
			taken[chain.Choose(t.Context(), expander.Question{Options: options}).Taken]++
		}
		return taken
	}
	first := run(1)
	if first[0] < 400 || first[1] < 400 || first[2] != 0 {
		t.Errorf("draws are %v, want both of the best about equally often and never the third", first)
	}
	if second := run(1); second != first {
		t.Errorf("the same seed gives %v and %v", first, second)
	}
}

func TestExpandersWithoutWhatTheyAskAreRefusedInOneLine(t *testing.T) {
	for name, want := range map[config.Expander]string{
		"cheapest":              "--expander=cheapest: there is no such expander",
		config.ExpanderPrice:    `--expander=price: cloud provider "nimbus" has no prices; take another expander, such as least-waste`,
		config.ExpanderPriority: "--expander=priority: there is nowhere to read ConfigMaps from",
		config.ExpanderGRPC:     "--expander=grpc: there is no server to ask",
	} {
		_, err := expander.New([]config.Expander{name}, expander.Sources{Cloud: cloudWithoutPrices{}}, rand.New(rand.NewPCG(1, 1)))
		if err == nil || err.Error() != want {
			t.Errorf("got the error %v, want %s", err, want)
		}
	}
}

// cloudWithoutPrices has a name and nothing else.
type cloudWithoutPrices struct{ cloudprovider.CloudProvider }

func (cloudWithoutPrices) Name() string { return "nimbus" }
