package simulated

import (
	"errors"
	"fmt"

	"example.com/cluster-autoscaler/cloudprovider"
)

// deletion is one DeleteNodes or ForceDeleteNodes in progress.
type deletion struct {
	*transaction
	refs    []cloudprovider.NodeRef
	of      []*machine         // per reference; nil: there is nothing to end, or it is foreign
	errs    []error            // per reference
	failing map[*machine]error // machines that can't be ended, or whose answer is lost
	victims []*machine         // to end, each once, in the order given
}

// delete ends the machines of the pool, with one outcome per reference, and tells by how much that lowered the target.
func (t *transaction) delete(refs []cloudprovider.NodeRef) ([]cloudprovider.DeleteOutcome, int, error) {
	d := &deletion{
		transaction: t, refs: refs, of: make([]*machine, len(refs)), errs: make([]error, len(refs)), failing: map[*machine]error{},
	}
	d.resolve()
	if err := d.belowMinimum(); err != nil {
		return nil, 0, err
	}
	d.strike()
	lowered := d.lowering()
	for _, m := range d.victims {
		t.log.Ended = append(t.log.Ended, m.at(t.now))
		m.end(t.now, t.pool.spec.DeleteDelay)
	}
	t.pool.resize(t.pool.target - lowered)
	t.pool.launch(t.now)
	return d.outcomes(), lowered, nil
}

// resolve finds the machines.
func (d *deletion) resolve() {
	named := map[*machine]bool{}
	for i, ref := range d.refs {
		m := d.pool.index.inGroup(ref, d.pool.spec.ID)
		if m == nil {
			d.errs[i] = fmt.Errorf("node %q (%q) does not belong to node group %q", ref.Name, ref.ProviderID, d.pool.spec.ID)
			continue
		}
		// The placeholder of a machine that has come is gone; whoever gave it did not mean the machine, which may run pods by now.
		arrived := ref.ProviderID == m.placeholderID && !m.placeholder(d.now)
		if m.ending(d.now) || arrived {
			continue
		}
		d.of[i] = m
		if !named[m] {
			named[m] = true
			d.victims = append(d.victims, m)
		}
	}
}

// units is how much the victims count.
func (d *deletion) units() int {
	sum := 0
	for _, m := range d.victims {
		sum += m.variant.Weight
	}
	return sum
}

// surplus is what the group has beyond its target. It goes first and lowers nothing.
func (d *deletion) surplus() int { return max(d.pool.units(d.now)-d.pool.target, 0) }

// room is by how much the target may be lowered.
func (d *deletion) room() int { return max(d.pool.target-d.pool.spec.Min, 0) }

// belowMinimum is why the minimum forbids to end the victims; nil: it doesn't, or the deletion is forced.
func (d *deletion) belowMinimum() error {
	possible := d.room() + d.surplus()
	if d.log.Operation == ForceDeleteNodes || d.units() <= possible {
		return nil
	}
	return &cloudprovider.StaleBoundsError{
		Group: d.pool.spec.ID, Asked: d.units(), Room: possible,
		Err: fmt.Errorf("the target is %d of at least %d", d.pool.target, d.pool.spec.Min),
	}
}

// lowering is by how much ending the victims lowers the target. At the minimum it stops, and the cloud replaces the machines.
func (d *deletion) lowering() int { return min(max(d.units()-d.surplus(), 0), d.room()) }

// strike lets the faults of single nodes take effect: a victim is spared, or ended with its answer lost.
func (d *deletion) strike() {
	var victims []*machine
	for _, m := range d.victims {
		f := d.cloud.nodeFault(d.log.Operation, m)
		switch {
		case f == nil:
			victims = append(victims, m)
		case f.Lost:
			victims = append(victims, m)
			d.failing[m] = &cloudprovider.TransientError{OutcomeUnknown: true, Err: f.Err}
		default:
			d.failing[m] = f.Err
		}
	}
	d.victims = victims
}

// outcomes is the answer. An answer that is lost as a whole leaves every outcome unknown.
func (d *deletion) outcomes() []cloudprovider.DeleteOutcome {
	outcomes := make([]cloudprovider.DeleteOutcome, len(d.refs))
	for i, ref := range d.refs {
		err := d.errs[i]
		if err == nil {
			err = d.failing[d.of[i]] // where there was nothing to end, nothing fails
		}
		if err == nil {
			err = d.lost
		}
		outcomes[i] = cloudprovider.DeleteOutcome{Node: ref, Err: err}
		d.errs[i] = err
	}
	d.lost = nil
	d.log.Err = errors.Join(d.errs...)
	return outcomes
}
