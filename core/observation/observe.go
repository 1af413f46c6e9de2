package observation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/labels"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/readiness"
	"example.com/cluster-autoscaler/simulator/taints"
)

// Observe reads what one iteration sees. at is the time of the iteration, deletions are the removals in progress as of now, by
// ascending node name. It refreshes the cloud, which may block; an error means that there is nothing to decide on: the cloud could not
// be asked, a required resource cannot be read (any more), or a fork of the snapshot is open.
func (s *Source) Observe(ctx context.Context, at time.Time, deletions []Deletion) (Observation, error) {
	for _, w := range s.watches {
		if err := w.problem(); err != nil && w.required {
			return Observation{}, fmt.Errorf("reading %s: %w", w.name, err)
		}
	}
	seen := Observation{
		At: at, Snapshot: s.follower.snapshot, Workloads: workloads{s}, Deletions: deletions, Features: s.Features(), Limits: s.options.Limits,
	}
	if err := s.cloud.Refresh(ctx); err != nil {
		return Observation{}, fmt.Errorf("refreshing the cloud provider %s: %w", s.cloud.Name(), err)
	}
	if labeler, ok := s.cloud.(cloudprovider.GPULabeler); ok {
		seen.GPULabel, seen.GPUTypes = labeler.GPULabel(), labeler.GPUTypes()
	}
	if labeler, ok := s.cloud.(cloudprovider.BookkeepingLabeler); ok {
		seen.BookkeepingLabels = labeler.BookkeepingLabels()
	}
	if limiter, ok := s.cloud.(cloudprovider.Limiter); ok {
		seen.Limits = limiter.ResourceLimits(s.options.Limits)
	}
	if err := s.cluster(ctx, &seen); err != nil {
		return Observation{}, err
	}
	s.groups(ctx, &seen)
	s.members(&seen)
	awaitDevices(&seen)
	if s.options.AwaitDrivers {
		awaitDrivers(&seen)
	}
	return seen, nil
}

// cluster brings the snapshot and the lists up to date. A kind that cannot be read is left out; Features says so.
func (s *Source) cluster(ctx context.Context, seen *Observation) error {
	f := s.follower
	if err := f.catchUp(seen.GPULabel); err != nil {
		return err
	}
	if err := f.check(ctx); err != nil {
		return err
	}
	seen.Nodes, seen.Unschedulable, seen.Unprocessed = f.shown.all, f.refused.pods, f.unseen.pods
	seen.Nominated, seen.Gated = f.nominated.pods, f.gated.pods
	seen.DaemonSets, seen.PodDisruptionBudgets, seen.Controllers = f.setList.all, f.budgetList.all, f.makerLists
	return nil
}

// groups takes over the view of the cloud. A group that could not be described newly, or whose description cannot be true, is stale; one without
// template says why.
func (s *Source) groups(ctx context.Context, seen *Observation) {
	seen.GroupErrors = slices.Clone(s.cloud.GroupErrors())
	stale := make(map[cloudprovider.GroupID]error, len(seen.GroupErrors))
	for _, trouble := range seen.GroupErrors {
		stale[trouble.Group] = trouble.Err
	}
	at := map[cloudprovider.GroupID]int{}
	for _, listed := range s.cloud.NodeGroups() {
		if listed == nil {
			continue
		}
		id := listed.ID()
		err := errTwice
		first, twice := at[id]
		if !twice {
			first, at[id] = len(seen.Groups), len(seen.Groups)
			seen.Groups = append(seen.Groups, s.group(ctx, listed))
			err = implausible(listed.State())
		}
		if err != nil && stale[id] == nil {
			stale[id] = err
			seen.GroupErrors = append(seen.GroupErrors, cloudprovider.GroupError{Group: id, Err: err})
		}
		seen.Groups[first].Stale = stale[id]
	}
	slices.SortStableFunc(seen.GroupErrors, func(a, b cloudprovider.GroupError) int { return cmp.Compare(a.Group, b.Group) })
}

// group is one group as it is described.
func (s *Source) group(ctx context.Context, listed cloudprovider.NodeGroup) Group {
	group := Group{ID: listed.ID(), GroupState: plausible(listed.State())}
	group.Options = s.options.GroupDefaults.Override(group.GroupState.Options)
	variants, err := listed.Templates(ctx)
	group.Variants = described(variants)
	if err == nil && len(group.Variants) < len(variants) && len(group.Variants) == 0 {
		err = errNoMachine
	}
	if err != nil && !errors.Is(err, cloudprovider.ErrNoTemplate) {
		group.TemplateErr = fmt.Errorf("describing a fresh node of group %s: %w", group.ID, err)
	}
	return group
}

