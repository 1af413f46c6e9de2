package aws

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asg"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/faults"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/launch"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/nodetags"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/template"
)

// Templates makes one variant per zone and instance type. It asks AWS only for what the last Refresh could not read and whose next try is due.
// Errors are a TransientError where AWS doesn't answer, else a ConfigurationError that says what is missing.
func (g *NodeGroup) Templates(ctx context.Context) ([]cloudprovider.TemplateVariant, error) {
	p := g.provider
	ctx, done := p.calls.Begin(ctx)
	defer done()
	if p.launches.Needs(g.launch) {
		p.launches.Fill(ctx, []launch.Wanted{{Launch: g.launch, Zones: g.zones}}, false)
	}
	variants, err := g.book.templates.get(p, description{name: g.book.name, launch: g.launch, zones: g.zones, tags: g.tags})
	switch {
	case err == nil:
		return copyOf(variants, p.clock.Now()), nil
	case faults.Passing(err), errors.Is(err, errEKSUnasked), errors.Is(err, launch.ErrUnasked):
		return nil, &cloudprovider.TransientError{Err: err}
	default:
		return nil, &cloudprovider.ConfigurationError{Group: g.ID(), Err: err}
	}
}

// description is what AWS says about a group that its templates depend on.
type description struct {
	name   string
	launch asg.Launch
	zones  []string
	tags   nodetags.Tags
}

// mark is another text after each change of the description.
func (d description) mark() string {
	return fmt.Sprintf("%q %+v %+v %q %q %v %v %q %q", d.launch.Configuration, d.launch.Template, d.launch.Overrides, d.zones,
		d.tags.Labels, d.tags.Taints, d.tags.Resources, d.tags.EKSCluster, d.tags.EKSNodeGroup)
}

// description is that of the newest answer. Call with Provider.mu held.
func (b *book) description() description {
	return description{name: b.name, launch: b.group.Launch, zones: zonesOf(b.group), tags: b.tags}
}

// madeTemplates are the templates of a group as last made. The zero value holds none. Safe for concurrent use.
type madeTemplates struct {
	mu       sync.Mutex
	of       string // the description and the state of the caches that they were made of
	variants []cloudprovider.TemplateVariant
	notes    string // for the operator
	err      error
}

// get makes the templates, unless nothing has changed since the last time. The result is shared.
func (m *madeTemplates) get(p *Provider, d description) ([]cloudprovider.TemplateVariant, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.renew(p, d)
	return m.variants, m.err
}

// told is what the operator should know about the templates; empty: nothing.
func (m *madeTemplates) told(p *Provider, d description) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.renew(p, d)
	return m.notes
}

// renew brings the templates up to date. Call with mu held.
func (m *madeTemplates) renew(p *Provider, d description) {
	of := fmt.Sprint(p.launches.Version(), p.managed.Version(), d.mark())
	if m.of == of {
		return
	}
	m.of, m.variants, m.notes = of, nil, ""
	source, err := p.templateSource(d)
	if m.err = err; err != nil {
		return
	}
	m.variants, m.err = template.Variants(source)
	m.notes = strings.Join(template.Notes(source), "; ")
}

// copyOf gives the caller objects of its own, of nodes that have just become ready.
func copyOf(variants []cloudprovider.TemplateVariant, now time.Time) []cloudprovider.TemplateVariant {
	out := slices.Clone(variants)
	for i := range out {
		out[i].Node = out[i].Node.DeepCopy()
		out[i].Node.Status.Conditions = template.Conditions(now)
		out[i].Pods = nil
		for _, pod := range variants[i].Pods {
			out[i].Pods = append(out[i].Pods, pod.DeepCopy())
		}
	}
	return out
}

// templateSource puts together what is known of a group's fresh nodes.
func (p *Provider) templateSource(d description) (template.Source, error) {
	facts, err := p.launches.Facts(d.launch)
	if err != nil {
		return template.Source{}, err
	}
	described, err := p.describedByEKS(d.tags)
	if err != nil {
		return template.Source{}, err
	}
	source := template.Source{Group: d.name, Region: p.wanted.region, Facts: facts, Tags: d.tags, Managed: described, Now: p.clock.Now()}
	for _, name := range d.zones {
		zone, _ := p.launches.Zone(name)
		zone.Name = name
		source.Zones = append(source.Zones, zone)
	}
	return source, nil
}

// zoneNames are the names of a group's zones, also where AWS tells their ids only; nil where one of them is not known.
func (p *Provider) zoneNames(group asg.Group) []string {
	if len(group.Zones) > 0 {
		return group.Zones
	}
	var names []string
	for _, id := range group.ZoneIDs {
		zone, known := p.launches.Zone(id)
		if !known {
			return nil
		}
		names = append(names, zone.Name)
	}
	return names
}

// fill asks AWS for all that templates and sizes need of the groups of a sweep.
func (p *Provider) fill(ctx context.Context, s *sweep) {
	p.launches.Fill(ctx, s.wanted(), s.err == nil)
	p.fillEKS(ctx, s)
}

// sourceErr adds what an operator can do about a failure to read the description of EKS.
func sourceErr(what string, err error) error {
	if faults.Passing(err) {
		return fmt.Errorf("reading labels and taints of %s: %w", what, err)
	}
	return fmt.Errorf("labels and taints of %s cannot be read: %w; permit eks:DescribeNodegroup, or describe its nodes by the tags %s and %s",
		what, err, nodetags.LabelTag("KEY"), nodetags.TaintTag("KEY"))
}
