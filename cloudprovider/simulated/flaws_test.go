package simulated_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/cloudtest"
)

// flaws are ways to break the contract, each with the check that has to notice.
var flaws = map[string]string{
	"known at birth":               "before the first refresh nothing is known",
	"wrong maximum":                "a refresh shows every group as it is",
	"order by chance":              "groups and instances keep their order",
	"live sizes":                   "the view stays as it is until the next refresh",
	"live sizes in old groups":     "a group of an old view keeps answering from it",
	"placeholders share an id":     "every missing machine is listed under an id of its own",
	"errors hidden":                "a machine that cannot come is listed with its error",
	"ending machines run":          "an ending machine does not count and is not listed as running",
	"placeholders without group":   "every node finds its group",
	"strangers are errors":         "a node of nobody belongs to no group and is no error",
	"templates are shared":         "templates are complete, told apart, and owned by the caller",
	"a channel for each call":      "the name and the channel of changes stay",
	"grants too much":              "an increase is granted in full and machines come",
	"increase from the view":       "an increase counts from the target as it is now",
	"no maximum":                   "an increase beyond the maximum is refused with the room there is",
	"maximum of the view":          "an increase keeps to a maximum that was lowered behind our back",
	"nothing is fine":              "an increase or decrease by nothing is an error and no write",
	"decrease ends machines":       "a decrease never touches machines that exist",
	"decrease cancels arrivals":    "a decrease never touches what may still arrive",
	"decrease by the view":         "a decrease is judged on what has arrived since the view",
	"nothing is withdrawn":         "a decrease withdraws what failed, and no more than asked",
	"decrease below the minimum":   "a decrease stops at the minimum as it is now",
	"contexts are ignored":         "a cancelled write changes nothing",
	"the oldest die":               "a deletion ends exactly these machines and lowers the target",
	"deleting again lowers again":  "a deletion of what ends or is gone succeeds and changes nothing",
	"names count twice":            "a machine that is named twice is deleted once",
	"empty deletions fail":         "a deletion of nothing does nothing",
	"deletes part of a list":       "a deletion below the minimum deletes nothing at all",
	"minimum of the view":          "a deletion respects a minimum that was raised behind our back",
	"deletes for others":           "a node of another group is not deleted",
	"failures can't be deleted":    "a request that failed can be deleted like a machine",
	"placeholders mean machines":   "the placeholder of a machine that has come does not stand for it",
	"atomic grants a part":         "an atomic increase grants all or nothing",
	"force ignores the target":     "a forced deletion passes over the minimum and the target does not fall below it",
	"everything exists":            "machines that end or never were do not exist",
	"label comes late":             "the types of accelerators are listed in order under one label",
	"prices rise":                  "prices are above zero and the same each time",
	"limits are written over":      "limits of the provider leave those of the flags untouched",
	"one group fails all":          "a group that cannot be read leaves the others alone",
	"a failed refresh forgets":     "a cloud that cannot be read leaves the view in force",
	"errors without type":          "a refused write says what to do about it and changes nothing",
	"lost answers look refused":    "a write whose answer is lost is told as such",
	"removed groups are busy":      "a group that was removed is gone and leaves the view",
	"refused increases are told":   "increases at once never pass the maximum and are all counted",
	"refused deletions are denied": "deletions at once never pass the minimum",
	"deletions buy machines":       "all methods may be called at once",
}

// broken is a simulated cloud with one flaw.
type broken struct {
	*harness
	*brokenCloud
}

func (b broken) Provider() cloudprovider.CloudProvider { return b.brokenCloud }

type brokenCloud struct {
	cloudprovider.CloudProvider
	harness *harness
	flaw    string

	mu     sync.Mutex
	turns  int
	failed bool
	shared map[cloudprovider.GroupID][]cloudprovider.TemplateVariant
}

func newBroken(tb testing.TB, flaw string, groups ...cloudtest.Group) broken {
	tb.Helper()
	h := newHarness(tb, groups...)
	if flaw == "known at birth" {
		h.must(h.cloud.Refresh(tb.Context()))
	}
	return broken{harness: h, brokenCloud: &brokenCloud{
		CloudProvider: h.cloud, harness: h, flaw: flaw, shared: map[cloudprovider.GroupID][]cloudprovider.TemplateVariant{},
	}}
}

func (c *brokenCloud) turn() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turns++
	return c.turns
}

