package expander

import "context"

// leastNodes keeps the options that need the fewest nodes.
func leastNodes(_ context.Context, asked Question) answer {
	return lowest(asked.Options, func(o Option) int { return o.Nodes })
}
