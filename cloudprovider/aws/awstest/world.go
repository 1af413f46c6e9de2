package awstest

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"
)

// world is the state of the service. It knows no clock: advance tells it how late it is. Not safe for use by several goroutines.
type world struct {
	cfg Config
	now time.Time // how far the world has got

	born time.Time

	types     catalog
	templates map[string]LaunchTemplate // by id
	configs   map[string]LaunchConfiguration
	images    map[string]Image
	aliases   map[string]string // parameter name of resolve:ssm: → AMI id
	stock     []StockRule

	nodegroups map[nodegroupKey]storedNodegroup
	prices     map[priceKey]Price
	spotPrices map[spotPool][]spotRecord // oldest first; only those that were set
	notOffered map[place]bool

	denied     map[string]bool    // permissions
	roles      map[string]Role    // by ARN
	sessions   map[string]session // by access key
	metadata   *InstanceMetadata
	imdsTokens map[string]time.Time // when each is over
	containers *ContainerRole

	groups   map[string]*group
	deleted  []*activity           // activities of groups that are gone
	detached []Instance            // machines that left their group and run on
	tokens   map[string]idempotent // by client token
	ended    []endedServer         // machines that EC2 still lists after their end
	history  []moment              // oldest first; the last one is the present
	dirty    map[string]bool
	changed  bool // an instance changed since the flag was last cleared

	events         []Event
	call           int // number of the request that is being carried out; 0: the service acts by itself
	activitySerial int
	serials        map[string]int // how many ids of each kind were given out
}

// endedServer is a machine that is gone, and since when.
type endedServer struct {
	Instance
	at time.Time
}

// group is an Auto Scaling group and what goes on in it.
type group struct {
	Group      // the settings; Desired is the present one
	arn        string
	created    time.Time
	deleting   bool
	warm       []*machine // the warm pool
	refresh    []string   // ids that an instance refresh has yet to replace
	machines   []*machine // in the order of their launch
	launches   []launch   // under way, without an instance yet
	script     []ScriptedLaunch
	activities []*activity // oldest first
	retryAt    time.Time   // no launch before this moment; zero: none failed lately
	scaleInAt  time.Time   // when surplus is cut; zero: there is none
	loweredBy  int         // the request that last lowered desired; 0: none did
	why        string      // why capacity is missing, for the causes of activities
}

// moment is what clients could see from a time on, until the next moment.
type moment struct {
	at     time.Time
	groups map[string]*groupView
}

// groupView is a group as clients see it. It never changes.
type groupView struct {
	Group
	arn      string
	created  time.Time
	deleting bool
	machines []*machine
	warm     []*machine
	// refreshing is how many instances an instance refresh has yet to replace.
	refreshing int
}

// endedServersAreListedFor is how long EC2 lists a machine that is gone.
const endedServersAreListedFor = time.Hour

func newWorld(cfg Config, now time.Time) (*world, error) {
	types, err := newCatalog()
	if err != nil {
		return nil, err
	}
	return &world{
		cfg: cfg, now: now, born: now, types: types,
		templates: map[string]LaunchTemplate{}, configs: map[string]LaunchConfiguration{},
		images: map[string]Image{}, aliases: map[string]string{},
		nodegroups: map[nodegroupKey]storedNodegroup{}, denied: map[string]bool{},
		prices: map[priceKey]Price{}, spotPrices: map[spotPool][]spotRecord{}, notOffered: map[place]bool{},
		tokens: map[string]idempotent{}, roles: map[string]Role{}, sessions: map[string]session{}, imdsTokens: map[string]time.Time{},
		groups: map[string]*group{}, dirty: map[string]bool{}, serials: map[string]int{},
		history: []moment{{groups: map[string]*groupView{}}},
	}, nil
}

// advance lets everything happen that falls due until the given time, in order.
func (w *world) advance(to time.Time) {
	for {
		g, at := w.earliest()
		if g == nil || at.After(to) {
			break
		}
		if at.After(w.now) {
			w.now = at
		}
		w.step(g)
		w.commit()
	}
	if to.After(w.now) {
		w.now = to
	}
	w.commit()
	w.forget()
}

// earliest is the group in which something happens next, and when; nil when nothing will. Equal times go by name.
func (w *world) earliest() (*group, time.Time) {
	var next *group
	var when time.Time
	for _, name := range slices.Sorted(maps.Keys(w.groups)) {
		at := w.groups[name].due()
		if !at.IsZero() && (next == nil || at.Before(when)) {
			next, when = w.groups[name], at
		}
	}
	return next, when
}

// due is when the next thing happens in the group; zero: never by itself.
func (g *group) due() time.Time {
	var due time.Time
	consider := func(at time.Time) {
		if !at.IsZero() && (due.IsZero() || at.Before(due)) {
			due = at
		}
	}
	for _, m := range g.machines {
		consider(m.nextAt)
		consider(m.dieAt)
	}
	for _, l := range g.launches {
		consider(l.dueAt)
	}
	consider(g.scaleInAt)
	consider(g.retryAt)
	return due
}

