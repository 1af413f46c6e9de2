package simulator

// What this package takes from kube-scheduler, in one place: a Kubernetes version that changes it fails to compile here first.

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/deferredpodscheduling"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodedeclaredfeatures"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodename"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeports"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeunschedulable"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/tainttoleration"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumebinding"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumerestrictions"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumezone"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// filters is the part of the framework that answers whether a pod fits. Its Reserve, scores and preemption are never run.
type filters interface {
	RunPreFilterPlugins(ctx context.Context, state fwk.CycleState, pod *corev1.Pod) (*fwk.PreFilterResult, *fwk.Status, sets.Set[string])
	RunFilterPlugins(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node fwk.NodeInfo) *fwk.Status
}

var _ filters = framework.Framework(nil)

// The framework reads the snapshot through these.
var (
	_ fwk.SharedLister                 = sharedLister{}
	_ fwk.NodeInfoLister               = nodeInfoLister{}
	_ fwk.StorageInfoLister            = storageInfoLister{}
	_ fwk.PodGroupStateLister          = noPodGroupStates{}
	_ fwk.PodGroupLister               = noPodGroups{}
	_ fwk.CompositePodGroupStateLister = noCompositePodGroupStates{}
	_ fwk.CompositePodGroupLister      = noCompositePodGroups{}
	_ fwk.CSIManager                   = csiManager{}
	_ fwk.CSINodeLister                = csiNodeLister{}
	_ fwk.SharedDRAManager             = noDevices{}
	_ fwk.ResourceClaimTracker         = noClaims{}
	_ fwk.ResourceSliceLister          = noSlices{}
	_ fwk.DeviceClassLister            = noDeviceClasses{}
	_ fwk.DeviceClassResolver          = noDeviceClasses{}
)

// Each node of a snapshot is one of the framework's.
var _ fwk.NodeInfo = (*framework.NodeInfo)(nil)

// These are the plug-ins that have a say in whether a pod fits. The list of their names is filterPlugins.
var (
	_ fwk.FilterPlugin = (*deferredpodscheduling.DeferredPodScheduling)(nil)
	_ fwk.FilterPlugin = (*dynamicresources.DynamicResources)(nil)
	_ fwk.FilterPlugin = (*interpodaffinity.InterPodAffinity)(nil)
	_ fwk.FilterPlugin = (*nodeaffinity.NodeAffinity)(nil)
	_ fwk.FilterPlugin = (*nodedeclaredfeatures.NodeDeclaredFeatures)(nil)
	_ fwk.FilterPlugin = (*nodename.NodeName)(nil)
	_ fwk.FilterPlugin = (*nodeports.NodePorts)(nil)
	_ fwk.FilterPlugin = (*noderesources.Fit)(nil)
	_ fwk.FilterPlugin = (*nodeunschedulable.NodeUnschedulable)(nil)
	_ fwk.FilterPlugin = (*nodevolumelimits.CSILimits)(nil)
	_ fwk.FilterPlugin = (*podtopologyspread.PodTopologySpread)(nil)
	_ fwk.FilterPlugin = (*tainttoleration.TaintToleration)(nil)
	_ fwk.FilterPlugin = (*volumebinding.VolumeBinding)(nil)
	_ fwk.FilterPlugin = (*volumerestrictions.VolumeRestrictions)(nil)
	_ fwk.FilterPlugin = (*volumezone.VolumeZone)(nil)
)

// The framework is built by this function with these options.
var (
	_ = runtime.NewFramework
	_ = []runtime.Option{
		runtime.WithInformerFactory(nil), runtime.WithSnapshotSharedLister(nil), runtime.WithSharedCSIManager(nil), runtime.WithSharedDRAManager(nil),
		runtime.WithParallelism(1), runtime.WithLogger(klog.Logger{}),
	}
	_ = runtime.WaitForShutdown
)
