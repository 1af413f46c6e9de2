package cloud

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/hack/playground/annotations"
)

// Machine is what a cloud says about one of its virtual machines.
type Machine struct {
	ProviderID string // what Node.spec.providerID will hold; identifies the machine
	NodeName   string // the name under which it registers
	Address    string // IP inside the cluster's network; may be empty
	Running    bool   // it has started and not ended; a machine that isn't running any more is gone for ever
	Type       string // instance type
	Region     string
	Zone       string
	Size       Size

	// What the group's administrator gives to kubelets on the command line.
	Labels    map[string]string
	Taints    []corev1.Taint
	Resources corev1.ResourceList // in place of what follows from Size

	// Capacity and Allocatable are what the cloud says about the machine; nil: what follows from Size.
	Capacity, Allocatable corev1.ResourceList
}

// Size is what a machine's hardware offers.
type Size struct {
	VCPUs        int
	MemoryMiB    int64
	Architecture string // amd64 or arm64
	Pods         int    // how many pods its network interfaces allow
	GPUs         int    // NVIDIA's
	DiskGiB      int64  // root volume
}

// What an operating system and its kubelet keep from the pods. The formula is the one of the EKS machine images; the share that
// firmware and kernel take lies between 3 and 7 % on real machines.
const (
	memoryLost        = 0.05
	memoryReservedMiB = 255
	memoryPerPodMiB   = 11
	evictionMiB       = 100
)

// capacity is what the kubelet of such a machine reports.
func (s Size) capacity() corev1.ResourceList {
	list := corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewQuantity(int64(s.VCPUs), resource.DecimalSI),
		corev1.ResourceMemory:           mebibytes(s.visibleMemoryMiB()),
		corev1.ResourcePods:             *resource.NewQuantity(int64(s.Pods), resource.DecimalSI),
		corev1.ResourceEphemeralStorage: mebibytes(s.DiskGiB << 10),
		"hugepages-1Gi":                 *resource.NewQuantity(0, resource.BinarySI),
		"hugepages-2Mi":                 *resource.NewQuantity(0, resource.BinarySI),
	}
	if s.GPUs > 0 {
		list["nvidia.com/gpu"] = *resource.NewQuantity(int64(s.GPUs), resource.DecimalSI)
	}
	return list
}

func (s Size) visibleMemoryMiB() int64 { return int64(float64(s.MemoryMiB) * (1 - memoryLost)) }

// allocatable is the part of capacity that pods may ask for.
func (s Size) allocatable() corev1.ResourceList {
	list := s.capacity()
	list[corev1.ResourceCPU] = *resource.NewMilliQuantity(int64(s.VCPUs)*1000-s.reservedMilliCPU(), resource.DecimalSI)
	reserved := memoryReservedMiB + memoryPerPodMiB*int64(s.Pods) + evictionMiB
	list[corev1.ResourceMemory] = mebibytes(max(0, s.visibleMemoryMiB()-reserved))
	list[corev1.ResourceEphemeralStorage] = mebibytes(max(0, s.DiskGiB<<10*9/10-1024))
	return list
}

// reservedMilliCPU is 6 % of the first core, 1 % of the second, 0.5 % of the next two and 0.25 % of the rest.
func (s Size) reservedMilliCPU() int64 {
	share := func(core int) float64 {
		switch {
		case core == 0:
			return 60
		case core == 1:
			return 10
		case core < 4:
			return 5
		}
		return 2.5
	}
	sum := 0.0
	for core := range s.VCPUs {
		sum += share(core)
	}
	return int64(math.Ceil(sum))
}

func mebibytes(n int64) resource.Quantity { return *resource.NewQuantity(n<<20, resource.BinarySI) }

// node is the Node object that the machine's kubelet registers at a time: not ready yet, and KWOK's from then on.
func (m Machine) node(now time.Time, readyAfter time.Duration) *corev1.Node {
	capacity, allocatable := m.Size.capacity(), m.Size.allocatable()
	maps.Copy(capacity, m.Capacity)
	maps.Copy(allocatable, m.Allocatable)
	maps.Copy(capacity, m.Resources)
	maps.Copy(allocatable, m.Resources)
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:   m.NodeName,
			Labels: m.labels(),
			Annotations: map[string]string{
				annotations.Managed:            annotations.ManagedValue,
				annotations.ReadyAt:            now.Add(readyAfter).UTC().Format(time.RFC3339Nano),
				"node.alpha.kubernetes.io/ttl": "0",
				"volumes.kubernetes.io/controller-managed-attach-detach": "true",
			},
		},
		Spec: corev1.NodeSpec{ProviderID: m.ProviderID, Taints: slices.Clone(m.Taints)},
		Status: corev1.NodeStatus{
			Capacity:    capacity,
			Allocatable: allocatable,
			Addresses:   []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: m.NodeName}},
			Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionFalse, Reason: "KubeletNotReady",
				Message:           "container runtime network not ready",
				LastHeartbeatTime: metav1.NewTime(now), LastTransitionTime: metav1.NewTime(now),
			}},
			NodeInfo: corev1.NodeSystemInfo{
				Architecture: m.Size.Architecture, OperatingSystem: "linux", OSImage: "Playground", KernelVersion: "6.12.0",
				ContainerRuntimeVersion: "playground://1", KubeletVersion: "v1.37.2", KubeProxyVersion: "",
				MachineID: m.NodeName, SystemUUID: m.NodeName, BootID: strconv.FormatInt(now.UnixNano(), 16),
			},
		},
	}
	if m.Address != "" {
		address := corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: m.Address}
		node.Status.Addresses = append([]corev1.NodeAddress{address}, node.Status.Addresses...)
	}
	return node
}

// template is what all nodes of such machines have in common.
func (m Machine) template() *corev1.Node {
	node := m.node(time.Time{}, 0)
	delete(node.Labels, corev1.LabelHostname)
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Labels: node.Labels},
		Spec:       corev1.NodeSpec{Taints: node.Spec.Taints},
		Status:     corev1.NodeStatus{Capacity: node.Status.Capacity, Allocatable: node.Status.Allocatable},
	}
}

// labels are those of kubelet and cloud controller manager, and the administrator's.
func (m Machine) labels() map[string]string {
	labels := map[string]string{
		corev1.LabelHostname:                m.NodeName,
		corev1.LabelArchStable:              m.Size.Architecture,
		corev1.LabelOSStable:                "linux",
		"beta.kubernetes.io/arch":           m.Size.Architecture,
		"beta.kubernetes.io/os":             "linux",
		corev1.LabelInstanceTypeStable:      m.Type,
		corev1.LabelInstanceType:            m.Type,
		corev1.LabelTopologyZone:            m.Zone,
		corev1.LabelTopologyRegion:          m.Region,
		corev1.LabelFailureDomainBetaZone:   m.Zone,
		corev1.LabelFailureDomainBetaRegion: m.Region,
	}
	if m.Zone == "" { // not all clouds have zones
		delete(labels, corev1.LabelTopologyZone)
		delete(labels, corev1.LabelFailureDomainBetaZone)
	}
	maps.Copy(labels, m.Labels)
	return labels
}

// String names the machine in logs.
func (m Machine) String() string { return fmt.Sprintf("%s (%s)", m.NodeName, m.ProviderID) }
