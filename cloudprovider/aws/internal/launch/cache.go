package launch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"example.com/cluster-autoscaler/cloudprovider/aws/instancetypes"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asg"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/faults"
)

const (
	aliasLife = 5 * time.Minute // what $Latest and $Default mean
	imageLife = 24 * time.Hour
	typeLife  = 12 * time.Hour // new types and new facts about old ones are rare
	parallel  = 8              // questions under way at a time
)

// configurations reads launch configurations; unknown names are left out of the answer.
type configurations interface {
	Configurations(ctx context.Context, names []string) (map[string]Template, error)
}

// machines reads what EC2 knows; unknown types are left out of the answer.
type machines interface {
	Template(ctx context.Context, ref asg.TemplateRef) (Template, error)
	Image(ctx context.Context, id string) (Image, error)
	Machines(ctx context.Context, types []string) (map[string]Machine, error)
}

// Cache knows the machines of all groups. Safe for concurrent use; only Fill blocks.
type Cache struct {
	configurations configurations
	machines       machines // used for instance types only when askTypes
	builtin        instancetypes.List
	askTypes       bool
	clock          clock.PassiveClock

	byConfiguration memo[string, Template]
	byTemplate      memo[asg.TemplateRef, Template]
	byImage         memo[string, Image]
	byType          memo[string, Machine]
}

// NewCache makes an empty cache. builtin answers for types that EC2 doesn't, and for all types if askTypes is false.
func NewCache(c configurations, m machines, builtin instancetypes.List, askTypes bool, ticking clock.PassiveClock) *Cache {
	return &Cache{configurations: c, machines: m, builtin: builtin, askTypes: askTypes, clock: ticking}
}

// errUnknown is what a source's silence about a name means.
var errUnknown = errors.New("AWS does not know it")

// Fill asks AWS for all that is not known, or not known well enough, about these launch sources, several questions at a time. What
// fails is remembered and shows in Facts. keep is true where these are all the sources in use: others are forgotten then.
func (c *Cache) Fill(ctx context.Context, launches []asg.Launch, keep bool) {
	wanted := wantsOf(launches)
	var group errgroup.Group
	group.SetLimit(parallel)
	group.Go(func() error { c.fillConfigurations(ctx, wanted.configurations); return nil })
	for ref := range wanted.templates {
		group.Go(func() error { c.fillTemplate(ctx, ref); return nil })
	}
	_ = group.Wait() // the functions keep their errors in the cache
	images, types := c.follow(launches, wanted)
	for id := range images {
		group.Go(func() error { c.fillImage(ctx, id); return nil })
	}
	group.Go(func() error { c.fillTypes(ctx, types); return nil })
	_ = group.Wait() // the functions keep their errors in the cache
	if keep {
		c.byConfiguration.retain(wanted.configurations)
		c.byTemplate.retain(wanted.templates)
		c.byImage.retain(images)
	}
}

// wants is what a set of launch sources refers to.
type wants struct {
	configurations map[string]bool
	templates      map[asg.TemplateRef]bool
}

func wantsOf(launches []asg.Launch) wants {
	w := wants{configurations: map[string]bool{}, templates: map[asg.TemplateRef]bool{}}
	for _, l := range launches {
		if l.Configuration != "" {
			w.configurations[l.Configuration] = true
		}
		for _, ref := range templatesOf(l) {
			w.templates[ref] = true
		}
	}
	return w
}

func templatesOf(l asg.Launch) []asg.TemplateRef {
	var refs []asg.TemplateRef
	if l.Template != (asg.TemplateRef{}) {
		refs = append(refs, l.Template)
	}
	for _, o := range l.Overrides {
		if o.Template != (asg.TemplateRef{}) {
			refs = append(refs, o.Template)
		}
	}
	return refs
}

// follow lists the images and types that the templates lead to.
func (c *Cache) follow(launches []asg.Launch, wanted wants) (images map[string]bool, types []string) {
	images = map[string]bool{}
	names := map[string]bool{}
	note := func(t Template, err error) {
		if err != nil {
			return
		}
		if strings.HasPrefix(t.ImageID, "ami-") {
			images[t.ImageID] = true
		}
		if t.InstanceType != "" {
			names[t.InstanceType] = true
		}
	}
	for name := range wanted.configurations {
		t, _, err := c.byConfiguration.get(name)
		note(t, err)
	}
	for ref := range wanted.templates {
		t, _, err := c.byTemplate.get(ref)
		note(t, err)
	}
	for _, l := range launches {
		for _, name := range l.Types() {
			names[name] = true
		}
	}
	return images, slices.Sorted(maps.Keys(names))
}

func (c *Cache) fillConfigurations(ctx context.Context, wanted map[string]bool) {
	now := c.clock.Now()
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if _, fresh := c.byConfiguration.fresh(name, now); !fresh {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return
	}
	found, err := c.configurations.Configurations(ctx, missing)
	for _, name := range missing {
		t, ok := found[name]
		switch {
		case ok:
			c.byConfiguration.keep(name, t, now, 0) // launch configurations cannot be edited
		case err != nil:
			c.byConfiguration.fail(name, err, now, passing(err))
		default:
			c.byConfiguration.fail(name, errUnknown, now, false)
		}
	}
}