// members looks up the group of every node, and whether its machine still exists.
func (s *Source) members(seen *Observation) {
	seen.Members = make(map[string]cloudprovider.GroupID, len(seen.Nodes))
	seen.Gone = map[string]bool{}
	for _, node := range seen.Nodes {
		if s.gone(node) {
			seen.Gone[node.Name] = true
		}
		id, err := s.cloud.GroupOf(node)
		switch {
		case err != nil:
			seen.Unknown = append(seen.Unknown, UnknownNode{Node: node.Name, Err: err})
		case id != "":
			seen.Members[node.Name] = id
		}
	}
}

// awaitDrivers overrides the readiness of nodes on which storage drivers have yet to register that the cloud says their group's nodes will have
// (loop-and-scale-up 7.2). The snapshot keeps them as they are: what fits on a node does not depend on its readiness.
func awaitDrivers(seen *Observation) {
	variants := make(map[cloudprovider.GroupID][]cloudprovider.TemplateVariant, len(seen.Groups))
	for i := range seen.Groups {
		variants[seen.Groups[i].ID] = seen.Groups[i].Variants
	}
	shared := true
	for i, node := range seen.Nodes {
		csi := seen.Snapshot.CSINode(node.Name)
		if csi == nil || node.Spec.Unschedulable || !readiness.Of(node).Ready || complete(csi, variants[seen.Members[node.Name]]) {
			continue
		}
		if shared {
			seen.Nodes, shared = slices.Clone(seen.Nodes), false
		}
		seen.Nodes[i] = readiness.Override(node, readiness.ReasonResourceNotReady)
	}
}

// complete tells whether the drivers of one of the variants that name any have registered, or whether none names any.
func complete(csi *storagev1.CSINode, variants []cloudprovider.TemplateVariant) bool {
	named := false
	for i := range variants {
		described := variants[i].CSINode
		if described == nil {
			continue
		}
		named = true
		if !slices.ContainsFunc(described.Spec.Drivers, func(wanted storagev1.CSINodeDriver) bool {
			return !slices.ContainsFunc(csi.Spec.Drivers, func(d storagev1.CSINodeDriver) bool { return d.Name == wanted.Name })
		}) {
			return true
		}
	}
	return !named
}

// gone tells a node whose machine does not exist any more. Where the cloud cannot tell, the deletion taint counts (loop-and-scale-up 2.2).
func (s *Source) gone(node *corev1.Node) bool {
	if checker, ok := s.cloud.(cloudprovider.InstanceChecker); ok {
		if exists, known := checker.InstanceExists(node); known {
			return !exists
		}
	}
	_, tainted := taints.Find(node, taints.ToBeDeleted)
	return tainted
}

// Node returns the newest node of the name; ok is false if there is none. The object is shared.
func (s *Source) Node(name string) (node *corev1.Node, ok bool) {
	node, err := s.factory.Core().V1().Nodes().Lister().Get(name)
	return node, err == nil
}

// Pods returns the newest pods that are scheduled to the node and not finished, by namespace and name. The objects are shared.
func (s *Source) Pods(node string) ([]*corev1.Pod, error) {
	objects, err := s.factory.Core().V1().Pods().Informer().GetIndexer().ByIndex(podsByNode, node)
	if err != nil {
		return nil, fmt.Errorf("listing the pods of node %s: %w", node, err)
	}
	var out []*corev1.Pod
	for _, object := range objects {
		if pod, ok := object.(*corev1.Pod); ok && pod.Spec.NodeName == node && !terminal(pod) {
			out = append(out, pod)
		}
	}
	slices.SortFunc(out, byName)
	return out, nil
}

// PodsMatching returns the newest pods of the namespace that the selector selects and that are not finished, by name. The objects
// are shared.
func (s *Source) PodsMatching(namespace string, selector labels.Selector) ([]*corev1.Pod, error) {
	pods, err := s.factory.Core().V1().Pods().Lister().Pods(namespace).List(selector)
	if err != nil {
		return nil, fmt.Errorf("listing the pods of namespace %s that match %s: %w", namespace, selector, err)
	}
	pods = slices.DeleteFunc(pods, terminal)
	slices.SortFunc(pods, byName)
	return pods, nil
}

// podsByNode is the index of pods by the node on which they take room.
const podsByNode = "cluster-autoscaler/node"

func indexByNode(object any) ([]string, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return nil, nil
	}
	if node := simulator.NodeNameOf(pod); node != "" {
		return []string{node}, nil
	}
	return nil, nil
}

// PodDisruptionBudgets returns the newest ones by namespace and name; an error where they cannot be read.
func (s *Source) PodDisruptionBudgets() ([]*policyv1.PodDisruptionBudget, error) {
	if err := s.off(resourcePDBs); err != nil {
		return nil, fmt.Errorf("listing PodDisruptionBudgets: %w", err)
	}
	budgets, err := s.factory.Policy().V1().PodDisruptionBudgets().Lister().List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("listing PodDisruptionBudgets: %w", err)
	}
	slices.SortFunc(budgets, byName)
	return budgets, nil
}

// Workloads looks up the newest controllers of pods.
func (s *Source) Workloads() Workloads { return workloads{s} }
