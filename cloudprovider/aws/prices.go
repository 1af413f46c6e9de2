package aws

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"example.com/cluster-autoscaler/cloudprovider/aws/internal/ec2api"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/launch"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/prices"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/pricingapi"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/session"
)

// checkEvery is how often it is looked whether there are types whose prices nobody has asked for.
const checkEvery = time.Minute

// priceList and spotHistory are what the provider asks about prices.
type priceList interface {
	OnDemand(ctx context.Context, system prices.System) ([]prices.ListPrice, error)
}

type spotHistory interface {
	SpotPrices(ctx context.Context, types []string, systems []prices.System, now time.Time) ([]prices.SpotPrice, error)
}

// pricing knows what machines cost and reads it anew in the background. Failures leave what was read last in force, or the formula, and are
// told once.
type pricing struct {
	list      priceList   // nil: on-demand prices are not read
	spot      spotHistory // nil: spot prices are not read
	overrides prices.Overrides
	region    string
	shape     prices.Shape
	clock     clock.PassiveClock
	book      atomic.Pointer[prices.Book] // never nil
	machines  atomic.Pointer[machineList] // nil: has to be made
	loads     sync.WaitGroup
	without   sync.Once // it is told that the region has no price list

	mu        sync.Mutex // guards what follows; never held over a network call
	loading   bool
	nextCheck time.Time
	listDue   prices.Schedule
	spotDue   prices.Schedule
	known     wantedPrices           // what was asked for so far
	seen      map[prices.System]bool // on nodes, whatever the groups tell
}

func newPricing(overrides prices.Overrides, region string, shape prices.Shape, ticking clock.PassiveClock) *pricing {
	p := &pricing{overrides: overrides, region: region, shape: shape, clock: ticking}
	p.book.Store(&prices.Book{})
	return p
}

// wantedPrices is what the groups can start.
type wantedPrices struct {
	spotTypes map[string]bool // bought as spot instances
	systems   map[prices.System]bool
}

// within tells whether all of it is in the other.
func (w wantedPrices) within(other wantedPrices) bool {
	return subset(w.spotTypes, other.spotTypes) && subset(w.systems, other.systems)
}

func subset[K comparable](some, all map[K]bool) bool {
	for key := range some {
		if !all[key] {
			return false
		}
	}
	return true
}

func (p *pricing) desk() prices.Desk {
	return prices.Desk{Book: p.book.Load(), Overrides: p.overrides, Region: p.region, Shape: p.shape}
}

// tellWithout says once that nobody tells prices on demand in the region.
func (p *pricing) tellWithout(ctx context.Context) {
	if p.list != nil {
		return
	}
	p.without.Do(func() {
		klog.FromContext(ctx).Info("No Pricing API tells prices of the region: those on demand follow the built-in formula", "region", p.region, "formulaAsOf", prices.FormulaAsOf)
	})
}

// saw notes the system of a node, so that its prices are read from then on.
func (p *pricing) saw(system prices.System) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen == nil {
		p.seen = map[prices.System]bool{}
	}
	p.seen[system] = true
}

// reads tells whether AWS is asked for prices at all.
func (p *pricing) reads() bool { return p.list != nil || p.spot != nil }

// checkDue tells whether begin should be called. It is cheap.
func (p *pricing) checkDue() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := p.nextCheck.Sub(p.clock.Now())
	return p.reads() && !p.loading && (left <= 0 || left > checkEvery) // more is left when the clock was set back
}

// begin says what is to be read now; begun is false if nothing is. When it is true, load has to be called.
func (p *pricing) begin(want wantedPrices) (task loadTask, begun bool) {
	now := p.clock.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.nextCheck = now.Add(checkEvery)
	maps.Copy(want.systems, p.seen)
	if !want.within(p.known) { // a type that is new counts now and not in half an hour
		p.spotDue.Hasten(now)
	}
	if !subset(want.systems, p.known.systems) {
		p.listDue.Hasten(now)
	}
	task = loadTask{
		want: want, list: p.list != nil && len(want.systems) > 0 && p.listDue.Due(now), spot: p.spot != nil && len(want.spotTypes) > 0 && p.spotDue.Due(now),
	}
	if p.loading || !task.list && !task.spot {
		return task, false
	}
	p.loading = true
	p.loads.Add(1)
	return task, true
}

// loadTask is one reading of prices.
type loadTask struct {
	want       wantedPrices
	list, spot bool
}

// load reads what the task says and blocks for that long.
func (p *pricing) load(ctx context.Context, task loadTask) {
	defer p.loads.Done()
	systems := slices.Sorted(maps.Keys(task.want.systems))
	if task.list {
		list, err := p.readList(ctx, systems)
		if err == nil {
			p.book.Store(p.book.Load().WithList(list, p.shape))
		}
		p.done(ctx, &p.listDue, priceReading{what: "the price list", every: prices.ListEvery, got: len(list), err: err})
	}
	if task.spot {
		spot, err := p.spot.SpotPrices(ctx, slices.Sorted(maps.Keys(task.want.spotTypes)), systems, p.clock.Now())
		if err == nil {
			p.book.Store(p.book.Load().WithSpot(spot))
		}
		p.done(ctx, &p.spotDue, priceReading{what: "the spot price history", every: prices.SpotEvery, got: len(spot), err: err})
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loading, p.known = false, task.want
}

func (p *pricing) readList(ctx context.Context, systems []prices.System) ([]prices.ListPrice, error) {
	var all []prices.ListPrice
	for _, system := range systems {
		list, err := p.list.OnDemand(ctx, system)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

// priceReading is how a reading ended.
type priceReading struct {
	what  string
	every time.Duration
	got   int
	err   error
}

// done plans the next reading and tells what changed.
func (p *pricing) done(ctx context.Context, schedule *prices.Schedule, r priceReading) {
	now := p.clock.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	logger := klog.FromContext(ctx)
	if r.err == nil {
		if schedule.Succeeded(now, r.every) {
			logger.Info("Read prices from AWS", "source", r.what, "prices", r.got)
		}
		return
	}
	if schedule.Failed(now) && ctx.Err() == nil {
		logger.Info("Cannot read prices from AWS: the last ones stay in force, without any the built-in formula tells; scaling goes on", "source", r.what,
			"formulaAsOf", prices.FormulaAsOf, "reason", r.err.Error())
	}
}

// priceOverrides reads the operator's prices.
func (o Options) priceOverrides() (prices.Overrides, error) {
	overrides, err := prices.ParseOverrides(o.PriceOverrides)
	if err != nil {
		return prices.Overrides{}, fmt.Errorf("--aws-price-overrides: %w", err)
	}
	return overrides, nil
}

// pricing makes the prices of a provider. Where the region has no Pricing API only spot prices are read.
func (o Options) pricing(s session.Session, overrides prices.Overrides, machines *ec2api.Client, launches *launch.Cache) *pricing {
	p := newPricing(overrides, s.Region, typeShape(launches), o.Clock)
	if !o.ReadPrices {
		return p
	}
	p.spot = machines
	if api, ok := pricingapi.Region(s.Region); ok {
		p.list = pricingapi.New(s.Config, s.Override("pricing", api))
	}
	return p
}
