package launch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"example.com/cluster-autoscaler/cloudprovider/aws/instancetypes"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asg"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/faults"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/launch"
)

// aws answers from maps and keeps the questions.
type aws struct {
	mu             sync.Mutex
	asked          []string
	configurations map[string]launch.Template
	templates      map[string]launch.Template // by id and version
	images         map[string]launch.Image
	machines       map[string]launch.Machine
	aliases        map[asg.TemplateRef]launch.Template
	fitting        []string
	offers         map[string][]string // zones by type
	zones          []launch.Zone
	err            error // of every answer
}

func (a *aws) ask(question string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, question)
	return a.err
}

// questions returns what was asked since the last call, sorted.
func (a *aws) questions() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := a.asked
	a.asked = nil
	slices.Sort(list)
	return list
}

func (a *aws) Configurations(_ context.Context, names []string) (map[string]launch.Template, error) {
	if err := a.ask("configurations " + strings.Join(names, ",")); err != nil {
		return nil, err
	}
	return a.configurations, nil
}

func (a *aws) Template(_ context.Context, ref asg.TemplateRef) (launch.Template, error) {
	if err := a.ask("template " + ref.ID + " " + ref.Version); err != nil {
		return launch.Template{}, err
	}
	t, ok := a.templates[ref.ID+" "+ref.Version]
	if !ok {
		return launch.Template{}, errors.New("no such template")
	}
	return t, nil
}

func (a *aws) Aliases(_ context.Context, calls int) (map[asg.TemplateRef]launch.Template, error) {
	if err := a.ask(fmt.Sprintf("aliases %d", calls)); err != nil {
		return nil, err
	}
	return a.aliases, nil
}

func (a *aws) Image(_ context.Context, id string) (launch.Image, error) {
	if err := a.ask("image " + id); err != nil {
		return launch.Image{}, err
	}
	image, ok := a.images[id]
	if !ok {
		return launch.Image{}, errors.New("no such image")
	}
	return image, nil
}

func (a *aws) Machines(_ context.Context, types []string) (map[string]launch.Machine, error) {
	if err := a.ask("types " + strings.Join(types, ",")); err != nil {
		return nil, err
	}
	return a.machines, nil
}

func (a *aws) Fitting(_ context.Context, requirements asg.Requirements, architecture, virtualization string) ([]string, error) {
	if err := a.ask(strings.TrimSpace("fitting " + string(requirements) + " " + architecture + " " + virtualization)); err != nil {
		return nil, err
	}
	return a.fitting, nil
}

func (a *aws) Offers(_ context.Context, types []string) (map[string][]string, error) {
	if err := a.ask("offers " + strings.Join(types, ",")); err != nil {
		return nil, err
	}
	return a.offers, nil
}

func (a *aws) Zones(context.Context) ([]launch.Zone, error) {
	if err := a.ask("zones"); err != nil {
		return nil, err
	}
	return a.zones, nil
}

func newCache(t *testing.T, a *aws, askTypes bool) (*launch.Cache, *clocktesting.FakeClock) {
	t.Helper()
	builtin, err := instancetypes.Parse("as-of 2026-08\nm5 amd64\n\tlarge 2 8192 3x10\n")
	if err != nil {
		t.Fatal(err)
	}
	clock := clocktesting.NewFakeClock(time.Date(2026, 11, 2, 12, 0, 0, 0, time.UTC))
	return launch.NewCache(a, a, builtin, askTypes, clock), clock
}

// wanted are groups in one zone.
func wanted(launches ...asg.Launch) []launch.Wanted {
	var list []launch.Wanted
	for _, l := range launches {
		list = append(list, launch.Wanted{Launch: l, Zones: []string{"za"}})
	}
	return list
}

func template(id, version string) asg.Launch {
	return asg.Launch{Template: asg.TemplateRef{ID: id, Version: version}}
}

