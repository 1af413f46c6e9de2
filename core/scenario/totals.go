package scenario

import (
	"example.com/cluster-autoscaler/cloudprovider/simulated"
)

// totals count what the autoscaler did.
type totals struct {
	// increases, deletes and evictions are by node group; evictions on nodes of no group are under "".
	increases, deletes, evictions map[string]int
	// undrained counts the machines that were ended with pods that had to be moved.
	undrained  int
	iterations int
}

func newTotals() totals {
	return totals{increases: map[string]int{}, deletes: map[string]int{}, evictions: map[string]int{}}
}

// wrote counts a call to the cloud, refused ones included.
func (t *totals) wrote(write simulated.Write) {
	switch write.Operation {
	case simulated.IncreaseSize, simulated.IncreaseSizeAtomically:
		t.increases[string(write.Group)]++
	case simulated.DeleteNodes, simulated.ForceDeleteNodes:
		t.deletes[string(write.Group)]++
	default: // the others are not counted
	}
}

// of is the count of one group; empty: of all.
func of(counts map[string]int, group string) int {
	if group != "" {
		return counts[group]
	}
	sum := 0
	for _, count := range counts {
		sum += count
	}
	return sum
}
