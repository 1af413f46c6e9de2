package cloud

import (
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"example.com/cluster-autoscaler/cloudprovider/digitalocean/dotest"
)

// Labels that DOKS gives to its nodes (digitalocean §13).
const (
	doksNodeID  = "doks.digitalocean.com/node-id"
	doksPool    = "doks.digitalocean.com/node-pool"
	doksPoolID  = "doks.digitalocean.com/node-pool-id"
	doksManaged = "doks.digitalocean.com/managed"
	doksVersion = "doks.digitalocean.com/version"
	doksRegion  = "region"
)

// doksServer is the part of the DigitalOcean stand-in that machines are read from.
type doksServer interface {
	Pools() []dotest.Pool
	Nodes(poolID string) []dotest.Node
	Template(poolID string) *dotest.Template
	Size(slug string) (dotest.Size, bool)
	Region() string
	Version() string
	Changed() <-chan struct{}
}

// DOKS shows the nodes of node pools as machines. Their kubelets offer what the template of the pool says, and have its labels and taints.
type DOKS struct{ server doksServer }

// NewDOKS shows the nodes of a stand-in.
func NewDOKS(server doksServer) *DOKS { return &DOKS{server: server} }

// Changed is closed at the next change of a node.
func (d *DOKS) Changed() <-chan struct{} { return d.server.Changed() }

// Machines lists the nodes of all pools that have a Droplet. A template that a kubelet wouldn't accept is an error: the stand-in was set up wrongly.
func (d *DOKS) Machines() ([]Machine, error) {
	var machines []Machine
	for _, pool := range d.server.Pools() {
		common, err := d.machine(pool)
		if err != nil {
			return nil, fmt.Errorf("reading pool %s: %w", pool.Name, err)
		}
		for _, n := range d.server.Nodes(pool.ID) {
			if n.DropletID == "" {
				continue
			}
			m := common
			m.Labels = maps.Clone(common.Labels)
			m.Labels[doksNodeID] = n.ID
			m.ProviderID, m.NodeName, m.Running = n.ProviderID(), n.Name, n.Registered
			machines = append(machines, m)
		}
	}
	return machines, nil
}

// Template is what the Node of a pool's next machine will look like: without a name and without all else that only one machine has.
func (d *DOKS) Template(pool dotest.Pool) (*corev1.Node, error) {
	m, err := d.machine(pool)
	if err != nil {
		return nil, fmt.Errorf("making a template for pool %s: %w", pool.Name, err)
	}
	return m.template(), nil
}

// machine is what all machines of a pool have in common.
func (d *DOKS) machine(pool dotest.Pool) (Machine, error) {
	m := Machine{
		Type: pool.Size, Region: d.server.Region(),
		Labels: map[string]string{
			doksPool: pool.Name, doksPoolID: pool.ID, doksManaged: "true", doksVersion: d.server.Version(), doksRegion: d.server.Region(),
		},
	}
	maps.Copy(m.Labels, pool.Labels)
	for _, t := range pool.Taints {
		m.Taints = append(m.Taints, corev1.Taint{Key: t.Key, Value: t.Value, Effect: corev1.TaintEffect(t.Effect)})
	}
	template := d.server.Template(pool.ID)
	if template == nil || template.Capacity == nil || template.Allocatable == nil {
		return Machine{}, fmt.Errorf("its size %q is not in the catalogue", pool.Size)
	}
	m.Size.Architecture = "amd64"
	if size, ok := d.server.Size(pool.Size); ok {
		m.Size.DiskGiB = int64(size.DiskGB)
	}
	var err error
	if m.Capacity, err = offered(*template.Capacity); err != nil {
		return Machine{}, err
	}
	m.Allocatable, err = offered(*template.Allocatable)
	return m, err
}

func offered(r dotest.Resources) (corev1.ResourceList, error) {
	memory, err := resource.ParseQuantity(strings.TrimSpace(r.Memory))
	if err != nil {
		return nil, fmt.Errorf("memory %q: %w", r.Memory, err)
	}
	milli := r.CPUMilliCores
	if milli == 0 {
		milli = r.CPU * 1000
	}
	return corev1.ResourceList{
		corev1.ResourceCPU: *resource.NewMilliQuantity(milli, resource.DecimalSI), corev1.ResourceMemory: memory,
		corev1.ResourcePods: *resource.NewQuantity(r.Pods, resource.DecimalSI),
	}, nil
}