func TestTheCacheGoesByContent(t *testing.T) {
	a := &aws{
		configurations: map[string]launch.Template{"lc": {InstanceType: "m5.large"}},
		templates: map[string]launch.Template{
			"lt-1 3": {InstanceType: "m5.large", ImageID: "ami-1"}, "lt-1 $Latest": {InstanceType: "c5.large", ImageID: "resolve:ssm:/x"},
		},
		images:   map[string]launch.Image{"ami-1": {Windows: true}},
		machines: map[string]launch.Machine{"c5.large": {Type: instancetypes.Type{Name: "c5.large", VCPUs: 2}}, "m5.large": {Type: instancetypes.Type{Name: "m5.large", VCPUs: 9}}},
	}
	cache, clock := newCache(t, a, true)
	all := []asg.Launch{{Configuration: "lc"}, template("lt-1", "3"), template("lt-1", "3"), template("lt-1", "$Latest")}
	steps := []struct {
		after time.Duration
		want  []string
	}{
		{0, []string{"configurations lc", "image ami-1", "template lt-1 $Latest", "template lt-1 3", "types c5.large,m5.large", "zones"}},
		{4 * time.Minute, nil},
		{time.Minute, []string{"template lt-1 $Latest"}}, // an alias can change, a number can't
		{24 * time.Hour, []string{"image ami-1", "template lt-1 $Latest", "types c5.large,m5.large", "zones"}},
	}
	for i, step := range steps {
		clock.Step(step.after)
		cache.Fill(t.Context(), wanted(all...), true)
		if diff := cmp.Diff(step.want, a.questions()); diff != "" {
			t.Errorf("step %d (-want +got):\n%s", i, diff)
		}
	}
	facts, err := cache.Facts(template("lt-1", "3"))
	if err != nil || !facts.Choices[0].Image.Windows || facts.Choices[0].Machine.VCPUs != 9 || facts.Source != "launch template lt-1 version 3" {
		t.Errorf("facts %+v, %v", facts, err)
	}
}

func TestFailuresAreRememberedLongerEachTime(t *testing.T) {
	a := &aws{templates: map[string]launch.Template{}}
	cache, clock := newCache(t, a, false)
	asked := 0
	var waits []time.Duration
	wait := time.Duration(0)
	for range 3 * 60 { // three hours, looking every minute
		cache.Fill(t.Context(), wanted(template("lt-1", "1")), true)
		if slices.Contains(a.questions(), "template lt-1 1") {
			if asked++; asked > 1 {
				waits = append(waits, wait)
			}
			wait = 0
		}
		clock.Step(time.Minute)
		wait += time.Minute
	}
	want := []time.Duration{5 * time.Minute, 10 * time.Minute, 20 * time.Minute, 30 * time.Minute, 30 * time.Minute, 30 * time.Minute, 30 * time.Minute}
	if diff := cmp.Diff(want, waits); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
	if _, err := cache.Facts(template("lt-1", "1")); err == nil || err.Error() != "reading launch template lt-1 version 1: no such template" {
		t.Errorf("%v", err)
	}
}

func TestFailuresThatPassAreRetriedSoonAndTheLastGoodValueStays(t *testing.T) {
	a := &aws{templates: map[string]launch.Template{"lt-1 $Latest": {InstanceType: "m5.large"}}}
	cache, clock := newCache(t, a, false)
	source := template("lt-1", "$Latest")
	cache.Fill(t.Context(), wanted(source), true)
	a.questions()
	a.err = &faults.Error{Class: faults.Throttled}
	clock.Step(5 * time.Minute)
	for range 3 {
		if !cache.Needs(source) {
			t.Error("nothing is needed")
		}
		cache.Fill(t.Context(), wanted(source), true)
		if got := a.questions(); len(got) != 1 {
			t.Errorf("questions %v", got)
		}
		if cache.Needs(source) {
			t.Error("asking again at once")
		}
		if facts, err := cache.Facts(source); err != nil || facts.Choices[0].Type != "m5.large" {
			t.Errorf("facts %+v, %v", facts, err)
		}
		clock.Step(30 * time.Second)
	}
}

func TestWhatIsNoLongerUsedIsForgotten(t *testing.T) {
	a := &aws{templates: map[string]launch.Template{"lt-1 1": {InstanceType: "m5.large"}, "lt-2 1": {InstanceType: "m5.large"}}}
	cache, _ := newCache(t, a, false)
	cache.Fill(t.Context(), wanted(template("lt-1", "1"), template("lt-2", "1")), true)
	cache.Fill(t.Context(), wanted(template("lt-2", "1")), false) // only one of those in use
	if _, err := cache.Facts(template("lt-1", "1")); err != nil {
		t.Errorf("%v", err)
	}
	cache.Fill(t.Context(), wanted(template("lt-2", "1")), true)
	if _, err := cache.Facts(template("lt-1", "1")); err == nil || !strings.Contains(err.Error(), "has not been asked") {
		t.Errorf("%v", err)
	}
}

