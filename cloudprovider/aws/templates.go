package aws

import (
	"context"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asg"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/faults"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/template"
)

// Templates makes one variant per zone and instance type. It asks AWS only for what the last Refresh could not read and whose next try is due.
// Errors are a TransientError where AWS doesn't answer, else a ConfigurationError that says what is missing.
func (g *NodeGroup) Templates(ctx context.Context) ([]cloudprovider.TemplateVariant, error) {
	p := g.provider
	ctx, done := p.calls.begin(ctx)
	defer done()
	if p.launches.Needs(g.launch) {
		p.launches.Fill(ctx, []asg.Launch{g.launch}, false)
	}
	facts, err := p.launches.Facts(g.launch)
	if err != nil {
		switch faults.ClassOf(err) {
		case faults.Throttled, faults.Unreachable, faults.Unanswered:
			return nil, &cloudprovider.TransientError{Err: err}
		default:
			return nil, &cloudprovider.ConfigurationError{Group: g.ID(), Err: err}
		}
	}
	variants, err := template.Variants(template.Source{
		Group: string(g.ID()), Region: p.wanted.region, Zones: g.zones, Facts: facts, Tags: g.tags, Now: p.clock.Now(),
	})
	if err != nil {
		return nil, &cloudprovider.ConfigurationError{Group: g.ID(), Err: err}
	}
	return variants, nil
}
