package aws

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asg"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/faults"
)

// reasonHeld is the reason of the notice that a group is not shrunk.
const reasonHeld = "AWSGroupHeld"

// tagEnabled is on the groups that are to be scaled; most operators discover them by it.
const tagEnabled = "k8s.io/cluster-autoscaler/enabled"

// suspension says why nothing may be written to a group at present; empty: it may.
func (p *Provider) suspension(group asg.Group) string {
	paused := ""
	if value := group.Tags[tagEnabled]; p.pauseByTag && (strings.EqualFold(value, "false") || strings.EqualFold(value, "disabled")) {
		paused = fmt.Sprintf("the tag %s of the Auto Scaling group is %q", tagEnabled, value)
	}
	return cmp.Or(suspended(group), paused)
}

// held says why no machine of a group is to be ended by choice at present; empty: they may.
func held(group asg.Group) string {
	if group.SuspendedProcess("Terminate") {
		return "the process Terminate of the Auto Scaling group is suspended: resume it to let machines go"
	}
	return ""
}

// heldMachine says why one machine is not to be ended by choice; empty: it may.
func heldMachine(instance asg.Instance) string {
	switch instance.Lifecycle.Phase() {
	case asg.PhaseStandby:
		return "it is in standby, out of which only an operator takes it"
	case asg.PhaseKept:
		return fmt.Sprintf("its lifecycle state is %s: AWS keeps it for inspection", instance.Lifecycle)
	case asg.PhaseLeaving:
		return "it is being detached from its group"
	default:
		return ""
	}
}

// doom says why AWS is about to end a machine by itself; empty: it isn't.
func doom(instance asg.Instance, group asg.Group) string {
	if instance.Unhealthy && !group.SuspendedProcess("ReplaceUnhealthy") && !group.SuspendedProcess("Terminate") {
		return "its health status is Unhealthy, the Auto Scaling group is about to replace it"
	}
	return ""
}

// opRefreshes is the operation that tells whether AWS replaces the machines of a group one by one.
const opRefreshes = "DescribeInstanceRefreshes"

// renewalFor is for how long the answer whether an instance refresh runs is good.
const renewalFor = 30 * time.Second

// renewal is what was last found out about the instance refresh of a group.
type renewal struct {
	status string // of the one that runs; empty: none does
	asked  time.Time
}

// CheckShrink asks whether an instance refresh replaces the machines of the group: which of them go AWS decides then. It blocks for the call. Whoever may
// not ask that does without.
func (g *NodeGroup) CheckShrink(ctx context.Context) (reason string) {
	p, b := g.provider, g.current()
	ctx, done := p.calls.Begin(ctx)
	defer done()
	p.mu.Lock()
	age := p.clock.Now().Sub(b.renewal.asked)
	known := p.denied(opRefreshes) || !b.renewal.asked.IsZero() && age >= 0 && age < renewalFor
	status := b.renewal.status
	p.mu.Unlock()
	if !known {
		var err error
		status, err = p.api.Renewal(ctx, b.name)
		if err != nil && !p.mayNotAsk(err) {
			return "whether an instance refresh runs could not be found out: " + err.Error()
		}
		p.noteRenewal(b, status)
	}
	if status == "" {
		return ""
	}
	return "an instance refresh replaces its machines: " + status
}

// mayNotAsk tells whether an error says that instance refreshes can't be asked about here.
func (p *Provider) mayNotAsk(err error) bool {
	if class := faults.ClassOf(err); class != faults.Denied && class != faults.Refused {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.deny(opRefreshes) && faults.ClassOf(err) == faults.Refused { // denials are told by what the call came back with
		p.notices.permissionMissing(opRefreshes, err.Error())
	}
	return true
}

func (p *Provider) noteRenewal(b *book, status string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := b.renewal.status
	b.renewal = renewal{status: status, asked: p.clock.Now()}
	switch {
	case (before == "") == (status == ""):
	case status == "":
		p.notices.tell(cloudprovider.Notice{Group: cloudprovider.GroupID(b.name), Message: "the instance refresh is over", Normal: true})
	default:
		p.notices.tell(cloudprovider.Notice{
			Reason: reasonHeld, Group: cloudprovider.GroupID(b.name),
			Message: "an instance refresh replaces the machines (" + status + "): none is ended by choice meanwhile", Normal: true,
		})
	}
}
