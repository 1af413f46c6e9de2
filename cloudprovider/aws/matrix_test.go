package aws_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws"
	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/permissions"
)

// outcomesBy are the outcomes of a row by the name of the fault, else by its class; "" stands for those that are not named.
type outcomesBy map[string]string

func (o outcomesBy) of(kind faultKind) (text string, ok bool) {
	for _, key := range []string{kind.name, string(kind.class), ""} {
		if text, ok := o[key]; ok {
			return text, true
		}
	}
	return "", false
}

// failing is a row of the matrix: a call that goes wrong, and what comes of it.
type failing struct {
	call  string // by the name of its permission
	why   string // what it is made for, where it is made for several things
	group string // restricts the fault to requests that name this group; empty: all requests are hit
	// early lets the fault be there from the start; else it comes when everything is known, and so long after that the call is due again.
	early bool
	after time.Duration // 0: a minute
	// world changes the groups and the options; nil: a named group and a discovered one, each of two machines.
	world func(s *stage, o *aws.Options, good, bad *awstest.Group)
	// act is what the group "bad" needs the call for. It says what came of it.
	act func(s *stage) string

	sound  string // what act says when nothing fails
	bad    outcomesBy
	good   outcomesBy // nil: it works
	health outcomesBy // nil: Refresh returns no error
}

// cell is one outcome.
type cell struct{ Bad, Good, Health, Later string }

// TestWhateverCallFailsOnlyWhatNeedsItSuffers plays each fault of each call and prints what came of it. Each cell asserts the outcome for the group
// or the feature that needs the call, for a healthy group, for health, which goes by what Refresh returns, and that all is well some time later.
func TestWhateverCallFailsOnlyWhatNeedsItSuffers(t *testing.T) {
	var table bytes.Buffer
	lines := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	header, kinds := []string{"call"}, append([]faultKind{{name: "no fault", class: sound}}, faultKinds()...)
	for _, kind := range kinds {
		header = append(header, kind.name)
	}
	_, _ = fmt.Fprintln(lines, strings.Join(header, "\t"))
	asserted := 0
	for _, row := range failingCalls() {
		texts := []string{strings.TrimSpace(row.call + " " + row.why)}
		for _, kind := range kinds {
			t.Run(strings.Join(append(slices.Clone(texts[:1]), kind.name), " "), func(t *testing.T) {
				want, ok := row.want(kind)
				if !ok {
					t.Fatal("nobody says what is to come of it")
				}
				got := play(t, row, kind)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("outcome (-want +got):\n%s", diff)
				}
				texts = append(texts, got.String())
				asserted++
			})
		}
		_, _ = fmt.Fprintln(lines, strings.Join(texts, "\t"))
	}
	_ = lines.Flush()
	t.Logf("what becomes of the group or feature that needs the call; behind it, where they suffer, the healthy group and Refresh\n%s%d cells", table.String(), asserted)
	if only := flag.Lookup("test.run"); only != nil && strings.Contains(only.Value.String(), "/") {
		return // somebody looks at single cells
	}
	if want := len(failingCalls()) * len(kinds); asserted != want {
		t.Errorf("%d cells are asserted, want %d", asserted, want)
	}
}

func (row failing) want(kind faultKind) (cell, bool) {
	want := cell{Bad: row.sound, Good: working, Health: "none"}
	if kind.class == sound {
		return want, row.sound != ""
	}
	ok := true
	for _, part := range []struct {
		text *string
		by   outcomesBy
	}{{&want.Bad, row.bad}, {&want.Good, row.good}, {&want.Health, row.health}} {
		if part.by == nil && part.text != &want.Bad {
			continue
		}
		text, found := part.by.of(kind)
		*part.text, ok = text, ok && found
	}
	return want, ok
}

func (c cell) String() string {
	text := c.Bad
	if c.Good != working {
		text += "; good: " + c.Good
	}
	if c.Health != "none" {
		text += "; health: " + c.Health
	}
	if c.Later != "" {
		text += "; later: " + c.Later
	}
	return text
}

// play plays one cell.
func play(t *testing.T, row failing, what faultKind) cell {
	t.Helper()
	s := newStage(t, row)
	if row.early {
		s.strike(row, what)
	} else if err := s.look(); err != nil {
		t.Fatalf("Refresh before the fault: %v", err)
	}
	s.clock.Step(max(row.after, 61*time.Second))
	for _, name := range []string{"good", "bad"} { // somebody else's doing
		if err := s.server.SetDesired(name, 3); err != nil {
			t.Fatal(err)
		}
	}
	if !row.early {
		s.strike(row, what)
	}
	before := s.hits(row)
	if row.early {
		before = 0
	}
	got := cell{Health: kind(s.look())}
	got.Bad = row.act(s)
	if s.hits(row) == before {
		t.Errorf("%s was not called", row.call)
	}
	got.Good = s.works()
	s.clock.Step(61 * time.Second)
	if later := kind(s.look()); later != got.Health {
		got.Health += ", then " + later
	}
	if missing := s.told(row); missing != (what.class == denied && !strings.HasPrefix(row.call, "sts:")) {
		t.Errorf("a notice tells of a missing permission: %t", missing)
	}
	got.Later = s.recovered()
	s.checkInvariants()
	return got
}

