package scaleup

import (
	"context"
	"errors"
	"fmt"
	"math"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/estimator"
	"example.com/cluster-autoscaler/expander"
	"example.com/cluster-autoscaler/processors/nodeinfos"
	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/podfacts"
)

// judge asks for every class whether its pods could run on a fresh node of the group. The first pod stands for its class. Groups that were left out
// later in the round are asked again, so that the others are still told why these do not help them.
func (c *Considered) judge(ctx context.Context, cand *candidate) error {
	if cand.skip != nil && c.out[cand.id] == nil {
		return nil
	}
	fits, err := c.check(ctx, cand, cand.template.Variants, c.classes)
	if err != nil {
		return err
	}
	cand.fits = fits
	return c.judgeAvoided(ctx, cand)
}

// judgeAvoided tells the pods that could run in the avoided places only that it is these they wait for.
func (c *Considered) judgeAvoided(ctx context.Context, cand *candidate) error {
	if len(cand.avoided) == 0 {
		return nil
	}
	fits, err := c.check(ctx, cand, cand.avoided, c.classes)
	if err != nil {
		return err
	}
	for i := range fits {
		if cand.fits[i].no == nil || fits[i].no != nil {
			continue
		}
		first := 0
		if len(fits[i].variants) > 0 {
			first = fits[i].variants[0]
		}
		if failed, ok := cand.state.FailedAt(nodeinfos.PlaceOf(cand.avoided[first].Node)); ok {
			cand.fits[i].no = report.GroupBackedOff{Until: failed.Until, Why: failed.Code}
		}
	}
	return nil
}

// check tries a fresh node of each variant, one after the other, and what does not fit on any of them tells why by the first.
func (c *Considered) check(ctx context.Context, cand *candidate, variants []nodeinfos.Variant, classes [][]*corev1.Pod) ([]fit, error) {
	fits := make([]fit, len(classes))
	yes := make([][]int, len(classes))
	for v := range variants {
		c.in.Snapshot.Fork()
		added := c.in.Snapshot.AddNode(variants[v].NodeTemplate)
		for i, class := range classes {
			var no report.Reason
			if added != nil {
				no = report.UnexpectedError{Error: added.Error()}
			} else {
				no = c.ask(ctx, class[0], variants[v].Node.Name)
			}
			switch {
			case no == nil:
				yes[i] = append(yes[i], v)
			case fits[i].no == nil:
				fits[i].no = no
			}
		}
		if err := errors.Join(ctx.Err(), c.in.Snapshot.Revert()); err != nil {
			return nil, fmt.Errorf("asking which pods fit on a fresh node of group %s: %w", cand.id, err)
		}
	}
	for i := range fits {
		if len(yes[i]) == 0 {
			continue
		}
		fits[i].no = nil
		if len(yes[i]) < len(variants) {
			fits[i].variants = yes[i]
		}
	}
	return fits, nil
}

// uncountable are reasons for first pods of classes that ask for more of something than there are numbers to count it with: sums with that would be
// wrong, and the pod would seem to fit everywhere.
func (c *Considered) uncountable() map[*corev1.Pod]report.Reason {
	out := map[*corev1.Pod]report.Reason{}
	var asked podfacts.RequestsOf
	for _, class := range c.classes {
		requests := asked.Next(class[0])
		first := corev1.ResourceName("") // by name, of those asked for too much
		for name, quantity := range requests {
			most := int64(math.MaxInt64)
			if name == corev1.ResourceCPU { // counted in thousandths
				most /= 1000
			}
			if quantity.CmpInt64(most) >= 0 && (first == "" || name < first) {
				first = name
			}
		}
		if first != "" {
			quantity := requests[first]
			out[class[0]] = report.UnexpectedError{Error: fmt.Sprintf("nothing can offer %s of %s", quantity.String(), first)}
		}
	}
	return out
}

func (c *Considered) ask(ctx context.Context, pod *corev1.Pod, node string) report.Reason {
	if no := c.odd[pod]; no != nil {
		return no
	}
	rejection, err := c.in.Scheduler.Check(ctx, c.in.Snapshot, pod, node)
	switch {
	case err != nil:
		return report.UnexpectedError{Error: err.Error()}
	case rejection != nil:
		return report.Rejected{Rejection: *rejection}
	default:
		return nil
	}
}

// explainSkipped finds out for pods that no group helps whether the skipped groups could, if the options say so.
func (c *Considered) explainSkipped(ctx context.Context) error {
	if !c.in.Options.SimulateSkippedNodeGroups {
		return nil
	}
	var hopeless [][]*corev1.Pod
	var at []int
	for i := range c.classes {
		if !c.anyFits(i) {
			hopeless = append(hopeless, c.classes[i])
			at = append(at, i)
		}
	}
	for _, cand := range c.candidates {
		if cand.skip == nil || len(cand.fits) > 0 || len(hopeless) == 0 || len(cand.template.Variants) == 0 {
			continue
		}
		fits, err := c.check(ctx, cand, cand.template.Variants, hopeless)
		if err != nil {
			return err
		}
		cand.fits = make([]fit, len(c.classes))
		for k, i := range at {
			cand.fits[i].no = fits[k].no
		}
	}
	return nil
}

func (c *Considered) anyFits(class int) bool {
	for _, cand := range c.candidates {
		if cand.skip == nil && cand.fits[class].no == nil {
			return true
		}
	}
	return false
}

