package aws_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws"
	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
)

var updateCalls = flag.Bool("apicalls.update", false, "write the table of API calls anew, into testdata and the page about it")

const (
	callsTable = "testdata/api-calls.md"
	callsPage  = "../../docs/aws-api-calls.md"
	// The lines between which the page has the table.
	tableBegins, tableEnds = "<!-- table: begin -->\n", "<!-- table: end -->\n"
)

// load is how many requests a minute one size of installation takes.
type load struct {
	groups, growing int
	idle            float64 // all services, mean
	busiest         int     // reads in the busiest minute while groups grow
	writes          int     // in that minute
}

// upstream are the figures that follow from its fixed refresh: the listing each minute, the launch template of each group every 10 to 18 minutes, and the
// activities of each group with missing machines each minute.
func (l load) upstream() (idle, scaling float64) {
	idle = float64((l.groups+99)/100) + float64(l.groups)/14
	return idle, idle + float64(l.growing)
}

func TestRequestsPerMinute(t *testing.T) {
	var lines []string
	lines = append(lines, "| Groups | At rest, here | At rest, upstream | Groups growing | Growing, here | Growing, upstream |", "| --- | --- | --- | --- | --- | --- |")
	for _, groups := range []int{1, 50, 200, 1000} {
		l := measure(t, groups, min(groups, 20))
		idle, scaling := l.upstream()
		if l.idle >= idle {
			t.Errorf("%d groups at rest: %.2f requests a minute, upstream has %.2f", groups, l.idle, idle)
		}
		if l.busiest > 30 {
			t.Errorf("%d of %d groups grow: %d reads in a minute", l.growing, groups, l.busiest)
		}
		if l.writes > l.growing {
			t.Errorf("%d of %d groups grow: %d writes", l.growing, groups, l.writes)
		}
		lines = append(lines, fmt.Sprintf("| %d | %.1f | %.1f | %d | %d reads, %d writes | %.0f reads, %d writes |",
			groups, l.idle, idle, l.growing, l.busiest, l.writes, scaling, l.growing))
	}
	table := strings.Join(lines, "\n") + "\n"
	t.Log("\n" + table)
	if *updateCalls {
		write(t, callsTable, table)
		write(t, callsPage, withTable(t, read(t, callsPage), table))
	}
	if diff := cmp.Diff(read(t, callsTable), table); diff != "" {
		t.Errorf("%s is not current, run the test with -apicalls.update (-want +got):\n%s", callsTable, diff)
	}
	if page := read(t, callsPage); page != withTable(t, page, table) {
		t.Errorf("%s is not current, run the test with -apicalls.update", callsPage)
	}
}

// measure counts what the stand-in gets from a loop that runs every ten seconds.
func measure(t *testing.T, groups, growing int) load {
	t.Helper()
	list := make([]awstest.Group, 0, groups)
	ids := make([]cloudprovider.GroupID, 0, groups)
	for i := range groups {
		name := fmt.Sprintf("g-%04d", i)
		ids = append(ids, cloudprovider.GroupID(name))
		list = append(list, awstest.Group{
			Name: name, Max: 9, Tags: tags("x"), LaunchTemplate: &awstest.LaunchTemplateRef{Name: "workers", Version: "1"},
			Timing: awstest.Timing{Request: time.Hour}, // machines are on their way all the time
		})
	}
	r := newWatchedRig(t, aws.Options{AutoDiscovery: []string{"asg:tag=x"}}, list...)
	loop := func() {
		r.refresh()
		if r.clock.Now().Sub(eight)%time.Minute != 0 {
			return // making templates costs time here and nothing else
		}
		for _, group := range r.provider.NodeGroups() {
			if _, err := group.Templates(r.ctx()); err != nil {
				t.Fatal(err)
			}
		}
	}
	loop()
	r.server.ForgetCalls()
	const minutes = 5
	for range minutes * 6 {
		r.clock.Step(10 * time.Second)
		loop()
	}
	l := load{groups: groups, growing: growing, idle: float64(len(r.server.Calls())) / minutes}

	r.clock.Step(10 * time.Second)
	loop()
	r.server.ForgetCalls()
	r.provider.ReadGroups(r.ctx(), ids[:growing])
	for _, id := range ids[:growing] {
		r.buy(string(id), 1)
	}
	for range 3 {
		for range 6 {
			r.pass(10 * time.Second)
			loop()
		}
		reads, writes := 0, 0
		for _, call := range r.server.Calls() {
			if call.Write {
				writes++
			} else {
				reads++
			}
		}
		l.busiest, l.writes = max(l.busiest, reads), max(l.writes, writes)
		r.server.ForgetCalls()
	}
	return l
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil { //nolint:gosec // it is part of the documentation
		t.Fatal(err)
	}
}

// withTable replaces the table of a page.
func withTable(t *testing.T, page, table string) string {
	t.Helper()
	before, rest, found := strings.Cut(page, tableBegins)
	_, after, ends := strings.Cut(rest, tableEnds)
	if !found || !ends {
		t.Fatalf("%s has no place for the table", callsPage)
	}
	return before + tableBegins + table + tableEnds + after
}
