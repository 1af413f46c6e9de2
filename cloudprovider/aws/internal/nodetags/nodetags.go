package nodetags

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"example.com/cluster-autoscaler/cloudprovider"
)

const (
	labelPrefix    = "k8s.io/cluster-autoscaler/node-template/label/"
	taintPrefix    = "k8s.io/cluster-autoscaler/node-template/taint/"
	resourcePrefix = "k8s.io/cluster-autoscaler/node-template/resources/"
	optionPrefix   = "k8s.io/cluster-autoscaler/node-template/autoscaling-options/"
	eksPrefix      = "eks:"
)

// The keys of the tags that EKS puts on the Auto Scaling groups of managed node groups.
const (
	EKSNodeGroup = "eks:nodegroup-name"
	EKSCluster   = "eks:cluster-name"
)

// LabelTag is the key of the tag that names the value of a label, for messages that tell people what to add.
func LabelTag(key string) string { return labelPrefix + key }

// TaintTag is the key of the tag that names value and effect of a taint, for messages that tell people what to add.
func TaintTag(key string) string { return taintPrefix + key }

// ResourceTag is the key of the tag that names the amount of a resource, for messages that tell people what to add.
func ResourceTag(name corev1.ResourceName) string { return resourcePrefix + string(name) }

// Tags is what the tags of one group say. Nobody changes it after Parse.
type Tags struct {
	Labels map[string]string
	// Taints are sorted by key. A tag that cannot be read as a taint stands here as a NoSchedule taint all the same, because the
	// nodes will have some taint of that key.
	Taints []corev1.Taint
	// Resources win over whatever else is known; a zero amount hides a resource.
	Resources corev1.ResourceList
	Options   cloudprovider.OptionOverrides
	// EKSNodeGroup and EKSCluster are set for the groups of EKS managed node groups.
	EKSNodeGroup, EKSCluster string
	// Rejected are the tags that could not be used as they are, sorted by key.
	Rejected []Rejection
}

// Managed tells whether EKS manages the group.
func (t Tags) Managed() bool { return t.EKSNodeGroup != "" }

// Rejection is one tag that could not be used.
type Rejection struct {
	Key, Value string
	Reason     string
}

// String is the line for the operator.
func (r Rejection) String() string { return fmt.Sprintf("tag %s=%q: %s", r.Key, r.Value, r.Reason) }

// Parse reads the tags of a group; it never fails, see Tags.Rejected.
func Parse(tags map[string]string) Tags {
	parsed := Tags{Labels: map[string]string{}, Resources: corev1.ResourceList{}, EKSNodeGroup: tags[EKSNodeGroup], EKSCluster: tags[EKSCluster]}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		if reason := parsed.take(key, tags[key]); reason != "" {
			parsed.Rejected = append(parsed.Rejected, Rejection{Key: key, Value: tags[key], Reason: reason})
		}
	}
	return parsed
}

// With lays what EKS knows about the managed node group over the tags of its Auto Scaling group: nodeGroup are the node group's own tags, labels and taints
// those that EKS gives the nodes. EKS' labels win over all tags, the node group's tags over those of the Auto Scaling group, but for the options, where the
// Auto Scaling group's win. Taints add up; of those with equal key and effect EKS' own stays. Rejected are those of t.
func (t Tags) With(nodeGroup Tags, labels map[string]string, taints []corev1.Taint) Tags {
	joined := t
	joined.Labels = maps.Clone(t.Labels)
	maps.Copy(joined.Labels, nodeGroup.Labels)
	maps.Copy(joined.Labels, labels)
	joined.Resources = t.Resources.DeepCopy()
	maps.Copy(joined.Resources, nodeGroup.Resources)
	joined.Taints = nil
	for _, taint := range slices.Concat(taints, nodeGroup.Taints, t.Taints) {
		same := func(other corev1.Taint) bool { return other.MatchTaint(&taint) }
		if !slices.ContainsFunc(joined.Taints, same) {
			joined.Taints = append(joined.Taints, taint)
		}
	}
	slices.SortStableFunc(joined.Taints, func(a, b corev1.Taint) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Effect, b.Effect))
	})
	joined.Options = joinOptions(t.Options, nodeGroup.Options)
	return joined
}

// take reads one tag and returns what is wrong with it.
func (t *Tags) take(key, value string) string {
	if name, ok := strings.CutPrefix(key, labelPrefix); ok {
		return t.takeLabel(name, value)
	}
	if name, ok := strings.CutPrefix(key, taintPrefix); ok {
		return t.takeTaint(name, value)
	}
	if name, ok := strings.CutPrefix(key, resourcePrefix); ok {
		return t.takeResource(name, value)
	}
	if name, ok := strings.CutPrefix(key, optionPrefix); ok {
		return t.takeOption(name, value)
	}
	if name, ok := strings.CutPrefix(key, eksPrefix); ok && key != EKSNodeGroup && key != EKSCluster {
		// Known from upstream as labels named by what follows eks:. The two that EKS always sets are left out, since no node has them.
		return t.takeLabel(name, value)
	}
	return ""
}

func (t *Tags) takeLabel(name, value string) string {
	if faults := validation.IsQualifiedName(name); len(faults) > 0 {
		return "the label key is not valid: " + faults[0]
	}
	if faults := validation.IsValidLabelValue(value); len(faults) > 0 {
		return "the label value is not valid: " + faults[0]
	}
	t.Labels[name] = value
	return ""
}

// unreadableTaint is the key for a taint tag that names no usable key itself.
const unreadableTaint = "cluster-autoscaler.kubernetes.io/unreadable-taint-tag"

func (t *Tags) takeTaint(name, value string) string {
	if faults := validation.IsQualifiedName(name); len(faults) > 0 {
		t.Taints = append(t.Taints, corev1.Taint{Key: unreadableTaint, Effect: corev1.TaintEffectNoSchedule})
		return "the taint key is not valid: " + faults[0]
	}
	text, effect := "", value
	if colon := strings.LastIndexByte(value, ':'); colon >= 0 {
		text, effect = value[:colon], value[colon+1:]
	}
	taint := corev1.Taint{Key: name, Value: text, Effect: corev1.TaintEffect(effect)}
	reason := ""
	switch {
	case !isEffect(taint.Effect):
		reason = "want VALUE:EFFECT with one of the effects NoSchedule, PreferNoSchedule and NoExecute"
		taint.Effect = corev1.TaintEffectNoSchedule
		if taint.Value == "" { // no effect was given at all
			taint.Value = effect
		}
	case len(validation.IsValidLabelValue(text)) > 0:
		reason = "the taint value is not valid: " + validation.IsValidLabelValue(text)[0]
	}
	if len(validation.IsValidLabelValue(taint.Value)) > 0 {
		taint.Value = ""
	}
	t.Taints = append(t.Taints, taint)
	return reason
}

func isEffect(effect corev1.TaintEffect) bool {
	return effect == corev1.TaintEffectNoSchedule || effect == corev1.TaintEffectPreferNoSchedule || effect == corev1.TaintEffectNoExecute
}

func (t *Tags) takeResource(name, value string) string {
	if faults := validation.IsQualifiedName(name); len(faults) > 0 {
		return "the resource name is not valid: " + faults[0]
	}
	amount, err := resource.ParseQuantity(strings.TrimSpace(value))
	if err != nil {
		return "the amount is not a quantity such as 250m, 4 or 16Gi"
	}
	if amount.Sign() < 0 {
		return "the amount is negative"
	}
	t.Resources[corev1.ResourceName(name)] = amount
	return ""
}
