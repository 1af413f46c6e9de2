package placeholders_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asg"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/placeholders"
)

var noon = time.Date(2026, 11, 2, 12, 0, 0, 0, time.UTC)

const noCapacity = "We currently do not have sufficient m5.large capacity in the Availability Zone you requested."

// state renders the places: their numbers, failed ones with an exclamation mark.
func state(l *placeholders.Ledger) string {
	var text strings.Builder
	for _, p := range l.Open() {
		fmt.Fprintf(&text, " %d", p.Number)
		if p.Failure != nil {
			text.WriteByte('!')
		}
	}
	return text.String()
}

func failed(id string, at time.Duration, zone string) asg.Activity {
	a := asg.Activity{
		ID: id, Description: "Launching a new EC2 instance.  Status Reason: " + noCapacity, Status: asg.StatusFailed, Message: noCapacity,
		Start: noon.Add(at), End: noon.Add(at),
	}
	if zone != "" {
		a.Details = `{"Availability Zone":"` + zone + `"}`
	}
	return a
}

func TestPlacesOpenAndAreUsedUpInOrderAndNumbersNeverReturn(t *testing.T) {
	var l placeholders.Ledger
	steps := []struct {
		missing, arrived int
		want             string
	}{
		{missing: 3, want: " 0 1 2"},
		{missing: 2, arrived: 1, want: " 1 2"},
		{missing: 3, arrived: 0, want: " 1 2 3"},
		{missing: 3, arrived: 1, want: " 2 3 4"}, // one came and another one is missing instead
		{missing: 1, arrived: 0, want: " 2"},     // somebody lowered the target: the youngest go
		{missing: 0, arrived: 5, want: ""},
		{missing: 1, arrived: 2, want: " 5"},
	}
	for i, step := range steps {
		l.Settle(placeholders.Change{Missing: step.missing, Arrived: step.arrived, At: noon, From: noon})
		if got := state(&l); got != step.want {
			t.Fatalf("step %d: places%s, want%s", i, got, step.want)
		}
	}
}

func TestAnArrivalUsesUpAHopefulPlaceAndALowerTargetAFailedOne(t *testing.T) {
	var l placeholders.Ledger
	l.Settle(placeholders.Change{Missing: 3, At: noon, From: noon})
	l.Judge(placeholders.Look{Activities: []asg.Activity{failed("a", time.Second, "")}, Launching: 2, Now: noon.Add(2 * time.Second)})
	if got := state(&l); got != " 0! 1 2" {
		t.Fatalf("places%s", got)
	}
	if diff := cmp.Diff([]int{0, 2, 1}, l.Expendable(9)); diff != "" {
		t.Errorf("expendable (-want +got):\n%s", diff)
	}
	l.Settle(placeholders.Change{Missing: 2, Arrived: 1})
	if got := state(&l); got != " 0! 2" {
		t.Fatalf("after an arrival: places%s", got)
	}
	l.Settle(placeholders.Change{Missing: 1})
	if got := state(&l); got != " 2" {
		t.Fatalf("after the target was lowered: places%s", got)
	}
}

func TestWithdrawTakesExactlyTheGivenPlaces(t *testing.T) {
	var l placeholders.Ledger
	l.Settle(placeholders.Change{Missing: 4, At: noon, From: noon})
	l.Withdraw([]int{1, 3, 99})
	if got := state(&l); got != " 0 2" {
		t.Errorf("places%s", got)
	}
	if l.Has(1) || !l.Has(2) {
		t.Error("Has disagrees")
	}
}

