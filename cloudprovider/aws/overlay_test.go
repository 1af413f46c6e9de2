package aws

import (
	"testing"
	"time"

	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asg"
)

// The steps of a story about one group, in their order: what we wrote and what AWS answered.
type (
	wrote  struct{ from, to int }
	ending struct {
		id       string
		from, to int
	}
	// said is an answer that was asked for pause after the step before; live are the machines that it lists as running, of a, b and c.
	said struct {
		desired int
		live    string
		pause   time.Duration
		want    int // the desired capacity to reckon with
	}
)

func TestOwnWritesOutlastOldAnswersAndNothingElse(t *testing.T) {
	for name, story := range map[string][]any{
		"an old answer after a raise":                       {wrote{4, 6}, said{4, "abc", time.Second, 6}, said{6, "abc", time.Second, 6}},
		"an old answer is believed after a minute":          {wrote{4, 6}, said{4, "abc", time.Minute, 4}},
		"somebody else wrote after us":                      {wrote{4, 6}, said{9, "abc", time.Second, 9}, said{4, "abc", time.Second, 4}},
		"two writes, and an answer from between":            {wrote{4, 6}, wrote{6, 7}, said{6, "abc", time.Second, 7}, said{4, "abc", time.Second, 7}},
		"a capacity that went there and back":               {wrote{4, 6}, wrote{6, 4}, said{6, "abc", time.Second, 4}, said{4, "abc", time.Second, 4}},
		"an old answer after the end of a machine":          {ending{"a", 3, 2}, said{3, "abc", time.Second, 2}, said{2, "bc", time.Second, 2}},
		"AWS did not take the capacity down":                {ending{"a", 3, 2}, said{3, "bc", time.Second, 3}},
		"AWS did so for one of two":                         {ending{"a", 4, 3}, ending{"b", 3, 2}, said{3, "c", time.Second, 3}},
		"the list of machines lags behind the capacity":     {ending{"a", 3, 2}, said{2, "abc", time.Second, 2}},
		"somebody else raised before AWS shows the end":     {ending{"a", 3, 2}, said{9, "abc", time.Second, 8}, said{8, "bc", time.Second, 8}},
		"a raise after an end, and an answer from before":   {ending{"a", 5, 4}, wrote{4, 6}, said{5, "abc", time.Second, 6}},
		"a raise after an end, and an answer from between":  {ending{"a", 5, 4}, wrote{4, 6}, said{4, "bc", time.Second, 6}},
		"an end after a raise back to the value before":     {wrote{4, 5}, ending{"a", 5, 4}, said{4, "bc", time.Second, 4}},
		"an end after a raise, and an answer from before":   {wrote{4, 5}, ending{"a", 5, 4}, said{4, "abc", time.Second, 4}, said{4, "bc", time.Second, 4}},
		"an end after a raise, and an answer from between":  {wrote{4, 6}, ending{"a", 6, 5}, said{6, "abc", time.Second, 5}},
		"an end without a smaller capacity":                 {ending{"a", 3, 3}, said{3, "abc", time.Second, 3}},
		"a machine that AWS lists as running after minutes": {ending{"a", 3, 2}, said{3, "abc", 2 * time.Minute, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			var o overlay
			now := moment{at: time.Date(2026, 8, 3, 8, 0, 0, 0, time.UTC)}
			for i, step := range story {
				now.sequence++
				switch step := step.(type) {
				case wrote:
					o.wrote(step.from, step.to, now)
				case ending:
					o.ended(step.id, step.from, step.to, now)
				case said:
					now.at = now.at.Add(step.pause)
					if got := o.apply(groupOf(step), now).Desired; got != step.want {
						t.Errorf("step %d: reckons with %d, want %d", i+1, got, step.want)
					}
				}
			}
		})
	}
}

func groupOf(step said) asg.Group {
	group := asg.Group{Desired: step.desired}
	for _, id := range step.live {
		group.Instances = append(group.Instances, asg.Instance{ID: string(id), Lifecycle: asg.InService})
	}
	return group
}

func TestAnAnswerThatWasAskedForBeforeAWriteDoesNotShowIt(t *testing.T) {
	var o overlay
	asked := moment{sequence: 1}
	o.wrote(4, 6, moment{sequence: 2})
	o.ended("a", 6, 5, moment{sequence: 3})
	got := o.apply(groupOf(said{desired: 9, live: "ab"}), asked)
	if got.Desired != 5 || got.Instances[0].Lifecycle != asg.Terminating || got.Instances[1].Lifecycle != asg.InService {
		t.Errorf("got %+v", got)
	}
}

func TestTheTimeBetweenTwoMomentsSurvivesClocksThatJump(t *testing.T) {
	eight := time.Date(2026, 8, 3, 8, 0, 0, 0, time.UTC)
	at := func(own, theirs time.Duration) moment { return moment{at: eight.Add(own), server: eight.Add(theirs)} }
	for name, test := range map[string]struct {
		later moment
		want  time.Duration
	}{
		"both go on":                   {at(time.Minute, time.Minute), time.Minute},
		"ours jumped forwards":         {at(time.Hour, time.Minute), time.Minute},
		"ours jumped backwards":        {at(-time.Hour, time.Minute), time.Minute},
		"that of AWS jumped forwards":  {at(time.Minute, time.Hour), time.Minute},
		"that of AWS jumped backwards": {at(time.Minute, -time.Hour), time.Minute},
		"that of AWS is not known":     {moment{at: eight.Add(time.Minute)}, time.Minute},
		"both jumped backwards":        {at(-time.Hour, -time.Hour), 0},
	} {
		if got := test.later.since(at(0, 0)); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}
