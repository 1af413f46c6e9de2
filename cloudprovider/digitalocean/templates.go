package digitalocean

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/digitalocean/internal/doapi"
	"example.com/cluster-autoscaler/cloudprovider/digitalocean/internal/template"
)

const (
	templateLife    = 45 * time.Minute // and up to a third more, so that pools don't ask at the same time
	templateRetry   = time.Minute      // where the API will answer soon
	templateRefused = 10 * time.Minute // where it says no
)

// templateMemory is the last good answer about a pool's next node, and when to ask again.
type templateMemory struct {
	key    string // what the answer depends on
	answer doapi.Template
	good   bool
	err    error // of the last question; nil: it was answered
	next   time.Time
}

// Templates makes the one variant of the pool. It asks the API when the pool has changed in what templates depend on, and once in a while; a good answer is kept
// until there is a newer one. Errors are a TransientError where the API doesn't answer, else a ConfigurationError.
func (g *NodeGroup) Templates(ctx context.Context) ([]cloudprovider.TemplateVariant, error) {
	p, b := g.provider, g.book
	ctx, done := p.calls.Begin(ctx)
	defer done()
	p.mu.Lock()
	source := template.Source{Pool: b.pool, Cluster: p.facts.cluster, Now: p.clock.Now()}
	if size, ok := p.facts.prices.Size(b.pool.Size); ok {
		source.Size = &size
	}
	memory := b.template
	p.mu.Unlock()
	if key := templateKey(source); memory.key != key || !p.clock.Now().Before(memory.next) {
		var err error
		if memory, err = p.readTemplate(ctx, b, source, key); err != nil {
			return nil, err
		}
	}
	if !memory.good {
		return nil, memory.err
	}
	source.Template = memory.answer
	variant, err := template.Variant(source)
	if err != nil {
		return nil, &cloudprovider.ConfigurationError{Group: g.ID(), Err: err}
	}
	return []cloudprovider.TemplateVariant{variant}, nil
}

// templateKey is all that an answer depends on.
func templateKey(s template.Source) string {
	return fmt.Sprint(s.Pool.Name, s.Pool.Size, s.Pool.Labels, s.Pool.Taints, s.Pool.Tags, s.Pool.Partition, s.Cluster.Version)
}

// readTemplate asks the API and returns what is known afterwards. The error is that of the context.
func (p *Provider) readTemplate(ctx context.Context, b *book, source template.Source, key string) (templateMemory, error) {
	answer, err := p.askTemplate(ctx, source.Pool)
	if err == nil {
		source.Template = answer
		_, err = template.Variant(source)
	}
	if ctx.Err() != nil {
		return templateMemory{}, fmt.Errorf("reading the template of pool %s: %w", source.Pool.Name, context.Cause(ctx))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	memory := &b.template
	memory.key, memory.err = key, nil
	now := p.clock.Now()
	if err == nil {
		memory.answer, memory.good, memory.next = answer, true, now.Add(templateLife+spread(b.id, templateLife/3))
		p.tell(b, reasonTemplate, "template", "")
		return *memory, nil
	}
	id := cloudprovider.GroupID(b.id)
	switch err = p.translate(err, question{group: id}); {
	case isTransient(err):
	case isGone(err): // the template is missing, the pool is there
		err = &cloudprovider.ConfigurationError{Group: id, Err: errors.Unwrap(err)}
	case !isConfiguration(err):
		err = &cloudprovider.ConfigurationError{Group: id, Err: err}
	}
	memory.err, memory.next = err, now.Add(templateRefused)
	if isTransient(err) {
		memory.next = now.Add(templateRetry)
		return *memory, nil
	}
	p.tell(b, reasonTemplate, "template", fmt.Sprintf("its template cannot be used: %v", err))
	return *memory, nil
}

// askTemplate asks the API, which finds templates by the names of pools. A name that would lead the client to another path is not asked for.
func (p *Provider) askTemplate(ctx context.Context, pool doapi.Pool) (doapi.Template, error) {
	if pool.Name == "" || pool.Name == "." || strings.Contains(pool.Name, "..") || strings.ContainsAny(pool.Name, "/?#%") {
		return doapi.Template{}, fmt.Errorf("the pool is called %q: want a name without /, ?, #, %% and .. to ask for its template", pool.Name)
	}
	return p.api.Template(ctx, pool.Name)
}

// spread is a time from 0 to limit that is always the same for a pool.
func spread(id string, limit time.Duration) time.Duration {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(id)) // it cannot fail
	return limit * time.Duration(hash.Sum32()%1000) / 1000
}
