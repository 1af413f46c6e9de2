package scaleup

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/clusterstate"
	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/expander"
	"example.com/cluster-autoscaler/processors/nodegroupset"
	"example.com/cluster-autoscaler/processors/nodeinfos"
	"example.com/cluster-autoscaler/processors/pendingpods"
	"example.com/cluster-autoscaler/simulator"
)

// notGuaranteedPause is how long a group is not tried again for a pod that only some of its variants fit. A group that keeps delivering the
// wrong variant would otherwise be filled with nodes that nobody can use.
const notGuaranteedPause = 30 * time.Minute

// The names of limits in reasons.
const (
	limitClusterWide = "cluster-wide"
	limitMaxNodes    = "max-nodes-total"
)

// scheduler is what this package asks of *simulator.Scheduler.
type scheduler interface {
	Classes(snap *simulator.Snapshot, pods []*corev1.Pod) []int
	Check(ctx context.Context, snap *simulator.Snapshot, pod *corev1.Pod, nodeName string) (*simulator.Rejection, error)
	Fill(ctx context.Context, snap *simulator.Snapshot, pods []*corev1.Pod, nodeName string) (int, *simulator.Rejection, error)
	PlaceAll(ctx context.Context, snap *simulator.Snapshot, pods []*corev1.Pod, search simulator.Search) ([]simulator.Placement, error)
	PlaceAnywhere(
		ctx context.Context, snap *simulator.Snapshot, pod *corev1.Pod, search simulator.Search,
	) (simulator.Placement, []simulator.NodeRejection, error)
}

// Budget is how long a search may take. It is made by whoever has a clock.
type Budget interface{ Spent() bool }

// Attempt is a purchase that may or may not have brought a node that fits the pod.
type Attempt struct {
	Pod   types.UID
	Group cloudprovider.GroupID
}

// In is what growth is planned from. All of it is read only; the snapshot is changed and changed back.
type In struct {
	At time.Time
	// Snapshot and Pending are as pendingpods.Run left them.
	Snapshot  *simulator.Snapshot
	Pending   pendingpods.Out
	Scheduler scheduler
	// Groups, GroupErrors, Members, GPULabel and Limits as observed.
	Groups      []observation.Group
	GroupErrors []cloudprovider.GroupError
	Members     map[string]cloudprovider.GroupID
	GPULabel    string
	Limits      cloudprovider.ResourceLimits
	// State holds the sizes to reckon with, after the repairs.
	State     clusterstate.State
	Templates map[cloudprovider.GroupID]nodeinfos.Template
	// Attempts says until when not to try again; nil: there are none.
	Attempts map[Attempt]time.Time
	// MaxNodes is how many nodes the cluster may have; 0: any number.
	MaxNodes int
	Options  config.ScaleUp
	// Balancing says whether nodes are spread over similar groups, and which are; BookkeepingLabels as observed.
	Balancing         config.Balancing
	BookkeepingLabels []string
	// AllOrNothing is true if it is of no use to help some of the pods only.
	AllOrNothing bool
	// Budget is for all estimates together; nil: no limit. GroupBudget makes one for each estimate; nil: no limit.
	Budget      Budget
	GroupBudget func() Budget
	// Salvo is how long it may go on with one purchase after the other; nil: one has to do, and the next iteration makes the next.
	Salvo Budget
}

// Upcoming lists the groups with nodes on their way, as pendingpods.Run takes them.
func Upcoming(state clusterstate.State) []pendingpods.Upcoming {
	var out []pendingpods.Upcoming
	for i := range state.Groups {
		group := &state.Groups[i]
		if group.Upcoming <= 0 {
			continue
		}
		upcoming := pendingpods.Upcoming{Group: group.Group, Count: group.Upcoming, NotStarted: group.NotStarted}
		for _, u := range group.Unregistered {
			if !u.Long && (u.Instance.Zone != "" || u.Instance.Type != "") {
				upcoming.Machines = append(upcoming.Machines, nodeinfos.Place{Zone: u.Instance.Zone, Type: u.Instance.Type})
			}
		}
		out = append(out, upcoming)
	}
	return out
}

// Considered is what could be done for the waiting pods, and why not more. It is valid as long as its In is.
type Considered struct {
	// Options are the ways to help, in the order of the groups, one per group at most.
	Options []expander.Option

	in In
	// classes are the pods that are left by class, numbers the class of each.
	classes    [][]*corev1.Pod
	odd        map[*corev1.Pod]report.Reason // why first pods of classes fit nowhere, whatever anybody offers
	numbers    []int
	candidates []*candidate
	accounts   accounts
	depth      int // open forks of the snapshot
	// joints are the estimates that were made for several groups together. comparison and profiles say which are alike; unset until somebody asks.
	joints     map[string]estimated
	comparison nodegroupset.Rules
	profiles   map[*candidate]nodegroupset.Profile
	// out are groups that are left out because of what became of them earlier in this round; nil: none.
	out map[cloudprovider.GroupID]report.Reason
	// known are the groups as an earlier plan of this round found them, for the same pods and with nothing bought since; nil: there was none.
	known map[cloudprovider.GroupID]*candidate
}

