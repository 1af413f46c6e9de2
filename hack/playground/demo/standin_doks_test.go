package demo

import (
	"bytes"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	clocktesting "k8s.io/utils/clock/testing"

	"example.com/cluster-autoscaler/cloudprovider/digitalocean/dotest"
	"example.com/cluster-autoscaler/hack/playground/checker"
	"example.com/cluster-autoscaler/hack/playground/cluster"
)

// doksStage is DOKS in a clock that stands still, with a pool of one machine, seen as the demo sees it.
type doksStage struct {
	*testing.T
	doksStandIn
	clock *clocktesting.FakeClock
}

func newDOKSStage(t *testing.T) doksStage {
	t.Helper()
	clock := clocktesting.NewFakeClock(start)
	server, err := dotest.New(dotest.Config{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	err = server.AddPool(dotest.Pool{
		ID: "web", AutoScale: true, Min: 1, Max: 5, Count: 1, Delays: dotest.Delays{Droplet: time.Second, Running: time.Second, Delete: time.Second},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return doksStage{T: t, doksStandIn: doksStandIn{&cluster.Cluster{DOKS: server}}, clock: clock}
}

// asks makes a request about the pool, as the autoscaler does, a second after what went before.
func (s doksStage) asks(method, path, body string) {
	s.Helper()
	s.clock.Step(time.Second)
	server := s.cluster.DOKS
	url := fmt.Sprintf("%s/v2/kubernetes/clusters/%s/node_pools/web%s", server.URL(), server.ClusterID(), path)
	request, err := http.NewRequestWithContext(s.Context(), method, url, bytes.NewReader([]byte(body)))
	if err != nil {
		s.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+dotest.DefaultToken)
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		s.Fatal(err)
	}
	answer.Body.Close()
}

func (s doksStage) node(i int) dotest.Node { return s.cluster.DOKS.Nodes("web")[i] }

func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

func TestTheDOKSStandInIsToldInTheCheckersWords(t *testing.T) {
	s := newDOKSStage(t)
	if diff := cmp.Diff(map[string][]string{"web": {s.node(0).DropletID}}, s.first()); diff != "" {
		t.Errorf("first machines (-want +got):\n%s", diff)
	}
	old := s.node(0)
	s.asks(http.MethodPut, "", `{"count": 2}`)
	s.clock.Step(4 * time.Second) // the new one has a Droplet after one second, and runs after two
	s.asks(http.MethodDelete, "/nodes/"+old.ID, "")
	s.clock.Step(time.Second)
	s.asks(http.MethodPut, "", `{"count": 9}`) // more than may be
	fresh := s.node(0)

	wantEvents := checker.Log{
		{Time: at(1), Cloud: &checker.Cloud{Kind: checker.DesiredChanged, Group: "web", Call: 1, From: 1, To: 2}},
		{Time: at(2), Cloud: &checker.Cloud{Kind: checker.Launched, Group: "web", Instance: fresh.DropletID}},
		{Time: at(6), Cloud: &checker.Cloud{Kind: checker.Ending, Group: "web", Instance: old.DropletID, Cause: checker.CauseRequest, Call: 2}},
		{Time: at(6), Cloud: &checker.Cloud{Kind: checker.DesiredChanged, Group: "web", Call: 2, From: 2, To: 1}},
		{Time: at(7), Cloud: &checker.Cloud{Kind: checker.Gone, Group: "web", Instance: old.DropletID}},
	}
	if diff := cmp.Diff(wantEvents, s.events()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	wantCalls := checker.Log{
		{Time: at(1), Call: &checker.Call{Number: 1, Action: "UpdateNodePool", Group: "web", At: at(1), DesiredFrom: 1, DesiredTo: 2, LiveFrom: 1, LiveTo: 2}},
		{Time: at(6), Call: &checker.Call{Number: 2, Action: "DeleteNode", Group: "web", At: at(6), DesiredFrom: 2, DesiredTo: 1, LiveFrom: 2, LiveTo: 1}},
		{Time: at(8), Call: &checker.Call{Number: 3, Action: "UpdateNodePool", Group: "web", Code: "unprocessable_entity"}},
	}
	if diff := cmp.Diff(wantCalls, s.calls()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]checker.FinalGroup{{Name: "web", Desired: 1, Instances: []string{fresh.DropletID}}}, s.final()); diff != "" {
		t.Errorf("final state (-want +got):\n%s", diff)
	}
}

func TestADOKSNodeWithoutADropletIsNoMachine(t *testing.T) {
	s := newDOKSStage(t)
	none := 0
	if err := s.cluster.DOKS.UpdatePool("web", func(p *dotest.Pool) { p.Stock = &none }); err != nil {
		t.Fatal(err)
	}
	s.asks(http.MethodPut, "", `{"count": 2}`)
	failed := s.node(1)
	if diff := cmp.Diff([]checker.FinalGroup{{Name: "web", Desired: 2, Instances: []string{s.node(0).DropletID}}}, s.final()); diff != "" {
		t.Errorf("state with a node that failed (-want +got):\n%s", diff)
	}
	s.asks(http.MethodDelete, "/nodes/"+failed.ID+"?skip_drain=1", "")
	s.clock.Step(2 * time.Second)
	want := checker.Log{
		{Cloud: &checker.Cloud{Kind: checker.DesiredChanged, Group: "web", From: 1, To: 2}},
		{Cloud: &checker.Cloud{Kind: checker.LaunchFailed, Group: "web"}},
		{Cloud: &checker.Cloud{Kind: checker.DesiredChanged, Group: "web", From: 2, To: 1}},
	}
	if diff := cmp.Diff(want, s.events(), cmpopts.IgnoreFields(checker.Record{}, "Time"), cmpopts.IgnoreFields(checker.Cloud{}, "Call")); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestANodeThatEndsByTheChoiceOfDOKSIsNoRequest(t *testing.T) {
	s := newDOKSStage(t)
	s.asks(http.MethodPut, "", `{"count": 0}`)
	s.asks(http.MethodPut, "", `{"count": 2}`)
	s.clock.Step(5 * time.Second)
	s.asks(http.MethodPut, "", `{"count": 1}`)
	var causes []string
	for _, r := range s.events() {
		if r.Cloud.Kind == checker.Ending {
			causes = append(causes, r.Cloud.Cause)
		}
	}
	if diff := cmp.Diff([]string{string(dotest.CauseChoice)}, causes); diff != "" {
		t.Errorf("causes of ends (-want +got):\n%s", diff)
	}
}
