package randomcluster

import "math/rand/v2"

// Choices makes the decisions that make up a case. Not safe for concurrent use.
type Choices struct {
	bytes  []byte
	random *rand.Rand // nil: choices are made from bytes
}

// FromSeed makes as many choices as are asked for; equal seeds make equal ones.
func FromSeed(seed uint64) *Choices {
	return &Choices{random: rand.New(rand.NewPCG(seed, 2))} //nolint:gosec // repeatable on purpose
}

// FromBytes makes one choice from each byte, so that a fuzzer can vary them; once they are used up it always takes the first.
func FromBytes(bytes []byte) *Choices { return &Choices{bytes: bytes} }

// Left says whether choices are left; with a seed they always are.
func (c *Choices) Left() bool { return c.random != nil || len(c.bytes) > 0 }

func (c *Choices) byte() int {
	if c.random != nil {
		return c.random.IntN(256)
	}
	if len(c.bytes) == 0 {
		return 0
	}
	chosen := int(c.bytes[0])
	c.bytes = c.bytes[1:]
	return chosen
}

// Of is a number from 0 to n-1; n is at most 256.
func (c *Choices) Of(n int) int { return c.byte() % n }

// Chance is true in that many of a hundred cases; false is the first choice.
func (c *Choices) Chance(percent int) bool { return c.byte()*100 >= (100-percent)*256 }

// Pick is one of these.
func Pick[T any](c *Choices, from ...T) T { return from[c.Of(len(from))] }
