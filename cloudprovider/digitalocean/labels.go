package digitalocean

import "example.com/cluster-autoscaler/cloudprovider/digitalocean/internal/template"

// BookkeepingLabels are the keys of labels by which DOKS tells pools and nodes apart and which say nothing about what a node is good for.
func BookkeepingLabels() []string {
	return []string{template.LabelManaged, template.LabelNodeID, template.LabelPool, template.LabelPoolID, template.LabelVersion}
}
