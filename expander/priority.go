package expander

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/expander/prioritymap"
)

// The reasons of events on the ConfigMap (operator-surface 3.3).
const (
	reasonInvalid    = "PriorityConfigMapInvalid"
	reasonNotMatched = "PriorityConfigMapNotMatchedGroup"
	reasonNoneMatch  = "PriorityConfigMapNoGroupMatched"
)

// priorities is the strategy "priority": it keeps the options whose groups have the highest priority by the operator's map.
type priorities struct {
	read func() (*corev1.ConfigMap, error)

	// seen is what was read last, in a form that can be compared; object is its ConfigMap.
	seen   string
	object report.ObjectRef
	// rules are those in force; nil: there are none, and nothing is preferred. They stay in force when the map becomes invalid.
	rules *prioritymap.Map
	// trouble says since is why the rules are not those of the ConfigMap; empty: they are.
	trouble string
	since   time.Time
	// unchecked is true until the expressions were held against the groups of the cloud.
	unchecked bool
	// dropped and alone are the groups without priority that were told of since the map changed: because others had one, or because none had.
	dropped, alone map[cloudprovider.GroupID]bool
}

func newPriorities(read func() (*corev1.ConfigMap, error)) *priorities {
	return &priorities{read: read}
}

// update reads the map.
func (p *priorities) update(at time.Time, groups []cloudprovider.GroupID) Settings {
	object, err := p.read()
	var notices []report.Notice
	if state := stateOf(object, err); state != p.seen {
		p.seen = state
		notices = p.change(at, object, err)
	}
	if p.unchecked && p.rules != nil && p.trouble == "" && len(groups) > 0 {
		p.unchecked = false
		notices = append(notices, p.unused(groups)...)
	}
	feature := report.Feature{Name: "configmaps/" + config.PriorityConfigMap, Error: p.trouble, Since: p.since}
	return Settings{Features: []report.Feature{feature}, Notices: notices}
}

// stateOf is the same for two reads if nothing that counts has changed between them.
func stateOf(object *corev1.ConfigMap, err error) string {
	switch {
	case err != nil:
		return "unreadable " + string(apierrors.ReasonForError(err)) // the text of an error of the network is never the same
	case object == nil:
		return "missing"
	default:
		text, there := object.Data[prioritymap.Key]
		return fmt.Sprintf("%s %t %s", object.UID, there, text)
	}
}

// change takes over what was read.
func (p *priorities) change(at time.Time, object *corev1.ConfigMap, err error) []report.Notice {
	if err != nil { // it passes, and what was read before is as good as anything
		return p.fail(at, fmt.Sprintf("cannot be read: %v", err), "")
	}
	p.unchecked, p.dropped, p.alone = true, map[cloudprovider.GroupID]bool{}, map[cloudprovider.GroupID]bool{}
	if object == nil {
		p.rules, p.object = nil, report.ObjectRef{}
		return p.fail(at, "does not exist", "")
	}
	p.object = report.ObjectRef{Namespace: object.Namespace, Name: object.Name, UID: object.UID}
	text, there := object.Data[prioritymap.Key]
	if !there {
		return p.fail(at, fmt.Sprintf("has no key %q, want one with a YAML map of whole numbers to lists of regular expressions", prioritymap.Key), reasonInvalid)
	}
	rules, err := prioritymap.Parse(text)
	if err != nil {
		return p.fail(at, fmt.Sprintf("key %q: %v", prioritymap.Key, err), reasonInvalid)
	}
	p.rules = &rules
	if p.trouble == "" && !p.since.IsZero() {
		return []report.Notice{{Message: "expander priority: the changed map of priorities is in force"}}
	}
	p.trouble, p.since = "", at
	return []report.Notice{{Message: "expander priority: the map of priorities was read"}}
}

// fail notes what is wrong and what holds in the meantime.
func (p *priorities) fail(at time.Time, trouble, reason string) []report.Notice {
	until := "until then no group is preferred"
	if p.rules != nil {
		until = "until then the last valid map stays in force"
	}
	if p.trouble == "" {
		p.since = at
	}
	p.trouble = trouble + "; " + until
	notice := report.Notice{Message: p.trouble}
	if reason != "" {
		notice.ConfigMap, notice.Reason = p.object, reason
	} else {
		notice.Message = fmt.Sprintf("expander priority: ConfigMap %s %s", config.PriorityConfigMap, p.trouble)
	}
	return []report.Notice{notice}
}

// unused tells of expressions without group, which may be misspelt.
func (p *priorities) unused(groups []cloudprovider.GroupID) []report.Notice {
	names := make([]string, 0, len(groups))
	for _, group := range groups {
		names = append(names, string(group))
	}
	var texts []string
	for _, expression := range p.rules.Unused(names) {
		texts = append(texts, expression.String())
	}
	if len(texts) == 0 {
		return nil
	}
	return []report.Notice{p.notice(reasonNotMatched, "expressions that match none of the %d node groups: %s", len(groups), strings.Join(texts, ", "))}
}

func (p *priorities) notice(reason, format string, args ...any) report.Notice {
	return report.Notice{ConfigMap: p.object, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

func (p *priorities) keep(_ context.Context, asked Question) answer {
	if p.rules == nil || len(asked.Options) == 0 {
		return answer{kept: all(asked.Options)}
	}
	given := make([]prioritymap.Expression, len(asked.Options))
	var matched []int
	var without []cloudprovider.GroupID
	for i, option := range asked.Options {
		by, ok := p.rules.Of(string(option.Group))
		if !ok {
			without = append(without, option.Group)
			continue
		}
		given[i] = by
		matched = append(matched, i)
	}
	if len(matched) == 0 {
		return answer{kept: all(asked.Options), notices: p.tell(p.alone, without, reasonNoneMatch,
			"no expression matches any of the node groups that could help, so none of them is preferred: %s")}
	}
	best := given[slices.MaxFunc(matched, func(i, j int) int { return cmp.Compare(given[i].Priority, given[j].Priority) })].Priority
	out := answer{why: map[int]string{}, notices: p.tell(p.dropped, without, reasonNotMatched,
		"no expression matches these node groups, so they are not grown while another one with a priority could help: %s")}
	for i := range asked.Options {
		switch {
		case !slices.Contains(matched, i):
			out.why[i] = fmt.Sprintf("no expression matches it, the highest priority is %d", best)
		case given[i].Priority < best:
			out.why[i] = fmt.Sprintf("priority %d by %q, the highest is %d", given[i].Priority, given[i].Text, best)
		default:
			out.kept = append(out.kept, i)
		}
	}
	return out
}

// tell makes a notice of those of the groups that were not told of before.
func (p *priorities) tell(told map[cloudprovider.GroupID]bool, groups []cloudprovider.GroupID, reason, format string) []report.Notice {
	var names []string
	for _, group := range groups {
		if !told[group] {
			told[group] = true
			names = append(names, string(group))
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []report.Notice{p.notice(reason, format, strings.Join(names, ", "))}
}
