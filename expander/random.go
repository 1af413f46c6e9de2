package expander

import "context"

// anyOne keeps one option, each with the same probability.
func (c *Chain) anyOne(_ context.Context, asked Question) []int {
	if len(asked.Options) == 0 {
		return nil
	}
	return []int{c.random.IntN(len(asked.Options))}
}
