package cluster

import (
	"fmt"
	"time"

	"example.com/cluster-autoscaler/cloudprovider/digitalocean/dotest"
)

// doksSizes are the Droplets that can be had.
func doksSizes() []dotest.Size {
	regions := []string{"fra1"}
	return []dotest.Size{
		{Slug: "m-2vcpu-16gb", MemoryMB: 16 << 10, VCPUs: 2, DiskGB: 50, HourlyUSD: 0.125, Regions: regions},
		{Slug: "m-16vcpu-128gb", MemoryMB: 128 << 10, VCPUs: 16, DiskGB: 400, HourlyUSD: 1, Regions: regions},
		{Slug: "c-8", MemoryMB: 16 << 10, VCPUs: 8, DiskGB: 100, HourlyUSD: 0.25, Regions: regions},
	}
}

// AddNodePool adds a pool to the DOKS cluster. An autoscaler with the production flags drives it while its auto-scale is on.
func (c *Cluster) AddNodePool(pool dotest.Pool) error {
	if err := c.DOKS.AddPool(pool); err != nil {
		return fmt.Errorf("adding node pool %s: %w", pool.Name, err)
	}
	return nil
}

// DefaultPoolDelays are those of a cloud in a hurry: a machine runs some three seconds after it was asked for.
func DefaultPoolDelays() dotest.Delays {
	return dotest.Delays{List: 300 * time.Millisecond, Droplet: time.Second, Running: time.Second, Register: 500 * time.Millisecond, Fail: time.Second, Delete: 2 * time.Second}
}

// DefaultNodePools are the pools that DefaultNodeGroups are groups of.
func DefaultNodePools() []dotest.Pool {
	delays := DefaultPoolDelays()
	return []dotest.Pool{
		{ID: "general", Size: "m-2vcpu-16gb", AutoScale: true, Min: 1, Max: 20, Count: 1, Delays: delays},
		{ID: "large", Size: "m-16vcpu-128gb", AutoScale: true, Max: 5, Delays: delays},
		{
			ID: "batch", Size: "c-8", AutoScale: true, Max: 10, Delays: delays,
			Labels: map[string]string{"dedicated": "batch"}, Taints: []dotest.Taint{{Key: "dedicated", Value: "batch", Effect: "NoSchedule"}},
		},
	}
}
