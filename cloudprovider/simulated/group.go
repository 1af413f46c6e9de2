package simulated

import (
	"errors"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
)

// Group describes one node group of the cloud. Sizes are in units: a machine counts as many as the weight of its variant,
// which is one unless a template says otherwise.
type Group struct {
	// ID is unique in the cloud; it also starts the names of the group's nodes.
	ID cloudprovider.GroupID
	// Min and Max bound what IncreaseSize, DecreaseTargetSize and DeleteNodes may do. They bind nobody else, and a target
	// outside of them stays where it is, as with a cloud that doesn't know the autoscaler's bounds.
	Min, Max int
	// Target is the desired size. At the start that much runs and has registered nodes, the machines of Existing first.
	Target int
	// Existing are machines that run from the start under names of their own. If they are more than Target, they are a
	// surplus that stays until somebody lowers the target.
	Existing []Existing

	// Templates are the variants of the group's machines, at least one. Missing parts are filled in: allocatable from capacity,
	// operating system, architecture, a Ready condition, the key from the zone, the promise with PromiseCertain. Certain ones
	// come so that their numbers stay even, possible ones only while no certain one can be had; among these the first.
	Templates []cloudprovider.TemplateVariant
	// WithoutTemplates makes NodeGroup.Templates answer ErrNoTemplate; machines are made of Templates all the same.
	WithoutTemplates bool

	// Delays of a machine, counted from the request. Until AppearDelay it is a placeholder, until LaunchDelay it is listed as
	// creating; its node registers RegisterDelay after that. A failing one shows its error at FailDelay.
	AppearDelay, LaunchDelay, RegisterDelay, FailDelay time.Duration
	// DeleteDelay passes from the order to end a machine until it is gone with its node.
	DeleteDelay time.Duration

	// Stock is how many more machines can be had: by zone, by key of a variant, and "" for all together. What is missing is
	// not limited. A machine that can't be had fails with an error of class OutOfResources; an ended one doesn't return here.
	Stock map[string]int
	// Fate is what becomes of machines that are asked for; Cloud.Next goes before it.
	Fate Fate

	// Options are the overrides that the group brings.
	Options cloudprovider.OptionOverrides
	// Suspended, if not empty, says why writes are refused, with a ConfigurationError.
	Suspended string
	// Theoretical is true for a group that does not exist until it is created, and Autoprovisioned from then on.
	Theoretical, Autoprovisioned bool
	// PricePerHour of one machine; zero: it has no price.
	PricePerHour float64
	// PartialGrants lets IncreaseSize grant what room there is below Max; otherwise it then grants nothing.
	PartialGrants bool
	// KeepSurplus spares existing machines when somebody else lowers the target below their number; otherwise the cloud ends
	// machines of its own choice, the oldest first.
	KeepSurplus bool
	// NodeName names the n-th machine, counted from 1; a name that is taken is skipped, hence no two numbers may share one.
	// nil: "<group>-0001" and so on.
	NodeName func(n int) string
}

// Existing is a machine that is there from the start.
type Existing struct {
	// NodeName is required. ProviderID empty: made like that of any new machine.
	NodeName, ProviderID string
	// Variant is the key of its template; empty: the first.
	Variant string
	// Since is when it was asked for and registered; zero: one hour before the cloud was made.
	Since time.Time
}

// Fate is what becomes of a machine that is asked for. The zero value: it comes as usual.
type Fate struct {
	// Error says why it fails; nil: it does not.
	Error *cloudprovider.InstanceError
	// Exists is true if a failing machine exists all the same, so that only deleting it ends it; otherwise it stays a placeholder.
	Exists bool
	// Stuck is true if it runs but its node never registers.
	Stuck bool
	// Delay comes on top of the group's delays, except the one of deleting.
	Delay time.Duration
	// Variant is the key of the template that comes; empty: the cloud's choice. It takes no notice of Stock.
	Variant string
}

// clone returns a copy that shares nothing changeable with g. Functions stay shared.
func (g Group) clone() Group {
	g.Existing = append([]Existing(nil), g.Existing...)
	g.Stock = maps.Clone(g.Stock)
	templates := make([]cloudprovider.TemplateVariant, len(g.Templates))
	for i, t := range g.Templates {
		templates[i] = copyVariant(t)
	}
	g.Templates = templates
	return g
}

// validate joins all that is wrong with the description.
func (g Group) validate() error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("node group %q: "+format, append([]any{g.ID}, args...)...))
	}
	if g.ID == "" {
		bad("the id is empty")
	}
	if g.Min < 0 || g.Max < g.Min {
		bad("bounds are %d to %d, want 0 <= min <= max", g.Min, g.Max)
	}
	if g.Target < 0 {
		bad("target is %d, want at least 0", g.Target)
	}
	if g.PricePerHour < 0 {
		bad("price is %g, want at least 0", g.PricePerHour)
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"AppearDelay", g.AppearDelay},
		{"LaunchDelay", g.LaunchDelay},
		{"RegisterDelay", g.RegisterDelay},
		{"FailDelay", g.FailDelay},
		{"DeleteDelay", g.DeleteDelay},
		{"Fate.Delay", g.Fate.Delay},
	} {
		if d.value < 0 {
			bad("%s is %s, want at least 0", d.name, d.value)
		}
	}
	for _, key := range sortedKeys(g.Stock) {
		if g.Stock[key] < 0 {
			bad("stock of %q is %d, want at least 0", key, g.Stock[key])
		}
	}
	return errors.Join(append(errs, g.validateTemplates())...)
}

// validateTemplates looks at the templates and at those who name them.
func (g Group) validateTemplates() error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("node group %q: "+format, append([]any{g.ID}, args...)...))
	}
	if len(g.Templates) == 0 {
		bad("there is no template, want at least one")
	}
	keys := map[string]bool{}
	for i, t := range g.Templates {
		if t.Node == nil {
			bad("template %d has no node", i)
			continue
		}
		key := variantKey(t)
		if keys[key] {
			bad("the key %q stands for two templates", key)
		}
		keys[key] = true
		if t.Weight < 0 {
			bad("the weight of template %q is %d, want at least 0", key, t.Weight)
		}
	}
	if g.Fate.Variant != "" && !keys[g.Fate.Variant] {
		bad("the fate names template %q, which does not exist", g.Fate.Variant)
	}
	for i, e := range g.Existing {
		if e.NodeName == "" {
			bad("existing machine %d has no node name", i)
		}
		if e.Variant != "" && !keys[e.Variant] {
			bad("existing machine %q names template %q, which does not exist", e.NodeName, e.Variant)
		}
	}
	return errors.Join(errs...)
}

// variantKey is the key in use for a template: its own, else its zone, else "default".
func variantKey(t cloudprovider.TemplateVariant) string {
	if t.Key != "" {
		return t.Key
	}
	if zone := t.Node.Labels[corev1.LabelTopologyZone]; zone != "" {
		return zone
	}
	return "default"
}
