package doapi

import (
	"context"
	"errors"
	"io"

	"github.com/digitalocean/godo"
)

// pageSize is the longest page that the API gives.
const pageSize = 200

// longestListing bounds how many pages are read.
const longestListing = 20

// Pools lists all node pools with their nodes. An id that comes twice is listed once.
func (c *Client) Pools(ctx context.Context) ([]Pool, error) {
	var pools []Pool
	known := map[string]bool{}
	for page := 1; page <= longestListing; page++ {
		var answer []*godo.KubernetesNodePool
		err := c.do(ctx, call{operation: opListNodePools, importance: list}, func(ctx context.Context) (err error) {
			answer, _, err = c.godo.Kubernetes.ListNodePools(ctx, c.cluster, &godo.ListOptions{Page: page, PerPage: pageSize})
			return err
		})
		if err != nil {
			return nil, err
		}
		news := false
		for _, p := range answer {
			if p != nil && !known[p.ID] {
				known[p.ID], news = true, true
				pools = append(pools, poolOf(p))
			}
		}
		if len(answer) < pageSize || !news { // an API that knows no pages repeats itself
			break
		}
	}
	return pools, nil
}

// Pool reads one pool. It matters as much as the write that it is read for.
func (c *Client) Pool(ctx context.Context, id string) (Pool, error) {
	return c.onePool(ctx, call{operation: opGetNodePool, importance: write}, func(ctx context.Context) (*godo.KubernetesNodePool, error) {
		p, _, err := c.godo.Kubernetes.GetNodePool(ctx, c.cluster, id)
		return p, err
	})
}

// Resize sets the count of a pool, and nothing else of it. It returns the pool as the API answers.
func (c *Client) Resize(ctx context.Context, id string, count int) (Pool, error) {
	return c.onePool(ctx, call{operation: opUpdateNodePool, importance: write}, func(ctx context.Context) (*godo.KubernetesNodePool, error) {
		p, _, err := c.godo.Kubernetes.UpdateNodePool(ctx, c.cluster, id, &godo.KubernetesNodePoolUpdateRequest{Count: &count})
		return p, err
	})
}

// onePool makes a call whose good answer is a pool. One without is as none.
func (c *Client) onePool(ctx context.Context, what call, ask func(context.Context) (*godo.KubernetesNodePool, error)) (Pool, error) {
	var pool Pool
	err := c.do(ctx, what, func(ctx context.Context) error {
		answer, err := ask(ctx)
		if err == nil && (answer == nil || answer.ID == "") {
			err = errNothing
		}
		if err != nil {
			return emptyAs(err)
		}
		pool = poolOf(answer)
		return nil
	})
	return pool, err
}

// emptyAs makes the error of a decoder that found no JSON readable.
func emptyAs(err error) error {
	if errors.Is(err, io.EOF) {
		return errNothing
	}
	return err
}

// DeleteNode ends one node and lowers the count of its pool.
func (c *Client) DeleteNode(ctx context.Context, pool, node string, skipDrain bool) error {
	return c.do(ctx, call{operation: opDeleteNode, importance: write}, func(ctx context.Context) error {
		_, err := c.godo.Kubernetes.DeleteNode(ctx, c.cluster, pool, node, &godo.KubernetesNodeDeleteRequest{SkipDrain: skipDrain})
		return err
	})
}

// Template reads what the next node of the pool of that name will be like.
func (c *Client) Template(ctx context.Context, poolName string) (Template, error) {
	var t Template
	err := c.do(ctx, call{operation: opGetTemplate, importance: detail}, func(ctx context.Context) error {
		answer, _, err := c.godo.Kubernetes.GetNodePoolTemplate(ctx, c.cluster, poolName)
		if err == nil && (answer == nil || answer.Template == nil) {
			err = errNothing
		}
		if err != nil {
			return emptyAs(err)
		}
		t = templateOf(answer.Template)
		return nil
	})
	return t, err
}

