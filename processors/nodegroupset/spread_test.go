package nodegroupset_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/processors/nodegroupset"
)

// sized makes groups a, b, c and so on from pairs of size and maximum.
func sized(pairs ...[2]int) []nodegroupset.Size {
	var out []nodegroupset.Size
	for i, p := range pairs {
		out = append(out, nodegroupset.Size{Group: cloudprovider.GroupID(rune('a' + i)), Nodes: p[0], Max: p[1]})
	}
	return out
}

func told(grown []nodegroupset.Growth) []string {
	var out []string
	for _, g := range grown {
		out = append(out, fmt.Sprintf("%s %d->%d", g.Group, g.From, g.To))
	}
	return out
}

func TestSpread(t *testing.T) {
	even := sized([2]int{2, 10}, [2]int{4, 10}, [2]int{4, 10})
	for name, tc := range map[string]struct {
		groups []nodegroupset.Size
		nodes  int
		want   []string // in the order of the plan
	}{
		"B07: the smallest group grows up to the next":           {even, 3, []string{"a 2->5"}},
		"B07: the next one follows":                              {even, 4, []string{"a 2->5", "b 4->5"}},
		"B07: then the last":                                     {even, 5, []string{"a 2->5", "b 4->5", "c 4->5"}},
		"B08: a full group passes its share on":                  {sized([2]int{1, 2}, [2]int{1, 6}), 4, []string{"a 1->2", "b 1->4"}},
		"B08: no more than there is room for":                    {sized([2]int{1, 2}, [2]int{1, 6}), 20, []string{"a 1->2", "b 1->6"}},
		"B13: full groups get nothing":                           {sized([2]int{3, 3}, [2]int{5, 5}), 2, nil},
		"B14: a group that was filled up comes first":            {sized([2]int{1, 7}, [2]int{1, 3}, [2]int{0, 5}), 10, []string{"b 1->3", "a 1->5", "c 0->4"}},
		"B15: the swap decides who gets the remainder":           {sized([2]int{1, 5}, [2]int{0, 3}, [2]int{0, 1}), 4, []string{"c 0->1", "b 0->2", "a 1->2"}},
		"B16: filled up in the middle":                           {sized([2]int{2, 7}, [2]int{3, 4}, [2]int{0, 6}), 10, []string{"b 3->4", "a 2->6", "c 0->5"}},
		"a full group is out of the order":                       {sized([2]int{0, 1}, [2]int{0, 2}, [2]int{0, 0}), 3, []string{"a 0->1", "b 0->2"}},
		"a group above its maximum stays where it is":            {sized([2]int{6, 4}, [2]int{1, 3}), 4, []string{"b 1->3"}},
		"one above its maximum does not lend room to the others": {sized([2]int{9, 4}, [2]int{1, 3}), 9, []string{"b 1->3"}},
		"no nodes are no change":                                 {even, 0, nil},
		"less than none neither":                                 {even, -3, nil},
		"without groups nothing grows":                           {nil, 3, nil},
	} {
		t.Run(name, func(t *testing.T) {
			before := append([]nodegroupset.Size(nil), tc.groups...)
			if diff := cmp.Diff(tc.want, told(nodegroupset.Spread(tc.nodes, tc.groups))); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, tc.groups); diff != "" {
				t.Errorf("the input was changed: %s", diff)
			}
		})
	}
}

// TestSpreadConverges: all nodes are given as long as there is room, nobody passes a maximum, and no group that grew is ahead of one with room by
// more than the one node of a remainder.
func TestSpreadConverges(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var groups []nodegroupset.Size
		room := 0
		for i := range 1 + r.IntN(6) {
			g := nodegroupset.Size{Group: cloudprovider.GroupID(rune('a' + i)), Nodes: r.IntN(8), Max: r.IntN(12)}
			groups, room = append(groups, g), room+max(0, g.Max-g.Nodes)
		}
		nodes := r.IntN(30)
		now := map[cloudprovider.GroupID]int{}
		given := 0
		for _, g := range nodegroupset.Spread(nodes, groups) {
			now[g.Group] = g.To
			given += g.To - g.From
		}
		if given != min(nodes, room) {
			t.Fatalf("%d nodes were given of %d, %v has room for %d", given, nodes, groups, room)
		}
		for _, g := range groups {
			if to, grew := now[g.Group]; grew && to > g.Max {
				t.Fatalf("%s has %d nodes of %d", g.Group, to, g.Max)
			}
			for _, other := range groups {
				size, grew := now[other.Group]
				if !grew {
					size = other.Nodes
				}
				if to, grown := now[g.Group]; grown && size < other.Max && to > size+1 {
					t.Fatalf("%v and %d nodes: %s has %d, %s only %d", groups, nodes, g.Group, to, other.Group, size)
				}
			}
		}
	}
}
