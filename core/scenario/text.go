package scenario

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// Text writes lines for people: a timeline, in which what happened to many at once is told together, and at the end the node groups and the pods
// that still wait.
type Text struct {
	out     io.Writer
	explain bool
	err     error

	at    float64
	batch []Line // of that time
	// why says of waiting pods why they wait.
	why map[string]string
}

// NewText returns a Text that writes to out. With explain it also says which nodes could go, and why others are kept.
func NewText(out io.Writer, explain bool) *Text {
	return &Text{out: out, explain: explain, why: map[string]string{}}
}

// Tell takes a line.
func (t *Text) Tell(l Line) {
	if at := l.head().At; at != t.at {
		t.flush()
		t.at = at
	}
	t.note(l)
	if end, ok := l.(summary); ok {
		t.flush()
		t.conclude(end)
		return
	}
	t.batch = append(t.batch, l)
}

// Close writes what is left and returns the first error of writing; nil: everything is written.
func (t *Text) Close() error {
	t.flush()
	if t.err != nil {
		return fmt.Errorf("writing the timeline: %w", t.err)
	}
	return nil
}

func (t *Text) printf(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.out, format, args...)
	}
}

// note remembers why pods wait.
func (t *Text) note(l Line) {
	switch l := l.(type) {
	case scaleUp:
		for _, pod := range l.Pods {
			t.why[pod] = "a node of " + l.NodeGroup + " was bought for it at " + clockOf(l.At)
		}
	case noScaleUp:
		t.why[l.Pod] = reasonsText(l.Reasons)
	default: // the others are not about waiting pods
	}
}

// flush writes what happened at one time. Lines that say the same of several things become one.
func (t *Text) flush() {
	var order []string
	told := map[string][]string{} // who, by what is said of them
	say := func(what, who string) {
		if _, known := told[what]; !known {
			order = append(order, what)
		}
		if who != "" {
			told[what] = append(told[what], who)
		} else {
			told[what] = nil
		}
	}
	for _, l := range t.batch {
		if what, who, shown := t.words(l); shown {
			say(what, who)
		}
	}
	for _, what := range order {
		kind, text, _ := strings.Cut(what, "\x00")
		if who := told[what]; len(who) > 0 {
			text = strings.Replace(text, "{}", list(who), 1)
		}
		t.printf("%9s  %-18s %s\n", clockOf(t.at), kind, text)
	}
	t.batch = nil
}

// words are what a line says, with {} in the place of whom it says it of; what is not shown is told only to those who want explanations.
func (t *Text) words(l Line) (what, who string, shown bool) {
	say := func(format string, args ...any) string { return l.head().Type + "\x00" + fmt.Sprintf(format, args...) }
	switch l := l.(type) {
	case scaleUp:
		pods := ""
		if len(l.Pods) > 0 {
			pods = " for " + list(l.Pods)
		}
		return say("%s %d → %d%s; %s", l.NodeGroup, l.From, l.To, pods, l.Reason), "", true
	case scaleUpFailed:
		return say("%s +%d: %s: %s", l.NodeGroup, l.Delta, l.ErrorClass, l.Error), "", true
	case noScaleUp:
		return say("{}: %s", reasonsText(l.Reasons)), l.Pod, true
	case nodeReady:
		return say("%s: {}", groupText(l.NodeGroup)), l.Node, true
	case nodeUnneeded:
		return say("%s: {}", groupText(l.NodeGroup)), l.Node, t.explain
	case nodeNeeded:
		return say("%s: {}", groupText(l.NodeGroup)), l.Node, t.explain
	case nodeKept:
		return say("%s: {}: %s: %s", groupText(l.NodeGroup), l.Reason, l.Detail), l.Node, t.explain
	case scaleDown:
		if l.Empty {
			return say("%s: {}, empty", l.NodeGroup), l.Node, true
		}
		return say("%s: %s, moving %s", l.NodeGroup, l.Node, list(l.Pods)), "", true
	case scaleDownFailed:
		return say("%s: %s: %s", l.NodeGroup, l.Node, l.Error), "", true
	case nodeRemoved:
		return say("%s: {}", groupText(l.NodeGroup)), l.Node, true
	case groupBackedOff:
		return say("%s until %s: %s", l.NodeGroup, clockOf(l.Until), l.Reason), "", true
	default:
		what, shown = t.rare(l)
		return what, "", shown
	}
}