// estimate packs the pods that could run in the group on at most limit nodes; why is told of those that the limit keeps out, if it is not nil.
func (c *Considered) estimate(ctx context.Context, cand *candidate, limit int, why report.Reason) error {
	shapes := nodeinfos.Smallest(cand.template.Variants)
	in := estimator.In{Snapshot: c.in.Snapshot, Scheduler: c.in.Scheduler, Shapes: shapes, MaxNodes: limit}
	if c.in.GroupBudget != nil {
		in.Budget = c.in.GroupBudget()
	}
	classes := c.offered(cand, &in)
	result, err := estimator.Estimate(ctx, in)
	if err != nil {
		if ctx.Err() != nil || c.in.Snapshot.Depth() != c.depth { // nothing more can be asked
			return fmt.Errorf("estimating group %s: %w", cand.id, err)
		}
		cand.shared = report.GroupSetAside{Error: err.Error()}
		return nil
	}
	cand.estimated = estimated{done: true, limit: limit, told: cand.toldOf(in.Classes), failed: make(map[int]error, len(result.Failed))}
	for i, failure := range result.Failed {
		cand.failed[classes[i]] = failure
	}
	if result.Stopped != nil {
		cand.shared = *result.Stopped
		if why != nil {
			cand.shared = why
		}
	}
	if all := len(c.in.Pending.Left); c.in.AllOrNothing && len(result.Pods) < all {
		cand.shared = report.NotAllFit{Fit: len(result.Pods), Wanted: all}
		return nil
	}
	cand.take(result)
	return c.estimateTogether(ctx, cand, in)
}

// toldOf is what is told of an estimate for these pods.
func (cand *candidate) toldOf(classes []estimator.Class) report.Estimate {
	requests, namespaces := map[int64]bool{}, map[string]bool{}
	for _, class := range classes {
		asked := podfacts.Requests(class.Pods[0])
		requests[asked.Cpu().MilliValue()] = true
		namespaces[class.Pods[0].Namespace] = true
	}
	return report.Estimate{
		Group: cand.id, InstanceType: nodeinfos.PlaceOf(cand.template.Variants[0].Node).Type,
		Kinds: len(classes), CPURequests: len(requests), Namespaces: len(namespaces),
	}
}

// take notes which pods would be helped by how many nodes.
func (cand *candidate) take(result estimator.Result) {
	cand.pods, cand.placed = result.Pods, make(map[*corev1.Pod]bool, len(result.Pods))
	for _, pod := range result.Pods {
		cand.placed[pod] = true
	}
	for _, fresh := range result.New {
		cand.onNode = append(cand.onNode, fresh.Pods)
	}
	cand.nodes = len(result.New)
	if cand.atomic && cand.nodes > 0 {
		cand.nodes = cand.state.Max / cand.template.Weight()
	}
}

// addOption makes an option of what was estimated.
func (c *Considered) addOption(cand *candidate) {
	if cand.nodes == 0 {
		return
	}
	c.Options = append(c.Options, expander.Option{
		Group: cand.id, Similar: cand.similarIDs(), Theoretical: cand.theoretical, Nodes: cand.nodes, Pods: cand.pods,
		Node: nodeinfos.Smallest(cand.template.Variants)[0].Node,
	})
}

// nodeLimit is how many nodes the estimate may add, and the reason if it is the cluster's limit that forbids the first one.
func (c *Considered) nodeLimit(cand *candidate) (limit int, why report.Reason) {
	return c.within(cand.capacity())
}

// within is nodeLimit for groups that have so much room.
func (c *Considered) within(room int) (limit int, why report.Reason) {
	cluster := 0
	if c.in.MaxNodes != 0 {
		if cluster = c.in.MaxNodes - c.accounts.nodes; cluster <= 0 {
			cluster, why = -1, report.LimitReached{Limit: limitMaxNodes, Resources: []string{"nodes"}}
		}
	}
	return estimator.Lowest(c.in.Options.MaxNodesPerScaleUp, room, cluster), why
}

// offered adds the classes that fit to the estimate, without pods that have had their attempt. Pods that only some variants fit get nodes of
// these. It returns the classes' numbers.
func (c *Considered) offered(cand *candidate, in *estimator.In) []int {
	var numbers []int
	some := map[string][]simulator.NodeTemplate{} // one slice for each set of variants
	for i, class := range c.classes {
		f := cand.fits[i]
		if f.no != nil {
			continue
		}
		var pods []*corev1.Pod
		for _, pod := range class {
			if _, tried := c.attempted(cand, f, pod); !tried {
				pods = append(pods, pod)
			}
		}
		if len(pods) == 0 {
			continue
		}
		offer := estimator.Class{Pods: pods}
		if f.variants != nil {
			key := fmt.Sprint(f.variants)
			if some[key] == nil {
				some[key] = smallestOf(cand.template.Variants, f.variants)
			}
			offer.Shapes = some[key]
		}
		in.Classes = append(in.Classes, offer)
		numbers = append(numbers, i)
	}
	return numbers
}

func smallestOf(variants []nodeinfos.Variant, indices []int) []simulator.NodeTemplate {
	chosen := make([]nodeinfos.Variant, 0, len(indices))
	for _, i := range indices {
		chosen = append(chosen, variants[i])
	}
	return nodeinfos.Smallest(chosen)
}
