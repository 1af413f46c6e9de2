package saved

import (
	"bytes"
	"encoding/binary"
	"hash/fnv"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// markSize is how many bytes stand for one pod. UIDs are random and cannot be compressed: those of 50,000 pods would not fit, these do. That two of
// them share a mark is next to impossible, and would only make one pod wait for the node of another.
const markSize = 6

// Marks tell pods by their UIDs: one mark each, ascending, in one piece.
type Marks []byte

// MarksOf are the marks of the pods, in any order.
func MarksOf(pods []types.UID) Marks {
	marks := make([][markSize]byte, 0, len(pods))
	for _, pod := range pods {
		marks = append(marks, markOf(pod))
	}
	slices.SortFunc(marks, func(a, b [markSize]byte) int { return bytes.Compare(a[:], b[:]) })
	out := make(Marks, 0, markSize*len(marks))
	for _, mark := range marks {
		out = append(out, mark[:]...)
	}
	return out
}

// Have tells whether the pod is among those marked.
func (m Marks) Have(pod types.UID) bool {
	mark := markOf(pod)
	low, high := 0, len(m)/markSize
	for low < high {
		middle := (low + high) / 2
		switch bytes.Compare(m[middle*markSize:(middle+1)*markSize], mark[:]) {
		case 0:
			return true
		case -1:
			low = middle + 1
		default:
			high = middle
		}
	}
	return false
}

func markOf(pod types.UID) [markSize]byte {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(pod)) // never fails
	var sum [8]byte
	binary.BigEndian.PutUint64(sum[:], hash.Sum64())
	return [markSize]byte(sum[len(sum)-markSize:])
}
