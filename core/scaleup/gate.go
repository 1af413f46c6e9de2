package scaleup

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/processors/pendingpods"
	"example.com/cluster-autoscaler/simulator/gpu"
	"example.com/cluster-autoscaler/simulator/readiness"
)

const (
	// burstWindow lets a burst of pods arrive before one plan covers them all. 2 s is what operators know; more delays every scale-up by
	// as much, less splits a burst over two plans.
	burstWindow = 2 * time.Second
	// gpuBurstWindow is the same for pods that ask for accelerators, whose nodes are dear and whose controllers are slow.
	gpuBurstWindow = 30 * time.Second
	// degradedCycle: while the search for room is too slow, one loop in so many only shrinks.
	degradedCycle = 4
)

// GateIn is what the gate reads.
type GateIn struct {
	At      time.Time
	Pending pendingpods.Out
	// Nodes as observed, with the readiness overrides applied.
	Nodes []*corev1.Node
	// MaxNodes is how many nodes the cluster may have; 0: any number.
	MaxNodes int
	// Bypassed is true if pods count before their scheduler saw them; the pause for bursts is then off.
	Bypassed bool
	// Degraded counts the loops in which the search for room was too slow, one after the other; 0: the last one was not, or graceful
	// degradation is off.
	Degraded int
	// Settled is true if no pod has joined for a while, so that the burst is over before its window is. It does not shorten the window for
	// pods that ask for accelerators.
	Settled bool
}

// Passage is the answer of the gate.
type Passage struct {
	// Open is true if growth is to be planned. Otherwise ScaleUp is the outcome of the round.
	Open    bool
	ScaleUp report.ScaleUp
	// GrowOnly is true if this iteration is for growing alone: the search for room was too slow.
	GrowOnly bool
	// Young is set while all pods are new: nodes must not be removed, since the pods may want them.
	Young *report.CoolDown
}

// Gate decides whether this iteration grows the cluster at all (loop-and-scale-up 1.6).
func Gate(in GateIn) Passage {
	passage := in.judge()
	if passage.Open && in.Degraded > 0 && in.Degraded%degradedCycle == 0 {
		passage = in.closed(report.ScaleUpInCooldown, report.PodLeftAlone, report.NotReached{Limit: "--enable-graceful-degradation"})
	}
	passage.GrowOnly = in.Degraded%degradedCycle != 0
	return passage
}

func (in GateIn) judge() Passage {
	pods := in.Pending.Left
	until := in.settledAt()
	switch {
	case len(pods) == 0 && in.Pending.Newborn > 0: // pods from the future are as new as can be
		passage := in.closed(report.ScaleUpInCooldown, report.PodLeftAlone, nil)
		passage.Young = &report.CoolDown{StartedBy: "young pods", Until: in.At.Add(burstWindow)}
		return passage
	case len(pods) == 0:
		return in.closed(report.ScaleUpNotNeeded, report.PodLeftAlone, nil)
	case in.MaxNodes > 0 && ready(in.Nodes) >= in.MaxNodes:
		passage := in.closed(report.ScaleUpLimitedByMaxNodesTotal, report.PodUnschedulable, report.LimitReached{
			Limit: limitMaxNodes, Resources: []string{"nodes"},
		})
		passage.ScaleUp.MaxNodesTotal = in.MaxNodes
		return passage
	case !in.Bypassed && until.After(in.At):
		young := report.CoolDown{StartedBy: "young pods", Until: until}
		passage := in.closed(report.ScaleUpInCooldown, report.PodLeftAlone, young)
		passage.Young = &young
		return passage
	default:
		return Passage{Open: true}
	}
}

func (in GateIn) closed(result report.ScaleUpResult, fate report.PodFate, own report.Reason) Passage {
	var verdicts []report.PodVerdict
	for _, pod := range in.Pending.Left {
		verdicts = append(verdicts, report.PodVerdict{Pod: ref(pod), Fate: fate, Own: own})
	}
	return Passage{ScaleUp: report.ScaleUp{Result: result, Pods: inOrder(in.Pending, verdicts)}}
}

// settledAt is when the oldest pod, and the oldest one that asks for an accelerator, are old enough; the later of both.
func (in GateIn) settledAt() time.Time {
	var (
		all, accelerated time.Time
		asks             gpu.RequestedBy
	)
	for _, pod := range in.Pending.Left {
		created := pod.CreationTimestamp.Time
		if all.IsZero() || created.Before(all) {
			all = created
		}
		if asks.Next(pod) && (accelerated.IsZero() || created.Before(accelerated)) {
			accelerated = created
		}
	}
	until := all.Add(burstWindow)
	if in.Settled {
		until = in.At
	}
	if end := accelerated.Add(gpuBurstWindow); !accelerated.IsZero() && end.After(until) {
		until = end
	}
	return until
}

func ready(nodes []*corev1.Node) int {
	count := 0
	for _, node := range nodes {
		if !node.Spec.Unschedulable && readiness.Of(node).Ready {
			count++
		}
	}
	return count
}
