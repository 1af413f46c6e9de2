package act_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/act"
	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/core/report"
)

// wishes are those of a+2, b+3 and c+1.
func wishes() []report.Resize {
	return []report.Resize{{Group: "a", To: 2, Max: 10}, {Group: "b", To: 3, Max: 10}, {Group: "c", To: 1, Max: 10}}
}

// threeGroups is a stage with groups a, b and c, of which b has no machines.
func threeGroups(t *testing.T, options act.Options) *stage {
	t.Helper()
	s := newStage(t, options)
	for _, id := range []cloudprovider.GroupID{"a", "b", "c"} {
		s.add(id)
	}
	s.groups["b"].errs = []error{errors.New("boom")}
	return s
}

// grants renders outcomes as "group +granted", with an exclamation mark for an error.
func grants(outcomes []report.ResizeOutcome) string {
	var out []string
	for _, o := range outcomes {
		text := string(o.Group) + " +" + string(rune('0'+o.Granted))
		if o.Err != nil {
			text += "!"
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

func parallel() act.Options {
	options := defaults()
	options.ParallelScaleUp = true
	return options
}

func TestSeveralGroups(t *testing.T) {
	twice := []report.Resize{{Group: "a", To: 2, Max: 10}, {Group: "c", To: 1, Max: 10}, {Group: "a", From: 2, To: 3, Max: 10}}
	for name, tc := range map[string]struct {
		options act.Options
		wishes  []report.Resize
		want    string
		calls   int
		wrong   bool // whether the plan is refused as a whole
	}{
		"R01: one after the other, up to the first failure": {defaults(), wishes(), "a +2, b +0!", 2, false},
		"R02: all at once, whatever fails":                  {parallel(), wishes(), "a +2, b +0!, c +1", 3, false},
		"R04: a group that is named twice forbids it":       {parallel(), twice, "", 0, true},
		"R15: one after the other the group grows twice":    {defaults(), twice, "a +2, c +1, a +1", 3, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := threeGroups(t, tc.options)
			got, err := s.Resize(silent(t), tc.wishes)
			if grants(got) != tc.want || (err != nil) != tc.wrong {
				t.Errorf("got %q, %v; want %q", grants(got), err, tc.want)
			}
			if log := s.takeLog(); len(log) != tc.calls || len(s.events) != tc.calls {
				t.Errorf("calls %v, events %v; want %d", log, s.events, tc.calls)
			}
			for i, o := range got {
				if !o.At.Equal(start) || !o.Deadline.Equal(start.Add(15*time.Minute)) || o.From != tc.wishes[i].From || o.To != tc.wishes[i].To {
					t.Errorf("outcome %d: %+v", i, o)
				}
			}
		})
	}
}

func TestGroupsThatGrowAtOnceDoNotWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		options := parallel()
		options.Parallelism = act.DefaultParallelism
		s := threeGroups(t, options)
		var all sync.WaitGroup
		all.Add(len(s.groups))
		for _, g := range s.groups {
			g.meet = func() { // one after the other, nobody would come any further than this
				all.Done()
				all.Wait()
			}
		}
		got, err := s.Resize(silent(t), wishes())
		if want := "a +2, b +0!, c +1"; grants(got) != want || err != nil {
			t.Errorf("got %q, %v; want %q", grants(got), err, want)
		}
	})
}

func TestTheFlagMakesGroupsGrowAtOnce(t *testing.T) {
	options := config.Defaults()
	if act.NewOptions(options).ParallelScaleUp {
		t.Error("groups grow at once by default")
	}
	options.ScaleUp.Parallel = true
	if !act.NewOptions(options).ParallelScaleUp {
		t.Error("--parallel-scale-up does not reach act")
	}
}

func TestAllOrNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		able, wanted bool
		want         string
	}{
		"R05: without the ability a group grows as usual": {false, true, "0 increase a 2: <nil>"},
		"with it by all or nothing":                       {true, true, "0 increase atomically a 2: <nil>"},
		"but only if that is asked for":                   {true, false, "0 increase a 2: <nil>"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, defaults())
			s.add("a").atomic = tc.able
			got, err := s.Resize(silent(t), []report.Resize{{Group: "a", To: 2, Max: 10, Atomic: tc.wanted}})
			if grants(got) != "a +2" || err != nil {
				t.Errorf("got %q, %v", grants(got), err)
			}
			if diff := cmp.Diff([]string{tc.want}, s.takeLog()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAGroupThatDoesNotExistYetIsCreatedFirst(t *testing.T) {
	hour := time.Hour
	wish := []report.Resize{{Group: "new", To: 2, Max: 10}}
	prepared := func(t *testing.T) (*stage, *group) {
		s := newStage(t, defaults())
		g := s.add("new")
		g.state.Theoretical = true
		g.created = &group{w: s.world, id: "new-1", state: cloudprovider.GroupState{
			Max: 10, Options: cloudprovider.OptionOverrides{MaxNodeProvisionTime: &hour},
		}}
		return s, g
	}
	t.Run("and grows under the name that it has then", func(t *testing.T) {
		s, _ := prepared(t)
		got, err := s.Resize(silent(t), wish)
		if grants(got) != "new-1 +2" || err != nil || !got[0].Deadline.Equal(start.Add(time.Hour)) {
			t.Errorf("got %+v, %v", got, err)
		}
		if diff := cmp.Diff([]string{"0 create new: <nil>", "0 increase new-1 2: <nil>"}, s.takeLog()); diff != "" {
			t.Error(diff)
		}
		if !slices.Equal(s.events, []string{"resizing new-1 0->2"}) {
			t.Errorf("events %v", s.events)
		}
	})
	t.Run("which may fail", func(t *testing.T) {
		s, g := prepared(t)
		short := &cloudprovider.QuotaError{Group: "new", Err: errors.New("too many groups")}
		g.errs = []error{short}
		got, _ := s.Resize(silent(t), wish)
		if grants(got) != "new +0!" || !errors.Is(got[0].Err, short) || !strings.HasPrefix(got[0].Err.Error(), "creating node group new: ") {
			t.Errorf("got %+v", got)
		}
		if len(s.events) > 0 {
			t.Errorf("events %v", s.events)
		}
	})
	t.Run("and so may growing", func(t *testing.T) {
		s, g := prepared(t)
		g.created.errs = []error{errors.New("boom")}
		if got, _ := s.Resize(silent(t), wish); grants(got) != "new-1 +0!" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("unless the cloud cannot", func(t *testing.T) {
		s, g := prepared(t)
		g.created = nil
		got, _ := s.Resize(silent(t), wish)
		if _, configuration := errors.AsType[*cloudprovider.ConfigurationError](got[0].Err); !configuration || len(s.takeLog()) > 0 {
			t.Errorf("got %+v", got)
		}
	})
}

func TestAnswersThatMakeNoSenseHarmNothing(t *testing.T) {
	s := newStage(t, defaults())
	s.add("a")
	s.groups["a"].grantLess = 5
	s.add("new")
	s.groups["new"].state.Theoretical, s.groups["new"].created = true, &group{} // nothing comes of creating it
	for wish, want := range map[report.Resize]string{
		{Group: "a", To: 2, Max: 10}:   "a +0",
		{Group: "new", To: 1, Max: 10}: "new +0!",
	} {
		outcomes, err := s.Resize(t.Context(), []report.Resize{wish})
		if got := grants(outcomes); got != want || err != nil {
			t.Errorf("%s: got %q (%v), want %q", wish.Group, got, err, want)
		}
	}
}
