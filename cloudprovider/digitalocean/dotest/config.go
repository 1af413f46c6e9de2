package dotest

import (
	"fmt"
	"time"

	"k8s.io/utils/clock"
)

// The defaults of Config.
const (
	DefaultToken     = "dop_v1_standin"
	DefaultClusterID = "0c7f5f7b-5b3d-4a6e-9a53-d0d0d0d0d0d0"
)

// Config is what a Server is made with. The zero value is usable.
type Config struct {
	Clock clock.WithTicker // nil: the real one
	Addr  string           // host:port; empty: a free port of the loopback interface
	// Token is the one that is accepted at first, with all scopes; empty: DefaultToken.
	Token     string
	ClusterID string // empty: DefaultClusterID
	Region    string // of the cluster; empty: fra1
	Version   string // of DOKS; empty: 1.33.1-do.0
	Sizes     []Size // nil: Sizes()
	Limits    Limits
	// DropletLimit is the account's limit on Droplets; 0: none.
	DropletLimit int
	// Paged honours page and per_page when pools are listed; false: they are ignored, as the live API may do.
	Paged bool
	// StrictUpdates refuses updates of a pool without a name, as the API's description asks for.
	StrictUpdates bool
	// DropletsAbove is the number that the ids of Droplets are above, so that several Servers can have nodes in one cluster; 0: 400,000,000.
	DropletsAbove int
	// Seed makes the pools' random choices of nodes repeatable.
	Seed uint64
}

// Limits are how many requests a token may make; 0: 5,000 an hour and 250 a minute.
type Limits struct {
	PerHour, PerMinute int
}

// staleHistory is how far back Fault.Stale can look.
const staleHistory = 10 * time.Minute

func (c Config) withDefaults() (Config, error) {
	fill := func(field *string, value string) {
		if *field == "" {
			*field = value
		}
	}
	fill(&c.Addr, "127.0.0.1:0")
	fill(&c.Token, DefaultToken)
	fill(&c.ClusterID, DefaultClusterID)
	fill(&c.Region, "fra1")
	fill(&c.Version, "1.33.1-do.0")
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if c.Sizes == nil {
		c.Sizes = Sizes()
	}
	if c.Limits.PerHour == 0 {
		c.Limits.PerHour = 5000
	}
	if c.Limits.PerMinute == 0 {
		c.Limits.PerMinute = 250
	}
	if c.DropletsAbove == 0 {
		c.DropletsAbove = 400_000_000
	}
	if c.Limits.PerHour < 0 || c.Limits.PerMinute < 0 || c.DropletLimit < 0 {
		return c, fmt.Errorf("limits of %d requests an hour, %d a minute and %d Droplets: want none below 0", c.Limits.PerHour, c.Limits.PerMinute, c.DropletLimit)
	}
	return c, nil
}

// Size is a kind of Droplet.
type Size struct {
	Slug        string
	MemoryMB    int
	VCPUs       int
	DiskGB      int
	HourlyUSD   float64
	Regions     []string
	Unavailable bool
	GPUs        int
	GPUModel    string // such as nvidia_h100
}

// Sizes is a small catalogue with prices of 2026.
func Sizes() []Size {
	everywhere := []string{"ams3", "fra1", "nyc3"}
	return []Size{
		{Slug: "s-1vcpu-2gb", MemoryMB: 2048, VCPUs: 1, DiskGB: 50, HourlyUSD: 0.01786, Regions: everywhere},
		{Slug: "s-2vcpu-4gb", MemoryMB: 4096, VCPUs: 2, DiskGB: 80, HourlyUSD: 0.03571, Regions: everywhere},
		{Slug: "s-4vcpu-8gb", MemoryMB: 8192, VCPUs: 4, DiskGB: 160, HourlyUSD: 0.07143, Regions: everywhere},
		{Slug: "s-8vcpu-16gb", MemoryMB: 16384, VCPUs: 8, DiskGB: 320, HourlyUSD: 0.14286, Regions: everywhere},
		{Slug: "c-4", MemoryMB: 8192, VCPUs: 4, DiskGB: 50, HourlyUSD: 0.125, Regions: everywhere},
		{Slug: "m-2vcpu-16gb", MemoryMB: 16384, VCPUs: 2, DiskGB: 50, HourlyUSD: 0.125, Regions: []string{"nyc3"}},
		{Slug: "gpu-h100x1-80gb", MemoryMB: 245760, VCPUs: 20, DiskGB: 720, HourlyUSD: 3.39, Regions: []string{"fra1", "nyc3"}, GPUs: 1, GPUModel: "nvidia_h100"},
		{Slug: "gpu-mi300x8-1536gb", MemoryMB: 1966080, VCPUs: 160, DiskGB: 2046, HourlyUSD: 15.92, Regions: []string{"nyc3"}, GPUs: 8, GPUModel: "amd_mi300x"},
	}
}