// TestTheMatrixHoldsEveryCall fails if a call is made that the matrix doesn't have, or has a row that no permission is for.
func TestTheMatrixHoldsEveryCall(t *testing.T) {
	have := map[string]bool{}
	for _, row := range failingCalls() {
		have[row.call] = true
	}
	want := map[string]bool{"sts:AssumeRole": true, "sts:AssumeRoleWithWebIdentity": true, "sts:GetCallerIdentity": true} // need no permission of the autoscaler's policy
	for _, action := range permissions.Actions() {
		want[action.Name] = true
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(have))); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// shown is the group "bad" as the view has it.
func (s *stage) shown() string {
	group, ok := s.find("bad")
	if !ok {
		return "not in the view"
	}
	var text strings.Builder
	text.WriteString(fmt.Sprintf("target %d", group.State().Target))
	for _, e := range s.provider.GroupErrors() {
		if e.Group == "bad" {
			text.WriteString(", set aside: " + kind(e.Err))
		}
	}
	return text.String()
}

// grows raises the group "bad" from 3.
func (s *stage) grows() string {
	return fmt.Sprintf("%s, desired %d", s.raise("bad"), s.desired("bad"))
}

// outlasts waits for six minutes before it looks.
func (s *stage) outlasts() string {
	s.pass(6, time.Minute)
	return s.readsAndGrows()
}

func (s *stage) readsAndGrows() string { return s.shown() + ", " + s.grows() }

// describes says what the templates of "bad" are like.
func (s *stage) describes() string {
	group, ok := s.find("bad")
	if !ok {
		return "not in the view"
	}
	variants, err := group.Templates(s.log)
	if err != nil {
		return "template " + kind(err) + ", " + s.grows()
	}
	var parts []string
	for _, v := range variants {
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", v.Key, v.Node.Status.Capacity.StorageEphemeral(),
			v.Node.Labels["topology.k8s.aws/zone-id"], v.Node.Labels["team"])))
	}
	return strings.Join(parts, " + ") + ", " + s.grows()
}

// costs is what the next machine of "bad" costs in comparison to prices that only the call can tell.
func (s *stage) costs() string {
	group, ok := s.find("bad")
	if !ok {
		return "not in the view"
	}
	variants, err := group.Templates(s.log)
	if err != nil {
		return "template " + kind(err)
	}
	price, err := s.provider.GroupPricePerHour("bad", variants[0].Node)
	if err != nil {
		return "price " + kind(err)
	}
	return fmt.Sprintf("costs %.2f, %s", price, s.grows())
}

// startsShort makes "bad" a group one of whose machines can't be had.
func startsShort(s *stage, _ *aws.Options, _, bad *awstest.Group) {
	bad.Timing = awstest.Timing{Request: time.Second, Retry: 10 * time.Hour}
	s.server.SetStock(awstest.StockRule{Group: "bad", Left: 0})
}

// withdraws gives up the place of the machine that can't be had, when the group has been at rest for long enough.
func (s *stage) withdraws() string {
	s.pass(8, 20*time.Second)
	text := shape(s.state("bad"))
	lowered, err := s.group("bad").DecreaseTargetSize(s.log, 1)
	return fmt.Sprintf("%s, -%d %s, desired %d", text, lowered, kind(err), s.desired("bad"))
}

// ends ends so many machines of "bad".
func ends(n int) func(*stage) string {
	return func(s *stage) string {
		got, err := s.group("bad").DeleteNodes(s.log, refs(s.machines("bad")[:n]...))
		text := kind(err)
		if err == nil {
			text = strings.Join(slices.Compact(outcomes(got)), ", ")
		}
		return fmt.Sprintf("%s, desired %d, %d machines", text, s.desired("bad"), len(s.machines("bad")))
	}
}

// shrinkable asks whether "bad" may be shrunk.
func (s *stage) shrinkable() string {
	checker, ok := s.group("bad").(cloudprovider.ShrinkChecker)
	if !ok {
		return "cannot be asked"
	}
	if reason := checker.CheckShrink(s.log); reason != "" {
		return "not shrunk"
	}
	return "shrinks"
}

// introduced says what the log tells of the identity.
func (s *stage) introduced() string {
	if line := wait(s.t, s.lines, "AWS"); strings.Contains(line, "does not tell as whom") {
		return "not told, " + s.grows()
	}
	return "told, " + s.grows()
}

func webIdentity(s *stage, o *aws.Options, _, _ *awstest.Group) {
	token := filepath.Join(s.t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("jwt"), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.t.Setenv("AWS_ROLE_ARN", "arn:aws:iam::111122223333:role/autoscaler")
	s.t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", token)
	s.t.Setenv("AWS_ACCESS_KEY_ID", "")
	s.t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	o.SDK = append(o.SDK, func(l *config.LoadOptions) error { l.Credentials = nil; return nil })
}
