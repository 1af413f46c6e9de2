package aws_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws"
	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
)

// faultClass is what a fault means to the client: whether it knows that nothing was done, and whether something was.
type faultClass string

// The classes.
const (
	throttled  faultClass = "throttled"  // refused, not carried out
	lostBefore faultClass = "lostBefore" // not answered, not carried out
	lostAfter  faultClass = "lostAfter"  // not answered, carried out
	denied     faultClass = "denied"     // the identity lacks the permission
	sound      faultClass = "sound"      // there is no fault
)

// faultKind is a column of the matrix.
type faultKind struct {
	name   string
	class  faultClass
	effect awstest.Effect // nil: hangs or is denied, which is made per action
}

func faultKinds() []faultKind {
	const html = "<html><head><title>proxy</title></head><body><p>Please come back later.</p></body></html>"
	return []faultKind{
		{name: "throttled", class: throttled, effect: awstest.Throttle{}},
		{name: "500", class: lostBefore, effect: awstest.ErrorAnswer{Status: 500}},
		{name: "503", class: lostBefore, effect: awstest.ErrorAnswer{Status: 503}},
		{name: "hangs", class: lostBefore},
		{name: "cut before", class: lostBefore, effect: awstest.Drop{}},
		{name: "cut after", class: lostAfter, effect: awstest.Drop{Side: awstest.AfterEffect}},
		{name: "half an answer", class: lostAfter, effect: awstest.Truncate{}},
		{name: "empty error", class: lostAfter, effect: awstest.RawAnswer{Status: 500}},
		{name: "proxy page", class: lostAfter, effect: awstest.RawAnswer{Status: 502, ContentType: "text/html", Body: html}},
		{name: "portal page", class: lostAfter, effect: awstest.RawAnswer{Status: 200, ContentType: "text/html", Body: html}},
		{name: "denied", class: denied},
	}
}

// denial is the answer of a service to an action that the identity may not do.
func denial(call string) awstest.ErrorAnswer {
	service, _, _ := strings.Cut(call, ":")
	answer := awstest.ErrorAnswer{Status: 403, Message: "no identity-based policy allows the " + call + " action"}
	switch awstest.Service(service) {
	case awstest.EC2:
		answer.Code = "UnauthorizedOperation"
	case awstest.EKS:
		answer.Code = "AccessDeniedException"
	case awstest.Pricing:
		answer.Status, answer.Code = 400, "AccessDeniedException"
	default:
		answer.Code = "AccessDenied"
	}
	return answer
}

// impatient is an HTTP client that gives up requests which the stand-in leaves unanswered as soon as it is told to, as if their time were over.
type impatient struct {
	inner *http.Client

	mu      sync.Mutex
	waiting map[string]context.CancelCauseFunc // by the SDK's id of the call
}

var errHangs = errors.New("the test has waited long enough")

const invocationHeader = "Amz-Sdk-Invocation-Id"

// Do sends a request.
func (c *impatient) Do(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(request.Context())
	id := request.Header.Get(invocationHeader)
	c.mu.Lock()
	c.waiting[id] = cancel
	c.mu.Unlock()
	response, err := c.inner.Do(request.WithContext(ctx))
	c.mu.Lock()
	delete(c.waiting, id)
	c.mu.Unlock()
	if err != nil && errors.Is(context.Cause(ctx), errHangs) {
		return nil, &url.Error{Op: "Post", URL: request.URL.String(), Err: context.DeadlineExceeded}
	}
	return response, err
}

// giveUp ends a call.
func (c *impatient) giveUp(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.waiting[id]; cancel != nil {
		cancel(errHangs)
	}
}

// stage is where a cell of the matrix is played: the group "bad" needs the call that fails, "good" doesn't.
type stage struct {
	*rig
	client *impatient
	log    context.Context //nolint:containedctx // the logger of this stage
	lines  <-chan string
	remove []func()
}

// goodGroup is discovered and has machines of a launch template, unless a row gives it something else.
func goodGroup() awstest.Group {
	return awstest.Group{Name: "good", Max: 9, Desired: 2, Tags: tags("shared")}
}

// newStage makes the world of a row and a provider that has not been asked for anything yet.
func newStage(t *testing.T, row failing) *stage {
	t.Helper()
	t.Setenv("AWS_CA_BUNDLE", "") // which asks for an HTTP client of the SDK's own
	server, clock := newStandIn(t)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	s := &stage{
		rig:    &rig{t: t, clock: clock, server: server, observed: &observed{}},
		client: &impatient{inner: &http.Client{Transport: transport}, waiting: map[string]context.CancelCauseFunc{}},
	}
	s.log, s.lines = listening(t)
	options := aws.Options{Nodes: []string{"0:9:bad"}, AutoDiscovery: []string{"asg:tag=shared"}}
	good, bad := goodGroup(), awstest.Group{Name: "bad", Max: 9, Desired: 2}
	if row.world != nil {
		row.world(s, &options, &good, &bad)
	}
	s.add(good)
	s.add(bad)
	options.SDK = append(options.SDK, config.WithHTTPClient(s.client))
	s.provider = s.connect(options)
	return s
}

// look refreshes and waits for what that begins in the background.
func (s *stage) look() error {
	err := s.provider.Refresh(s.log)
	s.provider.WaitForPrices()
	return err
}

// pass moves the time on, with a refresh every so often.
func (s *stage) pass(steps int, each time.Duration) {
	for range steps {
		s.clock.Step(each)
		s.server.Advance()
		_ = s.look() // what it returns is asked for where the time stands still
	}
}