func (c *brokenCloud) Refresh(ctx context.Context) error {
	if c.flaw == "contexts are ignored" {
		ctx = context.WithoutCancel(ctx)
	}
	err := c.CloudProvider.Refresh(ctx)
	c.mu.Lock()
	c.failed = err != nil
	c.mu.Unlock()
	if c.flaw == "one group fails all" && len(c.GroupErrors()) > 0 {
		return c.GroupErrors()[0].Err
	}
	return err
}

func (c *brokenCloud) NodeGroups() []cloudprovider.NodeGroup {
	groups := c.CloudProvider.NodeGroups()
	c.mu.Lock()
	forget := c.flaw == "a failed refresh forgets" && c.failed
	c.mu.Unlock()
	if forget {
		return nil
	}
	for i, g := range groups {
		groups[i] = &brokenGroup{NodeGroup: g, cloud: c}
	}
	if c.flaw == "order by chance" && c.turn()%2 == 0 {
		slices.Reverse(groups)
	}
	return groups
}

func (c *brokenCloud) GroupOf(node *corev1.Node) (cloudprovider.GroupID, error) {
	if c.flaw == "placeholders without group" && node.Name == node.Spec.ProviderID && node.Name != "" {
		return "", nil
	}
	id, err := c.CloudProvider.GroupOf(node)
	if c.flaw == "strangers are errors" && id == "" {
		return "", errors.New("whose node is this?")
	}
	return id, err
}

func (c *brokenCloud) Changed() <-chan struct{} {
	if c.flaw == "a channel for each call" {
		return make(chan struct{})
	}
	return c.CloudProvider.Changed()
}

func (c *brokenCloud) InstanceExists(node *corev1.Node) (exists, known bool) {
	exists, known = c.harness.cloud.InstanceExists(node)
	return exists || c.flaw == "everything exists", known
}

func (c *brokenCloud) GPULabel() string {
	if c.flaw == "label comes late" && len(c.CloudProvider.NodeGroups()) == 0 {
		return ""
	}
	return c.harness.cloud.GPULabel()
}

func (c *brokenCloud) GPUTypes() []string { return c.harness.cloud.GPUTypes() }

func (c *brokenCloud) NodePricePerHour(node *corev1.Node) (float64, error) {
	price, err := c.harness.cloud.NodePricePerHour(node)
	if c.flaw == "prices rise" {
		price += float64(c.turn())
	}
	return price, err
}

func (c *brokenCloud) PodPricePerHour(pod *corev1.Pod) (float64, error) {
	return c.harness.cloud.PodPricePerHour(pod)
}

func (c *brokenCloud) ResourceLimits(defaults cloudprovider.ResourceLimits) cloudprovider.ResourceLimits {
	if c.flaw == "limits are written over" {
		defaults.Max["memory"] = 1
	}
	return c.harness.cloud.ResourceLimits(defaults)
}

type brokenGroup struct {
	cloudprovider.NodeGroup
	cloud *brokenCloud
}

func (g *brokenGroup) State() cloudprovider.GroupState {
	s := g.NodeGroup.State()
	s.Instances = slices.Clone(s.Instances)
	switch g.cloud.flaw {
	case "wrong maximum":
		s.Max++
	case "live sizes", "live sizes in old groups":
		s.Target = g.target()
	}
	for i := range s.Instances {
		switch {
		case g.cloud.flaw == "placeholders share an id" && s.Instances[i].Placeholder:
			s.Instances[i].ID = "placeholder"
		case g.cloud.flaw == "errors hidden":
			s.Instances[i].Error = nil
		case g.cloud.flaw == "ending machines run":
			s.Instances[i].State = cloudprovider.InstanceRunning
		}
	}
	return s
}

func (g *brokenGroup) Templates(ctx context.Context) ([]cloudprovider.TemplateVariant, error) {
	variants, err := g.NodeGroup.Templates(ctx)
	if g.cloud.flaw != "templates are shared" {
		return variants, err
	}
	g.cloud.mu.Lock()
	defer g.cloud.mu.Unlock()
	if g.cloud.shared[g.ID()] == nil {
		g.cloud.shared[g.ID()] = variants
	}
	return g.cloud.shared[g.ID()], err
}

// target is the size by which the cloud itself goes.
func (g *brokenGroup) target() int { return g.cloud.harness.Truth(g.ID()).Target }

// force sets the target whatever the contract says.
func (g *brokenGroup) force(target int) { g.cloud.harness.SetTarget(g.ID(), target) }

