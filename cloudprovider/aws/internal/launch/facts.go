package launch

import (
	"errors"
	"fmt"

	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asg"
)

// Facts answers from what was filled in before. The error says why nothing is known.
func (c *Cache) Facts(l asg.Launch) (Facts, error) {
	options, err := c.options(l)
	if err != nil {
		return Facts{}, fmt.Errorf("reading %s: %w", sourceOf(l), err)
	}
	facts := Facts{Source: sourceOf(l)}
	seen := map[string]bool{}
	add := func(name string, o option) {
		if !seen[name] {
			seen[name] = true
			facts.Choices = append(facts.Choices, c.choice(name, o))
		}
	}
	for _, o := range options {
		s, selected := c.selection(o)
		if !selected {
			name := o.override.Type
			if name == "" {
				name = o.template.InstanceType
			}
			add(name, o)
			continue
		}
		facts.ByRequirements = true
		names, asked, err := c.byRequirements.get(s)
		if err != nil || !asked {
			facts.Unlisted = orUnasked(err)
			facts.Choices = []Choice{c.choice("", o)}
			return facts, nil
		}
		for _, name := range names {
			add(name, o)
		}
	}
	return facts, nil
}

// template is the group's own launch template or configuration.
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

// templateOf is the template of an override.
func (c *Cache) templateOf(ref asg.TemplateRef) (Template, error) {
	t, asked, err := c.byTemplate.get(ref)
	if err != nil || !asked {
		return Template{}, fmt.Errorf("reading launch template %s of an override: %w", ref, orUnasked(err))
	}
	return t, nil
}

func (c *Cache) choice(name string, o option) Choice {
	choice := Choice{Type: name, Weight: o.override.Weight, Template: o.template, Image: c.image(o.template.ImageID)}
	if name != "" {
		choice.Machine, choice.Known = c.Machine(name)
		choice.Zones, _, _ = c.byOffer.get(name)
	}
	return choice
}

// image is what is known about an AMI.
func (c *Cache) image(id string) Image {
	image, _, _ := c.byImage.get(id)
	return image
}
