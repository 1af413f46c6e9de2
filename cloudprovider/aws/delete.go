package aws

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asg"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asgapi"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/faults"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/placeholders"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/providerid"
)

// singlesAtOnce is how many machines are ended at a time where each takes a call of its own.
const singlesAtOnce = 10

// minimum says what the minimum of a group means to a deletion.
type minimum int

const (
	minimumUnset  minimum = iota
	keepMinimum           // nothing is deleted if the group would go below it
	refillMinimum         // machines below it are replaced
)

// DeleteNodes ends machines by name, each with its place in the group, and withdraws the places of placeholders by the rules of the safe cut. All is
// checked on fresh data before the first write.
func (g *NodeGroup) DeleteNodes(ctx context.Context, nodes []cloudprovider.NodeRef) ([]cloudprovider.DeleteOutcome, error) {
	return g.deleteNodes(ctx, nodes, keepMinimum)
}

// ForceDeleteNodes is DeleteNodes, except that machines which the minimum needs are replaced by AWS. Placeholders never go below the minimum.
func (g *NodeGroup) ForceDeleteNodes(ctx context.Context, nodes []cloudprovider.NodeRef) ([]cloudprovider.DeleteOutcome, error) {
	return g.deleteNodes(ctx, nodes, refillMinimum)
}

func (g *NodeGroup) deleteNodes(ctx context.Context, nodes []cloudprovider.NodeRef, m minimum) ([]cloudprovider.DeleteOutcome, error) {
	if len(nodes) == 0 {
		return nil, nil
	}
	p, b := g.provider, g.current()
	ids, err := g.identify(nodes)
	if err != nil {
		return nil, err
	}
	ctx, done := p.calls.Begin(ctx)
	defer done()
	b.writing.Lock()
	defer b.writing.Unlock()
	f, err := p.readFor(ctx, b, ids)
	if _, gone := errors.AsType[*cloudprovider.GoneError](err); gone {
		return outcomesOf(nodes, ids, nil), nil // its machines have gone with it
	}
	if err != nil {
		return nil, fmt.Errorf("reading node group %s before deleting nodes: %w", g.ID(), err)
	}
	plan, err := p.plan(f, ids, m)
	if err != nil {
		return nil, err
	}
	failures, kept := plan.refused, map[string]string{}
	if len(plan.places) > 0 {
		lowered, err := p.cut(ctx, f, plan.places, plan.units)
		for i, number := range plan.places {
			name := providerid.Parse(providerid.OfPlaceholder("", b.name, number)).Name
			switch {
			case err != nil:
				failures[name] = err
			case i >= lowered && p.still(b, number):
				kept[name] = keptPlace
			}
		}
	}
	maps.Copy(failures, p.terminate(ctx, b, plan, m))
	outcomes := outcomesOf(nodes, ids, failures)
	for i := range outcomes {
		outcomes[i].Kept = kept[ids[i].Name]
	}
	return outcomes, nil
}

// keptPlace is why a place is left alone.
const keptPlace = "a machine may still come for it, or the minimum of the Auto Scaling group holds it"

// still tells whether a place is waited for.
func (p *Provider) still(b *book, number int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(b.ledger.Open(), func(place placeholders.Place) bool { return place.Number == number })
}

// readFor reads the group for a deletion, anew where places of machines that never came are to be withdrawn.
func (p *Provider) readFor(ctx context.Context, b *book, ids []providerid.ID) (fresh, error) {
	if slices.ContainsFunc(ids, func(id providerid.ID) bool { return id.Kind == providerid.Placeholder }) {
		return p.readNow(ctx, b)
	}
	return p.readFresh(ctx, b)
}

// outcomesOf lists one outcome per node. What isn't among the failures ends, or is gone.
func outcomesOf(nodes []cloudprovider.NodeRef, ids []providerid.ID, failures map[string]error) []cloudprovider.DeleteOutcome {
	outcomes := make([]cloudprovider.DeleteOutcome, 0, len(nodes))
	for i, node := range nodes {
		outcomes = append(outcomes, cloudprovider.DeleteOutcome{Node: node, Err: failures[ids[i].Name]})
	}
	return outcomes
}

