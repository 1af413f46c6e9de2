package calls_test

import (
	"context"
	"strings"
	"testing"

	"example.com/cluster-autoscaler/cloudprovider/internal/calls"
)

func TestStopEndsWhatIsUnderWayAndWaitsForIt(t *testing.T) {
	g := calls.Group{Cloud: "Nimbus"}
	ctx, done := g.Begin(t.Context())
	hurried, cancel := context.WithCancel(t.Context())
	cancel()
	if err := g.Stop(hurried); err == nil || !strings.Contains(err.Error(), "waiting for the calls to Nimbus") {
		t.Errorf("Stop while a call is under way and nobody waits = %v", err)
	}
	if cause := context.Cause(ctx); cause == nil || cause.Error() != "the Nimbus provider has been stopped" {
		t.Errorf("the call ends because of %v", cause)
	}
	done()
	if err := g.Stop(t.Context()); err != nil {
		t.Errorf("Stop when all is over = %v", err)
	}
	late, done := g.Begin(t.Context())
	defer done()
	if late.Err() == nil {
		t.Error("a call begins after Stop")
	}
}

func TestACallThatIsOverHoldsNothingUp(t *testing.T) {
	var g calls.Group
	ctx, done := g.Begin(t.Context())
	if ctx.Err() != nil {
		t.Errorf("a call that has just begun has ended: %v", ctx.Err())
	}
	done()
	if ctx.Err() == nil {
		t.Error("the context of a call that is over goes on")
	}
	if err := g.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}
