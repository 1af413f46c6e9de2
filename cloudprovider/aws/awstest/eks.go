package awstest

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"
)

// NodegroupStatus is the status of an EKS managed node group.
type NodegroupStatus string

// The statuses. Empty means NodegroupActive.
const (
	NodegroupActive       NodegroupStatus = "ACTIVE"
	NodegroupCreating     NodegroupStatus = "CREATING"
	NodegroupUpdating     NodegroupStatus = "UPDATING"
	NodegroupDeleting     NodegroupStatus = "DELETING"
	NodegroupCreateFailed NodegroupStatus = "CREATE_FAILED"
	NodegroupDeleteFailed NodegroupStatus = "DELETE_FAILED"
	NodegroupDegraded     NodegroupStatus = "DEGRADED"
)

// Nodegroup is an EKS managed node group. It owns the Auto Scaling groups whose tags name it: GroupTags. Fields that are empty or zero
// are left out of the answer, unless the comment says what they mean.
type Nodegroup struct {
	Cluster, Name  string
	Status         NodegroupStatus
	Version        string // of Kubernetes; empty: 1.36
	ReleaseVersion string
	CapacityType   string // ON_DEMAND, SPOT or CAPACITY_BLOCK; empty: ON_DEMAND
	AMIType        string // for example AL2023_x86_64_STANDARD
	DiskSizeGiB    int
	InstanceTypes  []string
	Subnets        []string
	Labels         map[string]string
	Taints         []NodegroupTaint
	Tags           map[string]string
	LaunchTemplate *LaunchTemplateRef
	Scaling        *NodegroupScaling // nil: what its Auto Scaling groups have
	Issues         []string          // codes of health issues, for example AsgInstanceLaunchFailures
}

// NodegroupTaint is a taint of a node group.
type NodegroupTaint struct {
	Key, Value string // an empty Value is left out, as EKS does for taints without one
	Effect     string // NO_SCHEDULE, NO_EXECUTE or PREFER_NO_SCHEDULE; any other text is told as it is
}

// NodegroupScaling is the scalingConfig of a node group.
type NodegroupScaling struct{ Min, Max, Desired int }

// GroupTags are the tags that EKS puts on the Auto Scaling groups of a node group.
func (n Nodegroup) GroupTags() []Tag {
	return []Tag{
		{Key: "eks:cluster-name", Value: n.Cluster, PropagateAtLaunch: true},
		{Key: "eks:nodegroup-name", Value: n.Name, PropagateAtLaunch: true},
		{Key: "k8s.io/cluster-autoscaler/" + n.Cluster, Value: "owned", PropagateAtLaunch: true},
		{Key: "k8s.io/cluster-autoscaler/enabled", Value: "true", PropagateAtLaunch: true},
	}
}

// nodegroupKey names a node group. Two clusters may have node groups of one name.
type nodegroupKey struct{ cluster, name string }

// storedNodegroup is a node group with when it was first put in and last changed.
type storedNodegroup struct {
	Nodegroup
	created, modified time.Time
}

// clone copies everything that a caller could change later.
func (n Nodegroup) clone() Nodegroup {
	n.InstanceTypes, n.Subnets, n.Issues = slices.Clone(n.InstanceTypes), slices.Clone(n.Subnets), slices.Clone(n.Issues)
	n.Labels, n.Tags, n.Taints = maps.Clone(n.Labels), maps.Clone(n.Tags), slices.Clone(n.Taints)
	if n.LaunchTemplate != nil {
		ref := *n.LaunchTemplate
		n.LaunchTemplate = &ref
	}
	if n.Scaling != nil {
		scaling := *n.Scaling
		n.Scaling = &scaling
	}
	return n
}

// PutNodegroup adds a managed node group or replaces the one of the same cluster and name.
func (s *Server) PutNodegroup(n Nodegroup) error {
	if n.Cluster == "" || n.Name == "" {
		return fmt.Errorf("node group %q of cluster %q: want both names", n.Name, n.Cluster)
	}
	return s.change(func(w *world) error {
		key := nodegroupKey{n.Cluster, n.Name}
		created := w.now
		if old, ok := w.nodegroups[key]; ok {
			created = old.created
		}
		w.nodegroups[key] = storedNodegroup{Nodegroup: n.clone(), created: created, modified: w.now}
		return nil
	})
}

// UpdateNodegroup changes a managed node group. Its names stay as they are.
func (s *Server) UpdateNodegroup(cluster, name string, change func(*Nodegroup)) error {
	return s.change(func(w *world) error {
		key := nodegroupKey{cluster, name}
		old, ok := w.nodegroups[key]
		if !ok {
			return fmt.Errorf("the AWS stand-in has no node group %q in cluster %q", name, cluster)
		}
		n := old.clone()
		change(&n)
		n.Cluster, n.Name = cluster, name
		w.nodegroups[key] = storedNodegroup{Nodegroup: n.clone(), created: old.created, modified: w.now}
		return nil
	})
}

