package expander

import "context"

// anyOne keeps one option, each with the same probability.
func (c *Chain) anyOne(_ context.Context, options []Option) []int {
	if len(options) == 0 {
		return nil
	}
	return []int{c.random.IntN(len(options))}
}
