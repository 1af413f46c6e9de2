package doapi

import "time"

// Pool is a node pool. Nobody changes it or what it refers to.
type Pool struct {
	ID, Name, Size string
	Count          int
	Min, Max       int // 0 while AutoScale is off
	AutoScale      bool
	Tags           []string
	Labels         map[string]string
	Taints         []Taint
	Partition      string // of GPUs
	Nodes          []Node
}

// Taint is a taint of a pool.
type Taint struct{ Key, Value, Effect string }

// Node is a node of a pool. DropletID is empty while the machine doesn't exist.
type Node struct {
	ID, Name, DropletID string
	State               State
	HasStatus           bool // false: the API says nothing about the state
	Message             string
	CreatedAt           time.Time // zero: unknown
}

// State is what the API calls the state of a node; other words than those below may come.
type State string

// The states.
const (
	Provisioning State = "provisioning"
	Running      State = "running"
	Draining     State = "draining"
	Deleting     State = "deleting"
)

// Ending tells whether the node is on its way out.
func (n Node) Ending() bool { return n.State == Draining || n.State == Deleting }

// Live counts the nodes that are not on their way out.
func (p Pool) Live() int {
	live := 0
	for _, n := range p.Nodes {
		if !n.Ending() {
			live++
		}
	}
	return live
}

// Node finds a node by its DOKS id.
func (p Pool) Node(id string) (Node, bool) {
	for _, n := range p.Nodes {
		if n.ID == id {
			return n, true
		}
	}
	return Node{}, false
}

// Template is what a pool's next node will be like. Capacity and Allocatable are nil where the API leaves them out.
type Template struct {
	Slug                  string
	Labels                map[string]string
	Taints                []string
	Capacity, Allocatable *Resources
	GPU                   *GPU // nil: none
}

// Resources are those of a template.
type Resources struct {
	CPU, MilliCPU int64  // whole cores, and the exact number where the API tells it
	Memory        string // a Kubernetes quantity
	Pods          int64
}

// GPU tells the accelerators of a template.
type GPU struct {
	Vendor, Model string
	Count         int64
}

// Cluster is what is wanted of a cluster.
type Cluster struct {
	Region, Version string
	Upgrading       bool
	// UtilizationThreshold and UnneededTime are the configuration of the managed autoscaler; nil: not set.
	UtilizationThreshold *float64
	UnneededTime         *string
}

// Size is a kind of Droplet.
type Size struct {
	Slug      string
	MemoryMB  int
	VCPUs     int
	DiskGB    int
	Hourly    float64 // US dollars
	Regions   []string
	Available bool
	GPUs      int
	GPUModel  string
}