func (c *Cache) fillTemplate(ctx context.Context, ref asg.TemplateRef) {
	now := c.clock.Now()
	if _, fresh := c.byTemplate.fresh(ref, now); fresh {
		return
	}
	t, err := c.machines.Template(ctx, ref)
	if err != nil {
		c.byTemplate.fail(ref, err, now, passing(err))
		return
	}
	life := time.Duration(0) // a numbered version cannot be edited
	if strings.HasPrefix(ref.Version, "$") {
		life = aliasLife
	}
	c.byTemplate.keep(ref, t, now, life)
}

func (c *Cache) fillImage(ctx context.Context, id string) {
	now := c.clock.Now()
	before, fresh := c.byImage.fresh(id, now)
	if fresh {
		return
	}
	image, err := c.machines.Image(ctx, id)
	if err == nil {
		c.byImage.keep(id, image, now, imageLife)
		return
	}
	if before.failures == 0 {
		klog.FromContext(ctx).Info("Cannot read an image: templates go without its operating system and disk", "image", id, "reason", err.Error())
	}
	c.byImage.fail(id, err, now, passing(err))
}

func (c *Cache) fillTypes(ctx context.Context, types []string) {
	now := c.clock.Now()
	var missing []string
	first := false
	for _, name := range types {
		before, fresh := c.byType.fresh(name, now)
		if !fresh {
			missing = append(missing, name)
			first = first || before.failures == 0
		}
	}
	if len(missing) == 0 || !c.askTypes {
		return
	}
	found, err := c.machines.Machines(ctx, missing)
	if err != nil && first {
		klog.FromContext(ctx).Info("EC2 does not tell instance types: the built-in list answers for it", "asOf", c.builtin.AsOf(), "reason", err.Error())
	}
	for _, name := range missing {
		m, ok := found[name]
		switch {
		case ok:
			c.byType.keep(name, m, now, typeLife)
		case err != nil:
			c.byType.fail(name, err, now, passing(err))
		default:
			c.byType.fail(name, errUnknown, now, false)
		}
	}
}

// passing tells whether a failure goes away by itself.
func passing(err error) bool {
	switch faults.ClassOf(err) {
	case faults.Throttled, faults.Unreachable, faults.Unanswered:
		return true
	default:
		return false
	}
}

// Machine is what is known about an instance type.
func (c *Cache) Machine(name string) (Machine, bool) {
	if m, asked, err := c.byType.get(name); asked && err == nil {
		return m, true
	}
	t, ok := c.builtin.Lookup(name)
	return Machine{Type: t}, ok
}

// Needs tells whether Fill has to be asked before Facts can answer about a launch source.
func (c *Cache) Needs(l asg.Launch) bool {
	now := c.clock.Now()
	if l.Configuration != "" {
		if _, fresh := c.byConfiguration.fresh(l.Configuration, now); !fresh {
			return true
		}
	}
	for _, ref := range templatesOf(l) {
		if _, fresh := c.byTemplate.fresh(ref, now); !fresh {
			return true
		}
	}
	return false
}

// Facts answers from what was filled in before. The error says why nothing is known.
func (c *Cache) Facts(l asg.Launch) (Facts, error) {
	template, err := c.template(l)
	if err != nil {
		return Facts{}, fmt.Errorf("reading %s: %w", sourceOf(l), err)
	}
	facts := Facts{Source: sourceOf(l)}
	for _, o := range l.Overrides {
		if o.Type == "" {
			continue
		}
		own := template
		if o.Template != (asg.TemplateRef{}) {
			t, asked, err := c.byTemplate.get(o.Template)
			if err != nil || !asked {
				return Facts{}, fmt.Errorf("reading launch template %s of instance type %s: %w", o.Template, o.Type, orUnasked(err))
			}
			own = t
		}
		facts.Choices = append(facts.Choices, c.choice(o.Type, o.Weight, own))
	}
	if len(facts.Choices) > 0 {
		return facts, nil
	}
	facts.ByRequirements = l.ByRequirements() || template.InstanceType == "" && template.Requirements
	name := template.InstanceType
	if facts.ByRequirements {
		name = ""
	}
	facts.Choices = []Choice{c.choice(name, 0, template)}
	return facts, nil
}

func (c *Cache) template(l asg.Launch) (Template, error) {
	if l.Configuration != "" {
		t, asked, err := c.byConfiguration.get(l.Configuration)
		if err != nil || !asked {
			return Template{}, orUnasked(err)
		}
		return t, nil
	}
	if l.Template == (asg.TemplateRef{}) {
		return Template{}, errors.New("the group names neither a launch template nor a launch configuration")
	}
	t, asked, err := c.byTemplate.get(l.Template)
	if err != nil || !asked {
		return Template{}, orUnasked(err)
	}
	return t, nil
}

func orUnasked(err error) error {
	if err != nil {
		return err
	}
	return errors.New("AWS has not been asked yet")
}

func (c *Cache) choice(name string, weight int, t Template) Choice {
	choice := Choice{Type: name, Weight: weight, Template: t}
	if name != "" {
		choice.Machine, choice.Known = c.Machine(name)
	}
	if image, asked, err := c.byImage.get(t.ImageID); asked && err == nil {
		choice.Image = image
	}
	return choice
}
