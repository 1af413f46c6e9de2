package digitalocean

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/klog/v2"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/digitalocean/internal/doapi"
	"example.com/cluster-autoscaler/cloudprovider/digitalocean/internal/prices"
)

const (
	idleEvery     = 8 * time.Second  // at most one listing; the loop's own pause is longer as a rule
	restlessEvery = 4 * time.Second  // while something is about to change
	lowEvery      = 30 * time.Second // while few requests are left
	longestRetry  = 30 * time.Second
	clusterEvery  = 5 * time.Minute
	sizesEvery    = 12 * time.Hour
	factsRetry    = time.Minute // after a failure, doubling up to longestFacts
	longestFacts  = time.Hour
	// verifiedAtOnce is how many pools one refresh asks for that a listing lacks.
	verifiedAtOnce = 4
)

// schedule says when the next listing is due.
type schedule struct {
	next     time.Time // zero: now
	failures int       // in a row
	err      error     // of the last listing; nil: it succeeded
}

// facts are what is known besides the pools. Guarded by Provider.mu.
type facts struct {
	cluster doapi.Cluster
	sizes   []doapi.Size
	prices  prices.List
	// The next questions, and how many failed in a row.
	clusterNext, sizesNext         time.Time
	clusterRead                    time.Time
	clusterFailures, sizesFailures int
	told                           told
}

// Refresh lists the pools, at most every eight seconds, or every four while something is about to change. It blocks for the calls to the API. While the last
// listing is younger than two minutes it returns errors only of kinds that an operator has to put right, and when ctx has ended.
func (p *Provider) Refresh(ctx context.Context) error {
	ctx, done := p.calls.Begin(ctx)
	defer done()
	p.refreshing.Lock()
	defer p.refreshing.Unlock()
	if !p.clock.Now().Before(p.schedule.next) {
		p.refreshAll(ctx)
	}
	p.mu.Lock()
	p.publish()
	p.mu.Unlock()
	return p.verdict(ctx)
}

// verdict is what Refresh returns: nothing as long as there are data to work with.
func (p *Provider) verdict(ctx context.Context) error {
	err := p.schedule.err
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("listing the node pools: %w", context.Cause(ctx))
	}
	if listed := p.view.Load().listed; isTransient(err) && !listed.IsZero() && p.clock.Now().Sub(listed) < usable {
		return nil
	}
	return err
}

// refreshAll lists all pools, and reads what else is due. What the listing lacks is asked for before it is taken for gone.
func (p *Provider) refreshAll(ctx context.Context) {
	began, asked := p.clock.Now(), p.moment()
	pools, err := p.api.Pools(ctx)
	p.tellAccess("token", p.api.TokenTrouble())
	if err != nil {
		p.failed(ctx, began, err)
		return
	}
	p.refreshFacts(ctx)
	absent := p.enter(pools, asked)
	p.verify(ctx, absent)
	p.succeeded(began, len(pools) == 0 && len(absent) > 0)
}

// failed puts the next listing off.
func (p *Provider) failed(ctx context.Context, began time.Time, err error) {
	p.schedule.failures++
	p.schedule.err = p.translate(err, question{})
	p.schedule.next = began.Add(min(restlessEvery<<min(p.schedule.failures-1, 3), longestRetry))
	if until := p.api.BlockedUntil(); until.After(p.schedule.next) {
		p.schedule.next = until
	}
	klog.FromContext(ctx).V(1).Info("Cannot list the node pools", "retryAt", p.schedule.next, "reason", p.schedule.err.Error())
	if isConfiguration(p.schedule.err) {
		p.tellAccess("pools", p.schedule.err)
	}
}

// succeeded plans the next listing. A listing that is empty although there are pools doesn't count as one.
func (p *Provider) succeeded(began time.Time, hollow bool) {
	p.tellAccess("pools", nil)
	p.schedule = schedule{next: began.Add(idleEvery)}
	p.mu.Lock()
	defer p.mu.Unlock()
	if hollow && slices.ContainsFunc(p.inOrder(), func(b *book) bool { return b.on }) {
		p.schedule.err = &cloudprovider.TransientError{Err: errors.New("the API lists no node pools although there are some")}
		return
	}
	p.listed = began
	if slices.ContainsFunc(p.inOrder(), (*book).restless) {
		p.schedule.next = began.Add(restlessEvery)
	}
	if p.api.Low() {
		p.schedule.next = began.Add(lowEvery)
	}
}