func TestJudge(t *testing.T) {
	running := asg.Activity{ID: "r", Description: "Launching a new EC2 instance", Status: "InProgress", Start: noon}
	ending := failed("t", time.Second, "")
	ending.Description = "Terminating EC2 instance: i-1"
	success := asg.Activity{ID: "s", Description: "Launching a new EC2 instance: i-1", Status: asg.StatusSuccessful, Start: noon.Add(5 * time.Second)}
	type look struct {
		at         time.Duration
		activities []asg.Activity
		launching  int
		want       string
	}
	tests := map[string]struct {
		missing int
		zones   []string
		looks   []look
	}{
		"one failed launch condemns one place, the others stay hopeful": {
			missing: 3, looks: []look{{at: time.Second, activities: []asg.Activity{failed("a", 0, "")}, want: " 0! 1 2"}},
		},
		"the same failure counts once": {
			missing: 2, looks: []look{
				{at: time.Second, activities: []asg.Activity{failed("a", 0, "")}, want: " 0! 1"},
				{at: 16 * time.Second, activities: []asg.Activity{failed("a", 0, "")}, want: " 0! 1"},
			},
		},
		"a place for which a launch is under way is hopeful": {
			missing: 2, looks: []look{
				{at: time.Second, activities: []asg.Activity{failed("a", 0, ""), failed("b", 0, ""), running}, launching: 1, want: " 0! 1"},
			},
		},
		"a failed try that is being repeated is no failure": {
			missing: 1, looks: []look{{at: time.Second, activities: []asg.Activity{failed("a", 0, ""), running}, launching: 1, want: " 0"}},
		},
		"unless it has lasted": {
			missing: 2, looks: []look{
				{at: time.Second, activities: []asg.Activity{failed("a", 0, ""), running}, launching: 2, want: " 0 1"},
				{at: 31 * time.Second, activities: []asg.Activity{failed("a", 0, ""), running}, launching: 2, want: " 0! 1"},
				{at: 46 * time.Second, activities: []asg.Activity{failed("a", 0, ""), failed("b", 5*time.Second, ""), running}, launching: 1, want: " 0! 1"},
			},
		},
		"a group with zones left gets time to try them": {
			missing: 2, zones: []string{"za", "zb"}, looks: []look{
				{at: time.Second, activities: []asg.Activity{failed("a", 0, "za")}, want: " 0 1"},
				{at: 16 * time.Second, activities: []asg.Activity{failed("a", 0, "za"), failed("b", 2*time.Second, "zb")}, want: " 0! 1!"},
			},
		},
		"but not for ever": {
			missing: 1, zones: []string{"za", "zb"}, looks: []look{
				{at: time.Second, activities: []asg.Activity{failed("a", 0, "za")}, want: " 0"},
				{at: 30 * time.Second, activities: []asg.Activity{failed("a", 0, "za")}, want: " 0!"},
			},
		},
		"the end of a machine is no failed launch": {
			missing: 1, looks: []look{{at: 2 * time.Second, activities: []asg.Activity{ending}, want: " 0"}},
		},
		"on the first look a success makes earlier failures history": {
			missing: 1, looks: []look{
				{at: 10 * time.Second, activities: []asg.Activity{success, failed("a", 0, "")}, want: " 0"},
			},
		},
		"on later looks a success of another machine doesn't excuse a failure": {
			missing: 2, looks: []look{
				{at: time.Second, want: " 0 1"},
				{at: 10 * time.Second, activities: []asg.Activity{success, failed("a", 0, "")}, want: " 0! 1"},
			},
		},
		"a failure that was repeated long ago is no news when room appears": {
			missing: 2, looks: []look{
				{at: time.Second, activities: []asg.Activity{failed("a", 0, ""), failed("b", 0, "")}, launching: 1, want: " 0! 1"},
				{at: 91 * time.Second, activities: []asg.Activity{failed("b", 0, "")}, launching: 1, want: " 0! 1"},
				{at: 92 * time.Second, activities: []asg.Activity{failed("b", 0, "")}, launching: 0, want: " 0! 1"},
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var l placeholders.Ledger
			l.Settle(placeholders.Change{Missing: test.missing, At: noon, From: noon})
			for i, step := range test.looks {
				held := 0
				before := state(&l)
				held += len(l.Judge(placeholders.Look{Activities: step.activities, Launching: step.launching, Zones: test.zones, Now: noon.Add(step.at)}))
				if got := state(&l); got != step.want {
					t.Errorf("look %d: places%s, want%s", i, got, step.want)
				}
				if (held > 0) != (before != step.want) {
					t.Errorf("look %d: %d failures held, places went from%s to%s", i, held, before, step.want)
				}
			}
		})
	}
}

func TestTheFailureIsTheOneOfTheActivity(t *testing.T) {
	var l placeholders.Ledger
	l.Settle(placeholders.Change{Missing: 1, At: noon, From: noon})
	l.Judge(placeholders.Look{Activities: []asg.Activity{failed("a", 0, "za")}, Zones: []string{"za"}, Now: noon})
	got := l.Open()[0]
	if got.Failure == nil || got.Failure.Code != "InsufficientInstanceCapacity" || got.RequestedAt != noon {
		t.Errorf("place %+v", got)
	}
}

func TestSinceCoversTheOldestPlaceAndNothingBeforeTheBound(t *testing.T) {
	var l placeholders.Ledger
	if got := l.Since(noon); !got.IsZero() {
		t.Errorf("nothing is open, yet Since = %v", got)
	}
	l.Settle(placeholders.Change{Missing: 1, At: noon, From: noon.Add(-time.Minute)})
	l.Settle(placeholders.Change{Missing: 2, At: noon.Add(time.Hour), From: noon.Add(time.Hour)})
	if got, want := l.Since(noon.Add(-time.Hour)), noon.Add(-2*time.Minute); !got.Equal(want) {
		t.Errorf("Since = %v, want %v", got, want)
	}
	if got := l.Since(noon); !got.Equal(noon) {
		t.Errorf("Since = %v, want the bound %v", got, noon)
	}
}

// Whatever happens, there is one place per missing machine, in ascending order of numbers, and no number comes twice.
func TestPlacesMatchTheMissingMachinesWhateverHappens(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 1))
		var l placeholders.Ledger
		retired := map[int]bool{}
		before := map[int]bool{}
		for step := range 60 {
			at := time.Duration(step) * 10 * time.Second
			missing := random.IntN(6)
			l.Settle(placeholders.Change{Missing: missing, Arrived: random.IntN(3), At: noon.Add(at), From: noon.Add(at)})
			l.Judge(placeholders.Look{
				Activities: []asg.Activity{failed(fmt.Sprint(step), at, "")}, Launching: random.IntN(3), Now: noon.Add(at),
			})
			if random.IntN(5) == 0 {
				numbers := l.Expendable(random.IntN(3))
				l.Withdraw(numbers)
				missing -= len(numbers)
			}
			open := l.Open()
			if len(open) != missing {
				t.Fatalf("seed %d, step %d: %d places for %d missing machines", seed, step, len(open), missing)
			}
			now := map[int]bool{}
			for i, p := range open {
				if i > 0 && open[i-1].Number >= p.Number {
					t.Fatalf("seed %d, step %d: places%s are out of order", seed, step, state(&l))
				}
				if retired[p.Number] {
					t.Fatalf("seed %d, step %d: number %d came back", seed, step, p.Number)
				}
				now[p.Number] = true
			}
			for number := range before {
				if !now[number] {
					retired[number] = true
				}
			}
			before = now
		}
	}
}