// Nodegroups returns all managed node groups, sorted by cluster and name.
func (s *Server) Nodegroups() []Nodegroup {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Nodegroup
	for _, n := range s.world.nodegroups {
		all = append(all, n.clone())
	}
	slices.SortFunc(all, func(a, b Nodegroup) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// RemoveNodegroup takes a managed node group away. Its Auto Scaling groups stay.
func (s *Server) RemoveNodegroup(cluster, name string) {
	_ = s.change(func(w *world) error { delete(w.nodegroups, nodegroupKey{cluster, name}); return nil }) // can't fail
}

// groupsOf are the names of the Auto Scaling groups whose tags name a node group, sorted.
func (w *world) groupsOf(key nodegroupKey) []string {
	var names []string
	for name, g := range w.groups {
		if g.nodegroup() == key {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// nodegroup is the node group that the tags name; zero: none.
func (g Group) nodegroup() nodegroupKey {
	var key nodegroupKey
	for _, t := range g.Tags {
		switch t.Key {
		case "eks:cluster-name":
			key.cluster = t.Value
		case "eks:nodegroup-name":
			key.name = t.Value
		}
	}
	return key
}

// describeNodegroup tells what a managed node group is.
func describeNodegroup(c *call) (any, error) {
	key := nodegroupKey{c.params.value("name"), c.params.value("nodegroupName")}
	n, ok := c.w.nodegroups[key]
	if ok {
		return map[string]any{"nodegroup": c.w.nodegroupJSON(n)}, nil
	}
	for other := range c.w.nodegroups {
		if other.cluster == key.cluster {
			return nil, failure(http.StatusNotFound, "ResourceNotFoundException", "No node group found for name: %s.", key.name)
		}
	}
	return nil, failure(http.StatusNotFound, "ResourceNotFoundException", "No cluster found for name: %s.", key.cluster)
}

// nodegroupJSON renders a node group as EKS does.
func (w *world) nodegroupJSON(n storedNodegroup) map[string]any {
	out := map[string]any{
		"nodegroupName": n.Name, "clusterName": n.Cluster, "status": string(cmp.Or(n.Status, NodegroupActive)),
		"nodegroupArn": fmt.Sprintf("arn:aws:eks:%s:%s:nodegroup/%s/%s/0a1b2c3d", w.cfg.Region, w.cfg.Account, n.Cluster, n.Name),
		"version":      cmp.Or(n.Version, "1.36"), "capacityType": cmp.Or(n.CapacityType, "ON_DEMAND"),
		"createdAt": epoch(n.created), "modifiedAt": epoch(n.modified),
		"labels": textMap(n.Labels), "tags": textMap(n.Tags), "updateConfig": map[string]any{"maxUnavailable": 1},
	}
	for key, value := range map[string]string{"releaseVersion": n.ReleaseVersion, "amiType": n.AMIType} {
		if value != "" {
			out[key] = value
		}
	}
	for key, values := range map[string][]string{"instanceTypes": n.InstanceTypes, "subnets": n.Subnets} {
		if len(values) > 0 {
			out[key] = textList(values)
		}
	}
	if n.DiskSizeGiB > 0 {
		out["diskSize"] = n.DiskSizeGiB
	}
	if n.LaunchTemplate != nil {
		ref := w.completed(*n.LaunchTemplate)
		out["launchTemplate"] = textMap(map[string]string{"id": ref.ID, "name": ref.Name, "version": ref.Version})
	}
	if len(n.Taints) > 0 {
		taints := make([]any, 0, len(n.Taints))
		for _, t := range n.Taints {
			taint := map[string]any{"key": t.Key, "effect": t.Effect}
			if t.Value != "" {
				taint["value"] = t.Value
			}
			taints = append(taints, taint)
		}
		out["taints"] = taints
	}
	issues := []any{}
	for _, code := range n.Issues {
		issues = append(issues, map[string]any{"code": code, "message": "This node group needs attention: " + code, "resourceIds": []any{}})
	}
	out["health"] = map[string]any{"issues": issues}
	groups := []any{}
	var scaling NodegroupScaling
	for _, name := range w.groupsOf(nodegroupKey{n.Cluster, n.Name}) {
		g := w.groups[name]
		groups = append(groups, map[string]any{"name": name})
		scaling.Min, scaling.Max, scaling.Desired = scaling.Min+g.Min, scaling.Max+g.Max, scaling.Desired+g.Desired
	}
	out["resources"] = map[string]any{"autoScalingGroups": groups}
	if n.Scaling != nil {
		scaling = *n.Scaling
	}
	out["scalingConfig"] = map[string]any{"minSize": scaling.Min, "maxSize": scaling.Max, "desiredSize": scaling.Desired}
	return out
}

// epoch renders a time as the JSON services do: seconds, with a fraction.
func epoch(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// textMap makes an object of texts.
func textMap(m map[string]string) map[string]any {
	out := map[string]any{}
	for key, value := range m {
		out[key] = value
	}
	return out
}

// textList makes a list of texts.
func textList(values []string) []any {
	out := make([]any, 0, len(values))
	for _, v := range values {
		out = append(out, v)
	}
	return out
}