// enter takes over a listing and returns the books of node groups that it lacks, those read longest ago first.
func (p *Provider) enter(pools []doapi.Pool, asked moment) (absent []*book) {
	p.mu.Lock()
	defer p.mu.Unlock()
	listed := map[string]bool{}
	others := map[string]string{}
	for _, pool := range pools {
		if pool.ID == "" {
			p.tellFact("pool without an id", fmt.Sprintf("the API lists the pool %q without an id; it is left out", pool.Name))
			continue
		}
		listed[pool.ID] = true
		b := p.books[pool.ID]
		if b == nil {
			if !p.rules.Choose(pool).Selected {
				addOthers(others, pool)
				continue
			}
			b = newBook(pool.ID)
			p.books[pool.ID] = b
		}
		p.take(b, pool, asking{moment: asked, listing: true})
		if !b.on {
			addOthers(others, pool)
		}
	}
	if len(pools) > 0 {
		p.others = others
	}
	for _, b := range p.books {
		if b.on && !listed[b.id] {
			absent = append(absent, b)
		}
	}
	slices.SortFunc(absent, func(a, b *book) int { return a.read.at.Compare(b.read.at) })
	return absent
}

// addOthers notes the Droplets of a pool that is no group.
func addOthers(others map[string]string, pool doapi.Pool) {
	for _, node := range pool.Nodes {
		if node.DropletID != "" && !node.Ending() {
			others[dropletID(node.DropletID)] = pool.ID
		}
	}
}

// verify asks for pools that a listing lacks: it may have been cut short. Those that don't exist leave the view.
func (p *Provider) verify(ctx context.Context, absent []*book) {
	for i, b := range absent {
		if i >= verifiedAtOnce {
			p.doubt(b, errors.New("the API doesn't list the pool, and it has not been asked for by itself yet"))
			continue
		}
		asked := p.moment()
		pool, err := p.api.Pool(ctx, b.id)
		switch {
		case doapi.ClassOf(err) == doapi.NotFound:
			p.vanish(b)
		case err != nil:
			p.doubt(b, fmt.Errorf("the API doesn't list the pool: %w", err))
		default:
			p.mu.Lock()
			p.take(b, pool, asking{moment: asked})
			p.mu.Unlock()
		}
	}
}

// vanish takes a pool out of the view that doesn't exist any more.
func (p *Provider) vanish(b *book) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b.on {
		p.notes.add(cloudprovider.Notice{
			Reason: reasonSwitched, Group: cloudprovider.GroupID(b.id), Message: "pool " + b.pool.Name + " does not exist any more", Normal: true,
		})
	}
	b.on, b.fault = false, fault{}
}

// doubt keeps what is known of a pool that may still exist.
func (p *Provider) doubt(b *book, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b.setFault(&cloudprovider.TransientError{Err: err}, p.clock.Now())
}

// refreshFacts reads the cluster and the sizes if that is due. What cannot be read stays as it was.
func (p *Provider) refreshFacts(ctx context.Context) {
	p.mu.Lock()
	now := p.clock.Now()
	clusterDue, sizesDue := !now.Before(p.facts.clusterNext), !now.Before(p.facts.sizesNext) && !p.api.Low()
	p.mu.Unlock()
	if clusterDue {
		p.readCluster(ctx)
	}
	if sizesDue {
		sizes, err := p.api.Sizes(ctx)
		p.mu.Lock()
		if err == nil {
			p.facts.sizes = sizes
		}
		p.facts.sizesNext = now.Add(pause(err, &p.facts.sizesFailures, sizesEvery))
		p.mu.Unlock()
		if err = lasting(p.translate(err, question{})); err != nil {
			err = fmt.Errorf("there are no prices, and templates have no disk: %w", err)
		}
		p.tellAccess("sizes", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.facts.prices = prices.New(p.facts.sizes, p.facts.cluster.Region)
}

// readCluster reads the cluster, whenever that was done last.
func (p *Provider) readCluster(ctx context.Context) {
	cluster, err := p.api.Cluster(ctx)
	p.mu.Lock()
	now := p.clock.Now()
	if err == nil {
		p.facts.cluster, p.facts.clusterRead = cluster, now
	}
	p.facts.clusterNext = now.Add(pause(err, &p.facts.clusterFailures, clusterEvery))
	p.mu.Unlock()
	p.tellAccess("cluster", lasting(p.translate(err, question{})))
}

// pause is how long to wait before the next question.
func pause(err error, failures *int, regular time.Duration) time.Duration {
	if err == nil {
		*failures = 0
		return regular
	}
	*failures++
	return min(factsRetry<<min(*failures-1, 10), longestFacts)
}

// lasting leaves out errors that pass by themselves.
func lasting(err error) error {
	if isTransient(err) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// tellAccess notes, once per change, that something about the whole cloud cannot be read; nil: it can.
func (p *Provider) tellAccess(about string, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tellFact(about, text)
}

// tellFact is tellAccess with mu held.
func (p *Provider) tellFact(about, text string) {
	if p.facts.told == nil {
		p.facts.told = told{}
	}
	if p.facts.told.news(about, text) {
		p.notes.add(cloudprovider.Notice{Reason: reasonAccess, Message: text})
	}
}
