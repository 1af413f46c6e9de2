package digitalocean

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/digitalocean/internal/prices"
	"example.com/cluster-autoscaler/cloudprovider/digitalocean/internal/template"
)

const (
	// usable is how old the last listing may be before Refresh reports that the API cannot be read.
	usable = 2 * time.Minute
	// goneLife is how long a node that vanished is remembered as gone; its Node object is deleted long before.
	goneLife = 24 * time.Hour
	// lateJoiner is how much older than the view a node must be whose Droplet is not in it, to say that the Droplet doesn't exist.
	lateJoiner = 2 * time.Minute
)

// view is what the getters answer from. Nobody changes it after publish.
type view struct {
	groups   []cloudprovider.NodeGroup // by name
	errors   []cloudprovider.GroupError
	byID     map[cloudprovider.GroupID]*NodeGroup
	machines map[string]machine // by provider id
	gone     map[string]cloudprovider.GroupID
	others   map[string]string // Droplets of pools that are no groups, and their pools
	prices   prices.List
	gpuTypes []string
	listed   time.Time // when the last listing began; zero: there was none
}

// machine is what the view knows about an instance.
type machine struct {
	group  cloudprovider.GroupID
	node   string // DOKS id; empty: a place
	ending bool
}

// NodeGroup is one pool as of one view. Safe for concurrent use.
type NodeGroup struct {
	provider *Provider
	book     *book // what is known now
	state    cloudprovider.GroupState
	size     string
}

// ID is the UUID of the pool.
func (g *NodeGroup) ID() cloudprovider.GroupID { return cloudprovider.GroupID(g.book.id) }

// State is the group as of the view.
func (g *NodeGroup) State() cloudprovider.GroupState { return g.state }

// publish puts a view of all books in place. Call with mu held.
func (p *Provider) publish() {
	now := p.clock.Now()
	next := &view{
		byID: map[cloudprovider.GroupID]*NodeGroup{}, machines: map[string]machine{}, gone: map[string]cloudprovider.GroupID{},
		others: maps.Clone(p.others), prices: p.facts.prices, listed: p.listed,
	}
	models := p.facts.prices.Models()
	for _, b := range p.inOrder() {
		id := cloudprovider.GroupID(b.id)
		if b.fault.err != nil {
			next.errors = append(next.errors, cloudprovider.GroupError{Group: id, Err: b.fault.err, Since: b.fault.since})
		}
		if !b.known || !b.on {
			continue
		}
		group := &NodeGroup{provider: p, book: b, state: p.stateOf(b, now), size: b.pool.Size}
		next.groups = append(next.groups, group)
		next.byID[id] = group
		for _, node := range b.pool.Nodes {
			next.machines[idOf(node)] = machine{group: id, node: node.ID, ending: node.Ending()}
		}
		for number := range b.places {
			next.machines[placeID(b.id, number)] = machine{group: id}
		}
		for gone := range b.gone {
			next.gone[gone] = id
		}
		if gpu := b.template.answer.GPU; gpu != nil {
			models = append(models, strings.ToLower(gpu.Model))
		}
	}
	for i, model := range models {
		if _, short, ok := strings.Cut(model, "_"); ok { // sizes say nvidia_h100 where labels say h100
			models[i] = short
		}
	}
	slices.Sort(models)
	next.gpuTypes = slices.Compact(models)
	slices.SortFunc(next.errors, func(a, b cloudprovider.GroupError) int { return cmp.Compare(a.Group, b.Group) })
	p.view.Store(next)
}

// inOrder lists the books by the names of their pools, then by id. Call with mu held.
func (p *Provider) inOrder() []*book {
	return slices.SortedFunc(maps.Values(p.books), func(a, b *book) int {
		return cmp.Or(cmp.Compare(a.pool.Name, b.pool.Name), cmp.Compare(a.id, b.id))
	})
}

// stateOf is the group as the book has it. Call with mu held.
func (p *Provider) stateOf(b *book, now time.Time) cloudprovider.GroupState {
	return cloudprovider.GroupState{
		Min: b.bounds.Min, Max: b.max(now), Target: b.pool.Count, Instances: b.instances(now), Options: b.options,
		Debug: fmt.Sprintf("cluster ID: %s (min:%d max:%d) pool %s", b.id, b.bounds.Min, b.bounds.Max, b.pool.Name),
		Held:  p.held(),
	}
}

// held says why no node should be ended by choice. Call with mu held.
func (p *Provider) held() string {
	if !p.facts.cluster.Upgrading {
		return ""
	}
	return "the cluster is being upgraded, which replaces its nodes one by one"
}

// sizeOf is the slug of a node's size: by its labels, else by its pool.
func (v *view) sizeOf(node *corev1.Node) string {
	if slug := cmp.Or(node.Labels[corev1.LabelInstanceTypeStable], node.Labels[corev1.LabelInstanceType]); slug != "" {
		return slug
	}
	if group := v.byID[v.groupOf(node)]; group != nil {
		return group.size
	}
	return ""
}

// groupOf is the group of a node; empty: none. A node that already left the list of its pool is known by its label.
func (v *view) groupOf(node *corev1.Node) cloudprovider.GroupID {
	id := node.Spec.ProviderID
	if m, ok := v.machines[id]; ok {
		return m.group
	}
	if group, ok := v.gone[id]; ok && v.byID[group] != nil {
		return group
	}
	if id != "" && !strings.HasPrefix(id, prefix) {
		return ""
	}
	if _, elsewhere := v.others[id]; elsewhere {
		return ""
	}
	group := cloudprovider.GroupID(node.Labels[template.LabelPoolID])
	if pool, ok := placeOf(id); ok {
		group = cloudprovider.GroupID(pool)
	}
	if v.byID[group] == nil {
		return ""
	}
	return group
}
