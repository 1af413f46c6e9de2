package launch

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"example.com/cluster-autoscaler/cloudprovider/aws/instancetypes"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asg"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/faults"
)

const (
	aliasLife     = 5 * time.Minute // what $Latest and $Default mean
	parameterLife = time.Hour       // what an alias of an image means
	imageLife     = 24 * time.Hour
	fitLife       = time.Hour      // which types fit requirements
	typeLife      = 12 * time.Hour // new types and new facts about old ones are rare
	offerLife     = 24 * time.Hour
	unknownType   = 10 * time.Minute // until EC2 is asked again about a type that it didn't tell
	extraLimit    = 5 * time.Second  // for questions that templates do without if need be: the loop waits for the answers
	fillLimit     = 45 * time.Second // for all questions together
	fewAliases    = 5                // are asked about one by one
	parallel      = 8                // questions under way at a time
)

// configurations reads launch configurations; unknown names are left out of the answer.
type configurations interface {
	Configurations(ctx context.Context, names []string) (map[string]Template, error)
}

// machines reads what EC2 knows.
type machines interface {
	templates
	types
	// Zones are the zones of the region.
	Zones(ctx context.Context) ([]Zone, error)
}

type templates interface {
	Template(ctx context.Context, ref asg.TemplateRef) (Template, error)
	// Aliases reads what $Latest and $Default mean for all launch templates, in at most so many calls: more are left out. The refs have either an id or a
	// name. Templates whose image stands behind an alias are left out as well.
	Aliases(ctx context.Context, calls int) (map[asg.TemplateRef]Template, error)
	Image(ctx context.Context, id string) (Image, error)
}

type types interface {
	// Fitting lists the types that fit requirements. architecture and virtualization are EC2's words; empty: any.
	Fitting(ctx context.Context, requirements asg.Requirements, architecture, virtualization string) ([]string, error)
	// Machines reads types by name; unknown ones are left out of the answer. With an error it holds what was read before.
	Machines(ctx context.Context, types []string) (map[string]Machine, error)
	// Offers tells which zones offer which types; types that no zone offers are left out.
	Offers(ctx context.Context, types []string) (map[string][]string, error)
}

// Cache knows the machines of all groups. Safe for concurrent use; only Fill blocks.
type Cache struct {
	configurations configurations
	machines       machines // used for instance types only when askTypes
	builtin        instancetypes.List
	askTypes       bool
	clock          clock.PassiveClock

	byConfiguration memo[string, Template]
	byTemplate      memo[asg.TemplateRef, Template]
	byImage         memo[string, Image]
	byRequirements  memo[selection, []string]
	byType          memo[string, Machine]
	byOffer         memo[string, []string] // zones by type
	zones           zones

	unwell atomic.Int64 // until when EC2 is not worth asking out of turn; Unix time in nanoseconds
}

// NewCache makes an empty cache. builtin answers for types that EC2 doesn't, and for all types if askTypes is false.
func NewCache(c configurations, m machines, builtin instancetypes.List, askTypes bool, ticking clock.PassiveClock) *Cache {
	return &Cache{configurations: c, machines: m, builtin: builtin, askTypes: askTypes, clock: ticking}
}

// errUnknown is what a source's silence about a name means.
var errUnknown = errors.New("AWS does not know it")

// Fill asks AWS for all that is not known, or not known well enough, about these groups, several questions at a time. What fails is
// remembered and shows in Facts. keep is true where these are all the groups in use: what only others use is forgotten then.
func (c *Cache) Fill(ctx context.Context, wanted []Wanted, keep bool) {
	w := sourcesOf(wanted)
	ctx, cancel := context.WithTimeout(ctx, fillLimit)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(parallel)
	ask := func(question func()) {
		group.Go(func() error { question(); return nil }) // the questions keep their errors in the cache
	}
	c.fillAliases(ctx, w.templates)
	ask(func() { c.fillConfigurations(ctx, sorted(w.configurations)) })
	for ref := range w.templates {
		ask(func() { c.fillTemplate(ctx, ref) })
	}
	_ = group.Wait()
	w.addImages(c, wanted)
	for id := range w.images {
		ask(func() { c.fillImage(ctx, id) })
	}
	_ = group.Wait()
	w.addSelections(c, wanted)
	for s := range w.candidates {
		ask(func() { c.fillFitting(ctx, s) })
	}
	_ = group.Wait()
	w.addTypes(c, wanted)
	c.fillTypes(ctx, sorted(w.types))
	c.fillOffers(ctx, wanted, sorted(w.types))
	c.zones.fill(ctx, wanted, c.machines, c.clock.Now())
	if keep {
		c.byConfiguration.retain(w.configurations)
		c.byTemplate.retain(w.templates)
		c.byImage.retain(w.images)
		c.byRequirements.retain(w.candidates)
	}
}

