package demo

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"example.com/cluster-autoscaler/hack/playground/checker"
)

// Summary renders the figures of a story as a table.
func Summary(f checker.Figures) string {
	var s strings.Builder
	t := tabwriter.NewWriter(&s, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "node group\tmin\tmax\tfirst\tpeak\tlast\tbought\tended\t")
	for _, g := range f.Groups {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t\n", g.Name, g.Min, g.Max, len(g.First), g.Peak, g.Now, g.Bought, g.Ended)
	}
	t.Flush() //nolint:errcheck // a strings.Builder takes everything
	fmt.Fprintf(&s, "\nThe story took %.0f s. At most %d pods ran at once; %d are left, %d of them waiting. %d pods were evicted; %d evictions were refused.\n",
		f.Took.Seconds(), f.PodsPeak, f.Pods, f.Waiting, f.Evictions, f.Refused)
	if f.Counted > 0 {
		fmt.Fprintf(&s, "From the news that a pod is unschedulable to the request for its machine: median %d ms, slowest %d ms (%d pods).\n",
			f.Median.Round(time.Millisecond).Milliseconds(), f.Slowest.Round(time.Millisecond).Milliseconds(), f.Counted)
	}
	if f.PeakRSS > 0 {
		fmt.Fprintf(&s, "Memory of the autoscaler at its peak: %d MiB.\n", f.PeakRSS>>20)
	}
	return s.String()
}
