package act_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
)

// The empty node of a group that goes as a whole is ready while another one still cannot be tainted, for longer than the pause
// after the taint.
func TestANodeThatIsReadyBeforeTheRestOfItsGroupCouldBeTaintedGoesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wall := clock.RealClock{}
		w := newWorld(t, shifted{wall, start.Sub(wall.Now())})
		w.add("g", node("e"), node("d"))
		w.run(pod("p", "d"))
		options := defaults()
		options.ScaleDown.DeleteDelayAfterTaint = time.Second
		a := newActuator(w, wall, options)
		ctx, stop := cancellable(t)
		done := make(chan struct{})
		go func() { a.Run(ctx); close(done) }()
		w.conflicts["d"] = 1000
		got := a.Shrink(ctx, planOf(together(w.candidate("g", "e")), together(w.candidate("g", "d", "p"))))
		if got.Err == nil {
			t.Error("no error although node d could not be tainted")
		}
		time.Sleep(time.Second)
		if diff := cmp.Diff([]string{"e FailedToDelete"}, results(a.Finished())); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
		if got := w.look("e"); got != unmarked {
			t.Errorf("node e is left as %s", got)
		}
		stop()
		<-done
	})
}

func TestAGroupWhoseMachinesTheCloudRefusesIsToldWhy(t *testing.T) {
	s := newStage(t, defaults())
	refused := errors.New("denied")
	s.add("g", node("n")).errs = []error{refused}
	s.Shrink(silent(t), planOf(s.candidate("g", "n")))
	s.play(time.Minute)
	if finished := s.Finished(); len(finished) != 1 || !errors.Is(finished[0].Err, refused) {
		t.Errorf("outcome %+v, want it to carry the cloud's error", finished)
	}
}