// strike lets every request of the row's call go wrong.
func (s *stage) strike(row failing, kind faultKind) {
	_, action, _ := strings.Cut(row.call, ":")
	fault := awstest.Fault{Action: action, Group: row.group, Count: awstest.Always, Effect: kind.effect}
	switch {
	case kind.class == sound:
		return
	case kind.class == denied:
		fault.Effect = denial(row.call)
	case kind.effect == nil:
		fault.Effect = awstest.Hook{Before: func() { s.giveUp(action, row.group) }}
		hold := fault
		hold.Effect = awstest.Delay{For: 1000 * time.Hour}
		s.remove = append(s.remove, s.server.Inject(fault), s.server.Inject(hold))
		return
	default: // as it is
	}
	s.remove = append(s.remove, s.server.Inject(fault))
}

// giveUp ends the client's calls of an action that are being held.
func (s *stage) giveUp(action, group string) {
	for _, call := range s.server.Calls() {
		if name := call.Params.Get("AutoScalingGroupName"); call.Action == action && !call.Done && (group == "" || name == "" || name == group) {
			s.client.giveUp(call.InvocationID)
		}
	}
}

func (s *stage) heal() {
	for _, remove := range s.remove {
		remove()
	}
	s.remove = nil
}

// hits is how often the row's call was asked for.
func (s *stage) hits(row failing) int { return s.server.Tallies()[row.call].Attempts }

// raise asks for one machine more and says what came of it.
func (s *stage) raise(name string) string {
	group, ok := s.find(name)
	if !ok {
		return "not in the view"
	}
	granted, err := group.IncreaseSize(s.log, 1)
	return fmt.Sprintf("+%d %s", granted, kind(err))
}

// described says whether a group has templates.
func (s *stage) described(name string) string {
	group, ok := s.find(name)
	if !ok {
		return "not in the view"
	}
	_, err := group.Templates(s.log)
	return "template " + kind(err)
}

// working is what a healthy group does: it shows what somebody else did to it, has templates, grows and shrinks.
const working = "refreshes, template none, +1 none, shrinks"

// works tries all that on the group "good" while the other one's call fails. Somebody else has set its desired capacity to 3.
func (s *stage) works() string {
	parts := []string{"refreshes"}
	if group, ok := s.find("good"); !ok || group.State().Target != 3 {
		parts[0] = "shows old data"
	}
	parts = append(parts, s.described("good"), s.raise("good"))
	if s.desired("good") != 4 {
		parts = append(parts, fmt.Sprintf("desired %d", s.desired("good")))
	}
	if group, ok := s.find("good"); ok {
		outcomes, err := group.DeleteNodes(s.log, refs(s.machines("good")[0]))
		switch {
		case err != nil:
			parts = append(parts, "deletion "+kind(err))
		case outcomes[0].Err != nil || s.desired("good") != 3:
			parts = append(parts, fmt.Sprintf("deletion %s, desired %d", kind(outcomes[0].Err), s.desired("good")))
		default:
			parts = append(parts, "shrinks")
		}
	}
	return strings.Join(parts, ", ")
}

// recovered tells what is still wrong some time after the fault is over; empty: nothing.
func (s *stage) recovered() string {
	s.heal()
	s.pass(2, 31*time.Minute)
	if err := s.look(); err != nil {
		return "Refresh still fails: " + err.Error()
	}
	for _, name := range []string{"bad", "good"} {
		group, ok := s.find(name)
		if !ok {
			return name + " is not in the view"
		}
		if got, want := group.State().Target, s.desired(name); got != want {
			return fmt.Sprintf("the target of %s is %d, in the cloud %d", name, got, want)
		}
		if _, err := group.Templates(s.log); err != nil {
			return "no template of " + name + ": " + err.Error()
		}
	}
	if errs := s.errs(); len(errs) != 0 {
		return fmt.Sprintf("groups are still set aside: %q", errs)
	}
	return ""
}

// checkInvariants fails if a machine was ended that nobody named, or a desired capacity written below what is there.
func (s *stage) checkInvariants() {
	s.t.Helper()
	s.checkWrites()
	for _, call := range s.server.Writes() {
		if call.Change == nil {
			continue
		}
		var named []string
		for key, values := range call.Params {
			if strings.HasPrefix(key, "InstanceId") {
				named = append(named, values...)
			}
		}
		for _, id := range call.Change.Ended {
			if !slices.Contains(named, id) {
				s.t.Errorf("call %d (%s) ended machine %s, which nobody named", call.Number, call.Action, id)
			}
		}
		if call.Change.DesiredTo > call.Change.Max || call.Change.DesiredTo < min(call.Change.Min, call.Change.DesiredFrom) {
			s.t.Errorf("call %d (%s) set the desired capacity of %s to %d, outside of %d:%d",
				call.Number, call.Action, call.Change.Group, call.Change.DesiredTo, call.Change.Min, call.Change.Max)
		}
	}
}

// told tells whether a notice about the row's permission has come up.
func (s *stage) told(row failing) bool {
	_, action, _ := strings.Cut(row.call, ":")
	return slices.ContainsFunc(s.provider.Notices(), func(n cloudprovider.Notice) bool {
		return n.Reason == "AWSPermissionMissing" && strings.HasPrefix(n.Message, action+" is denied")
	})
}

func (s *stage) find(name string) (cloudprovider.NodeGroup, bool) {
	for _, group := range s.provider.NodeGroups() {
		if string(group.ID()) == name {
			return group, true
		}
	}
	return nil, false
}
