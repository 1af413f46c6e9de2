package expander

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/core/report"
)

// Option is one way to help: so many nodes of one group. There is at most one option per group.
type Option struct {
	Group cloudprovider.GroupID
	// Similar are the groups among which the nodes will be spread too, in the order of the cloud; nil: none.
	Similar []cloudprovider.GroupID
	// Theoretical is true for a group that does not exist in the cloud yet.
	Theoretical bool
	// Nodes is how many nodes are added, at least 1.
	Nodes int
	// Pods are those that would be helped, at least one.
	Pods []*corev1.Pod
	// Node is what a fresh node looks like; shared, not to be changed.
	Node *corev1.Node
}

// Question is what a chain is asked.
type Question struct {
	// Options in the order of the groups.
	Options []Option
	// ClusterNodes is how many nodes the cluster has, all of them.
	ClusterNodes int
}

// Choice is what became of the options.
type Choice struct {
	// Taken is the index of the option to carry out; -1: none.
	Taken int
	// Dropped are the options that were ruled out, in their order, with the strategy that did it.
	Dropped []report.GroupVerdict
}

// strategy keeps the best of the options, by index into them, ascending. It may keep all and may be given none.
type strategy func(ctx context.Context, asked Question) []int

// Chain is a sequence of strategies. It is not safe for concurrent use, because its source of randomness isn't.
type Chain struct {
	links  []link
	random *rand.Rand
}

type link struct {
	name config.Expander
	keep strategy
}

// New builds the chain. Names that the configuration accepts and this package does not have are errors. random draws among options that
// are still equal at the end.
func New(names []config.Expander, random *rand.Rand) (*Chain, error) {
	c := &Chain{random: random}
	for _, name := range names {
		keep := c.strategy(name)
		if keep == nil {
			return nil, fmt.Errorf("building the chain of expanders: there is no expander %q", name)
		}
		c.links = append(c.links, link{name: name, keep: keep})
	}
	return c, nil
}

func (c *Chain) strategy(name config.Expander) strategy {
	switch name {
	case config.ExpanderRandom:
		return c.anyOne
	case config.ExpanderMostPods:
		return mostPods
	case config.ExpanderLeastWaste:
		return leastWaste
	case config.ExpanderLeastNodes:
		return leastNodes
	case config.ExpanderPrice, config.ExpanderPriority, config.ExpanderGRPC:
		return nil
	default:
		return nil
	}
}

// Choose takes one of the options. Each strategy narrows them down; as soon as one is left, that is the choice and the other strategies are not
// asked. What is still equal at the end is decided at random. It may block where a strategy asks another process.
func (c *Chain) Choose(ctx context.Context, asked Question) Choice {
	options := asked.Options
	left := make([]int, len(options))
	for i := range left {
		left[i] = i
	}
	droppedBy := make(map[int]config.Expander, len(options))
	chain := append(slices.Clip(c.links), link{name: config.ExpanderRandom, keep: c.anyOne})
	for _, l := range chain {
		if len(left) == 1 {
			break
		}
		kept := l.keep(ctx, Question{Options: pick(options, left), ClusterNodes: asked.ClusterNodes})
		next := make([]int, 0, len(kept))
		for i, at := range left {
			if slices.Contains(kept, i) {
				next = append(next, at)
			} else {
				droppedBy[at] = l.name
			}
		}
		left = next
	}
	choice := Choice{Taken: -1}
	if len(left) == 1 {
		choice.Taken = left[0]
	}
	for i := range options {
		if name, dropped := droppedBy[i]; dropped {
			choice.Dropped = append(choice.Dropped, report.GroupVerdict{
				Group: options[i].Group, Reason: report.DroppedByExpander{Expander: string(name)},
			})
		}
	}
	return choice
}

func pick(options []Option, indices []int) []Option {
	out := make([]Option, 0, len(indices))
	for _, i := range indices {
		out = append(out, options[i])
	}
	return out
}

// lowest keeps the options with the lowest score; equal ones all stay.
func lowest[S int | float64](options []Option, score func(Option) S) []int {
	var (
		kept []int
		best S
	)
	for i, option := range options {
		got := score(option)
		switch {
		case len(kept) == 0 || got < best:
			kept, best = []int{i}, got
		case got == best:
			kept = append(kept, i)
		}
	}
	return kept
}
