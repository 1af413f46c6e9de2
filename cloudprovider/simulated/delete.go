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
	if _, err := d.lowering(); err != nil {
		return nil, 0, err
	}
	d.strike()
	lowered, err := d.lowering() // of those that are left, which can only be less
	if err != nil {
		return nil, 0, err
	}
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

// lowering is by how much ending the victims lowers the target. What the group has beyond its target goes first and lowers
// nothing. Only ForceDeleteNodes may touch the minimum, and the target stops there: the cloud then replaces the machines.
func (d *deletion) lowering() (int, error) {
	units := 0
	for _, m := range d.victims {
		units += m.variant.Weight
	}
	p := d.pool
	surplus := max(p.units(d.now)-p.target, 0)
	lowered := max(units-surplus, 0)
	room := max(p.target-p.spec.Min, 0)
	switch {
	case lowered <= room:
		return lowered, nil
	case d.log.Operation == ForceDeleteNodes:
		return room, nil
	default:
		return 0, &cloudprovider.StaleBoundsError{
			Group: p.spec.ID, Asked: units, Room: room + surplus,
			Err: fmt.Errorf("the target is %d of at least %d", p.target, p.spec.Min),
		}
	}
}

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
		if err == nil && d.of[i] != nil {
			err = d.failing[d.of[i]]
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