func TestTypesThatEC2DoesNotTellComeFromTheBuiltInList(t *testing.T) {
	a := &aws{
		configurations: map[string]launch.Template{"lc": {InstanceType: "m5.large"}, "new": {InstanceType: "q9.huge"}},
		machines:       map[string]launch.Machine{},
	}
	cache, clock := newCache(t, a, true)
	all := []asg.Launch{{Configuration: "lc"}, {Configuration: "new"}}
	cache.Fill(t.Context(), wanted(all...), true)
	if m, known := cache.Machine("m5.large"); !known || m.VCPUs != 2 {
		t.Errorf("m5.large: %+v, %v", m, known)
	}
	if _, known := cache.Machine("q9.huge"); known {
		t.Error("a type that nobody knows is known")
	}
	a.questions()
	a.machines = map[string]launch.Machine{"q9.huge": {Type: instancetypes.Type{Name: "q9.huge", VCPUs: 512}}}
	clock.Step(9 * time.Minute)
	cache.Fill(t.Context(), wanted(all...), true)
	if got := a.questions(); len(got) != 0 {
		t.Errorf("asked again within ten minutes: %v", got)
	}
	clock.Step(time.Minute)
	cache.Fill(t.Context(), wanted(all...), true)
	if diff := cmp.Diff([]string{"types m5.large,q9.huge", "zones"}, a.questions()); diff != "" {
		t.Errorf("questions (-want +got):\n%s", diff)
	}
	if facts, err := cache.Facts(asg.Launch{Configuration: "new"}); err != nil || !facts.Choices[0].Known || facts.Choices[0].Machine.VCPUs != 512 {
		t.Errorf("%+v, %v", facts, err)
	}
}

func TestChoicesOfAPolicy(t *testing.T) {
	a := &aws{templates: map[string]launch.Template{
		"lt-1 1": {InstanceType: "m5.large", Volumes: []launch.Volume{{Device: "/dev/xvda", GiB: 1}}},
		"lt-2 1": {Volumes: []launch.Volume{{Device: "/dev/xvda", GiB: 2}}}, "lt-3 1": {Requirements: "{}"},
	}}
	cache, _ := newCache(t, a, false)
	base := asg.TemplateRef{ID: "lt-1", Version: "1"}
	policy := asg.Launch{Template: base, Overrides: []asg.Override{
		{Type: "m5.large", Weight: 2}, {Type: "c5.large", Template: asg.TemplateRef{ID: "lt-2", Version: "1"}},
	}}
	required := asg.Launch{Template: base, Overrides: []asg.Override{{Requirements: "{}"}}}
	own := template("lt-3", "1")
	cache.Fill(t.Context(), wanted(policy, required, own), true)
	facts, err := cache.Facts(policy)
	if err != nil || len(facts.Choices) != 2 || facts.ByRequirements {
		t.Fatalf("%+v, %v", facts, err)
	}
	first, second := facts.Choices[0], facts.Choices[1]
	if first.Type != "m5.large" || first.Weight != 2 || !first.Known || first.Template.Volumes[0].GiB != 1 || second.Type != "c5.large" || second.Known || second.Template.Volumes[0].GiB != 2 {
		t.Errorf("%+v", facts)
	}
	for name, l := range map[string]asg.Launch{"a policy": required, "a template": own} {
		if facts, err := cache.Facts(l); err != nil || !facts.ByRequirements || len(facts.Choices) != 1 || facts.Choices[0].Type != "" {
			t.Errorf("%s with requirements: %+v, %v", name, facts, err)
		}
	}
	if _, err := cache.Facts(asg.Launch{}); err == nil || !strings.Contains(err.Error(), "neither a launch template nor a launch configuration") {
		t.Errorf("%v", err)
	}
}

func TestManyAliasesAreAskedAboutAtOnce(t *testing.T) {
	a := &aws{templates: map[string]launch.Template{"lt-7 $Latest": {InstanceType: "m5.large"}}, aliases: map[asg.TemplateRef]launch.Template{}, zones: []launch.Zone{{Name: "za"}}}
	var all []asg.Launch
	for i := range 8 {
		ref := asg.TemplateRef{ID: fmt.Sprintf("lt-%d", i), Name: "n", Version: "$Latest"}
		all = append(all, asg.Launch{Template: ref})
		if i != 7 { // the last one is on a page that was too many
			a.aliases[asg.TemplateRef{ID: ref.ID, Version: ref.Version}] = launch.Template{InstanceType: "m5.large"}
		}
	}
	cache, clock := newCache(t, a, false)
	steps := []struct {
		after time.Duration
		fail  error
		want  []string
	}{
		{want: []string{"aliases 4", "template lt-7 $Latest", "zones"}},
		{after: time.Minute},
		{after: 4 * time.Minute, want: []string{"aliases 4", "template lt-7 $Latest"}},
		{after: 5 * time.Minute, fail: &faults.Error{Class: faults.Throttled}, want: []string{"aliases 4"}},
		{after: 30 * time.Second, want: []string{"aliases 4", "template lt-7 $Latest"}},
	}
	for i, step := range steps {
		clock.Step(step.after)
		a.err = step.fail
		cache.Fill(t.Context(), wanted(all...), true)
		if diff := cmp.Diff(step.want, a.questions()); diff != "" {
			t.Errorf("step %d (-want +got):\n%s", i, diff)
		}
		for _, l := range all {
			if facts, err := cache.Facts(l); err != nil || facts.Choices[0].Type != "m5.large" {
				t.Errorf("step %d: %s: %+v, %v", i, l.Template, facts, err)
			}
		}
	}
}

