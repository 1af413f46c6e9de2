package core_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"example.com/cluster-autoscaler/cloudprovider"
)

func TestWhatComesUpInTheCloudIsToldOnce(t *testing.T) {
	w := newWorld(t, nil, group("blue", 0, 5, 1))
	w.cloud.Note(cloudprovider.Notice{Reason: "CloudLaunchFailed", Group: "blue", Message: "no such machine"})
	w.cloud.Note(cloudprovider.Notice{Message: "only for the log", Normal: true})
	w.to(0)
	if len(w.last.Notices) != 2 {
		t.Errorf("notices %+v", w.last.Notices)
	}
	w.to(time.Minute)
	if count := strings.Count(strings.Join(w.events, "\n"), "Group blue: no such machine"); count != 1 || !w.event("CloudLaunchFailed", "blue") {
		t.Errorf("told %d times: %v", count, w.events)
	}
	if count := strings.Count(w.logs.String(), "only for the log"); count != 1 {
		t.Errorf("the log has %d lines", count)
	}
}

// A cloud that cannot be refreshed has the most to tell.
func TestWhatComesUpIsToldAlsoWhenTheCloudCannotBeRefreshed(t *testing.T) {
	w := newWorld(t, nil, group("blue", 0, 5, 1))
	w.to(0)
	w.source.fail(errors.New("no network"))
	w.cloud.Note(cloudprovider.Notice{Reason: "CloudPermissionMissing", Message: "Describe is denied"})
	w.to(time.Minute)
	if !w.event("CloudPermissionMissing", "Describe is denied") {
		t.Errorf("events %v", w.events)
	}
}
