package template

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"example.com/cluster-autoscaler/cloudprovider/aws/instancetypes"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/launch"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/nodetags"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/userdata"
)

const (
	mib = 1 << 20
	gib = 1 << 30

	// defaultPods is kubelet's own limit, and what applies where addresses don't limit the pods.
	defaultPods = 110

	defaultDisk        = 20 // GiB of the root volume where nothing tells
	defaultWindowsDisk = 50

	evictionMemory = 100 * mib // kubelet's default for memory.available
)

// The resource names of the accelerators.
const (
	resourceNVIDIA       corev1.ResourceName = "nvidia.com/gpu"
	resourceAMD          corev1.ResourceName = "amd.com/gpu"
	resourceGaudi        corev1.ResourceName = "habana.ai/gaudi"
	resourceNeuron       corev1.ResourceName = "aws.amazon.com/neuron"
	resourceNeuronDevice corev1.ResourceName = "aws.amazon.com/neurondevice"
	resourceNeuronCore   corev1.ResourceName = "aws.amazon.com/neuroncore"
	resourceEFA          corev1.ResourceName = "vpc.amazonaws.com/efa"
	resourceWindowsIP    corev1.ResourceName = "vpc.amazonaws.com/PrivateIPv4Address"
)

// resources reckons what a fresh node has and what of it pods may use. Tags win over both.
func (s Source) resources(tags nodetags.Tags, sh shape) (capacity, allocatable corev1.ResourceList) {
	choice := sh.choice
	pods := podLimit(sh)
	capacity = corev1.ResourceList{
		corev1.ResourcePods:             count(pods),
		corev1.ResourceEphemeralStorage: bytes(s.disk(sh)),
		"hugepages-1Gi":                 bytes(0), // real nodes list them
		"hugepages-2Mi":                 bytes(0),
	}
	if choice.Known {
		vcpus := choice.Machine.VCPUs
		if choice.Template.VCPUs > 0 {
			vcpus = choice.Template.VCPUs
		}
		capacity[corev1.ResourceCPU] = count(int64(vcpus))
		capacity[corev1.ResourceMemory] = bytes(visibleMiB(choice.Machine) * mib)
		addDevices(capacity, sh)
	}
	if override, ok := tags.Resources[corev1.ResourcePods]; ok {
		pods = override.Value()
	}
	allocatable = reserved(capacity, pods, sh.system.eks)
	for name, amount := range tags.Resources {
		if amount.IsZero() {
			delete(capacity, name)
			delete(allocatable, name)
			continue
		}
		capacity[name], allocatable[name] = amount.DeepCopy(), amount.DeepCopy()
	}
	return capacity, allocatable
}

// visibleMiB is what the operating system finds of the memory: firmware and kernel keep some of it.
func visibleMiB(m launch.Machine) int64 {
	visible := m.MemoryMiB * 925 / 1000
	if m.Architecture == "arm64" {
		visible -= 64
	}
	return max(visible, 0)
}

// accelerators are the resource names of devices that programs are written for.
func accelerators() []corev1.ResourceName {
	return []corev1.ResourceName{resourceNVIDIA, resourceAMD, resourceGaudi, resourceNeuron}
}

func addDevices(into corev1.ResourceList, sh shape) {
	set := func(name corev1.ResourceName, amount int) {
		if amount > 0 {
			into[name] = count(int64(amount))
		}
	}
	m := sh.choice.Machine
	switch m.GPUManufacturer {
	case "NVIDIA":
		set(resourceNVIDIA, m.LogicalGPUs())
	case "AMD":
		set(resourceAMD, m.LogicalGPUs())
	case "Habana":
		set(resourceGaudi, m.GPUs)
	}
	set(resourceNeuron, m.NeuronDevices)
	set(resourceNeuronDevice, m.NeuronDevices)
	set(resourceNeuronCore, m.NeuronCores)
	efa := sh.choice.Template.EFAInterfaces
	if m.EFAInterfaces != instancetypes.Unknown {
		efa = min(efa, m.EFAInterfaces)
	}
	set(resourceEFA, efa)
	if sh.system.windows {
		set(resourceWindowsIP, m.IPv4PerENI-1)
	}
}

// podLimit is what the user data say, else how many pods the addresses of the machine allow, or kubelet's limit if that is less. Where EKS' own set-up
// makes the node, which derives kubelet's limit from the addresses, the addresses alone count. A smaller number than the truth costs a machine too many,
// a larger one a purchase that doesn't help.
func podLimit(sh shape) int64 {
	m := sh.choice.Machine
	switch {
	case sh.choice.Template.UserData.MaxPods > 0:
		return int64(sh.choice.Template.UserData.MaxPods)
	case !sh.choice.Known || m.ENIs <= 0 || m.IPv4PerENI <= 0:
		return defaultPods
	case sh.system.windows: // Windows nodes use one interface only
		return min(int64(m.IPv4PerENI-1), defaultPods)
	}
	addresses := int64(m.ENIs)*int64(m.IPv4PerENI-1) + 2
	if sh.system.eks {
		return addresses
	}
	return min(addresses, defaultPods)
}