func TestTypesThatFitRequirementsAreAskedForOncePerQuestion(t *testing.T) {
	a := &aws{
		templates: map[string]launch.Template{"lt-1 1": {ImageID: "ami-1"}, "lt-2 1": {ImageID: "ami-2", Requirements: "{b}"}},
		images:    map[string]launch.Image{"ami-1": {Architecture: "arm64", Virtualization: "hvm"}},
		fitting:   []string{"m5.large", "q9.huge"}, machines: map[string]launch.Machine{},
		offers: map[string][]string{"m5.large": {"za"}},
	}
	base := asg.TemplateRef{ID: "lt-1", Version: "1"}
	policy := asg.Launch{Template: base, Overrides: []asg.Override{{Requirements: "{a}"}}}
	twin := asg.Launch{Template: base, Overrides: []asg.Override{{Requirements: "{a}"}}}
	own := template("lt-2", "1") // of an image that nobody knows
	cache, clock := newCache(t, a, true)
	cache.Fill(t.Context(), wanted(policy, twin, own), true)
	want := []string{
		"fitting {a} arm64 hvm", "fitting {b}", "image ami-1", "image ami-2", "offers m5.large,q9.huge", "template lt-1 1", "template lt-2 1", "types m5.large,q9.huge", "zones",
	}
	if diff := cmp.Diff(want, a.questions()); diff != "" {
		t.Errorf("questions (-want +got):\n%s", diff)
	}
	facts, err := cache.Facts(policy)
	if err != nil || !facts.ByRequirements || len(facts.Choices) != 2 || !facts.Choices[0].Known || facts.Choices[1].Known {
		t.Fatalf("facts %+v, %v", facts, err)
	}
	if diff := cmp.Diff([][]string{{"za"}, nil}, [][]string{facts.Choices[0].Zones, facts.Choices[1].Zones}); diff != "" {
		t.Errorf("zones (-want +got):\n%s", diff)
	}
	version := cache.Version()
	clock.Step(59 * time.Minute)
	cache.Fill(t.Context(), wanted(policy, twin, own), true)
	if got := a.questions(); slices.ContainsFunc(got, func(q string) bool { return strings.HasPrefix(q, "fitting") }) {
		t.Errorf("asked again within an hour: %v", got)
	}
	if cache.Version() != version {
		t.Error("the version changed although nothing did")
	}
	a.fitting = nil
	clock.Step(2 * time.Minute)
	cache.Fill(t.Context(), wanted(policy), true)
	if facts, err := cache.Facts(policy); err != nil || len(facts.Choices) != 2 {
		t.Errorf("the last good answer is gone: %+v, %v", facts, err)
	}
}

func TestZonesAreLookedUpByNameAndIDAndStrangersAskedForSeldom(t *testing.T) {
	a := &aws{configurations: map[string]launch.Template{"lc": {InstanceType: "m5.large"}}, zones: []launch.Zone{{Name: "za", ID: "z-1", Region: "r"}}}
	cache, clock := newCache(t, a, false)
	group := launch.Wanted{Launch: asg.Launch{Configuration: "lc"}, Zones: []string{"za"}}
	ask := func(after time.Duration, w launch.Wanted) int {
		clock.Step(after)
		cache.Fill(t.Context(), []launch.Wanted{w}, true)
		return len(slices.DeleteFunc(a.questions(), func(q string) bool { return q != "zones" }))
	}
	strange := launch.Wanted{Launch: group.Launch, ZoneIDs: []string{"z-2"}}
	got := []int{ask(0, group), ask(time.Minute, group), ask(time.Minute, strange), ask(8*time.Minute, strange), ask(time.Minute, strange)}
	if diff := cmp.Diff([]int{1, 0, 0, 1, 0}, got); diff != "" {
		t.Errorf("questions (-want +got):\n%s", diff)
	}
	for _, name := range []string{"za", "z-1"} {
		if zone, known := cache.Zone(name); !known || zone.Region != "r" {
			t.Errorf("%s: %+v, %v", name, zone, known)
		}
	}
	if _, known := cache.Zone(""); known {
		t.Error("a zone without a name is known")
	}
}

func TestWhileAWSDoesNotAnswerNobodyIsAskedOutOfTurn(t *testing.T) {
	a := &aws{err: &faults.Error{Class: faults.Unanswered}, templates: map[string]launch.Template{"lt-1 1": {InstanceType: "m5.large"}}}
	cache, clock := newCache(t, a, false)
	one, two := template("lt-1", "1"), template("lt-2", "1")
	cache.Fill(t.Context(), wanted(one), false)
	if cache.Needs(one) || cache.Needs(two) {
		t.Error("each group would wait for an answer that does not come")
	}
	clock.Step(30 * time.Second)
	if !cache.Needs(one) || !cache.Needs(two) {
		t.Error("half a minute later nobody asks")
	}
}
