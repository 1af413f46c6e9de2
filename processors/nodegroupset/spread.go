package nodegroupset

import (
	"cmp"
	"slices"

	"example.com/cluster-autoscaler/cloudprovider"
)

// Size is the size of one group, in nodes.
type Size struct {
	Group cloudprovider.GroupID
	// Nodes is how many the group has, Max how many it may have. A group above its maximum receives nothing.
	Nodes, Max int
}

// Growth is by how many nodes one group grows.
type Growth struct {
	Group cloudprovider.GroupID
	// From and To are sizes in nodes, To the larger one.
	From, To int
}

// Spread distributes so many new nodes over the groups, or as many as these have room for, so that their sizes converge: the smallest one grows
// until it exceeds the next. It returns the groups that grow. Their order is that of increasing size, except that a group that gets filled up
// changes places with the first one that is not; plans are carried out in it. Groups of equal size stay in the order given.
func Spread(nodes int, groups []Size) []Growth {
	list := make([]member, 0, len(groups))
	room := 0
	for _, g := range groups {
		if g.Nodes != g.Max {
			list = append(list, member{Size: g, now: g.Nodes})
			room += max(0, g.Max-g.Nodes)
		}
	}
	slices.SortStableFunc(list, func(a, b member) int { return cmp.Compare(a.Nodes, b.Nodes) })
	distribute(min(nodes, room), list)
	var out []Growth
	for _, m := range list {
		if m.now > m.Nodes {
			out = append(out, Growth{Group: m.Group, From: m.Nodes, To: m.now})
		}
	}
	return out
}

// member is a group with the size that it has got so far.
type member struct {
	Size
	now int
}

// distribute hands out nodes one by one. The groups from open on may still have room; at is the one whose turn it is. There is room for all nodes.
func distribute(nodes int, list []member) {
	for open, at := 0, 0; nodes > 0; {
		if list[at].now < list[at].Max {
			list[at].now++
			nodes--
		} else {
			list[at], list[open] = list[open], list[at]
			open++
		}
		// After a swap another group stands at this place, maybe the one that was closed. It is compared all the same: this decides who gets the
		// remainders, and operators know the result.
		if at+1 < len(list) && list[at].now > list[at+1].now {
			at++
		} else {
			at = open
		}
	}
}