// step lets everything happen in the group that is due now, and then looks at its capacity.
func (w *world) step(g *group) {
	if !g.retryAt.IsZero() && !g.retryAt.After(w.now) {
		g.retryAt = time.Time{}
	}
	w.lose(g)
	for _, m := range slices.Clone(g.machines) {
		if !m.nextAt.IsZero() && !m.nextAt.After(w.now) {
			w.proceed(g, m)
		}
	}
	var rest, arrived []launch
	for _, l := range g.launches {
		if l.dueAt.After(w.now) {
			rest = append(rest, l)
		} else {
			arrived = append(arrived, l)
		}
	}
	g.launches = rest
	slices.SortStableFunc(arrived, func(a, b launch) int {
		return cmp.Or(a.dueAt.Compare(b.dueAt), cmp.Compare(a.activity.serial, b.activity.serial))
	})
	for _, l := range arrived {
		w.arrive(g, l)
	}
	w.reconcile(g)
}

// settle looks at the capacity of all groups that changed, and lets everything happen that is due by then.
func (w *world) settle(now time.Time) {
	for _, name := range slices.Sorted(maps.Keys(w.dirty)) {
		if g, ok := w.groups[name]; ok {
			w.reconcile(g)
		}
	}
	w.advance(now)
}

// drop removes a group with what is left in it.
func (w *world) drop(g *group) {
	for _, m := range slices.Clone(g.machines) {
		w.gone(g, m)
	}
	for _, a := range g.activities {
		a.finish(w.now, ActivityCancelled, "")
		a.deletedAt = w.now
	}
	w.deleted = append(w.deleted, g.activities...)
	delete(w.groups, g.Name)
	w.touch(g)
	w.tell(Event{Kind: EventGroupRemoved, Group: g.Name})
}

// touch says that clients will see another group from now on.
func (w *world) touch(g *group) { w.dirty[g.Name] = true }

// commit makes the changes of this moment visible.
func (w *world) commit() {
	if len(w.dirty) == 0 {
		return
	}
	last := w.history[len(w.history)-1]
	groups := maps.Clone(last.groups)
	for name := range w.dirty {
		g, ok := w.groups[name]
		if !ok {
			delete(groups, name)
			continue
		}
		groups[name] = &groupView{Group: g.Group, arn: g.arn, created: g.created, deleting: g.deleting, machines: slices.Clone(g.machines), warm: slices.Clone(g.warm), refreshing: len(g.refresh)}
	}
	clear(w.dirty)
	if last.at.Equal(w.now) {
		w.history[len(w.history)-1].groups = groups
		return
	}
	w.history = append(w.history, moment{at: w.now, groups: groups})
}

// forget drops what nobody can ask for any more.
func (w *world) forget() {
	oldest := w.now.Add(-w.cfg.StaleHistory)
	for len(w.history) > 1 && !w.history[1].at.After(oldest) {
		w.history = w.history[1:]
	}
	w.ended = slices.DeleteFunc(w.ended, func(e endedServer) bool { return w.now.Sub(e.at) > endedServersAreListedFor })
}

// viewAt is what clients could see at a moment; before the kept history, its oldest part.
func (w *world) viewAt(at time.Time) map[string]*groupView {
	for i := len(w.history) - 1; i > 0; i-- {
		if !w.history[i].at.After(at) {
			return w.history[i].groups
		}
	}
	return w.history[0].groups
}

// find is the group and machine of an instance id; nil when no group has it.
func (w *world) find(id string) (*group, *machine) {
	for _, g := range w.groups {
		for _, m := range g.machines {
			if m.ID == id {
				return g, m
			}
		}
	}
	return nil, nil
}

// isWarm tells whether an instance is in a warm pool.
func (w *world) isWarm(id string) bool {
	for _, g := range w.groups {
		if slices.ContainsFunc(g.warm, func(m *machine) bool { return m.ID == id }) {
			return true
		}
	}
	return false
}

// put replaces a machine of a group by a changed copy, which it returns.
func (w *world) put(g *group, old *machine, change func(*machine)) *machine {
	changed := *old
	change(&changed)
	for i, m := range g.machines {
		if m == old {
			g.machines[i] = &changed
		}
	}
	w.touch(g)
	w.changed = true
	return &changed
}

// hexID makes an id of n hex digits, different for each call and equal in each run with the same seed.
func (w *world) hexID(kind string, n int) string {
	w.serials[kind]++
	sum := sha256.Sum256(fmt.Appendf(nil, "%d/%s/%d", w.cfg.Seed, kind, w.serials[kind]))
	return hex.EncodeToString(sum[:])[:n]
}

// uuid makes an id in the form of a UUID.
func (w *world) uuid(kind string) string {
	h := w.hexID(kind, 32)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