func (g *brokenGroup) IncreaseSize(ctx context.Context, delta int) (int, error) {
	viewed := g.NodeGroup.State()
	switch g.cloud.flaw {
	case "contexts are ignored":
		ctx = context.WithoutCancel(ctx)
	case "nothing is fine":
		if delta <= 0 {
			return 0, nil
		}
	case "grants too much":
		_, err := g.NodeGroup.IncreaseSize(ctx, max(delta-1, 1))
		return delta, err
	case "increase from the view":
		g.force(viewed.Target + delta)
		return delta, nil
	case "no maximum":
		g.force(g.target() + delta)
		return delta, nil
	case "maximum of the view":
		if g.target()+delta <= viewed.Max {
			g.force(g.target() + delta)
			return delta, nil
		}
	}
	granted, err := g.NodeGroup.IncreaseSize(ctx, delta)
	if g.cloud.flaw == "refused increases are told" {
		return delta, nil
	}
	return granted, g.spoil(err)
}

func (g *brokenGroup) DecreaseTargetSize(ctx context.Context, by int) (int, error) {
	truth := g.cloud.harness.Truth(g.ID())
	down := func(floor int) (int, error) {
		lowered := max(min(by, truth.Target-floor), 0)
		g.force(truth.Target - lowered)
		return lowered, nil
	}
	if by > 0 {
		switch g.cloud.flaw {
		case "decrease ends machines":
			return down(0)
		case "decrease cancels arrivals", "decrease below the minimum":
			return down(len(truth.Machines))
		case "decrease by the view":
			exist := slices.DeleteFunc(g.State().Instances, func(i cloudprovider.Instance) bool { return i.Placeholder })
			return down(len(exist))
		case "nothing is withdrawn":
			return 0, nil
		}
	}
	if g.cloud.flaw == "contexts are ignored" {
		ctx = context.WithoutCancel(ctx)
	}
	lowered, err := g.NodeGroup.DecreaseTargetSize(ctx, by)
	return lowered, g.spoil(err)
}

func (g *brokenGroup) DeleteNodes(ctx context.Context, nodes []cloudprovider.NodeRef) ([]cloudprovider.DeleteOutcome, error) {
	machines := g.cloud.harness.Truth(g.ID()).Machines
	asked := slices.Clone(nodes)
	fine := make([]cloudprovider.DeleteOutcome, len(nodes))
	for i, n := range nodes {
		fine[i].Node = n
	}
	switch g.cloud.flaw {
	case "contexts are ignored":
		ctx = context.WithoutCancel(ctx)
	case "the oldest die":
		for i := range asked {
			asked[i] = cloudprovider.NodeRef{ProviderID: machines[i]}
		}
	case "deleting again lowers again":
		for _, n := range nodes {
			if !slices.Contains(machines, n.ProviderID) {
				g.force(g.target() - 1)
			}
		}
	case "empty deletions fail":
		if len(nodes) == 0 {
			return nil, errors.New("nothing to delete")
		}
	case "deletes part of a list":
		for i := range nodes {
			_, fine[i].Err = g.NodeGroup.DeleteNodes(ctx, nodes[i:i+1])
		}
		return fine, nil
	case "minimum of the view":
		if g.State().Target-len(nodes) >= g.State().Min {
			outcomes, err := g.ForceDeleteNodes(ctx, nodes)
			g.force(g.State().Target - len(nodes))
			return outcomes, err
		}
	case "deletes for others":
		for i, n := range nodes {
			id, _ := g.cloud.GroupOf(&corev1.Node{Spec: corev1.NodeSpec{ProviderID: n.ProviderID}})
			_, fine[i].Err = find(g.cloud.CloudProvider, id).DeleteNodes(ctx, nodes[i:i+1])
		}
		return fine, nil
	case "failures can't be deleted":
		for i, n := range nodes {
			if n.Name == n.ProviderID {
				fine[i].Err = errors.New("no such machine")
			}
		}
		return fine, nil
	case "placeholders mean machines":
		for i := range asked {
			asked[i].ProviderID = strings.Replace(asked[i].ProviderID, "placeholder-", "", 1)
		}
	}
	outcomes, err := g.NodeGroup.DeleteNodes(ctx, asked)
	if g.cloud.flaw == "refused deletions are denied" {
		return fine, nil
	}
	if g.cloud.flaw == "names count twice" && len(nodes) == 2 && nodes[0].Name == nodes[1].Name {
		g.force(g.target() - 1)
	}
	if g.cloud.flaw == "deletions buy machines" {
		g.force(g.target() + 1)
	}
	for i := range outcomes {
		outcomes[i] = cloudprovider.DeleteOutcome{Node: nodes[i], Err: g.spoil(outcomes[i].Err)}
	}
	return outcomes, g.spoil(err)
}

