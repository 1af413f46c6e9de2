package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/utils/clock"

	"example.com/cluster-autoscaler/cloudprovider/digitalocean/dotest"
)

// DOKSSizes are the Droplets that can be had.
func DOKSSizes() []dotest.Size {
	regions := []string{"fra1"}
	return []dotest.Size{
		{Slug: "m-2vcpu-16gb", MemoryMB: 16 << 10, VCPUs: 2, DiskGB: 50, HourlyUSD: 0.125, Regions: regions},
		{Slug: "m-16vcpu-128gb", MemoryMB: 128 << 10, VCPUs: 16, DiskGB: 400, HourlyUSD: 1, Regions: regions},
		{Slug: "c-8", MemoryMB: 16 << 10, VCPUs: 8, DiskGB: 100, HourlyUSD: 0.25, Regions: regions},
	}
}

// DOKS is a stand-in for DigitalOcean Kubernetes.
type DOKS struct {
	*dotest.Server
	Config string // path of the file that an autoscaler takes as --cloud-config to drive its pools
}

// AddDOKS starts one more stand-in for DigitalOcean Kubernetes, beside Cluster.DOKS, so that an autoscaler has one for itself. Its nodes join the
// cluster, as if all were one DOKS cluster's; the names of pools must differ from those of the others. It is stopped with the cluster.
func (c *Cluster) AddDOKS() (*DOKS, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	number := len(c.doks)
	server, err := c.addDOKS(number)
	if err != nil {
		return nil, err
	}
	c.doks = append(c.doks, server)
	added := &DOKS{Server: server, Config: c.doksConfig(number)}
	if err := os.WriteFile(added.Config, []byte(server.CloudConfig()), 0o600); err != nil {
		return nil, fmt.Errorf("writing the cloud config of DigitalOcean: %w", err)
	}
	return added, nil
}

func (c *Cluster) doksConfig(number int) string {
	return filepath.Join(c.Folder(), fmt.Sprintf("digitalocean-%d.json", number))
}

// dropletsEach is more than any stand-in ever makes.
const dropletsEach = 1_000_000

// startDOKS starts a stand-in whose Droplets have ids that no other number has.
func startDOKS(ctx context.Context, number int) (*dotest.Server, error) {
	server, err := dotest.New(dotest.Config{Clock: clock.RealClock{}, Sizes: DOKSSizes(), DropletsAbove: 400_000_000 + number*dropletsEach})
	if err != nil {
		return nil, fmt.Errorf("making the DigitalOcean stand-in: %w", err)
	}
	if err := server.Start(ctx); err != nil {
		return nil, fmt.Errorf("starting the DigitalOcean stand-in: %w", err)
	}
	return server, nil
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
