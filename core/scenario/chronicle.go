package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/report"
)

// chronicle makes lines of reports, and remembers what it has told so that nothing is told twice.
type chronicle struct {
	w *world
	// refused is the verdict that was told last about a pod, kept that about a node, unneeded the group of each node that could go.
	refused  map[string]string
	kept     map[string]string
	unneeded map[string]string
	backoff  map[cloudprovider.GroupID]time.Time
	aside    map[cloudprovider.GroupID]string
	trouble  string
	// last is the latest report.
	last report.Report
}

func newChronicle(w *world) *chronicle {
	return &chronicle{
		w: w, refused: map[string]string{}, kept: map[string]string{}, unneeded: map[string]string{},
		backoff: map[cloudprovider.GroupID]time.Time{}, aside: map[cloudprovider.GroupID]string{},
	}
}

// tell makes lines of what one iteration decided.
func (c *chronicle) tell(r report.Report, err error) {
	c.failed(err)
	if r.At.IsZero() {
		return // nothing was decided
	}
	c.last = r
	for _, n := range slices.Concat(r.Notices, r.ScaleUp.Notices) {
		c.w.tell(notice{c.about("Notice"), n.Reason, n.Text()})
	}
	c.repaired(r.Repair)
	c.grown(r.ScaleUp)
	c.pods(r.ScaleUp)
	c.groups(r.Groups)
	c.unknown(r)
	c.nodes(r.ScaleDown)
	for _, removal := range slices.SortedFunc(slices.Values(r.ScaleDown.Started), func(a, b report.Removal) int { return cmp.Compare(a.Node, b.Node) }) {
		c.w.tell(scaleDown{c.about("ScaleDown"), removal.Node, string(removal.Group), !removal.Drain, podNames(removal.Pods)})
	}
}

func (c *chronicle) about(kind string) heading { return about(kind, c.w.since()) }

func (c *chronicle) failed(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != c.trouble {
		c.w.tell(iterationFailed{c.about("IterationFailed"), text})
	}
	c.trouble = text
}

// podNames are sorted; never nil, so that they are encoded as a list.
func podNames(pods []report.PodRef) []string {
	names := make([]string, 0, len(pods))
	for _, pod := range pods {
		names = append(names, pod.String())
	}
	slices.Sort(names)
	return names
}

// repaired tells of machines that did not come.
func (c *chronicle) repaired(r report.Repair) {
	for _, failed := range sortedBy(r.Failed, func(f report.FailedInstances) string { return string(f.Group) + "\x00" + f.Code }) {
		text := failed.Message()
		if failed.Code != "" {
			text = failed.Code + ": " + text
		}
		c.w.tell(scaleUpFailed{c.about("ScaleUpFailed"), string(failed.Group), failed.Count, failed.Class.String(), text})
	}
	for _, late := range sortedBy(r.TimedOut, func(t report.RequestTimeout) string { return string(t.Group) }) {
		c.w.tell(scaleUpFailed{
			c.about("ScaleUpFailed"), string(late.Group), late.Increase, "Timeout", fmt.Sprintf("nodes failed to register within %s", late.After),
		})
	}
}

// grown tells of the groups that were made larger, or should have been.
func (c *chronicle) grown(r report.ScaleUp) {
	placed := map[cloudprovider.GroupID][]report.PodRef{}
	for _, verdict := range r.Pods {
		if verdict.Fate == report.PodTriggered {
			placed[verdict.Grown] = append(placed[verdict.Grown], verdict.Pod)
		}
	}
	outcomes := sortedBy(r.Outcomes, func(o report.ResizeOutcome) string { return string(o.Group) })
	for i, outcome := range outcomes {
		again := i > 0 && outcomes[i-1].Group == outcome.Group
		if total := granted(outcomes[i:], outcome.Group); total > 0 && !again { // a group may grow several times within one iteration
			c.w.tell(scaleUp{
				c.about("ScaleUp"), string(outcome.Group), outcome.From, outcome.From + total, podNames(placed[outcome.Group]), choice(r, outcome.Group),
			})
		}
		if outcome.Err != nil {
			c.w.tell(scaleUpFailed{
				c.about("ScaleUpFailed"), string(outcome.Group), outcome.To - outcome.From - outcome.Granted, classOf(outcome.Err), outcome.Err.Error(),
			})
		}
	}
}