// Cluster reads the cluster.
func (c *Client) Cluster(ctx context.Context) (Cluster, error) {
	var cluster Cluster
	err := c.do(ctx, call{operation: opGetCluster, importance: list}, func(ctx context.Context) error {
		answer, _, err := c.godo.Kubernetes.Get(ctx, c.cluster)
		if err == nil && answer == nil {
			err = errNothing
		}
		if err != nil {
			return emptyAs(err)
		}
		cluster = Cluster{Region: answer.RegionSlug, Version: answer.VersionSlug}
		cluster.Upgrading = answer.Status != nil && answer.Status.State == godo.KubernetesClusterStatusUpgrading
		if a := answer.ClusterAutoscalerConfiguration; a != nil {
			cluster.UtilizationThreshold, cluster.UnneededTime = a.ScaleDownUtilizationThreshold, a.ScaleDownUnneededTime
		}
		return nil
	})
	return cluster, err
}

// Sizes lists all kinds of Droplets.
func (c *Client) Sizes(ctx context.Context) ([]Size, error) {
	var sizes []Size
	for page := 1; page <= longestListing; page++ {
		var answer []godo.Size
		var links *godo.Links
		err := c.do(ctx, call{operation: opListSizes, importance: detail}, func(ctx context.Context) error {
			list, response, err := c.godo.Sizes.List(ctx, &godo.ListOptions{Page: page, PerPage: pageSize})
			if err != nil {
				return emptyAs(err)
			}
			answer, links = list, response.Links
			return nil
		})
		if err != nil {
			return nil, err
		}
		for _, size := range answer {
			sizes = append(sizes, sizeOf(size))
		}
		if links == nil || links.IsLastPage() || len(answer) == 0 {
			break
		}
	}
	if len(sizes) == 0 {
		return nil, &Error{Operation: opListSizes, Class: Unanswered, Err: errNothing}
	}
	return sizes, nil
}

func poolOf(p *godo.KubernetesNodePool) Pool {
	pool := Pool{
		ID: p.ID, Name: p.Name, Size: p.Size, Count: p.Count, Min: p.MinNodes, Max: p.MaxNodes, AutoScale: p.AutoScale,
		Tags: p.Tags, Labels: p.Labels, Partition: p.GPUPartitionMode,
	}
	for _, t := range p.Taints {
		pool.Taints = append(pool.Taints, Taint{Key: t.Key, Value: t.Value, Effect: t.Effect})
	}
	known := map[string]bool{}
	for _, n := range p.Nodes {
		if n == nil || known[n.ID] {
			continue
		}
		known[n.ID] = true
		node := Node{ID: n.ID, Name: n.Name, DropletID: n.DropletID, CreatedAt: n.CreatedAt}
		if n.Status != nil {
			node.HasStatus, node.State, node.Message = true, State(n.Status.State), n.Status.Message
		}
		pool.Nodes = append(pool.Nodes, node)
	}
	return pool
}

func templateOf(t *godo.KubernetesNodeTemplate) Template {
	template := Template{Slug: t.Slug, Labels: t.Labels, Taints: t.Taints, Capacity: resourcesOf(t.Capacity), Allocatable: resourcesOf(t.Allocatable)}
	if t.Gpu != nil {
		template.GPU = &GPU{Vendor: t.Gpu.Vendor, Model: t.Gpu.Model, Count: t.Gpu.Count}
	}
	return template
}

func resourcesOf(r *godo.KubernetesNodePoolResources) *Resources {
	if r == nil {
		return nil
	}
	return &Resources{CPU: r.CPU, MilliCPU: r.CpuMilliCores, Memory: r.Memory, Pods: r.Pods}
}

func sizeOf(s godo.Size) Size {
	size := Size{
		Slug: s.Slug, MemoryMB: s.Memory, VCPUs: s.Vcpus, DiskGB: s.Disk, Hourly: s.PriceHourly, Regions: s.Regions, Available: s.Available,
	}
	if s.GPUInfo != nil {
		size.GPUs, size.GPUModel = s.GPUInfo.Count, s.GPUInfo.Model
	}
	return size
}
