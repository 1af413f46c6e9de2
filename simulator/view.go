package simulator

import (
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	ndf "k8s.io/component-helpers/nodedeclaredfeatures"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// nodeView is a node as the framework sees it. It is made when the framework looks, which it seldom does, and kept up to date from then on.
type nodeView struct {
	node *node
	info atomic.Pointer[framework.NodeInfo]
	mu   sync.Mutex // of those who make it at the same time
}

func (v *nodeView) made() *framework.NodeInfo {
	if info := v.info.Load(); info != nil {
		return info
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if info := v.info.Load(); info != nil {
		return info
	}
	info := framework.NewNodeInfo()
	info.SetNode(v.node.object)
	for _, p := range v.node.placements {
		info.AddPodInfo(p.podInfo())
	}
	v.info.Store(info)
	return info
}

// remove takes the pod away.
func (v *nodeView) remove(info *framework.NodeInfo, p *placement) {
	// It is an error only for pods that are not there or have no UID.
	_ = info.RemovePod(klog.Logger{}, p.podInfo().Pod)
	if len(p.shape.ports) == 0 {
		return
	}
	// The framework keeps a set of ports, not counts: what others still hold is taken anew.
	for ip, ports := range v.node.usedPorts() {
		for port := range ports {
			info.UsedPorts.Add(ip, port.Protocol, port.Port)
		}
	}
}

// The rest is what the framework asks of a node; it never changes one.

func (v *nodeView) Node() *corev1.Node { return v.node.object }

func (v *nodeView) GetPods() []fwk.PodInfo { return v.made().GetPods() }

func (v *nodeView) GetPodsWithAffinity() []fwk.PodInfo { return v.made().GetPodsWithAffinity() }

func (v *nodeView) GetPodsWithRequiredAntiAffinity() []fwk.PodInfo {
	return v.made().GetPodsWithRequiredAntiAffinity()
}

func (v *nodeView) GetPodsWithRequiredNonHostScopedAntiAffinity() []fwk.PodInfo {
	return v.made().GetPodsWithRequiredNonHostScopedAntiAffinity()
}

func (v *nodeView) GetUsedPorts() fwk.HostPortInfo { return v.made().GetUsedPorts() }

func (v *nodeView) GetRequested() fwk.Resource { return v.made().GetRequested() }

func (v *nodeView) GetNonZeroRequested() fwk.Resource { return v.made().GetNonZeroRequested() }

func (v *nodeView) GetAllocatable() fwk.Resource { return v.made().GetAllocatable() }

func (v *nodeView) GetImageStates() map[string]*fwk.ImageStateSummary {
	return v.made().GetImageStates()
}

func (v *nodeView) GetPVCRefCounts() map[string]int { return v.made().GetPVCRefCounts() }

func (v *nodeView) GetGeneration() int64 { return v.made().GetGeneration() }

func (v *nodeView) GetNodeDeclaredFeatures() ndf.FeatureSet {
	return v.made().GetNodeDeclaredFeatures()
}

func (v *nodeView) Snapshot() fwk.NodeInfo { return v.made().Snapshot() }

func (v *nodeView) String() string { return v.made().String() }

func (v *nodeView) AddPodInfo(info fwk.PodInfo) { v.made().AddPodInfo(info) }

func (v *nodeView) RemovePod(logger klog.Logger, pod *corev1.Pod) error {
	return v.made().RemovePod(logger, pod)
}

func (v *nodeView) SetNode(object *corev1.Node) { v.made().SetNode(object) }
