package managed_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"example.com/cluster-autoscaler/cloudprovider/aws/internal/faults"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/managed"
)

// eks answers from a map and keeps the questions.
type eks struct {
	mu     sync.Mutex
	asked  []string
	groups map[managed.Key]managed.Description
	err    error // of every answer
}

func (e *eks) NodeGroup(_ context.Context, key managed.Key) (managed.Description, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked = append(e.asked, key.Cluster+"/"+key.NodeGroup)
	if e.err != nil {
		return managed.Description{}, e.err
	}
	return e.groups[key], nil
}

// questions returns what was asked since the last call, sorted.
func (e *eks) questions() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := e.asked
	e.asked = nil
	slices.Sort(list)
	return list
}

func newCache(e *eks) (*managed.Cache, *clocktesting.FakeClock) {
	clock := clocktesting.NewFakeClock(time.Date(2026, 11, 2, 12, 0, 0, 0, time.UTC))
	return managed.NewCache(e, clock), clock
}

func failure(class faults.Class) error {
	return &faults.Error{Operation: "DescribeNodegroup", Class: class, Message: "no"}
}

var batch = managed.Key{Cluster: "c", NodeGroup: "batch"}

// waits asks every 10 s for so long and returns the pauses between the questions about a node group.
func waits(t *testing.T, e *eks, cache *managed.Cache, clock *clocktesting.FakeClock, long time.Duration) []time.Duration {
	t.Helper()
	var pauses []time.Duration
	var last time.Time
	for end := clock.Now().Add(long); clock.Now().Before(end); clock.Step(10 * time.Second) {
		cache.Fill(t.Context(), []managed.Wanted{{Key: batch}}, true)
		if len(e.questions()) > 0 {
			if !last.IsZero() {
				pauses = append(pauses, clock.Now().Sub(last))
			}
			last = clock.Now()
		}
	}
	return pauses
}

func TestNodeGroupsOfOneNameInTwoClustersAreKeptApart(t *testing.T) {
	other := managed.Key{Cluster: "d", NodeGroup: "batch"}
	e := &eks{groups: map[managed.Key]managed.Description{batch: {AMIType: "A"}, other: {AMIType: "B"}}}
	cache, _ := newCache(e)
	cache.Fill(t.Context(), []managed.Wanted{{Key: batch}, {Key: other}, {Key: batch}}, true)
	if diff := cmp.Diff([]string{"c/batch", "d/batch"}, e.questions()); diff != "" {
		t.Errorf("questions (-want +got):\n%s", diff)
	}
	for key, want := range e.groups {
		if got, known, err := cache.Of(key); !known || err != nil || got.AMIType != want.AMIType {
			t.Errorf("%s: %+v, %v, %v", key, got, known, err)
		}
	}
}

func TestAnAnswerLastsTenMinutesGiveOrTakeOne(t *testing.T) {
	e := &eks{groups: map[managed.Key]managed.Description{batch: {Status: managed.Active}}}
	cache, clock := newCache(e)
	seen := map[time.Duration]bool{}
	for _, pause := range waits(t, e, cache, clock, 5*time.Hour) {
		seen[pause] = true
		if pause < 9*time.Minute || pause > 11*time.Minute+10*time.Second {
			t.Errorf("a pause of %s", pause)
		}
	}
	if len(seen) < 5 {
		t.Errorf("pauses %v: no jitter", seen)
	}
}

func TestWhileEKSIsAtWorkItIsAskedMoreOften(t *testing.T) {
	e := &eks{groups: map[managed.Key]managed.Description{batch: {Status: managed.Updating}}}
	cache, clock := newCache(e)
	if diff := cmp.Diff([]time.Duration{2 * time.Minute, 2 * time.Minute}, waits(t, e, cache, clock, 5*time.Minute)); diff != "" {
		t.Errorf("pauses (-want +got):\n%s", diff)
	}
}

func TestAFailureIsRetriedAfterOneTwoFourAndThenEveryFiveMinutes(t *testing.T) {
	for class, want := range map[faults.Class][]time.Duration{
		faults.Denied:    {time.Minute, 2 * time.Minute, 4 * time.Minute, 5 * time.Minute, 5 * time.Minute},
		faults.Throttled: {30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 5 * time.Minute},
	} {
		e := &eks{err: failure(class)}
		cache, clock := newCache(e)
		if diff := cmp.Diff(want, waits(t, e, cache, clock, 18*time.Minute)[:5]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", class, diff)
		}
		if _, known, err := cache.Of(batch); known || faults.ClassOf(err) != class {
			t.Errorf("%s: known %v, %v", class, known, err)
		}
	}
}

func TestTheLastGoodAnswerStaysWhateverHappens(t *testing.T) {
	e := &eks{groups: map[managed.Key]managed.Description{batch: {AMIType: "A"}}}
	cache, clock := newCache(e)
	cache.Fill(t.Context(), []managed.Wanted{{Key: batch}}, true)
	e.err = failure(faults.NotFound)
	clock.Step(time.Hour)
	cache.Fill(t.Context(), []managed.Wanted{{Key: batch}}, true)
	if got, known, err := cache.Of(batch); got.AMIType != "A" || !known || faults.ClassOf(err) != faults.NotFound {
		t.Errorf("%+v, %v, %v", got, known, err)
	}
	e.err = nil
	clock.Step(time.Minute)
	cache.Fill(t.Context(), []managed.Wanted{{Key: batch}}, true)
	if _, _, err := cache.Of(batch); err != nil {
		t.Errorf("after a good answer: %v", err)
	}
	cache.Fill(t.Context(), nil, false) // not all that are in use
	if _, known, _ := cache.Of(batch); !known {
		t.Error("forgotten although others may use it")
	}
	cache.Fill(t.Context(), nil, true)
	if _, known, _ := cache.Of(batch); known {
		t.Error("kept although nobody uses it")
	}
}