func (g *brokenGroup) IncreaseSizeAtomically(ctx context.Context, delta int) (int, error) {
	granted, err := g.NodeGroup.(cloudprovider.AtomicIncreaser).IncreaseSizeAtomically(ctx, delta)
	if stale, ok := errors.AsType[*cloudprovider.StaleBoundsError](err); ok && g.cloud.flaw == "atomic grants a part" {
		granted, _ = g.IncreaseSize(ctx, stale.Room)
	}
	return granted, err
}

func (g *brokenGroup) ForceDeleteNodes(ctx context.Context, nodes []cloudprovider.NodeRef) ([]cloudprovider.DeleteOutcome, error) {
	before := g.target()
	outcomes, err := g.NodeGroup.(cloudprovider.ForceDeleter).ForceDeleteNodes(ctx, nodes)
	if g.cloud.flaw == "force ignores the target" {
		g.force(before - len(nodes))
	}
	return outcomes, err
}

// spoil tells errors wrongly.
func (g *brokenGroup) spoil(err error) error {
	lost, isTransient := errors.AsType[*cloudprovider.TransientError](err)
	gone, isGone := errors.AsType[*cloudprovider.GoneError](err)
	switch {
	case err == nil:
		return nil
	case g.cloud.flaw == "errors without type":
		return errors.New(err.Error())
	case g.cloud.flaw == "lost answers look refused" && isTransient:
		return &cloudprovider.TransientError{Err: lost.Err}
	case g.cloud.flaw == "removed groups are busy" && isGone:
		return &cloudprovider.TransientError{Err: gone.Err}
	}
	return err
}

func find(cloud cloudprovider.CloudProvider, id cloudprovider.GroupID) cloudprovider.NodeGroup {
	groups := cloud.NodeGroups()
	return groups[slices.IndexFunc(groups, func(g cloudprovider.NodeGroup) bool { return g.ID() == id })]
}

// recorder is a test that may fail without anybody minding.
type recorder struct {
	testing.TB
	mu       sync.Mutex
	messages []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.messages = append(r.messages, fmt.Sprintf(format, args...))
}

func (r *recorder) Error(args ...any) { r.Errorf("%s", fmt.Sprintln(args...)) }

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Fatal(args ...any) { r.Fatalf("%s", fmt.Sprintln(args...)) }

func (r *recorder) Skip(args ...any) { r.Fatalf("skipped: %s", fmt.Sprintln(args...)) }

// failures runs a check on a cloud with a flaw and returns what the check complains about.
func failures(t *testing.T, check cloudtest.Check, flaw string) []string {
	t.Helper()
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		check.Run(r, func(tb testing.TB, groups ...cloudtest.Group) cloudtest.Harness {
			tb.Helper()
			return newBroken(tb, flaw, groups...)
		})
	}()
	<-done
	return r.messages
}

func TestEveryBrokenPromiseIsNoticedByItsCheck(t *testing.T) {
	checks := map[string]cloudtest.Check{}
	for _, c := range cloudtest.Checks() {
		checks[c.Name] = c
	}
	for _, flaw := range slices.Sorted(maps.Keys(flaws)) {
		t.Run(flaw, func(t *testing.T) {
			check, ok := checks[flaws[flaw]]
			if !ok {
				t.Fatalf("there is no check %q", flaws[flaw])
			}
			if got := failures(t, check, ""); len(got) != 0 {
				t.Errorf("the check fails without the flaw: %q", got)
			}
			if got := failures(t, check, flaw); len(got) == 0 {
				t.Errorf("the check %q did not notice", check.Name)
			}
		})
	}
}

func TestEveryCheckIsKnownToFailForSomeFlaw(t *testing.T) {
	covered := map[string]bool{}
	for _, name := range flaws {
		covered[name] = true
	}
	for _, c := range cloudtest.Checks() {
		if !covered[c.Name] {
			t.Errorf("no flaw makes the check %q fail", c.Name)
		}
	}
}
