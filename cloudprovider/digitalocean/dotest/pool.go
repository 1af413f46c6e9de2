package dotest

import (
	"maps"
	"slices"
	"time"
)

// Pool is a node pool. The fields up to Nodes are what the API shows; the others say how the pool behaves.
type Pool struct {
	ID        string // empty: made up
	Name      string // empty: the ID
	Size      string // slug; empty: s-2vcpu-4gb
	Count     int
	Tags      []string
	Labels    map[string]string
	Taints    []Taint
	AutoScale bool
	Min, Max  int    // shown as 0 while AutoScale is off
	Partition string // gpu_partition_mode

	Delays Delays
	// Stock is how many more nodes can be made; what goes beyond fails as FailState and FailMessage say. nil: any number.
	Stock *int
	// FailState and FailMessage are the status of nodes for which there is no stock; empty: "failed" with a message about capacity.
	FailState, FailMessage string
	// Stuck keeps new nodes in provisioning for ever.
	Stuck Stuck
	// Grant is how many of the nodes that an update asks for the pool grants; nil: all.
	Grant *int
	// Victims says which nodes go when the count falls below their number.
	Victims Victims
	// GoneTwice answers 404 when a node that is ending is deleted once more; false: 202.
	GoneTwice bool
	// Template is what the template call answers; nil: what follows from the size, the labels and the taints.
	Template *Template
	// NoTemplate answers the template call with 404.
	NoTemplate bool
	// Spoiled lists the pool with bounds that cannot be: more at least than at most.
	Spoiled bool
}

// Taint is a taint of a pool.
type Taint struct{ Key, Value, Effect string }

// Delays say how long things take.
type Delays struct {
	List     time.Duration // from the request until the node is listed
	Droplet  time.Duration // then until it has a Droplet
	Running  time.Duration // then until it runs
	Register time.Duration // then until its Node registers
	Fail     time.Duration // from the listing of a node for which there is no stock until that shows
	Drain    time.Duration // of a node that is deleted without skip_drain
	Delete   time.Duration // then until it is gone
}

// Stuck says in which state new nodes stay.
type Stuck string

// The states that nodes get stuck in.
const (
	StuckNot         Stuck = ""
	StuckNoDroplet   Stuck = "NoDroplet"   // provisioning without a Droplet
	StuckWithDroplet Stuck = "WithDroplet" // provisioning with one
)

// Victims says which nodes a pool ends that has too many.
type Victims string

// The choices.
const (
	VictimsRandom Victims = ""
	VictimsNewest Victims = "Newest"
	VictimsOldest Victims = "Oldest"
)

// Template is the answer of the template call; nil parts are left out of it.
type Template struct {
	Slug                  string
	Labels                map[string]string
	Taints                []string // KEY=VALUE:EFFECT or KEY:EFFECT
	Capacity, Allocatable *Resources
	GPU                   *GPU
}

// Resources are those of a template.
type Resources struct {
	CPU           int64  `json:"cpu"`
	CPUMilliCores int64  `json:"cpu_milli_cores,omitempty"`
	Memory        string `json:"memory"`
	Pods          int64  `json:"pods"`
}

// GPU is the part of a template about accelerators.
type GPU struct {
	Vendor string `json:"vendor"`
	Model  string `json:"model"`
	Count  int64  `json:"count"`
}

// State is the phase of a node's life.
type State string

// The states of the API.
const (
	Provisioning State = "provisioning"
	Running      State = "running"
	Draining     State = "draining"
	Deleting     State = "deleting"
)

// Node is one node of a pool.
type Node struct {
	ID        string // of DOKS; the value of the label doks.digitalocean.com/node-id
	Name      string
	Pool      string // id
	State     State
	Message   string
	NoStatus  bool   // the API leaves the status out
	DropletID string // empty: it has none yet
	Listed    bool   // the API shows it
	// Registered tells that the kubelet has registered its Node.
	Registered           bool
	CreatedAt, UpdatedAt time.Time
}

// Ending tells whether the node is on its way out.
func (n Node) Ending() bool { return n.State == Draining || n.State == Deleting }

// ProviderID is what the node's spec.providerID holds; empty while it has no Droplet.
func (n Node) ProviderID() string {
	if n.DropletID == "" {
		return ""
	}
	return "digitalocean://" + n.DropletID
}

// pool is a Pool of the world with its nodes, in the order of their creation.
type pool struct {
	Pool
	nodes []*Node
}

func (p *pool) clone() *pool {
	copied := &pool{Pool: p.Pool}
	copied.Tags, copied.Labels, copied.Taints = slices.Clone(p.Tags), maps.Clone(p.Labels), slices.Clone(p.Taints)
	for _, n := range p.nodes {
		node := *n
		copied.nodes = append(copied.nodes, &node)
	}
	return copied
}

// live are the nodes that are not ending.
func (p *pool) live() []*Node {
	return slices.DeleteFunc(slices.Clone(p.nodes), func(n *Node) bool { return n.Ending() })
}

func (p *pool) node(id string) *Node {
	for _, n := range p.nodes {
		if n.ID == id {
			return n
		}
	}
	return nil
}