// candidate is one group with what was found out about it.
type candidate struct {
	id          cloudprovider.GroupID
	state       clusterstate.GroupState
	template    nodeinfos.Template
	avoided     []nodeinfos.Variant // variants that are no part of the template, for the time being
	atomic      bool                // grows to its maximum or not at all
	theoretical bool                // does not exist in the cloud yet

	// skip says why the group was not considered; nil: it was.
	skip report.Reason
	// fits holds the answer for each class; empty if nobody was asked, as for most skipped groups.
	fits []fit
	// similar are the groups among which its nodes may be spread; nil: none.
	similar []*candidate
	// estimated is what the pods would need; the zero value: nothing was estimated.
	estimated
}

// estimated is what an estimate came to.
type estimated struct {
	// done is true if there was one, within limit nodes (0: any number, less than 0: none).
	done  bool
	limit int
	// told is what is told of what went into it.
	told report.Estimate
	// shared says why pods that fit were not helped although nothing is wrong with them, if they are not among the placed.
	shared report.Reason
	// failed holds the errors of classes whose packing broke off.
	failed map[int]error
	// nodes is how many nodes are wanted, 0 without option; pods are all that they help, placed the same as a set.
	nodes  int
	pods   []*corev1.Pod
	placed map[*corev1.Pod]bool
	// onNode are the pods node by node. Those that found a place on nodes that exist, because of the new ones, are in pods only.
	onNode [][]*corev1.Pod
	// owners are the groups of the nodes of onNode if the estimate was made together with other groups; empty: they are this one's.
	owners []*candidate
}

// fit is whether the pods of a class could run on a fresh node of a group.
type fit struct {
	// no is the reason why not; nil: they could.
	no report.Reason
	// variants are those that fit, by index, if not all of them do; nil: all do.
	variants []int
}

// Options finds out which groups could help which pods, and by how many nodes. An error means that nothing can be said at all: ctx ended or the
// snapshot is broken. Trouble with one group is a reason.
func Options(ctx context.Context, in In) (Considered, error) {
	c := Considered{in: in, accounts: newAccounts(in)}
	if err := c.consider(ctx); err != nil {
		return Considered{}, err
	}
	return c, nil
}

// consider looks at all groups.
func (c *Considered) consider(ctx context.Context) error {
	c.depth = c.in.Snapshot.Depth()
	c.sortPods()
	c.odd = c.uncountable()
	for i := range c.in.Groups {
		c.candidates = append(c.candidates, c.candidate(&c.in.Groups[i]))
	}
	c.addUndescribed()
	for _, cand := range c.candidates {
		if err := c.judge(ctx, cand); err != nil {
			return err
		}
	}
	c.findSimilar()
	late := false
	for _, cand := range c.candidates {
		if cand.skip != nil || !cand.helpsAny() {
			continue
		}
		limit, why := c.nodeLimit(cand)
		switch {
		case c.known[cand.id].holds(limit):
			cand.estimated = c.known[cand.id].estimated
		case late:
			cand.shared = report.NotReached{Limit: "--max-binpacking-time"}
			continue
		default:
			if err := c.estimate(ctx, cand, limit, why); err != nil {
				return err
			}
			late = c.in.Budget != nil && c.in.Budget.Spent()
		}
		c.addOption(cand)
	}
	return c.explainSkipped(ctx)
}

// holds tells whether what was estimated would be the same now, within this limit. One that was made together with others is not kept: these may have
// left since. It works for nil.
func (cand *candidate) holds(limit int) bool {
	return cand != nil && cand.done && cand.limit == limit && len(cand.owners) == 0
}

// sortPods sorts the pods that may cause growth into classes, in the order of their first pods.
func (c *Considered) sortPods() {
	c.numbers = c.in.Scheduler.Classes(c.in.Snapshot, c.in.Pending.Left)
	for i, number := range c.numbers {
		if number == len(c.classes) {
			c.classes = append(c.classes, nil)
		}
		c.classes[number] = append(c.classes[number], c.in.Pending.Left[i])
	}
}

// addUndescribed lists the groups of which the cloud could tell nothing at all.
func (c *Considered) addUndescribed() {
	known := make(map[cloudprovider.GroupID]bool, len(c.candidates))
	for _, cand := range c.candidates {
		known[cand.id] = true
	}
	for _, trouble := range c.in.GroupErrors {
		if !known[trouble.Group] {
			c.candidates = append(c.candidates, &candidate{id: trouble.Group, skip: report.GroupSetAside{Error: trouble.Err.Error()}})
		}
	}
}

func (cand *candidate) helpsAny() bool {
	for _, f := range cand.fits {
		if f.no == nil {
			return true
		}
	}
	return false
}

// attempted returns until when the group is not to be tried for the pod; ok is false if it may be.
func (c *Considered) attempted(cand *candidate, f fit, pod *corev1.Pod) (until time.Time, ok bool) {
	if f.variants == nil {
		return time.Time{}, false
	}
	until, ok = c.in.Attempts[Attempt{Pod: pod.UID, Group: cand.id}]
	return until, ok && until.After(c.in.At)
}

func ref(pod *corev1.Pod) report.PodRef {
	return report.PodRef{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}
}
