package throttle_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"example.com/cluster-autoscaler/cloudprovider/aws/internal/throttle"
)

// at runs the reads one after the other and returns when each was let through.
func at(t *testing.T, b *throttle.Bucket, reads int) []time.Duration {
	t.Helper()
	began := time.Now()
	var passed []time.Duration
	for range reads {
		if err := b.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
		passed = append(passed, time.Since(began).Round(time.Millisecond))
	}
	return passed
}

func TestABurstPassesAndThenReadsAreSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := throttle.NewBucket("x", 2, clock.RealClock{})
		want := []time.Duration{0, 0, 0, 0, 500 * time.Millisecond, time.Second, 1500 * time.Millisecond}
		if diff := cmp.Diff(want, at(t, b, 7)); diff != "" {
			t.Errorf("let through at (-want +got):\n%s", diff)
		}
	})
}

func TestThePaceHalvesWhenAWSComplainsAndComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := throttle.NewBucket("x", 8, clock.RealClock{})
		var rates []float64
		for range 6 {
			b.Throttled()
			b.Throttled() // about a request that was sent together with the other
			rates = append(rates, b.Rate())
			time.Sleep(time.Second)
		}
		if !slices.IsSortedFunc(rates, func(a, b float64) int { return int(1000 * (b - a)) }) || rates[0] != 4 || rates[5] < 0.5 {
			t.Errorf("rates %v", rates)
		}
		if passed := at(t, b, 1); passed[0] == 0 {
			t.Error("the burst is still there")
		}
		time.Sleep(time.Minute)
		if rate := b.Rate(); rate < 4 || rate >= 8 {
			t.Errorf("rate %v after a minute", rate)
		}
		time.Sleep(time.Minute)
		if rate := b.Rate(); rate != 8 {
			t.Errorf("rate %v after two minutes", rate)
		}
	})
}

func TestWritesGoBeforeReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := throttle.NewBucket("x", 1, clock.RealClock{})
		at(t, b, 4) // the bucket is empty
		began := time.Now()
		read := make(chan time.Duration, 1)
		go func() {
			if err := b.Read(t.Context()); err != nil {
				t.Error(err)
			}
			read <- time.Since(began).Round(time.Millisecond)
		}()
		synctest.Wait()
		for range 4 {
			if err := b.Write(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("four writes took %v", took)
		}
		if got := <-read; got != 5*time.Second {
			t.Errorf("the read passed after %v", got)
		}
		for range 5 {
			if err := b.Write(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took <= 5*time.Second {
			t.Error("writes are not bounded")
		}
	})
}

func TestAReadWhoseTurnDoesNotComeSaysThatItWasNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := throttle.NewBucket("Auto Scaling", 0.1, clock.RealClock{})
		at(t, b, 4)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := b.Read(ctx)
		waited, ok := errors.AsType[*throttle.Error](err)
		if !ok || waited.API != "Auto Scaling" || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		if passed := at(t, b, 1); passed[0] != 9*time.Second {
			t.Errorf("the next read passed after %v", passed[0])
		}
	})
}

func TestAClockThatIsSetBackGivesNothingAndTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		jumping := &jump{PassiveClock: clock.RealClock{}}
		b := throttle.NewBucket("x", 1, jumping)
		at(t, b, 3)
		jumping.by = -time.Hour
		if passed := at(t, b, 1); passed[0] != 0 {
			t.Errorf("the last token was lost: %v", passed)
		}
		if rate := b.Rate(); rate != 1 {
			t.Errorf("rate %v", rate)
		}
	})
}

// jump is a clock that can be set.
type jump struct {
	clock.PassiveClock
	clock.Clock
	by time.Duration
}

func (j *jump) Now() time.Time                  { return j.PassiveClock.Now().Add(j.by) }
func (j *jump) Since(t time.Time) time.Duration { return j.Now().Sub(t) }
