package expander

import "context"

// anyOne keeps one option, each with the same probability.
func (c *Chain) anyOne(_ context.Context, asked Question) answer {
	if len(asked.Options) == 0 {
		return answer{}
	}
	return answer{kept: []int{c.random.IntN(len(asked.Options))}}
}
