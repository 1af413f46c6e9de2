package template

import (
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider/aws/internal/launch"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/nodetags"
)

// system is the operating system of a fresh node.
type system struct {
	windows      bool
	build        string // of Windows, as the label node.kubernetes.io/windows-build has it; empty: not known
	bottlerocket bool
	// eks tells that EKS' own set-up makes the node, which keeps more for the system and sets the number of pods.
	eks          bool
	architecture string // as the label kubernetes.io/arch has it; empty: not known
}

func (s system) name() string {
	if s.windows {
		return "windows"
	}
	return "linux"
}

// systemOf goes by what EKS says, else by the image, else by the user data. A label in the tags that names the operating system wins, since the nodes
// of a group that was described by hand are as the hand says.
func (s Source) systemOf(tags nodetags.Tags, choice launch.Choice) system {
	image, data := choice.Image, choice.Template.UserData
	sys := system{
		windows: image.Windows, bottlerocket: image.Bottlerocket() || data.Bottlerocket,
		eks: s.Tags.Managed() || image.EKS() || data.EKS, build: windowsBuild(image.WindowsRelease()),
	}
	sys.architecture = architecture(image)
	if d := s.Managed; d != nil && d.EKSImage() {
		sys.windows, sys.bottlerocket = d.Windows(), d.Bottlerocket()
		if d.Windows() {
			sys.build = windowsBuild(d.WindowsRelease())
		}
		if sys.architecture == "" {
			sys.architecture = d.Architecture()
		}
	}
	if sys.architecture == "" && choice.Known {
		sys.architecture = choice.Machine.Architecture
	}
	if name, ok := tags.Labels[corev1.LabelOSStable]; ok {
		sys.windows = name == "windows"
	}
	if !sys.windows {
		sys.build = ""
	}
	return sys
}

// architecture is that of an image: machines that can run several run that one.
func architecture(image launch.Image) string {
	switch image.Architecture {
	case "arm64", "arm64_mac":
		return "arm64"
	case "x86_64", "i386", "x86_64_mac":
		return "amd64"
	default:
		return ""
	}
}

// windowsBuild is the build of a release of Windows Server.
func windowsBuild(release string) string {
	return map[string]string{"2016": "10.0.14393", "2019": "10.0.17763", "2022": "10.0.20348", "2025": "10.0.26100"}[release]
}
