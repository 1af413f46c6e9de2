package managed

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asg"
)

// Key names a managed node group. Node groups of two clusters may have the same name. The zero value names none.
type Key struct{ Cluster, NodeGroup string }

// String names the node group for people.
func (k Key) String() string { return "EKS node group " + k.NodeGroup + " of cluster " + k.Cluster }

// Status is the state of a node group in EKS' words. Any word may come, also one that is not known here.
type Status string

// The states.
const (
	Active       Status = "ACTIVE"
	Creating     Status = "CREATING"
	Updating     Status = "UPDATING" // EKS replaces the nodes, drains them itself, and raises the sizes of the Auto Scaling group meanwhile
	Deleting     Status = "DELETING"
	CreateFailed Status = "CREATE_FAILED"
	DeleteFailed Status = "DELETE_FAILED"
	Degraded     Status = "DEGRADED"
)

// Changing tells whether EKS is at work on the node group, so that its machines and sizes are not ours to judge.
func (s Status) Changing() bool { return s == Creating || s == Updating || s == Deleting }

// Description is what EKS says about a node group. Nobody changes it after it was read.
type Description struct {
	Status Status
	// AMIType is EKS' name for the kind of image, for example AL2023_x86_64_STANDARD; CUSTOM or empty: the launch template names the image.
	AMIType      string
	CapacityType string // ON_DEMAND, SPOT or CAPACITY_BLOCK; empty: not told
	Version      string // of Kubernetes
	// DiskGiB is the size of the root volume; 0: not told.
	DiskGiB int64
	// Labels are those that EKS gives the nodes, but for the ones that it sets by itself.
	Labels map[string]string
	// Taints are in EKS' order. One whose effect is not known stands here as NoSchedule, see Oddities.
	Taints []corev1.Taint
	Tags   map[string]string
	// Template is the launch template that the owner of the node group gave; zero: EKS made one by itself.
	Template asg.TemplateRef
	// Issues are the codes of what EKS finds wrong with the node group.
	Issues []string
	// Oddities are parts of the answer that could not be taken as they are, one line each.
	Oddities []string
}

// Windows tells whether the nodes run Windows.
func (d Description) Windows() bool { return strings.HasPrefix(d.AMIType, "WINDOWS_") }

// Bottlerocket tells whether the nodes run Bottlerocket.
func (d Description) Bottlerocket() bool { return strings.HasPrefix(d.AMIType, "BOTTLEROCKET_") }

// WindowsRelease is the year in the name of the image type, for example 2022; empty where the nodes don't run Windows.
func (d Description) WindowsRelease() string {
	if parts := strings.Split(d.AMIType, "_"); d.Windows() && len(parts) > 2 {
		return parts[2]
	}
	return ""
}

// Architecture is amd64 or arm64, as the image type says; empty: it doesn't.
func (d Description) Architecture() string {
	switch {
	case strings.Contains(d.AMIType, "_ARM_64"):
		return "arm64"
	case strings.Contains(d.AMIType, "_x86_64"):
		return "amd64"
	default:
		return ""
	}
}

// EKSImage tells whether the image is one of those that AWS makes for EKS.
func (d Description) EKSImage() bool { return d.AMIType != "" && d.AMIType != "CUSTOM" }