// identify reads the provider ids. It fails for a node that doesn't belong to this group: whoever asks for it has mixed something up.
func (g *NodeGroup) identify(nodes []cloudprovider.NodeRef) ([]providerid.ID, error) {
	v := g.provider.view.Load()
	ids := make([]providerid.ID, 0, len(nodes))
	for _, node := range nodes {
		id := providerid.Parse(node.ProviderID)
		owner := cloudprovider.GroupID("")
		switch id.Kind {
		case providerid.Instance:
			owner = v.gone[id.Name]
			if m, ok := v.machines[id.Name]; ok {
				owner = m.group
			}
			if owner == "" && g.holds(id.Name) {
				owner = g.ID()
			}
		case providerid.Placeholder:
			owner = cloudprovider.GroupID(id.Group)
		default: // no machine of ours
		}
		switch owner {
		case g.ID():
			ids = append(ids, id)
		case "":
			return nil, fmt.Errorf("deleting node %s of node group %s: its provider id %q belongs to no known Auto Scaling group", node.Name, g.ID(), node.ProviderID)
		default:
			return nil, fmt.Errorf("deleting node %s of node group %s: its machine belongs to %s", node.Name, g.ID(), owner)
		}
	}
	return ids, nil
}

// holds tells whether the machine was in the group as of the view that this group is from.
func (g *NodeGroup) holds(instance string) bool {
	return slices.ContainsFunc(g.state.Instances, func(i cloudprovider.Instance) bool { return providerid.Parse(i.ID).Name == instance })
}

// deletion is what is to be done for one call.
type deletion struct {
	victims []victim
	places  []int // numbers of placeholders that are still open
	units   int   // that the victims are worth
	refused map[string]error
}

// victim is a machine to end.
type victim struct {
	id    string
	units int
}

// plan sorts the machines out and checks the minimum.
func (p *Provider) plan(f fresh, ids []providerid.ID, m minimum) (deletion, error) {
	d := deletion{refused: map[string]error{}}
	p.mu.Lock()
	defer p.mu.Unlock()
	seen := map[string]bool{}
	for _, id := range ids {
		if seen[id.Name] {
			continue
		}
		seen[id.Name] = true
		if id.Kind == providerid.Placeholder {
			if f.book.ledger.Has(id.Number) {
				d.places = append(d.places, id.Number)
			}
			continue
		}
		instance, listed := f.group.Instance(id.Name)
		if !listed {
			continue // gone
		}
		phase := instance.Lifecycle.Phase()
		if phase == asg.PhaseKept && m == refillMinimum { // whoever asks for it by name and with force means it
			phase = asg.PhaseRunning
		}
		switch phase {
		case asg.PhaseCreating, asg.PhaseRunning:
			units, err := f.group.UnitsOf(instance, p.weigher(f.group.Unit))
			if err != nil {
				return deletion{}, &cloudprovider.ConfigurationError{Group: cloudprovider.GroupID(f.book.name), Err: err}
			}
			d.victims = append(d.victims, victim{id: id.Name, units: units})
			d.units += units
		case asg.PhaseStandby:
			d.refused[id.Name] = fmt.Errorf("instance %s is in standby, out of which only an operator takes it", id.Name)
		case asg.PhaseKept:
			d.refused[id.Name] = fmt.Errorf("instance %s is %s: AWS keeps it for inspection", id.Name, instance.Lifecycle)
		default: // on its way out already
		}
	}
	if m == keepMinimum && d.units > 0 && f.sizes.BaseUnits-d.units < f.sizes.MinUnits {
		return deletion{}, &cloudprovider.StaleBoundsError{
			Group: cloudprovider.GroupID(f.book.name), Asked: len(d.victims), Room: (max(0, f.sizes.BaseUnits-f.sizes.MinUnits)) / f.sizes.MaxUnitsPerMachine,
			Err: fmt.Errorf("the size of the group is %d and its minimum %d", f.sizes.BaseUnits, f.sizes.MinUnits),
		}
	}
	return d, nil
}

// terminate ends the victims and returns why some of them were not. A machine that is surplus is ended without lowering the desired capacity, and
// so is one that the minimum needs.
func (p *Provider) terminate(ctx context.Context, b *book, d deletion, m minimum) map[string]error {
	if len(d.victims) == 0 {
		return nil
	}
	p.mu.Lock()
	surplus := max(0, b.sizes.LiveUnits-b.group.Desired)
	spare := b.group.Desired - b.sizes.MinUnits // how far the desired capacity may go down
	p.mu.Unlock()
	var lowering, keeping []victim
	for _, v := range d.victims {
		switch {
		case v.units <= surplus:
			surplus -= v.units
			keeping = append(keeping, v)
		case m == refillMinimum && v.units > spare:
			keeping = append(keeping, v)
		default:
			spare -= v.units
			lowering = append(lowering, v)
		}
	}
	failures := p.end(ctx, b, keeping, false)
	maps.Copy(failures, p.end(ctx, b, lowering, true))
	p.settleUnknown(ctx, b, failures)
	p.mu.Lock()
	defer p.mu.Unlock()
	b.suspect = b.suspect || len(failures) > 0
	b.nextLook = p.clock.Now() // the desired capacity is read, not reckoned
	return failures
}

