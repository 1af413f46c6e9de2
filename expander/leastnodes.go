package expander

import "context"

// leastNodes keeps the options that need the fewest nodes.
func leastNodes(_ context.Context, options []Option) []int {
	return lowest(options, func(o Option) int { return o.Nodes })
}