func (c *Cache) fillConfigurations(ctx context.Context, wanted []string) {
	now := c.clock.Now()
	missing := c.byConfiguration.missing(wanted, now)
	if len(missing) == 0 {
		return
	}
	found, err := c.configurations.Configurations(ctx, missing)
	c.unanswered(err, c.clock.Now())
	for _, name := range missing {
		t, ok := found[name]
		switch {
		case ok:
			c.byConfiguration.keep(name, t, now, 0) // launch configurations cannot be edited
		case err != nil:
			c.byConfiguration.fail(name, err, now)
		default:
			c.byConfiguration.fail(name, errUnknown, now)
		}
	}
}

// fillAliases asks about all aliases at once where that takes fewer calls than one for each that is due. Those that are not due yet are renewed with the
// others, so that they stay together.
func (c *Cache) fillAliases(ctx context.Context, wanted map[asg.TemplateRef]bool) {
	now := c.clock.Now()
	var aliases, due []asg.TemplateRef
	for ref := range wanted {
		if !strings.HasPrefix(ref.Version, "$") {
			continue
		}
		aliases = append(aliases, ref)
		if before, fresh := c.byTemplate.fresh(ref, now); !fresh && (before.known || before.failures == 0) {
			due = append(due, ref)
		}
	}
	if len(due) <= fewAliases {
		return
	}
	found, err := c.machines.Aliases(ctx, len(due)/2)
	if err != nil {
		for _, ref := range due {
			c.byTemplate.fail(ref, err, now)
		}
		return
	}
	for _, ref := range aliases {
		key := asg.TemplateRef{ID: ref.ID, Version: ref.Version}
		if ref.ID == "" {
			key.Name = ref.Name
		}
		if t, ok := found[key]; ok {
			c.byTemplate.keep(ref, t, now, aliasLife)
		}
	}
}

func (c *Cache) fillTemplate(ctx context.Context, ref asg.TemplateRef) {
	now := c.clock.Now()
	if _, fresh := c.byTemplate.fresh(ref, now); fresh || ctx.Err() != nil {
		return
	}
	t, err := c.machines.Template(ctx, ref)
	if err != nil && ctx.Err() != nil {
		return // the time for all questions is over, which says nothing about this one
	}
	if err != nil {
		c.unanswered(err, c.clock.Now())
		c.byTemplate.fail(ref, err, now)
		return
	}
	life := time.Duration(0) // a numbered version cannot be edited
	switch {
	case strings.HasPrefix(ref.Version, "$"):
		life = aliasLife
	case t.Aliased, strings.HasPrefix(t.ImageID, "resolve:"):
		life = parameterLife
	}
	c.byTemplate.keep(ref, t, now, life)
}

func (c *Cache) fillImage(ctx context.Context, id string) {
	now := c.clock.Now()
	before, fresh := c.byImage.fresh(id, now)
	if fresh {
		return
	}
	image, err := c.machines.Image(ctx, id)
	if err == nil {
		c.byImage.keep(id, image, now, imageLife)
		return
	}
	if before.failures == 0 {
		klog.FromContext(ctx).Info("Cannot read an image: templates go without its operating system and disk", "image", id, "reason", err.Error())
	}
	c.byImage.fail(id, err, now)
}

func (c *Cache) fillFitting(ctx context.Context, s selection) {
	now := c.clock.Now()
	if _, fresh := c.byRequirements.fresh(s, now); fresh {
		return
	}
	names, err := c.machines.Fitting(ctx, s.requirements, s.architecture, s.virtualization)
	c.unanswered(err, c.clock.Now())
	switch {
	case err != nil:
		c.byRequirements.fail(s, err, now)
	case len(names) == 0:
		c.byRequirements.fail(s, errNothingFits, now)
	default:
		c.byRequirements.keep(s, names, now, fitLife)
	}
}

var errNothingFits = errors.New("no instance type fits the requirements")

