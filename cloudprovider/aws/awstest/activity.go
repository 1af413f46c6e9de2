package awstest

import (
	"encoding/json"
	"fmt"
	"time"
)

// ActivityStatus is the StatusCode of a scaling activity.
type ActivityStatus string

// The statuses that activities of this package have.
const (
	ActivityInProgress ActivityStatus = "InProgress"
	ActivitySuccessful ActivityStatus = "Successful"
	ActivityFailed     ActivityStatus = "Failed"
	ActivityCancelled  ActivityStatus = "Cancelled"

	ActivityMidLifecycleAction ActivityStatus = "MidLifecycleAction" // a lifecycle hook is waited for
)

// activity is one scaling activity. It is changed until it ends; reads of the past are answered from its times.
type activity struct {
	serial     int // rises with every activity of the server
	id         string
	group      string
	groupARN   string
	deletedAt  time.Time // when the group was removed; zero: it wasn't
	verb       string    // "Launching a new EC2 instance" or "Terminating EC2 instance"
	instanceID string
	namedAt    time.Time // when the instance id became known
	cause      string
	zone       string
	subnet     string
	start      time.Time
	end        time.Time // zero: in progress
	status     ActivityStatus
	message    string
	progress   int // while in progress

	hookAt     time.Time      // since when a lifecycle hook is waited for; zero: none is
	unfinished ActivityStatus // instead of InProgress
	rawDetails string         // instead of those made from subnet and zone
	wordy      bool           // verb is the whole description
}

// finish ends the activity, once.
func (a *activity) finish(at time.Time, status ActivityStatus, message string) {
	if a.end.IsZero() {
		a.end, a.status, a.message = at, status, message
	}
}

// description is the text at a moment: it names the instance as soon as there is one.
func (a *activity) description(at time.Time) string {
	switch {
	case a.wordy:
		return a.verb
	case a.instanceID != "" && !a.namedAt.After(at):
		return a.verb + ": " + a.instanceID
	case a.status == ActivityFailed && !a.end.After(at):
		return a.verb + ".  Status Reason: " + a.message
	}
	return a.verb
}

// xml renders the activity as it was at a moment.
func (a *activity) xml(at time.Time) []element {
	fields := []element{
		text("ActivityId", a.id),
		text("AutoScalingGroupName", a.group),
		text("AutoScalingGroupARN", a.groupARN),
		text("Description", a.description(at)),
		text("Cause", a.cause),
		text("StartTime", timestamp(a.start)),
		text("Details", a.details()),
	}
	if !a.deletedAt.IsZero() && !a.deletedAt.After(at) {
		fields = append(fields, text("AutoScalingGroupState", "Deleted"))
	}
	if a.end.IsZero() || a.end.After(at) {
		return append(fields, text("StatusCode", string(a.statusAt(at))), number("Progress", a.progress))
	}
	return append(fields, text("StatusCode", string(a.status)), optional("StatusMessage", a.message),
		text("EndTime", timestamp(a.end)), number("Progress", 100))
}

// statusAt is the status code at a moment.
func (a *activity) statusAt(at time.Time) ActivityStatus {
	switch {
	case !a.end.IsZero() && !a.end.After(at):
		return a.status
	case a.unfinished != "":
		return a.unfinished
	case !a.hookAt.IsZero() && !a.hookAt.After(at):
		return ActivityMidLifecycleAction
	}
	return ActivityInProgress
}

// details is the JSON text that the service puts into Details.
func (a *activity) details() string {
	if a.rawDetails != "" {
		return a.rawDetails
	}
	details := map[string]string{}
	if a.subnet != "" {
		details["Subnet ID"] = a.subnet
	}
	if a.zone != "" {
		details["Availability Zone"] = a.zone
	}
	raw, err := json.Marshal(details) // sorts the keys; strings can't fail
	if err != nil {
		return "{}"
	}
	return string(raw)
}

// newActivity starts an activity of a group.
func (w *world) newActivity(g *group, verb, cause string) *activity {
	w.activitySerial++
	a := &activity{
		serial: w.activitySerial, id: w.uuid("activity"), group: g.Name, groupARN: g.arn, verb: verb, cause: cause,
		start: w.now, status: ActivityInProgress, progress: 30,
	}
	g.activities = append(g.activities, a)
	return a
}

// timestamp renders a time as the services do, in UTC with milliseconds.
func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// causeAt puts a time before a sentence of a cause, as the service does.
func causeAt(t time.Time, format string, args ...any) string {
	return "At " + t.UTC().Format(time.RFC3339) + " " + fmt.Sprintf(format, args...)
}
