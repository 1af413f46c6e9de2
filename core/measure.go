package core

import (
	"slices"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/clusterstate"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/metrics"
)

const milli = 1000

// measure renders the report into metrics.
func (t *Teller) measure(r report.Report) {
	m := t.metrics
	c := r.Cluster.Counts
	m.Safe(r.Cluster.Healthy)
	m.Nodes(metrics.NodeCounts{
		Ready: c.Ready, Unready: c.Unready, NotStarted: c.NotStarted, Suspended: c.Suspended,
		Unregistered: c.Unregistered, LongUnregistered: c.LongUnregistered,
	})
	m.PendingPods(r.Cluster.Pending-r.Cluster.Unprocessed, r.Cluster.Unprocessed)
	if told := r.ScaleUp.Injected; told != nil {
		injected, skipped := 0, 0
		for i := range told {
			injected, skipped = injected+told[i].Injected, skipped+told[i].Dropped
		}
		m.InjectedPods(injected, skipped)
	}
	unreached := 0
	if r.ScaleUp.Degraded != nil {
		unreached = r.ScaleUp.Degraded.Unreached
	}
	m.SkippedPods(unreached)
	m.Capacity(float64(r.Cluster.MilliCPU)/milli, r.Cluster.Memory)
	m.Taints(r.Cluster.Taints)
	m.PendingDeletions(r.ScaleDown.Pending)
	for _, feature := range r.Features {
		m.Feature(feature.Name, feature.Error == "")
	}
	t.measureGroups(r)
	t.measureScaleUp(r)
	t.measureScaleDown(r)
}

func (t *Teller) measureGroups(r report.Report) {
	var aside []string
	for _, trouble := range r.GroupErrors {
		aside = append(aside, string(trouble.Group))
	}
	autoscaled, autoprovisioned, maxNodes := 0, 0, 0
	for _, group := range r.Groups {
		if group.Autoprovisioned {
			autoprovisioned++
		} else {
			autoscaled++
		}
		maxNodes += group.Max
		out := metrics.Group{
			Name: string(group.Group), Min: group.Min, Max: group.Max, Target: group.Target, Healthy: group.Healthy,
		}
		if group.Backoff != nil {
			out.Backoff = &group.Backoff.Code
		}
		t.metrics.NodeGroup(out)
		if group.SetAside != nil {
			aside = append(aside, string(group.Group))
		}
	}
	if r.MaxNodesTotal > 0 {
		maxNodes = min(maxNodes, r.MaxNodesTotal)
	}
	t.metrics.NodeGroups(autoscaled, autoprovisioned, maxNodes)
	slices.Sort(aside)
	t.metrics.SetAside(slices.Compact(aside))
}

func (t *Teller) measureScaleUp(r report.Report) {
	gpus := make(map[cloudprovider.GroupID]metrics.GPU, len(r.Groups))
	for _, group := range r.Groups {
		gpus[group.Group] = metrics.GPU{Resource: group.GPU.Resource, Name: group.GPU.Name}
	}
	t.mu.Lock()
	t.gpus = gpus
	t.mu.Unlock()
	for _, outcome := range r.ScaleUp.Outcomes {
		if outcome.Granted > 0 {
			t.metrics.ScaledUp(outcome.Granted, gpus[outcome.Group])
		}
		if code, failed := clusterstate.FailureCode(outcome.Err); failed {
			t.metrics.FailedScaleUp(code, outcome.To-outcome.From-outcome.Granted, gpus[outcome.Group])
		}
	}
	for _, e := range r.ScaleUp.Estimates {
		t.metrics.Packing(e.InstanceType, e.CPURequests, e.Namespaces, e.Kinds)
	}
	for _, late := range r.Repair.TimedOut {
		t.metrics.FailedScaleUp("timeout", late.Increase, gpus[late.Group])
	}
	for _, failed := range r.Repair.Failed {
		t.metrics.FailedScaleUp(failed.Code, failed.Count, gpus[failed.Group])
	}
	for _, group := range r.ScaleUp.Skipped {
		limit, ok := group.Reason.(report.LimitReached)
		if !ok {
			continue
		}
		if slices.Contains(limit.Resources, "cpu") {
			t.metrics.SkippedScaleUp(metrics.SkippedCPU)
		}
		if slices.Contains(limit.Resources, "memory") {
			t.metrics.SkippedScaleUp(metrics.SkippedMemory)
		}
	}
}

func (t *Teller) measureScaleDown(r report.Report) {
	if planned(r.ScaleDown) { // else the nodes are as they were when they were last looked at
		t.metrics.Unneeded(len(r.ScaleDown.Unneeded), r.ScaleDown.CoolDown != nil)
		kept := map[string]int{}
		for _, node := range r.ScaleDown.Kept {
			if reason := node.Reason.Code(); node.Group != "" && !ownReason(reason) {
				kept[string(reason)]++
			}
		}
		t.metrics.Unremovable(kept)
	}
	ended, longest := t.waits.note(r)
	for _, wait := range ended {
		t.metrics.RemovalLatency(wait.deleted, wait.reason, wait.took)
	}
	t.metrics.NodeSkipped(longest)
	removed := 0
	for _, outcome := range r.Repair.Outcomes {
		if outcome.Kind != report.DeleteUnregistered {
			continue
		}
		for _, o := range outcome.Outcomes {
			if o.Err == nil && o.Kept == "" {
				removed++
			}
		}
	}
	t.metrics.UnregisteredRemoved(removed)
}

// planned tells an iteration that has looked at the nodes from one that did not come to it.
func planned(down report.ScaleDown) bool {
	switch down.Result {
	case report.ScaleDownNotTried, "":
		return false
	case report.ScaleDownError:
		return len(down.Kept)+len(down.Unneeded) > 0 // nothing is known if the plan itself failed
	default:
		return true
	}
}

// ownReason tells the reasons that are no values of the old metric: for those nodes it is silent.
func ownReason(code report.Code) bool {
	switch code {
	case report.CodeNotReached, report.CodeCoolDown, report.CodeAtMinSizeBefore, report.CodeDeletionInProgress,
		report.CodeResourceClaimsNotSimulated:
		return true
	default:
		return false
	}
}
