package aws

import "example.com/cluster-autoscaler/cloudprovider"

var _ cloudprovider.BookkeepingLabeler = (*Provider)(nil)

// BookkeepingLabels are BookkeepingLabels of the package.
func (p *Provider) BookkeepingLabels() []string { return BookkeepingLabels() }

// BookkeepingLabels are the keys of labels that EKS, eksctl, kOps and the VPC network plug-in set to tell groups and places apart, and of those that
// only templates or only nodes have (aws 10).
func BookkeepingLabels() []string {
	return []string{
		"alpha.eksctl.io/cluster-name", "alpha.eksctl.io/instance-id", "alpha.eksctl.io/nodegroup-name",
		"eks.amazonaws.com/nodegroup", "eks.amazonaws.com/nodegroup-image",
		"eks.amazonaws.com/sourceLaunchTemplateId", "eks.amazonaws.com/sourceLaunchTemplateVersion",
		"k8s.amazonaws.com/eniConfig", "lifecycle", "node.kubernetes.io/instance-group",
		"topology.ebs.csi.aws.com/zone", "topology.k8s.aws/zone-id",
		"aws:*",
		"amiType", "cluster-name", "diskSize", "k8sVersion", "nodegroup-name", // of templates made from EKS' description
		"beta.kubernetes.io/arch", "beta.kubernetes.io/os", // of nodes; the labels without beta say the same
	}
}
