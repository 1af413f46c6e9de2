package expander

import "context"

// mostPods keeps the options that help the most pods.
func mostPods(_ context.Context, options []Option) []int {
	return lowest(options, func(o Option) int { return -len(o.Pods) })
}