// granted is by how much the group grew in all.
func granted(outcomes []report.ResizeOutcome, group cloudprovider.GroupID) int {
	sum := 0
	for _, outcome := range outcomes {
		if outcome.Group == group {
			sum += outcome.Granted
		}
	}
	return sum
}

// choice says in the expander's words why the group was taken, or together with which one.
func choice(r report.ScaleUp, group cloudprovider.GroupID) string {
	option, found := optionOf(r, group)
	if !found {
		return "raised to its minimum"
	}
	var dropped []string
	by := ""
	for _, other := range r.Options {
		reason, ok := other.Reason.(report.DroppedByExpander)
		if !ok || slices.Contains(option.Similar, other.Group) {
			continue
		}
		name := string(other.Group)
		if reason.Detail != "" {
			name += " (" + reason.Detail + ")"
		}
		dropped, by = append(dropped, name), reason.Expander
	}
	text := fmt.Sprintf("%s for %s, %.0f %% unused", counted(option.Nodes, "node"), counted(option.Pods, "pod"), 100*option.Waste)
	if len(option.Similar) > 0 {
		text += fmt.Sprintf(", spread over %s", counted(1+len(option.Similar), "similar group"))
	}
	switch {
	case by != "":
		slices.Sort(dropped)
		return fmt.Sprintf("%s prefers it to %s: %s", by, strings.Join(dropped, ", "), text)
	case len(r.Options) == 1:
		return "the only option: " + text
	default:
		return text
	}
}

