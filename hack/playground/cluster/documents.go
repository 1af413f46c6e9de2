package cluster

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
	"example.com/cluster-autoscaler/cloudprovider/digitalocean/dotest"
	"example.com/cluster-autoscaler/hack/playground/cloud"
)

// document is a NodeGroup of a scenario (scenario-format, NodeGroup).
type document struct {
	metav1.TypeMeta `json:",inline"`

	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec documentSpec `json:"spec"`
}

type documentSpec struct {
	MinSize      int               `json:"minSize"`
	MaxSize      int               `json:"maxSize"`
	NodeSelector map[string]string `json:"nodeSelector"`
	Variants     []variant         `json:"variants,omitempty"`
}

type variant struct {
	Template map[string]any `json:"template"`
}

// NodeGroupDocuments describes node groups to `cluster-autoscaler simulate`, as an administrator would: the groups and the pools of these names that
// were added to the cluster, all if there are no names. A group is told by its labels and its instance type, so no two of those described may have
// both in common. One that has a node in each of its zones is described without templates: new nodes look like these.
func (c *Cluster) NodeGroupDocuments(ctx context.Context, names ...string) ([]byte, error) {
	var all bytes.Buffer
	for _, group := range c.AWS.Groups() {
		if len(names) > 0 && !slices.Contains(names, group.Name) {
			continue
		}
		d, err := c.document(ctx, group)
		if err != nil {
			return nil, fmt.Errorf("describing node group %s: %w", group.Name, err)
		}
		if err := d.write(&all); err != nil {
			return nil, err
		}
	}
	for _, pool := range c.DOKS.Pools() {
		if len(names) > 0 && !slices.Contains(names, pool.ID) {
			continue
		}
		d, err := c.poolDocument(ctx, pool)
		if err != nil {
			return nil, fmt.Errorf("describing node pool %s: %w", pool.ID, err)
		}
		if err := d.write(&all); err != nil {
			return nil, err
		}
	}
	return all.Bytes(), nil
}

func (d document) write(to *bytes.Buffer) error {
	text, err := yaml.Marshal(d)
	if err != nil {
		return fmt.Errorf("encoding node group %s: %w", d.Metadata.Name, err)
	}
	fmt.Fprintf(to, "---\n%s", text)
	return nil
}

// newDocument describes a group whose nodes have these labels, without templates.
func newDocument(name string, least, most int, selector map[string]string) document {
	d := document{TypeMeta: metav1.TypeMeta{APIVersion: "scenario.cluster-autoscaler/v1", Kind: "NodeGroup"}}
	d.Metadata.Name = name
	d.Spec = documentSpec{MinSize: least, MaxSize: most, NodeSelector: selector}
	return d
}

// poolDocument describes a pool of DOKS, which has no zones.
func (c *Cluster) poolDocument(ctx context.Context, pool dotest.Pool) (document, error) {
	selector := map[string]string{"doks.digitalocean.com/node-pool-id": pool.ID}
	d := newDocument(pool.ID, pool.Min, pool.Max, selector)
	nodes, err := c.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: labels.SelectorFromSet(selector).String(), Limit: 1})
	if err != nil || len(nodes.Items) > 0 {
		return d, err
	}
	node, err := cloud.NewDOKS(c.DOKS).Template(pool)
	if err != nil {
		return d, err
	}
	d.Spec.Variants = []variant{{Template: templateOf(node)}}
	return d, nil
}

func (c *Cluster) document(ctx context.Context, group awstest.Group) (document, error) {
	c.mutex.Lock()
	instanceType := c.types[group.Name]
	c.mutex.Unlock()
	selector := map[string]string{corev1.LabelInstanceTypeStable: instanceType}
	for _, tag := range group.Tags {
		if key, ok := strings.CutPrefix(tag.Key, tagPrefix+"node-template/label/"); ok {
			selector[key] = tag.Value
		}
	}
	d := newDocument(group.Name, group.Min, group.Max, selector)
	seen, err := c.zonesOf(ctx, selector)
	if err != nil {
		return d, err
	}
	if !slices.ContainsFunc(group.Zones, func(zone string) bool { return !seen[zone] }) {
		return d, nil
	}
	for _, zone := range group.Zones {
		node, err := cloud.NewAWS(c.AWS, Region).Template(group, instanceType, zone)
		if err != nil {
			return d, err
		}
		d.Spec.Variants = append(d.Spec.Variants, variant{Template: templateOf(node)})
	}
	return d, nil
}

// zonesOf are the zones of the nodes with the labels.
func (c *Cluster) zonesOf(ctx context.Context, selector map[string]string) (map[string]bool, error) {
	nodes, err := c.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: labels.SelectorFromSet(selector).String()})
	if err != nil {
		return nil, fmt.Errorf("listing its nodes: %w", err)
	}
	zones := map[string]bool{}
	for _, node := range nodes.Items {
		zones[node.Labels[corev1.LabelTopologyZone]] = true
	}
	return zones, nil
}

// templateOf is a template as a person writes it: what isn't set isn't there.
func templateOf(node *corev1.Node) map[string]any {
	return map[string]any{
		"metadata": map[string]any{"labels": node.Labels},
		"spec":     map[string]any{"taints": node.Spec.Taints},
		"status":   map[string]any{"capacity": written(node.Status.Capacity), "allocatable": written(node.Status.Allocatable)},
	}
}

func written(list corev1.ResourceList) map[string]string {
	texts := map[string]string{}
	for name, quantity := range list {
		texts[string(name)] = quantity.String()
	}
	return texts
}
