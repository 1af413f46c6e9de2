package simulator

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeports"
)

// query answers where the pods of one kind fit from what is known of classes and from counts, as the framework would. It is good until the
// snapshot changes in other ways than by placing pods.
type query struct {
	scheduler *Scheduler
	snapshot  *Snapshot
	memo      *memo
	kind      *kind
	// off are the rules that have no say in this question.
	off []bool
	// sized, ports, near and even say which rules there are; sizedFirst, that resources come before the others of these.
	sized, ports, near, even, sizedFirst bool

	lastClass   *nodeClass
	lastVerdict *verdict
	short       []Shortage // scratch
}

// query starts a query about the pod; nil: only the framework can answer.
func (s *Scheduler) query(ctx context.Context, snap *Snapshot, known *knownPod) (*query, error) {
	sh := known.shape
	if s.framework || sh.byFramework || known.claims || known.bound || s.spreadsByDefault && !known.spreads {
		return nil, nil //nolint:nilnil // said above
	}
	m := snap.memoOf(s)
	if m.stateOf(ctx, s, sh).trouble {
		return nil, nil //nolint:nilnil // said above
	}
	q := &query{scheduler: s, snapshot: snap, memo: m, kind: snap.kindOf(known)}
	for i := range s.rules {
		name := s.rules[i].name
		if s.disabled != nil && s.disabled(name) {
			if q.off == nil {
				q.off = make([]bool, len(s.rules))
			}
			q.off[i] = true
			continue
		}
		switch name {
		case names.NodeResourcesFit:
			q.sized, q.sizedFirst = true, !q.ports && !q.near && !q.even
		case names.NodePorts:
			q.ports = len(sh.ports) > 0
		case names.InterPodAffinity:
			q.near = true
		case names.PodTopologySpread:
			q.even = len(sh.spread) > 0
		}
	}
	if err := q.refresh(); err != nil {
		return nil, err
	}
	return q, nil
}

// refresh brings up to date what is counted for pods of the kind.
func (q *query) refresh() error {
	if q.near {
		if err := q.kind.nearness.refresh(q.snapshot, q.kind, q.scheduler.namespaces); err != nil {
			return fmt.Errorf("looking up the namespaces that a selector means: %w", err)
		}
	}
	if q.even && q.kind.evenAt != q.snapshot.round {
		q.kind.evenness, q.kind.evenAt = q.snapshot.evennessOf(q.kind), q.snapshot.round
	}
	return nil
}

// narrowing says that placing pods of the kind only ever takes room away from others of the kind.
func (q *query) narrowing() bool { return !q.even && len(q.kind.shape.affinity) == 0 }

func (q *query) isOff(rule int) bool { return q.off != nil && q.off[rule] }

// fits tells whether a pod of the kind fits on the node.
func (q *query) fits(ctx context.Context, n *node) (bool, error) {
	fits, _, err := q.answer(ctx, n)
	return fits, err
}

// answer tells whether a pod of the kind fits on the node. If not, forGood says that it never will unless the node changes or pods leave it, whatever
// happens elsewhere.
func (q *query) answer(ctx context.Context, n *node) (fits, forGood bool, err error) {
	if q.sized && !q.roomOn(n) || q.ports && portTaken(q.kind.shape.ports, n) {
		return false, true, nil
	}
	v, err := q.verdict(ctx, n)
	if err != nil {
		return false, false, err
	}
	if v.refusals != nil {
		for i, refusal := range v.refusals {
			if refusal != nil && !q.isOff(i) {
				return false, true, nil
			}
		}
	}
	if q.near && !q.kind.nearness.fits(n) {
		return false, q.kind.nearness.keptOffByOwn(n), nil
	}
	return !q.even || q.kind.evenness.fits(n), false, nil
}

func (q *query) verdict(ctx context.Context, n *node) (*verdict, error) {
	class := q.snapshot.classOf(n)
	if class == q.lastClass {
		return q.lastVerdict, nil
	}
	v, err := q.memo.verdictOf(ctx, q.scheduler, q.kind.shape, class)
	if err != nil {
		return nil, err
	}
	q.lastClass, q.lastVerdict = class, v
	return v, nil
}

