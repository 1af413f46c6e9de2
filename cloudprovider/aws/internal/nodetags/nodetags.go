package nodetags

import (
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

	eksNodeGroup = "eks:nodegroup-name"
	eksCluster   = "eks:cluster-name"
)

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
	parsed := Tags{Labels: map[string]string{}, Resources: corev1.ResourceList{}, EKSNodeGroup: tags[eksNodeGroup], EKSCluster: tags[eksCluster]}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		if reason := parsed.take(key, tags[key]); reason != "" {
			parsed.Rejected = append(parsed.Rejected, Rejection{Key: key, Value: tags[key], Reason: reason})
		}
	}
	return parsed
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
	if name, ok := strings.CutPrefix(key, eksPrefix); ok && key != eksNodeGroup && key != eksCluster {
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