// optionOf is the option that was carried out for the group: its own, else that of a similar one.
func optionOf(r report.ScaleUp, group cloudprovider.GroupID) (report.Option, bool) {
	for _, option := range r.Options {
		if option.Group == group && option.Chosen {
			return option, true
		}
	}
	for _, option := range r.Options {
		if option.Chosen && slices.Contains(option.Similar, group) {
			return option, true
		}
	}
	return report.Option{}, false
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// classOf is the class of a call's error.
func classOf(err error) string {
	if _, ok := errors.AsType[*cloudprovider.OutOfResourcesError](err); ok {
		return cloudprovider.ErrorClassOutOfResources.String()
	}
	if _, ok := errors.AsType[*cloudprovider.QuotaError](err); ok {
		return "Quota"
	}
	if _, ok := errors.AsType[*cloudprovider.TransientError](err); ok {
		return "Transient"
	}
	return cloudprovider.ErrorClassOther.String()
}

// pods tells why pods are not helped, once for each verdict.
func (c *chronicle) pods(r report.ScaleUp) {
	for _, verdict := range r.Pods {
		name := verdict.Pod.String()
		if !unhelped(verdict) {
			if verdict.Fate != report.PodLeftAlone { // what leaves it alone for now changes nothing
				delete(c.refused, name)
			}
			continue
		}
		reasons := reasonsOf(verdict)
		var codes strings.Builder
		for _, reason := range reasons {
			codes.WriteString(reason.NodeGroup + "=" + reason.Reason + " ")
		}
		if c.refused[name] == codes.String() {
			continue
		}
		c.refused[name] = codes.String()
		c.w.tell(noScaleUp{c.about("NoScaleUp"), name, reasons})
	}
	for name := range c.refused { // in any order: nothing is told here
		if c.w.pods.waiting[name] == nil {
			delete(c.refused, name)
		}
	}
}

// unhelped tells a verdict that a person waiting for the pod has to know.
func unhelped(verdict report.PodVerdict) bool {
	switch verdict.Fate {
	case report.PodUnschedulable:
		return true
	case report.PodLeftAlone:
		switch verdict.Own.(type) {
		case nil, report.TooYoung, report.Upcoming, report.CoolDown: // it passes by itself
			return false
		default:
			return true
		}
	default:
		return false
	}
}

func reasonsOf(verdict report.PodVerdict) []GroupReason {
	reasons := make([]GroupReason, 0, len(verdict.Groups)+1)
	if verdict.Own != nil {
		reasons = append(reasons, GroupReason{Reason: string(verdict.Own.Code()), Detail: verdict.Own.String()})
	}
	for _, group := range verdict.Groups {
		reasons = append(reasons, GroupReason{NodeGroup: string(group.Group), Reason: string(group.Reason.Code()), Detail: detail(group.Reason)})
	}
	slices.SortFunc(reasons, func(a, b GroupReason) int {
		return cmp.Or(cmp.Compare(a.NodeGroup, b.NodeGroup), cmp.Compare(a.Reason, b.Reason))
	})
	return reasons
}

// groups tells of groups that are backed off or left alone, once for each time.
func (c *chronicle) groups(groups []report.GroupStatus) {
	for _, group := range sortedBy(groups, func(g report.GroupStatus) string { return string(g.Group) }) {
		switch b := group.Backoff; {
		case b == nil:
			delete(c.backoff, group.Group)
		case !c.backoff[group.Group].Equal(b.Until):
			c.backoff[group.Group] = b.Until
			reason := b.Code
			if b.Message != "" {
				reason += ": " + b.Message
			}
			c.w.tell(groupBackedOff{c.about("GroupBackedOff"), string(group.Group), seconds(b.Until.Sub(c.w.start)), reason})
		}
		if group.SetAside == nil {
			delete(c.aside, group.Group)
			continue
		}
		c.setAside(group.Group, *group.SetAside)
	}
}

// unknown tells of groups that the cloud has never been able to describe: they have no status.
func (c *chronicle) unknown(r report.Report) {
	for _, trouble := range r.GroupErrors {
		if !slices.ContainsFunc(r.Groups, func(g report.GroupStatus) bool { return g.Group == trouble.Group }) {
			c.setAside(trouble.Group, report.GroupSetAside{Error: trouble.Err.Error()})
		}
	}
}

// setAside tells of a group that is left alone, once for each reason.
func (c *chronicle) setAside(group cloudprovider.GroupID, aside report.GroupSetAside) {
	if c.aside[group] == aside.Error {
		return
	}
	c.aside[group] = aside.Error
	told := groupSetAside{heading: c.about("GroupSetAside"), NodeGroup: string(group), Reason: aside.Error}
	if !aside.Until.IsZero() {
		until := seconds(aside.Until.Sub(c.w.start))
		told.Until = &until
	}
	c.w.tell(told)
}

// nodes tells which nodes could go and why others stay, once for each verdict.
func (c *chronicle) nodes(r report.ScaleDown) {
	if r.Result == report.ScaleDownNotTried {
		return
	}
	unneeded := map[string]string{}
	for _, node := range r.Unneeded {
		unneeded[node.Node] = string(node.Group)
	}
	for _, name := range sortedKeys(unneeded) {
		if _, known := c.unneeded[name]; !known {
			c.w.tell(nodeUnneeded{c.about("NodeUnneeded"), name, unneeded[name]})
		}
	}
	for _, name := range sortedKeys(c.unneeded) {
		if _, still := unneeded[name]; !still && c.w.nodes.by[name] != nil && !isGoing(r, name) {
			c.w.tell(nodeNeeded{c.about("NodeNeeded"), name, c.unneeded[name]})
		}
	}
	c.unneeded = unneeded
	for _, verdict := range sortedBy(r.Kept, func(v report.NodeVerdict) string { return v.Node }) {
		reason := first(verdict.Reason)
		if c.kept[verdict.Node] == string(reason.Code()) {
			continue
		}
		c.kept[verdict.Node] = string(reason.Code())
		c.w.tell(nodeKept{c.about("NodeKept"), verdict.Node, string(verdict.Group), string(reason.Code()), reason.String()})
	}
	for name := range c.kept { // in any order: nothing is told here
		if c.w.nodes.by[name] == nil {
			delete(c.kept, name)
		}
	}
}

// isGoing tells a node whose removal has begun: that it is no candidate any more does not mean that it is needed.
func isGoing(r report.ScaleDown, name string) bool {
	if slices.ContainsFunc(r.Started, func(removal report.Removal) bool { return removal.Node == name }) {
		return true
	}
	return slices.ContainsFunc(r.Kept, func(v report.NodeVerdict) bool {
		code := v.Reason.Code()
		return v.Node == name && (code == report.CodeDeletionInProgress || code == report.CodeCurrentlyBeingDeleted)
	})
}

// first is what was found first about a node that is not looked at again for a while.
func first(reason report.Reason) report.Reason {
	if recently, ok := reason.(report.RecentlyUnremovable); ok && recently.First != nil {
		return recently.First
	}
	return reason
}

// sortedBy returns a sorted copy.
func sortedBy[T any](list []T, key func(T) string) []T {
	out := slices.Clone(list)
	slices.SortStableFunc(out, func(a, b T) int { return cmp.Compare(key(a), key(b)) })
	return out
}
