package simulator

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/structured"
	fwk "k8s.io/kube-scheduler/framework"
)

// question holds the snapshot that the question being asked is about. The listers below, which the framework keeps for
// good, read through it.
type question struct{ snapshot *Snapshot }

type sharedLister struct{ question *question }

func (l sharedLister) NodeInfos() fwk.NodeInfoLister { return nodeInfoLister(l) }

func (l sharedLister) StorageInfos() fwk.StorageInfoLister { return storageInfoLister(l) }

func (sharedLister) PodGroupStates() fwk.PodGroupStateLister { return noPodGroupStates{} }

func (sharedLister) PodGroups() fwk.PodGroupLister { return noPodGroups{} }

func (sharedLister) CompositePodGroupStates() fwk.CompositePodGroupStateLister {
	return noCompositePodGroupStates{}
}

func (sharedLister) CompositePodGroups() fwk.CompositePodGroupLister { return noCompositePodGroups{} }

type nodeInfoLister struct{ question *question }

func (l nodeInfoLister) List() ([]fwk.NodeInfo, error) { return l.question.snapshot.index.infos, nil }

func (l nodeInfoLister) HavePodsWithAffinityList() ([]fwk.NodeInfo, error) {
	index := l.refreshed()
	return index.affinity, nil
}

func (l nodeInfoLister) HavePodsWithRequiredAntiAffinityList() ([]fwk.NodeInfo, error) {
	index := l.refreshed()
	return index.antiAffinity, nil
}

func (l nodeInfoLister) HavePodsWithRequiredNonHostScopedAntiAffinityList() ([]fwk.NodeInfo, error) {
	index := l.refreshed()
	return index.wideAntiAffinity, nil
}

func (l nodeInfoLister) refreshed() *nodeIndex {
	index := &l.question.snapshot.index
	index.refresh()
	return index
}

func (l nodeInfoLister) Get(name string) (fwk.NodeInfo, error) {
	n, ok := l.question.snapshot.nodes[name]
	if !ok {
		return nil, fmt.Errorf("the snapshot has no node %q", name)
	}
	return &n.view, nil
}

type storageInfoLister struct{ question *question }

func (l storageInfoLister) IsPVCUsedByPods(key string) bool {
	return l.question.snapshot.claims[key] > 0
}

type csiManager struct{ question *question }

func (m csiManager) CSINodes() fwk.CSINodeLister { return csiNodeLister(m) }

type csiNodeLister struct{ question *question }

func (l csiNodeLister) List() ([]*storagev1.CSINode, error) {
	var all []*storagev1.CSINode
	for _, n := range l.question.snapshot.index.order {
		if n.csi != nil {
			all = append(all, n.csi)
		}
	}
	return all, nil
}

func (l csiNodeLister) Get(name string) (*storagev1.CSINode, error) {
	if csi := l.question.snapshot.CSINode(name); csi != nil {
		return csi, nil
	}
	return nil, missing("storage.k8s.io", "csinodes", name)
}

func missing(group, resource, name string) error {
	return apierrors.NewNotFound(schema.GroupResource{Group: group, Resource: resource}, name)
}

// Groups of pods that are scheduled together are not simulated: there are none.
type (
	noPodGroups               struct{}
	noPodGroupStates          struct{}
	noCompositePodGroups      struct{}
	noCompositePodGroupStates struct{}
)

func (noPodGroups) Get(_, name string) (*schedulingv1beta1.PodGroup, error) {
	return nil, missing("scheduling.k8s.io", "podgroups", name)
}

func (noPodGroupStates) Get(_, name string) (fwk.PodGroupState, error) {
	return nil, missing("scheduling.k8s.io", "podgroups", name)
}

func (noCompositePodGroups) Get(_, name string) (*schedulingv1alpha3.CompositePodGroup, error) {
	return nil, missing("scheduling.k8s.io", "compositepodgroups", name)
}

func (noCompositePodGroupStates) Get(_, name string) (fwk.CompositePodGroupState, error) {
	return nil, missing("scheduling.k8s.io", "compositepodgroups", name)
}

// noDevices is a cluster without dynamically allocated devices. It has to exist: the PreFilter of every pod asks it.
type noDevices struct{}

func (noDevices) ResourceClaims() fwk.ResourceClaimTracker { return noClaims{} }

func (noDevices) ResourceSlices() fwk.ResourceSliceLister { return noSlices{} }

func (noDevices) DeviceClasses() fwk.DeviceClassLister { return noDeviceClasses{} }

func (noDevices) DeviceClassResolver() fwk.DeviceClassResolver { return noDeviceClasses{} }

type noSlices struct{}

func (noSlices) ListWithDeviceTaintRules() ([]*resourcev1.ResourceSlice, error) { return nil, nil }

type noDeviceClasses struct{}

func (noDeviceClasses) List() ([]*resourcev1.DeviceClass, error) { return nil, nil }

func (noDeviceClasses) Get(name string) (*resourcev1.DeviceClass, error) {
	return nil, missing("resource.k8s.io", "deviceclasses", name)
}

func (noDeviceClasses) GetDeviceClass(corev1.ResourceName) *resourcev1.DeviceClass { return nil }

type noClaims struct{}

func (noClaims) List() ([]*resourcev1.ResourceClaim, error) { return nil, nil }

func (noClaims) Get(_, name string) (*resourcev1.ResourceClaim, error) {
	return nil, missing("resource.k8s.io", "resourceclaims", name)
}

func (noClaims) ListAllAllocatedDevices() (sets.Set[structured.DeviceID], error) {
	return sets.New[structured.DeviceID](), nil
}

func (noClaims) GatherAllocatedState() (*structured.AllocatedState, error) {
	return &structured.AllocatedState{AllocatedDevices: sets.New[structured.DeviceID]()}, nil
}

func (noClaims) GetPendingAllocation(types.UID) *resourcev1.AllocationResult { return nil }

// errNoClaims says that a plug-in tried to allocate devices, which nothing here asks it to do.
var errNoClaims = fmt.Errorf("resource claims are not simulated")

func (noClaims) SignalClaimPendingAllocation(types.UID, *resourcev1.ResourceClaim) error {
	return errNoClaims
}

func (noClaims) MaybeRemoveClaimPendingAllocation(types.UID, bool) (deleted bool) { return false }

func (noClaims) AssumeClaimAfterAPICall(*resourcev1.ResourceClaim) error { return errNoClaims }

func (noClaims) AssumedClaimRestore(_, _ string) {}
