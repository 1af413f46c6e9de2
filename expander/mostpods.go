package expander

import "context"

// mostPods keeps the options that help the most pods.
func mostPods(_ context.Context, asked Question) answer {
	return lowest(asked.Options, func(o Option) int { return -len(o.Pods) })
}