func TestANewMarkAsksAtOnceButNotWhileEKSFails(t *testing.T) {
	e := &eks{groups: map[managed.Key]managed.Description{batch: {}}}
	cache, clock := newCache(e)
	ask := func(mark string) int {
		clock.Step(time.Second)
		cache.Fill(t.Context(), []managed.Wanted{{Key: batch, Mark: mark}}, true)
		return len(e.questions())
	}
	if got := []int{ask("1"), ask("1"), ask("2"), ask("2")}; !slices.Equal(got, []int{1, 0, 1, 0}) {
		t.Errorf("questions %v", got)
	}
	e.err = failure(faults.Denied)
	if got := []int{ask("3"), ask("3"), ask("4")}; !slices.Equal(got, []int{1, 0, 0}) {
		t.Errorf("questions while it fails %v", got)
	}
}

func TestManyNodeGroupsAreAskedInTurnsThoseWithoutNodesFirst(t *testing.T) {
	e := &eks{}
	cache, _ := newCache(e)
	var wanted []managed.Wanted
	for i := range 100 {
		wanted = append(wanted, managed.Wanted{Key: managed.Key{Cluster: "c", NodeGroup: fmt.Sprintf("ng-%03d", i)}, First: i >= 80})
	}
	var rounds []int
	for range 4 {
		cache.Fill(t.Context(), wanted, true)
		asked := e.questions()
		rounds = append(rounds, len(asked))
		if len(rounds) == 1 && !slices.Contains(asked, "c/ng-099") {
			t.Errorf("the first round lacks a node group without nodes: %v", asked)
		}
	}
	if diff := cmp.Diff([]int{40, 40, 20, 0}, rounds); diff != "" {
		t.Errorf("questions per round (-want +got):\n%s", diff)
	}
}

func TestAQuestionThatIsThrottledOrNotAnsweredEndsTheRoundAndPausesAll(t *testing.T) {
	for _, class := range []faults.Class{faults.Throttled, faults.Unanswered, faults.Unreachable} {
		testPause(t, class)
	}
}

func testPause(t *testing.T, class faults.Class) {
	t.Helper()
	e := &eks{err: failure(class)}
	cache, clock := newCache(e)
	var wanted []managed.Wanted
	for i := range 30 {
		wanted = append(wanted, managed.Wanted{Key: managed.Key{Cluster: "c", NodeGroup: fmt.Sprint(i)}})
	}
	cache.Fill(t.Context(), wanted, true)
	if got := len(e.questions()); got > 8 { // as many as are under way, and those that replace the ones that end in the same moment
		t.Errorf("%s: %d questions", class, got)
	}
	e.err = nil
	clock.Step(29 * time.Second)
	cache.Fill(t.Context(), wanted, true)
	if got := len(e.questions()); got != 0 {
		t.Errorf("%s: %d questions in the pause", class, got)
	}
	clock.Step(time.Second)
	cache.Fill(t.Context(), wanted, true)
	if got := len(e.questions()); got != 30 {
		t.Errorf("%s: %d questions after the pause", class, got)
	}
	e.err = failure(class)
	clock.Step(time.Hour)
	cache.Fill(t.Context(), wanted, true)
	e.questions()
	clock.Step(30 * time.Second) // a good answer has made pauses short again
	cache.Fill(t.Context(), wanted, true)
	if len(e.questions()) == 0 {
		t.Errorf("%s: no question 30 s after the first failure since", class)
	}
}

func TestWhatTheTypeOfTheImageTells(t *testing.T) {
	type facts struct {
		Windows, Bottlerocket, EKS bool
		Release, Arch              string
	}
	for amiType, want := range map[string]facts{
		"AL2_x86_64":                          {EKS: true, Arch: "amd64"},
		"AL2_x86_64_GPU":                      {EKS: true, Arch: "amd64"},
		"AL2_ARM_64":                          {EKS: true, Arch: "arm64"},
		"AL2023_x86_64_STANDARD":              {EKS: true, Arch: "amd64"},
		"AL2023_ARM_64_NVIDIA":                {EKS: true, Arch: "arm64"},
		"BOTTLEROCKET_ARM_64_NVIDIA_FIPS":     {EKS: true, Arch: "arm64", Bottlerocket: true},
		"WINDOWS_CORE_2022_x86_64":            {EKS: true, Arch: "amd64", Windows: true, Release: "2022"},
		"WINDOWS_FULL_2025_x86_64":            {EKS: true, Arch: "amd64", Windows: true, Release: "2025"},
		"CUSTOM":                              {},
		"":                                    {},
		"SOMETHING_NEW_THAT_NOBODY_KNOWS_YET": {EKS: true},
	} {
		d := managed.Description{AMIType: amiType}
		got := facts{Windows: d.Windows(), Bottlerocket: d.Bottlerocket(), EKS: d.EKSImage(), Release: d.WindowsRelease(), Arch: d.Architecture()}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", amiType, diff)
		}
	}
}
