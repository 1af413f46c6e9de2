package expander

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/expander/grpcplugin"
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
	// Templates are what a fresh node of each known group looks like, whether there is an option for it or not; nil: nobody knows.
	Templates map[cloudprovider.GroupID]*corev1.Node
}

// Choice is what became of the options.
type Choice struct {
	// Taken is the index of the option to carry out; -1: none.
	Taken int
	// Dropped are the options that were ruled out, in their order, with the strategy that did it.
	Dropped []report.GroupVerdict
	// Notices are what the operator has to know; nil: nothing that was not told before.
	Notices []report.Notice
}

// answer is what a strategy makes of the options that it was given.
type answer struct {
	// kept are the best, by index, ascending. They may be all or none.
	kept []int
	// why says more about options that were dropped, by index; nil: there is no more to say.
	why     map[int]string
	notices []report.Notice
}

// strategy picks the best of the options. It may be given none.
type strategy func(ctx context.Context, asked Question) answer

// Sources are what strategies ask. Each is needed by one strategy and may be nil in a chain without that.
type Sources struct {
	// Cloud is asked for prices by "price".
	Cloud cloudprovider.CloudProvider
	// Priorities returns the ConfigMap that "priority" reads: nil if there is none, an error if that is unknown. It must not block.
	Priorities func() (*corev1.ConfigMap, error)
	// Server is whom "grpc" asks; Dial makes one.
	Server grpcplugin.ExpanderClient
}

// Chain is a sequence of strategies. It is not safe for concurrent use, because its source of randomness isn't, and because strategies remember what
// they have told.
type Chain struct {
	links  []link
	random *rand.Rand
	// priorities are those of the strategy of that name; nil: it is not in the chain.
	priorities *priorities
}

type link struct {
	name config.Expander
	keep strategy
}

// New builds the chain. Names that nobody knows, and strategies whose source is missing, are errors of one line. random draws among options that
// are still equal at the end.
func New(names []config.Expander, from Sources, random *rand.Rand) (*Chain, error) {
	c := &Chain{random: random}
	for _, name := range names {
		keep, err := c.strategy(name, from)
		if err != nil {
			return nil, err
		}
		c.links = append(c.links, link{name: name, keep: keep})
	}
	return c, nil
}

func (c *Chain) strategy(name config.Expander, from Sources) (strategy, error) {
	switch name {
	case config.ExpanderRandom:
		return c.anyOne, nil
	case config.ExpanderMostPods:
		return mostPods, nil
	case config.ExpanderLeastWaste:
		return leastWaste, nil
	case config.ExpanderLeastNodes:
		return leastNodes, nil
	case config.ExpanderPrice:
		return newPrices(from.Cloud)
	case config.ExpanderPriority:
		if from.Priorities == nil {
			return nil, fmt.Errorf("--expander=%s: there is nowhere to read ConfigMaps from", name)
		}
		c.priorities = newPriorities(from.Priorities)
		return c.priorities.keep, nil
	case config.ExpanderGRPC:
		if from.Server == nil {
			return nil, fmt.Errorf("--expander=%s: there is no server to ask", name)
		}
		return newServer(from.Server, callTimeout).keep, nil
	default:
		return nil, fmt.Errorf("--expander=%s: there is no such expander", name)
	}
}

// Settings are the objects that strategies are configured by, apart from flags.
type Settings struct {
	// Features says of each whether it can be used, by ascending name.
	Features []report.Feature
	// Notices are what has changed about them; nil: nothing.
	Notices []report.Notice
}

// Update reads the settings anew. It is called at the beginning of each iteration, whose choices are then made by what was read; at is its time,
// groups are all groups of the cloud. It does not block.
func (c *Chain) Update(at time.Time, groups []cloudprovider.GroupID) Settings {
	if c.priorities == nil {
		return Settings{}
	}
	return c.priorities.update(at, groups)
}

// Choose takes one of the options. Each strategy narrows them down; as soon as one is left, that is the choice and the other strategies are not
// asked. What is still equal at the end is decided at random. It may block where a strategy asks another process.
func (c *Chain) Choose(ctx context.Context, asked Question) Choice {
	options := asked.Options
	left := make([]int, len(options))
	for i := range left {
		left[i] = i
	}
	choice := Choice{Taken: -1}
	dropped := make(map[int]report.DroppedByExpander, len(options))
	chain := append(slices.Clip(c.links), link{name: config.ExpanderRandom, keep: c.anyOne})
	for _, l := range chain {
		if len(left) == 1 {
			break
		}
		asked.Options = pick(options, left)
		got := l.keep(ctx, asked)
		choice.Notices = append(choice.Notices, got.notices...)
		next := make([]int, 0, len(got.kept))
		for i, at := range left {
			if slices.Contains(got.kept, i) {
				next = append(next, at)
			} else {
				dropped[at] = report.DroppedByExpander{Expander: string(l.name), Detail: got.why[i]}
			}
		}
		left = next
	}
	if len(left) == 1 {
		choice.Taken = left[0]
	}
	for i := range options {
		if reason, is := dropped[i]; is {
			choice.Dropped = append(choice.Dropped, report.GroupVerdict{Group: options[i].Group, Reason: reason})
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

// all keeps all options.
func all(options []Option) []int {
	kept := make([]int, len(options))
	for i := range kept {
		kept[i] = i
	}
	return kept
}

// lowest keeps the options with the lowest score; equal ones all stay.
func lowest[S int | float64](options []Option, score func(Option) S) answer {
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
	return answer{kept: kept}
}

// condition remembers what was told about something that lasts.
type condition struct{ told string }

// becomes says whether that is news; empty: all is well, which is no news at the beginning.
func (c *condition) becomes(what string) bool {
	news := c.told != what
	c.told = what
	return news
}