// disk is the size in bytes of the volume that kubelet uses.
func (s Source) disk(sh shape) int64 {
	if size := instanceStore(sh.choice); size > 0 {
		return size
	}
	size := volume(sh)
	if size == 0 && s.Managed != nil {
		size = s.Managed.DiskGiB
	}
	switch {
	case size > 0:
		return size * gib
	case sh.system.windows:
		return defaultWindowsDisk * gib
	default:
		return defaultDisk * gib
	}
}

// instanceStore is the size of the disks of the machine itself, where kubelet lives on these; else 0.
func instanceStore(choice launch.Choice) int64 {
	size := int64(max(choice.Machine.LocalStorageGB, 0)) * 1_000_000_000
	switch choice.Template.UserData.LocalDisks {
	case userdata.DisksRAID0:
		return size
	case userdata.DisksRAID10:
		return size / 2
	default:
		return 0
	}
}

// volume is the size in GiB of the volume that kubelet uses, as far as the launch template and the image tell.
func volume(sh shape) int64 {
	volumes, image := sh.choice.Template.Volumes, sh.choice.Image
	device := kubeletDevice(image)
	if sh.system.bottlerocket {
		device = bottlerocketData
	}
	if device == "" {
		return guessVolume(volumes)
	}
	for _, v := range append(append([]launch.Volume(nil), volumes...), image.Volumes...) { // the template's own win
		if v.Device == device {
			return v.GiB
		}
	}
	return 0
}

const (
	// bottlerocketData is the volume of Bottlerocket that kubelet uses.
	bottlerocketData = "/dev/xvdb"
	// bottlerocketRoot is more than the root volume of Bottlerocket ever had.
	bottlerocketRoot = 4
)

// kubeletDevice is the root device, but for images that look like Bottlerocket.
func kubeletDevice(image launch.Image) string {
	if image.RootDevice != "/dev/xvda" {
		return image.RootDevice
	}
	small, second := false, false
	for _, v := range image.Volumes {
		small = small || v.Device == "/dev/xvda" && v.GiB <= bottlerocketRoot
		second = second || v.Device == bottlerocketData
	}
	if small && second {
		return bottlerocketData
	}
	return image.RootDevice
}

// guessVolume is for templates whose image isn't known: the only volume, else one with the name of a root.
func guessVolume(volumes []launch.Volume) int64 {
	if len(volumes) == 1 {
		return volumes[0].GiB
	}
	for _, v := range volumes {
		if v.Device == "/dev/xvda" || v.Device == "/dev/sda1" {
			return v.GiB
		}
	}
	return 0
}

// reserved takes off what kubelet and the system keep: on EKS what its images reserve, elsewhere what kubelet does by itself.
func reserved(capacity corev1.ResourceList, pods int64, eks bool) corev1.ResourceList {
	left := capacity.DeepCopy()
	reserve := func(name corev1.ResourceName, amount int64, milli bool) {
		have, ok := left[name]
		if !ok {
			return
		}
		off := resource.NewQuantity(amount, have.Format)
		if milli {
			off = resource.NewMilliQuantity(amount, have.Format)
		}
		have.Sub(*off)
		if have.Sign() < 0 {
			have = *resource.NewQuantity(0, have.Format)
		}
		left[name] = have
	}
	disk := capacity[corev1.ResourceEphemeralStorage]
	reserve(corev1.ResourceMemory, evictionMemory, false)
	reserve(corev1.ResourceEphemeralStorage, disk.Value()/10, false) // kubelet's default for nodefs.available
	if eks {
		cpu := capacity[corev1.ResourceCPU]
		reserve(corev1.ResourceMemory, (255+11*pods)*mib, false)
		reserve(corev1.ResourceCPU, eksReservedMilliCPU(cpu.Value()), true)
		reserve(corev1.ResourceEphemeralStorage, 1*gib, false)
	}
	return left
}

// eksReservedMilliCPU is 6 % of the first core, 1 % of the second, 0.5 % of the next two and 0.25 % of the rest.
func eksReservedMilliCPU(cores int64) int64 {
	reserved := int64(0)
	for core := range cores {
		switch {
		case core == 0:
			reserved += 6000
		case core == 1:
			reserved += 1000
		case core <= 3:
			reserved += 500
		default:
			reserved += 250
		}
	}
	return (reserved + 99) / 100
}

func count(n int64) resource.Quantity { return *resource.NewQuantity(n, resource.DecimalSI) }
func bytes(n int64) resource.Quantity { return *resource.NewQuantity(n, resource.BinarySI) }