// rare are the words for lines about no pod and no node.
func (t *Text) rare(l Line) (what string, shown bool) {
	say := func(format string, args ...any) (string, bool) {
		return l.head().Type + "\x00" + fmt.Sprintf(format, args...), true
	}
	switch l := l.(type) {
	case groupSetAside:
		until := "until a refresh says otherwise"
		if l.Until != nil {
			until = "until " + clockOf(*l.Until)
		}
		return say("%s %s: %s", l.NodeGroup, until, l.Reason)
	case restarted:
		how := "the autoscaler was killed and is back"
		if l.Graceful {
			how = "the autoscaler was stopped and is back"
		}
		return say("%s", how)
	case notice:
		if l.Reason == "" {
			return say("%s", l.Text)
		}
		return say("%s: %s", l.Reason, l.Text)
	case iterationFailed:
		return say("%s", l.Error)
	case expectationFailed:
		return say("expected %s, got %s", l.Expectation, l.Got)
	default:
		return "", false
	}
}

func groupText(name string) string {
	if name == "" {
		return "no group"
	}
	return name
}

// listed is how many names of a longer list are shown.
const shownNames = 3

// list names some of many.
func list(names []string) string {
	if len(names) <= shownNames+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shownNames], ", "), len(names)-shownNames)
}

// reasonsText joins reasons; groups that have the same are named together.
func reasonsText(reasons []GroupReason) string {
	var order []string
	groups := map[string][]string{}
	for _, r := range reasons {
		what := r.Reason + ": " + r.Detail
		if _, known := groups[what]; !known {
			order = append(order, what)
			groups[what] = nil
		}
		if r.NodeGroup != "" {
			groups[what] = append(groups[what], r.NodeGroup)
		}
	}
	parts := make([]string, 0, len(order))
	for _, what := range order {
		if of := groups[what]; len(of) > 0 {
			what = list(of) + " " + what
		}
		parts = append(parts, what)
	}
	return strings.Join(parts, "; ")
}

// clockOf is a time since the start as hours, minutes and seconds.
func clockOf(at float64) string {
	d := time.Duration(at * float64(time.Second)).Round(time.Second)
	sign := ""
	if d < 0 {
		sign, d = "-", -d
	}
	return fmt.Sprintf("%s%d:%02d:%02d", sign, int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60)
}

// conclude writes the end: the node groups and the pods that still wait.
func (t *Text) conclude(end summary) {
	t.printf("\n")
	table := tabwriter.NewWriter(writerFunc(func(p []byte) (int, error) {
		t.printf("%s", p)
		return len(p), t.err
	}), 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "NODE GROUP\tMIN\tMAX\tTARGET\tREADY") // errors are kept by printf
	for _, name := range sortedKeys(end.NodeGroups) {
		g := end.NodeGroups[name]
		_, _ = fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\n", name, g.Min, g.Max, g.Target, g.Ready)
	}
	_ = table.Flush()
	t.printf("\nAfter %s: %s, %s, %s.\n", clockOf(end.At), counted(end.Nodes, "node"), counted(end.Evictions, "eviction"), counted(end.Iterations, "iteration"))
	if len(end.PendingPods) == 0 {
		t.printf("No pod is pending.\n")
		return
	}
	t.printf("Pods still pending:\n")
	for _, group := range t.stillPending(end.PendingPods) {
		t.printf("  %s\n", group)
	}
}

// stillPending are the pods that wait for the same reason, with it.
func (t *Text) stillPending(pods []string) []string {
	var order []string
	by := map[string][]string{}
	for _, pod := range pods {
		why := t.why[pod]
		if why == "" {
			why = "nothing was decided about it yet"
		}
		if by[why] == nil {
			order = append(order, why)
		}
		by[why] = append(by[why], pod)
	}
	out := make([]string, 0, len(order))
	for _, why := range order {
		out = append(out, list(by[why])+": "+why)
	}
	return out
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
