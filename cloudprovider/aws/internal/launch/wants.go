package launch

import (
	"maps"
	"slices"
	"strings"

	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asg"
)

// Wanted is what one group leads to.
type Wanted struct {
	Launch asg.Launch
	// Zones and ZoneIDs are where its machines come up, by name or by id.
	Zones, ZoneIDs []string
}

// wants is what a set of groups refers to, as far as it is known yet.
type wants struct {
	configurations map[string]bool
	templates      map[asg.TemplateRef]bool
	images         map[string]bool
	candidates     map[selection]bool
	types          map[string]bool
}

// selection is one question for the types that fit requirements.
type selection struct {
	requirements asg.Requirements
	// architecture and virtualization are those of the image; empty: any.
	architecture, virtualization string
}

func sourcesOf(wanted []Wanted) wants {
	w := wants{configurations: map[string]bool{}, templates: map[asg.TemplateRef]bool{}, images: map[string]bool{}, candidates: map[selection]bool{}, types: map[string]bool{}}
	for _, group := range wanted {
		if name := group.Launch.Configuration; name != "" {
			w.configurations[name] = true
		}
		for _, ref := range templatesOf(group.Launch) {
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

// option is one way to start a machine: a template with what an override changes.
type option struct {
	override asg.Override
	template Template
}

// options lists the ways in which a group can start machines, as far as the templates are known. The error is that of the first one that isn't.
func (c *Cache) options(l asg.Launch) ([]option, error) {
	base, err := c.template(l)
	var options []option
	for _, o := range l.Overrides {
		if o.Type == "" && o.Requirements == "" {
			continue
		}
		own, ownErr := base, err
		if o.Template != (asg.TemplateRef{}) {
			own, ownErr = c.templateOf(o.Template)
		}
		if ownErr != nil {
			return options, ownErr
		}
		if o.ImageID != "" {
			own.ImageID, own.Aliased = o.ImageID, false
		}
		options = append(options, option{override: o, template: own})
	}
	if len(options) == 0 && err == nil {
		options = append(options, option{template: base})
	}
	return options, err
}

// requirements are those of the override, else those of the template if it names no type.
func (o option) requirements() asg.Requirements {
	switch {
	case o.override.Type != "":
		return ""
	case o.override.Requirements != "":
		return o.override.Requirements
	case o.template.InstanceType == "":
		return o.template.Requirements
	default:
		return ""
	}
}

// selection is the question for the types that fit; ok is false where the type is named.
func (c *Cache) selection(o option) (s selection, ok bool) {
	if s.requirements = o.requirements(); s.requirements == "" {
		return s, false
	}
	image := c.image(o.template.ImageID)
	s.architecture, s.virtualization = image.Architecture, image.Virtualization
	return s, true
}

// follow adds the images that the templates lead to.
func (w wants) addImages(c *Cache, wanted []Wanted) {
	for _, group := range wanted {
		options, _ := c.options(group.Launch) // what is not known leads nowhere
		for _, o := range options {
			if strings.HasPrefix(o.template.ImageID, "ami-") {
				w.images[o.template.ImageID] = true
			}
		}
	}
}

// addSelections adds the questions for types that fit requirements.
func (w wants) addSelections(c *Cache, wanted []Wanted) {
	for _, group := range wanted {
		options, _ := c.options(group.Launch) // what is not known leads nowhere
		for _, o := range options {
			if s, ok := c.selection(o); ok {
				w.candidates[s] = true
			}
		}
	}
}

// addTypes adds all instance types, those too that a group has machines of but no template names any more.
func (w wants) addTypes(c *Cache, wanted []Wanted) {
	for s := range w.candidates {
		names, _, _ := c.byRequirements.get(s)
		for _, name := range names {
			w.types[name] = true
		}
	}
	for _, group := range wanted {
		for _, name := range group.Launch.Types() {
			w.types[name] = true
		}
		options, _ := c.options(group.Launch) // what is not known leads nowhere
		for _, o := range options {
			if o.override.Type == "" && o.requirements() == "" && o.template.InstanceType != "" {
				w.types[o.template.InstanceType] = true
			}
		}
	}
}

func sorted[K ~string](set map[K]bool) []K { return slices.Sorted(maps.Keys(set)) }
