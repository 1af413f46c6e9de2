package expander_test

import (
	"errors"
	"fmt"
	"maps"
	"math"
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

// priceList is a cloud that knows prices by the names of nodes and pods. What is missing has none.
type priceList struct {
	cloudprovider.CloudProvider
	label string
	of    map[string]float64
}

func (l priceList) GPULabel() string   { return l.label }
func (l priceList) GPUTypes() []string { return nil }
func (l priceList) NodePricePerHour(node *corev1.Node) (float64, error) {
	return l.price("node", node.Name)
}
func (l priceList) PodPricePerHour(pod *corev1.Pod) (float64, error) {
	return l.price("pod", pod.Name)
}

func (l priceList) price(kind, name string) (float64, error) {
	price, ok := l.of[name]
	if !ok {
		return 0, fmt.Errorf("%s %s has no price", kind, name)
	}
	return price, nil
}

// groupPrices is a cloud whose groups buy alike machines in different ways.
type groupPrices struct {
	priceList
	groups map[cloudprovider.GroupID]float64
}

func (g groupPrices) GroupPricePerHour(group cloudprovider.GroupID, node *corev1.Node) (float64, error) {
	if price, ok := g.groups[group]; ok {
		return price, nil
	}
	return g.NodePricePerHour(node)
}

func TestAlikeMachinesCostWhatTheirGroupPays(t *testing.T) {
	cloud := groupPrices{
		priceList: priceList{of: map[string]float64{"plain": 10, "spot": 10, "work": 5, "ballast": 1}}, groups: map[cloudprovider.GroupID]float64{"spot": 3},
	}
	question := expander.Question{Options: []expander.Option{machines("plain", 1, "4"), machines("spot", 1, "4")}, ClusterNodes: 10}
	choice := chainOf(t, expander.Sources{Cloud: cloud}, config.ExpanderPrice).Choose(t.Context(), question)
	if got := told(question, choice).Took; got != "spot" {
		t.Errorf("took %q, want spot", got)
	}
}

// machines is an option of so many machines of a size for one pod called "work".
func machines(group string, nodes int, cpu string) expander.Option {
	return expander.Option{
		Group: cloudprovider.GroupID(group), Nodes: nodes, Node: simtest.Node(group).CPU(cpu).Memory("8Gi").Build(), Pods: []*corev1.Pod{work},
	}
}

// work is a pod whose price a case gives.
var work = simtest.Pod("work").Requests("1", "1Gi").Build()

func theoretical(o expander.Option) expander.Option {
	o.Theoretical = true
	return o
}

func chainOf(t *testing.T, from expander.Sources, names ...config.Expander) *expander.Chain {
	t.Helper()
	chain, err := expander.New(names, from, rand.New(rand.NewPCG(3, 3)))
	if err != nil {
		t.Fatal(err)
	}
	return chain
}

// outcome is a choice in short.
type outcome struct {
	Took    string
	Dropped map[string]string
}

func told(asked expander.Question, choice expander.Choice) outcome {
	var out outcome
	if choice.Taken >= 0 {
		out.Took = string(asked.Options[choice.Taken].Group)
	}
	for _, d := range choice.Dropped {
		reason := d.Reason.(report.DroppedByExpander)
		if out.Dropped == nil {
			out.Dropped = map[string]string{}
		}
		out.Dropped[string(d.Group)] = reason.Expander
		if reason.Detail != "" {
			out.Dropped[string(d.Group)] += ": " + reason.Detail
		}
	}
	return out
}

func TestPrice(t *testing.T) {
	a, b := machines("a", 3, "2"), machines("b", 1, "8")
	list := map[string]float64{"a": 10, "b": 28, "work": 20, "ballast": 2}
	with := func(changes map[string]float64, without ...string) map[string]float64 {
		out := maps.Clone(list)
		maps.Copy(out, changes)
		for _, name := range without {
			delete(out, name)
		}
		return out
	}
	labelled := machines("g", 1, "2")
	labelled.Node = simtest.Node("g").CPU("2").Memory("8Gi").Label("accelerator", "t4").Build()
	offering := machines("g", 1, "2")
	offering.Node = simtest.Node("g").CPU("2").Memory("8Gi").Resource("amd.com/gpu", "1").Build()
	unknown := machines("u", 1, "2")
	unknown.Node = nil
	sizeless := machines("u", 1, "0")
	for name, tc := range map[string]struct {
		options []expander.Option
		nodes   int
		prices  map[string]float64
		want    outcome
	}{
		"X10: three nodes of the right size beat one of the wrong size": {
			options: []expander.Option{a, b}, nodes: 5, prices: list,
			want: outcome{"a", map[string]string{"b": "price: score 5.455, the lowest is 1.455"}},
		},
		"X11: a group that has to be created counts twice": {
			options: []expander.Option{theoretical(a), b}, nodes: 5, prices: list,
			want: outcome{"a", map[string]string{"b": "price: score 5.455, the lowest is 2.909"}},
		},
		"X12: the more nodes, the less their size matters": { // 1.7152 × (16 × 1 + 2) / 22
			options: []expander.Option{machines("c", 16, "8"), machines("d", 1, "2")}, nodes: 5, prices: with(map[string]float64{"c": 1, "d": 40}),
			want: outcome{"c", map[string]string{"d": "price: score 1.909, the lowest is 1.403"}},
		},
		"X13: nodes that offer accelerators are the last choice": { // 1000 × (0.001 + 2) / 22
			options: []expander.Option{offering, b}, nodes: 5, prices: with(map[string]float64{"g": 0.001}),
			want: outcome{"b", map[string]string{"g": "price: score 90.95, the lowest is 5.455"}},
		},
		"X13: so are those with the label for them": {
			options: []expander.Option{labelled, b}, nodes: 5, prices: with(map[string]float64{"g": 0.001}),
			want: outcome{"b", map[string]string{"g": "price: score 90.95, the lowest is 5.455"}},
		},
		"without a price for the small pod it weighs nothing": {
			options: []expander.Option{a, b}, nodes: 5, prices: with(nil, "ballast"),
			want: outcome{"a", map[string]string{"b": "price: score 5.6, the lowest is 1.5"}},
		},
		"an option whose price is not known is dropped": {
			options: []expander.Option{a, b}, nodes: 5, prices: with(nil, "a"),
			want: outcome{"b", map[string]string{"a": "price: no score: node a has no price"}},
		},
		"so is one of which nobody knows what its nodes look like": {
			options: []expander.Option{unknown, b}, nodes: 5, prices: list,
			want: outcome{"b", map[string]string{"u": "price: no score: nobody knows what a fresh node looks like"}},
		},
		"so is one of unknown size": {
			options: []expander.Option{sizeless, b}, nodes: 5, prices: with(map[string]float64{"u": 1}),
			want: outcome{"b", map[string]string{"u": "price: no score: a fresh node has no known CPU capacity"}},
		},
		"so is one whose price is no number": {
			options: []expander.Option{a, b}, nodes: 5, prices: with(map[string]float64{"a": math.NaN()}),
			want: outcome{"b", map[string]string{"a": "price: no score: the price of a node is NaN"}},
		},
		"so is one whose price is below nothing": {
			options: []expander.Option{a, b}, nodes: 5, prices: with(map[string]float64{"a": -1}),
			want: outcome{"b", map[string]string{"a": "price: no score: the price of a node is -1"}},
		},
		"without a price for the pods all options stay": {
			options: []expander.Option{a, b}, nodes: 5, prices: with(nil, "work"),
			want: outcome{"b", map[string]string{"a": "random"}}, // by the seed
		},
		"without any price at all all options stay": {
			options: []expander.Option{a, b}, nodes: 5, prices: nil,
			want: outcome{"b", map[string]string{"a": "random"}},
		},
		"pods that cost nothing leave nothing to compare with": {
			options: []expander.Option{a, b}, nodes: 5, prices: with(map[string]float64{"work": 0}, "ballast"),
			want: outcome{"b", map[string]string{"a": "random"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			chain := chainOf(t, expander.Sources{Cloud: priceList{label: "accelerator", of: tc.prices}}, config.ExpanderPrice)
			asked := expander.Question{Options: tc.options, ClusterNodes: tc.nodes}
			if diff := cmp.Diff(tc.want, told(asked, chain.Choose(t.Context(), asked))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestThePreferredNodeGrowsWithTheCluster(t *testing.T) {
	sizes := []string{"1", "2", "4", "8", "16", "32"}
	var options []expander.Option
	prices := map[string]float64{"work": 1, "ballast": 1}
	for _, cpu := range sizes {
		options = append(options, machines(cpu, 1, cpu))
		prices[cpu] = 1 // so that only the size counts
	}
	chain := chainOf(t, expander.Sources{Cloud: priceList{of: prices}}, config.ExpanderPrice)
	for nodes, want := range map[int]string{0: "1", 2: "1", 3: "2", 6: "2", 7: "4", 20: "4", 21: "8", 60: "8", 61: "16", 200: "16", 201: "32", 15_000: "32"} {
		asked := expander.Question{Options: options, ClusterNodes: nodes}
		if got := told(asked, chain.Choose(t.Context(), asked)).Took; got != want {
			t.Errorf("with %d nodes in the cluster the one with %s CPUs is taken, want %s", nodes, got, want)
		}
	}
}

func TestPricesThatDisappearAreToldOnce(t *testing.T) {
	list := priceList{of: map[string]float64{"a": 10, "b": 28, "work": 20, "ballast": 2}}
	chain := chainOf(t, expander.Sources{Cloud: list}, config.ExpanderPrice)
	asked := expander.Question{Options: []expander.Option{machines("a", 3, "2"), machines("b", 1, "8")}, ClusterNodes: 5}
	choose := func() (texts []string) {
		for _, n := range chain.Choose(t.Context(), asked).Notices {
			texts = append(texts, n.Message)
		}
		return texts
	}
	for i, step := range []struct {
		without string
		want    []string
	}{
		{want: nil},
		{without: "work", want: []string{"expander price: no option has a score, so none is preferred: pod work has no price"}},
		{without: "work"},
		{want: []string{"expander price: there are prices again"}},
		{want: nil},
	} {
		delete(list.of, "work")
		if step.without == "" {
			list.of["work"] = 20
		}
		if diff := cmp.Diff(step.want, choose()); diff != "" {
			t.Errorf("step %d: %s", i, diff)
		}
	}
}

// counting is a price list that counts how often it is asked about pods.
type counting struct {
	priceList
	pods map[string]int
}

func (c counting) PodPricePerHour(pod *corev1.Pod) (float64, error) {
	c.pods[pod.Name]++
	if pod.Name == "ballast" {
		return 0, errors.New("no price")
	}
	return 1, nil
}

func TestAPodOfSeveralOptionsIsPricedOnce(t *testing.T) {
	cloud := counting{priceList{of: map[string]float64{"a": 1, "b": 1, "c": 1}}, map[string]int{}}
	chain := chainOf(t, expander.Sources{Cloud: cloud}, config.ExpanderPrice)
	asked := expander.Question{Options: []expander.Option{machines("a", 1, "2"), machines("b", 1, "2"), machines("c", 1, "2")}}
	chain.Choose(t.Context(), asked)
	if diff := cmp.Diff(map[string]int{"work": 1, "ballast": 1}, cloud.pods); diff != "" {
		t.Error(diff)
	}
}