// end ends machines, many in one call where AWS takes that.
func (p *Provider) end(ctx context.Context, b *book, victims []victim, decrement bool) map[string]error {
	failures := map[string]error{}
	for chunk := range slices.Chunk(victims, asgapi.BatchSize) {
		if len(chunk) > 1 && !p.single.Load() {
			err := p.persist(ctx, func() error { return p.api.TerminateBatch(ctx, b.name, idsOf(chunk), decrement) })
			if err == nil {
				p.ended(ctx, b, chunk, decrement)
				continue
			}
			if passes(err) {
				for _, v := range chunk {
					failures[v.id] = p.translate(err, question{group: cloudprovider.GroupID(b.name), write: true, asked: 1})
				}
				continue
			}
			// One bad id spoils a batch, and older endpoints don't know batches.
		}
		failed, ended := p.endSingly(ctx, b, chunk, decrement)
		if len(chunk) > 1 && ended == len(chunk) { // there was no bad id
			p.single.Store(true)
		}
		maps.Copy(failures, failed)
	}
	return failures
}

// passes tells whether an error says nothing about the request itself.
func passes(err error) bool {
	switch faults.ClassOf(err) {
	case faults.Throttled, faults.Unreachable, faults.Unanswered, faults.Credentials, faults.NoSuchEndpoint:
		return true
	default:
		return false
	}
}

// endSingly ends machines by a call each. It returns why some were not, and how many were: one that is gone is neither.
func (p *Provider) endSingly(ctx context.Context, b *book, victims []victim, decrement bool) (failures map[string]error, ended int) {
	failures = map[string]error{}
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(singlesAtOnce)
	for _, v := range victims {
		group.Go(func() error {
			err := p.persist(ctx, func() error { return p.api.Terminate(ctx, v.id, decrement) })
			if err == nil {
				p.ended(ctx, b, []victim{v}, decrement)
			}
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				ended++
			case faults.ClassOf(err) == faults.NotFound: // gone already
			default:
				failures[v.id] = p.translate(err, question{group: cloudprovider.GroupID(b.name), write: true, asked: 1})
			}
			return nil
		})
	}
	_ = group.Wait() // the functions keep their errors in failures
	return failures, ended
}

// ended enters machines that AWS agreed to end, and shows it at once: nobody is to take them for living ones.
func (p *Provider) ended(ctx context.Context, b *book, victims []victim, decrement bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.moment()
	at.server = b.server
	b.group.Instances = slices.Clone(b.group.Instances)
	before := b.sizes.BaseUnits
	for _, v := range victims {
		desired := b.group.Desired
		i := slices.IndexFunc(b.group.Instances, func(i asg.Instance) bool { return i.ID == v.id })
		counted := i >= 0 && b.group.Instances[i].Lifecycle.Phase().Counts()
		if decrement && counted { // else an answer that came in meanwhile has it already
			desired = max(0, desired-v.units)
		}
		b.overlay.ended(v.id, b.group.Desired, desired, at)
		if b.watch.desired == b.group.Desired {
			b.watch.desired = desired
		}
		b.group.Desired = desired
		if counted {
			b.group.Instances[i].Lifecycle = asg.Terminating
		}
		klog.FromContext(ctx).V(1).Info("Ending a machine", "nodeGroup", b.name, "instance", v.id, "decrement", decrement)
	}
	p.remeasure(b)
	b.net += b.sizes.BaseUnits - before
	b.ledger.Settle(placeholders.Change{Missing: b.sizes.Missing, At: at.at, From: b.server})
	p.publish()
}

// settleUnknown looks at the group where AWS gave no answer: a machine that is ending was ended.
func (p *Provider) settleUnknown(ctx context.Context, b *book, failures map[string]error) {
	unknown := false
	for _, err := range failures {
		transient, ok := errors.AsType[*cloudprovider.TransientError](err)
		unknown = unknown || ok && transient.OutcomeUnknown
	}
	if !unknown {
		return
	}
	f, err := p.readNow(ctx, b)
	if err != nil {
		return
	}
	for name := range failures {
		if instance, listed := f.group.Instance(name); !listed || instance.Lifecycle.Phase() == asg.PhaseEnding {
			delete(failures, name)
		}
	}
}

func idsOf(victims []victim) []string {
	ids := make([]string, 0, len(victims))
	for _, v := range victims {
		ids = append(ids, v.id)
	}
	return ids
}