func (c *Cache) fillTypes(ctx context.Context, wanted []string) {
	now := c.clock.Now()
	missing := c.byType.missing(wanted, now)
	if len(missing) == 0 || !c.askTypes {
		return
	}
	first := !slices.ContainsFunc(missing, func(name string) bool { r, _ := c.byType.fresh(name, now); return r.failures > 0 })
	ctx, cancel := context.WithTimeout(ctx, extraLimit)
	defer cancel()
	found, err := c.machines.Machines(ctx, missing)
	if err != nil && first {
		klog.FromContext(ctx).Info("EC2 does not tell instance types: the built-in list answers for it", "asOf", c.builtin.AsOf(), "reason", err.Error())
	}
	for _, name := range missing {
		m, ok := found[name]
		switch {
		case ok:
			c.byType.keep(name, m, now, typeLife)
		case err != nil:
			c.byType.failFor(name, err, now, unknownType)
		default:
			c.byType.failFor(name, errUnknown, now, unknownType)
		}
	}
}

// fillOffers asks which zones offer the types, unless all groups are in one zone and have one type each, where nothing depends on it.
func (c *Cache) fillOffers(ctx context.Context, wanted []Wanted, names []string) {
	now := c.clock.Now()
	missing := c.byOffer.missing(names, now)
	if len(missing) == 0 || !c.askTypes || !slices.ContainsFunc(wanted, c.hasChoice) {
		return
	}
	first := !slices.ContainsFunc(missing, func(name string) bool { r, _ := c.byOffer.fresh(name, now); return r.failures > 0 })
	ctx, cancel := context.WithTimeout(ctx, extraLimit)
	defer cancel()
	offers, err := c.machines.Offers(ctx, missing)
	if err != nil && first {
		klog.FromContext(ctx).V(1).Info("EC2 does not tell which zones offer which instance types: it is assumed that all do", "reason", err.Error())
	}
	for _, name := range missing {
		if err != nil {
			c.byOffer.fail(name, err, now)
			continue
		}
		c.byOffer.keep(name, offers[name], now, offerLife)
	}
}

func (c *Cache) hasChoice(w Wanted) bool {
	options, _ := c.options(w.Launch) // without templates there is nothing to choose from
	return len(w.Zones) > 1 || len(w.ZoneIDs) > 1 || len(options) > 1 || len(options) == 1 && options[0].requirements() != ""
}

// Version is another number after each change of what Facts, Machine or Zone answer about what is in use.
func (c *Cache) Version() uint64 {
	return c.byConfiguration.version() + c.byTemplate.version() + c.byImage.version() + c.byRequirements.version() + c.byType.version() + c.byOffer.version() + c.zones.version()
}

// Zone finds a zone by its name or by its id; known is false where EC2 hasn't told it.
func (c *Cache) Zone(nameOrID string) (zone Zone, known bool) { return c.zones.lookUp(nameOrID) }

// Machine is what is known about an instance type.
func (c *Cache) Machine(name string) (Machine, bool) {
	if m, asked, err := c.byType.get(name); asked && err == nil {
		return m, true
	}
	t, ok := c.builtin.Lookup(name)
	return Machine{Type: t, NeuronCores: t.NeuronCores()}, ok
}

// unanswered notes that a question was not answered: each further one could take as long.
func (c *Cache) unanswered(err error, now time.Time) {
	if class := faults.ClassOf(err); class == faults.Unanswered || class == faults.Unreachable {
		c.unwell.Store(now.Add(soonRetry).UnixNano())
	}
}

// Needs tells whether Fill has to be asked before Facts can answer about a launch source. While AWS doesn't answer it is false: the questions wait for the
// next Fill for all groups.
func (c *Cache) Needs(l asg.Launch) bool {
	now := c.clock.Now()
	if now.UnixNano() < c.unwell.Load() {
		return false
	}
	if l.Configuration != "" {
		if _, fresh := c.byConfiguration.fresh(l.Configuration, now); !fresh {
			return true
		}
	}
	for _, ref := range templatesOf(l) {
		if _, fresh := c.byTemplate.fresh(ref, now); !fresh {
			return true
		}
	}
	options, _ := c.options(l) // of templates that are not known there is nothing more to ask
	return slices.ContainsFunc(options, func(o option) bool {
		s, ok := c.selection(o)
		if !ok {
			return false
		}
		_, fresh := c.byRequirements.fresh(s, now)
		return !fresh
	})
}

// ErrUnasked is why nothing is known before Fill, or after one whose time was over too soon.
var ErrUnasked = errors.New("AWS has not been asked yet")

func orUnasked(err error) error {
	if err != nil {
		return err
	}
	return ErrUnasked
}

// passing tells whether a failure goes away by itself.
func passing(err error) bool { return faults.Passing(err) }