// roomOn tells whether the node has the resources.
func (q *query) roomOn(n *node) bool {
	asked := &q.kind.shape.asked
	if len(n.placements) >= n.allowedPods {
		return false
	}
	if asked.cpu > 0 && asked.cpu > n.offered.cpu-n.taken.cpu || asked.memory > 0 && asked.memory > n.offered.memory-n.taken.memory ||
		asked.storage > 0 && asked.storage > n.offered.storage-n.taken.storage {
		return false
	}
	for _, s := range asked.scalars {
		if s.amount > 0 && s.amount > n.offered.of(s.name)-n.taken.of(s.name) && !q.scheduler.ignores(s.name) {
			return false
		}
	}
	return true
}

// refusal is why a pod of the kind does not fit on the node, as the first plug-in says that refuses it; nil: it fits.
func (q *query) refusal(ctx context.Context, n *node) (*fwk.Status, error) {
	v, err := q.verdict(ctx, n)
	if err != nil {
		return nil, err
	}
	for i := range q.scheduler.rules {
		r := &q.scheduler.rules[i]
		var status *fwk.Status
		switch {
		case q.isOff(i):
		case r.fixed != nil:
			if v.refusals != nil {
				status = v.refusals[i]
			}
		case r.name == names.NodeResourcesFit:
			status = q.shortOn(n)
		case r.name == names.NodePorts && q.ports && portTaken(q.kind.shape.ports, n):
			status = fwk.NewStatus(fwk.Unschedulable, nodeports.ErrReason)
		case r.name == names.InterPodAffinity && q.near:
			status = q.kind.nearness.refuses(n)
		case r.name == names.PodTopologySpread && q.even:
			status = q.kind.evenness.refuses(n)
		}
		if status != nil {
			return status.WithPlugin(r.name), nil
		}
	}
	return nil, nil //nolint:nilnil // it fits
}

// shortOn is which resources the node has too little of, in the words of the plug-in; nil: none.
func (q *query) shortOn(n *node) *fwk.Status {
	if q.roomOn(n) {
		return nil
	}
	var reasons []string
	code := fwk.Unschedulable
	lacks := func(reason string, asked, offered int64) {
		reasons = append(reasons, reason)
		if asked > offered {
			code = fwk.UnschedulableAndUnresolvable
		}
	}
	if len(n.placements) >= n.allowedPods {
		reasons = append(reasons, tooManyPods)
	}
	asked := &q.kind.shape.asked
	if asked.cpu > 0 && asked.cpu > n.offered.cpu-n.taken.cpu {
		lacks(insufficient+string(corev1.ResourceCPU), asked.cpu, n.offered.cpu)
	}
	if asked.memory > 0 && asked.memory > n.offered.memory-n.taken.memory {
		lacks(insufficient+string(corev1.ResourceMemory), asked.memory, n.offered.memory)
	}
	if asked.storage > 0 && asked.storage > n.offered.storage-n.taken.storage {
		lacks(insufficient+string(corev1.ResourceEphemeralStorage), asked.storage, n.offered.storage)
	}
	for _, s := range asked.scalars {
		if s.amount > 0 && s.amount > n.offered.of(s.name)-n.taken.of(s.name) && !q.scheduler.ignores(s.name) {
			lacks(insufficient+string(s.name), s.amount, n.offered.of(s.name))
		}
	}
	return fwk.NewStatus(code, reasons...)
}

// The words of the resource filter.
const (
	tooManyPods  = "Too many pods"
	insufficient = "Insufficient "
)

func portTaken(ports []corev1.ContainerPort, n *node) bool {
	used := n.usedPorts()
	for i := range ports {
		if used.CheckConflict(ports[i].HostIP, string(ports[i].Protocol), ports[i].HostPort) {
			return true
		}
	}
	return false
}
