package demo

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	clocktesting "k8s.io/utils/clock/testing"

	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
	"example.com/cluster-autoscaler/hack/playground/checker"
	"example.com/cluster-autoscaler/hack/playground/cluster"
)

var start = time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)

// stage is a recorder with a timeline whose clock stands still.
type stage struct {
	*recorder
	clock    *clocktesting.FakeClock
	timeline *timeline
	out      *bytes.Buffer
}

func newStage() stage {
	story := checker.Story{}
	story.Groups, story.Apps = predict(awsNodeGroups(), map[string][]string{"general": {"i-1"}})
	s := stage{recorder: newRecorder(start, story), clock: clocktesting.NewFakeClock(start), out: &bytes.Buffer{}}
	s.timeline = newTimeline(s.out, s.clock)
	return s
}

// said returns the lines that were written since the last call.
func (s stage) said() []string {
	defer s.out.Reset()
	text := strings.TrimSuffix(s.out.String(), "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

func (s stage) sees(records ...checker.Record) {
	for _, r := range records {
		s.add(r)
	}
}

func pod(name, app, node, phase string) checker.Record {
	p := checker.Pod{UID: name, Namespace: "default", Name: name, App: app, Node: node, Phase: phase, Healthy: phase == "Running", Unschedulable: node == ""}
	return checker.Record{Pod: &p}
}

func node(name, instance string, ready bool) checker.Record {
	return checker.Record{Node: &checker.Node{Name: name, Provider: "aws:///zone/" + instance, Ready: ready}}
}

func event(kind, name, reason, message string) checker.Record {
	return checker.Record{Time: start, Event: &checker.Event{Kind: kind, Namespace: "default", Name: name, Reason: reason, Message: message}}
}

func TestTheStatusSumsUpPodsNodesAndGroups(t *testing.T) {
	s := newStage()
	s.sees(node("n1", "i-1", true), node("n2", "i-2", false),
		pod("a", "web", "n1", "Running"), pod("b", "web", "", "Pending"), pod("c", "report", "n1", "Succeeded"),
		checker.Record{Cloud: &checker.Cloud{Kind: checker.DesiredChanged, Group: "general", From: 1, To: 3}},
		checker.Record{Cloud: &checker.Cloud{Kind: checker.Launched, Group: "general", Instance: "i-2"}},
		checker.Record{Pod: &checker.Pod{UID: "d", App: "web", Node: "n1", Phase: "Running", Ending: true}},
	)
	var got string
	s.look(func(b *board) { got = b.status() })
	if want := "pods 1 running 1 pending 1 ending | nodes 1 (+1 not Ready) | general 2→3, large 0, batch 0"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestAnActEndsWhenMachinesNodesAndPodsAgree(t *testing.T) {
	end := func() stage {
		s := newStage()
		s.sees(node("n1", "i-1", true), node("n2", "i-2", true),
			checker.Record{Cloud: &checker.Cloud{Kind: checker.DesiredChanged, Group: "large", To: 1}},
			checker.Record{Cloud: &checker.Cloud{Kind: checker.Launched, Group: "large", Instance: "i-2"}})
		for _, app := range []string{"web", "web", "web", "ledger", "ledger", "cache", "cache"} {
			s.sees(pod(app+string(rune('a'+len(s.log))), app, "n1", "Running"))
		}
		s.sees(pod("giant", "giant", "", "Pending"))
		return s
	}
	tests := map[string]struct {
		more []checker.Record
		want bool
	}{
		"all as it should be":     {nil, true},
		"a node too many":         {[]checker.Record{node("n3", "i-3", true)}, false},
		"a node that isn't ready": {[]checker.Record{node("n2", "i-2", false)}, false},
		"a machine on its way":    {[]checker.Record{{Cloud: &checker.Cloud{Kind: checker.DesiredChanged, Group: "general", From: 1, To: 2}}}, false},
		"a machine that ends":     {[]checker.Record{{Cloud: &checker.Cloud{Kind: checker.Ending, Group: "large", Instance: "i-2"}}}, false},
		"a pod too many":          {[]checker.Record{pod("x", "web", "n1", "Running")}, false},
		"a pod that ends":         {[]checker.Record{{Pod: &checker.Pod{UID: "x", App: "web", Phase: "Running", Ending: true}}}, false},
		"a pod that waits":        {[]checker.Record{pod("x", "ledger", "", "Pending")}, false},
		"a pod that has gone":     {[]checker.Record{{Pod: &checker.Pod{UID: "giant", App: "giant", Gone: true}}}, false},
		"a finished pod that is being tidied up": {
			[]checker.Record{{Pod: &checker.Pod{UID: "x", App: "report", Node: "n1", Phase: "Succeeded", Ending: true}}}, true,
		},
		"a finished pod of a node that is gone": {[]checker.Record{pod("x", "report", "n0", "Succeeded")}, false},
	}
	all := acts()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := end()
			s.sees(test.more...)
			var got bool
			s.look(func(b *board) { got = all[len(all)-1].ended(b) })
			if got != test.want {
				t.Errorf("ended: %v, want %v", got, test.want)
			}
		})
	}
}

func TestTheBurstIsOverWhenTheGiantPodKnowsItsReasons(t *testing.T) {
	s := newStage()
	for _, name := range []string{"r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10"} {
		s.sees(pod(name, "report", "n1", "Running"))
	}
	s.sees(pod("r11", "report", "n1", "Succeeded"), checker.Record{Pod: &checker.Pod{UID: "r11", App: "report", Gone: true}}, // counts though it is gone
		pod("c1", "cache", "n1", "Running"), pod("c2", "cache", "n1", "Running"), pod("giant", "giant", "", "Pending"))
	var before, after bool
	s.look(func(b *board) { before = acts()[1].ended(b) })
	s.sees(event("Pod", "giant", "NotTriggerScaleUp", "pod didn't trigger scale-up: 3 Insufficient cpu"))
	s.look(func(b *board) { after = acts()[1].ended(b) })
	if before || !after {
		t.Errorf("over before the event: %v, after it: %v; want false, true", before, after)
	}
}

func TestTheNarratorTellsEachDecisionOnce(t *testing.T) {
	const bought = "pod triggered scale-up: [{general 1->7 (max: 20)}]"
	s := newStage()
	n := newNarrator(s.recorder, s.timeline)
	s.sees(node("ip-10-0-0-4.eu-west-1.compute.internal", "i-1", true), pod("web-1", "web", "", "Pending"), pod("web-2", "web", "", "Pending"),
		pod("web-3", "web", "", "Pending"), pod("ledger-1", "ledger", "", "Pending"), pod("giant-1", "giant", "", "Pending"))
	n.tell(start)
	s.said() // the status

	s.sees(
		event("Lease", "cluster-autoscaler", "LeaderElection", "host became leader"),
		event("ConfigMap", "status", "ScaledUpGroup", "Scale-up: setting group general size to 7 instead of 1 (max: 20)"),
		event("ConfigMap", "status", "ScaledUpGroup", "Scale-up: group general size set to 7 instead of 1 (max: 20)"),
		event("Pod", "web-1", "TriggeredScaleUp", bought), event("Pod", "web-2", "TriggeredScaleUp", bought),
		event("Pod", "web-3", "TriggeredScaleUp", bought), event("Pod", "ledger-1", "TriggeredScaleUp", bought),
		event("Pod", "giant-1", "NotTriggerScaleUp", "pod didn't trigger scale-up: 2 Insufficient cpu, 1 node(s) had untolerated taint(s)"),
		event("Node", "ip-10-0-0-4.eu-west-1.compute.internal", "ScaleDown", "marked the node as toBeDeleted/unschedulable"),
		event("ConfigMap", "status", "ScaleDownEmpty", `Scale-down: removing empty node "ip-10-0-0-4.eu-west-1.compute.internal"`),
		event("ConfigMap", "status", "ScaleDownEmpty", "(combined from similar events): Scale-down: empty node ip-10-0-0-9.eu-west-1.compute.internal removed"),
		event("Pod", "web-1", "ScaleDown", "deleting pod for node scale down"), event("Pod", "web-2", "ScaleDown", "deleting pod for node scale down"),
		checker.Record{Event: &checker.Event{Warning: true, Kind: "ConfigMap", Name: "status", Reason: "FailedToScaleUpGroup", Message: "Scale-up failed for group large: no stock"}},
	)
	n.tell(start)
	want := []string{
		"   0:00.0     autoscaler: Scale-up: group general size set to 7 instead of 1 (max: 20)",
		"   0:00.0     autoscaler: buys [{general 1->7 (max: 20)}], for pod web-1",
		"   0:00.0     autoscaler: buys nothing for pod giant-1: 2 Insufficient cpu, 1 node(s) had untolerated taint(s)",
		"   0:00.0     autoscaler: Scale-down: removing empty node ip-10-0-0-4 (general)",
		"   0:00.0     autoscaler: Scale-down: empty node ip-10-0-0-9 removed",
		"   0:00.0     autoscaler: WARNING FailedToScaleUpGroup status: Scale-up failed for group large: no stock",
	}
	if diff := cmp.Diff(want, s.said()); diff != "" {
		t.Errorf("at once (-want +got):\n%s", diff)
	}
	n.tell(start.Add(gatherFor / 2))
	if got := s.said(); got != nil {
		t.Errorf("before all events of a kind may have come: %q", got)
	}
	n.tell(start.Add(gatherFor))
	want = []string{
		"   0:00.0     autoscaler: evicts 2 pods of web",
		"   0:00.0     autoscaler: ... and for 1 pod of ledger and 2 pods of web",
	}
	if diff := cmp.Diff(want, s.said()); diff != "" {
		t.Errorf("together (-want +got):\n%s", diff)
	}
	n.tell(start.Add(time.Minute))
	if got := s.said(); got != nil {
		t.Errorf("told twice: %q", got)
	}
}

func TestEventsThatKeepComingAreToldAfterAWhile(t *testing.T) {
	s := newStage()
	n := newNarrator(s.recorder, s.timeline)
	n.tell(start)
	s.said()
	for now := start; now.Before(start.Add(gatherMax)); now = now.Add(gatherFor / 2) {
		r := event("Pod", "web-1", "ScaleDown", "deleting pod for node scale down")
		r.Time = now
		s.sees(r)
		n.tell(now)
	}
	n.tell(start.Add(gatherMax))
	if got := s.said(); len(got) != 1 {
		t.Errorf("said %q, want one line", got)
	}
}

func TestTheTimelineIsNeitherNoisyNorSilent(t *testing.T) {
	s := newStage()
	step := func(d time.Duration, do func(), want ...string) {
		t.Helper()
		s.clock.Step(d)
		do()
		if diff := cmp.Diff(want, s.said()); diff != "" {
			t.Errorf("after %v (-want +got):\n%s", s.clock.Since(start), diff)
		}
	}
	show := func(status string, must bool) func() { return func() { s.timeline.show(status, must) } }
	s.timeline.await("all is well")
	step(silence-time.Second, s.timeline.beat)
	step(time.Second, s.timeline.beat, "   0:08.0 ... until all is well")
	step(time.Second, show("A", false), "   0:09.0 A")
	step(statusEvery/2, show("B", false))
	step(0, show("B", true), "   0:09.5 B")
	step(time.Minute, show("B", true))
	step(0, s.timeline.beat, "   1:09.5 B ... until all is well")
	step(0, func() { s.timeline.act("Act", "first\nsecond") }, "", "   1:09.5 == Act ==", "          first", "          second")
}

func TestTheAuditLogYieldsWhoMovedWhat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	const text = `{"kind":"Event","stageTimestamp":"2026-01-01T10:00:01.5Z","verb":"create","user":{"username":"system:kube-scheduler"},"objectRef":{"resource":"pods","subresource":"binding","namespace":"default","name":"web-1"},"responseStatus":{"code":201},"requestObject":{"target":{"kind":"Node","name":"n1"}}}
{"kind":"Event","stageTimestamp":"2026-01-01T10:00:02Z","verb":"create","user":{"username":"ca"},"objectRef":{"resource":"pods","subresource":"eviction","namespace":"default","name":"web-1"},"responseStatus":{"code":429}}
{"kind":"Event","stageTimestamp":"2026-01-01T10:00:03Z","verb":"patch","user":{"username":"kubelets"},"objectRef":{"resource":"pods","subresource":"status","namespace":"default","name":"web-1"},"responseStatus":{"code":200}}
{"kind":"Event","stageTimestamp":"2026-01-01T10:00:04Z","verb":"update","user":{"username":"ca"},"objectRef":{"resource":"nodes","name":"n1"},"responseStatus":{"code":200}}
{"kind":"Event","stageTimestamp":"2026-01-01T10:00:05Z","verb":"delete","user":{"username":"cloud"},"objectRef":{"resource":"nodes","name":"n1"},"responseStatus":{"code":200}}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := readWrites(path)
	if err != nil {
		t.Fatal(err)
	}
	want := checker.Log{
		{Time: start.Add(1500 * time.Millisecond), Write: &checker.Write{User: "system:kube-scheduler", Verb: "create", Resource: "pods/binding", Namespace: "default", Name: "web-1", Code: 201, Node: "n1"}},
		{Time: start.Add(2 * time.Second), Write: &checker.Write{User: "ca", Verb: "create", Resource: "pods/eviction", Namespace: "default", Name: "web-1", Code: 429}},
		{Time: start.Add(5 * time.Second), Write: &checker.Write{User: "cloud", Verb: "delete", Resource: "nodes", Name: "n1", Code: 200}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

func TestTheRecorderWritesAStateDownOnce(t *testing.T) {
	s := newStage()
	p := &corev1.Pod{}
	p.UID, p.Name, p.Labels = "u", "web-1", map[string]string{appLabel: "web"}
	s.recordPod(p, false)
	p = p.DeepCopy()
	p.ResourceVersion = "2" // nothing that is of interest
	s.recordPod(p, false)
	p = p.DeepCopy()
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
	s.recordPod(p, false)
	s.recordPod(p, true)
	var got []checker.Pod
	for _, r := range s.since(1) {
		got = append(got, *r.Pod)
	}
	want := []checker.Pod{
		{UID: "u", Name: "web-1", App: "web"},
		{UID: "u", Name: "web-1", App: "web", Unschedulable: true},
		{UID: "u", Name: "web-1", App: "web", Unschedulable: true, Gone: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
}

func TestOnlyEventsOfTheAutoscalerAreRecorded(t *testing.T) {
	s := newStage()
	e := &corev1.Event{Reason: "Scheduled", Source: corev1.EventSource{Component: "default-scheduler"}}
	e.Name = "a"
	s.recordEvent(e, false)
	e = &corev1.Event{Reason: "TriggeredScaleUp", Source: corev1.EventSource{Component: component}}
	e.Name = "b"
	s.recordEvent(e, false)
	s.recordEvent(e, true) // they expire
	got := s.since(1)
	if len(got) != 1 || got[0].Event.Reason != "TriggeredScaleUp" {
		t.Errorf("recorded %d events", len(got))
	}
}

// The predictions rest on what a machine holds: this compares them with the requests in the manifests and the hardware of the types.
func TestThePredictionsFollowFromRequestsAndMachines(t *testing.T) {
	clouds := map[string]map[string]int{CloudAWS: awsCores(t), CloudDigitalOcean: doksCores(t)}
	for cloud, cores := range clouds {
		t.Run(cloud, func(t *testing.T) { checkPredictions(t, cores) })
	}
}

// awsCores is how many cores a machine of each group has.
func awsCores(t *testing.T) map[string]int {
	t.Helper()
	aws, err := awstest.New(awstest.Config{Clock: clocktesting.NewFakeClock(start), Region: cluster.Region})
	if err != nil {
		t.Fatal(err)
	}
	cores := map[string]int{}
	for _, g := range cluster.DefaultNodeGroups() {
		hardware, ok := aws.InstanceType(g.Type)
		if !ok {
			t.Fatalf("no type %s", g.Type)
		}
		cores[g.Name] = hardware.VCPUs
	}
	return cores
}

// doksCores is how many cores a node of each pool has.
func doksCores(t *testing.T) map[string]int {
	t.Helper()
	cores := map[string]int{}
	for _, pool := range cluster.DefaultNodePools() {
		for _, size := range cluster.DOKSSizes() {
			if size.Slug == pool.Size {
				cores[pool.ID] = size.VCPUs
			}
		}
		if cores[pool.ID] == 0 {
			t.Fatalf("no size %s", pool.Size)
		}
	}
	return cores
}

// checkPredictions compares what was predicted with what follows from the cores of each group's machines.
func checkPredictions(t *testing.T, cores map[string]int) {
	t.Helper()
	spare := func(group string, left int64) int64 { // milli-CPU that kubelets keep: at most 100 on these types
		if cores[group] == 0 {
			t.Fatalf("no group %s", group)
		}
		return int64(cores[group])*1000 - 100 - left
	}
	cpu := map[string]int64{}
	for _, app := range []string{"web", "ledger", "report", "cache", "giant"} {
		cpu[app] = requested(t, app)
	}
	machines := func(app, group string, pods, extra int64) int64 {
		perMachine := spare(group, extra) / cpu[app]
		return (pods + perMachine - 1) / perMachine
	}
	groups, _ := predict(awsNodeGroups(), nil)
	want := map[string]int64{
		"general": machines("web", "general", 40, cpu["ledger"]) - 1,
		"large":   machines("cache", "large", 2, 0),
		"batch":   machines("report", "batch", 12, 0),
	}
	for _, g := range groups {
		if int64(g.Bought) != want[g.Name] {
			t.Errorf("group %s: %d machines predicted, want %d", g.Name, g.Bought, want[g.Name])
		}
		if spare(g.Name, 0) >= cpu["giant"] {
			t.Errorf("the giant pod fits on group %s", g.Name)
		}
	}
	if spare("general", 0) >= cpu["cache"] {
		t.Error("cache fits on a small machine")
	}
	if room := spare("large", 2*cpu["cache"]); room < 3*cpu["web"]+cpu["ledger"] {
		t.Errorf("the large machine has room for %d milli-CPU, too little for what moves there", room)
	}
}

// requested is how much CPU a pod of an app asks for, in milli-CPU.
func requested(t *testing.T, app string) int64 {
	t.Helper()
	text, err := manifest(app)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n---\n")
	var template corev1.PodTemplateSpec
	if strings.Contains(first, "kind: Job") {
		var job batchv1.Job
		err = yaml.UnmarshalStrict([]byte(first), &job)
		template = job.Spec.Template
	} else {
		var deployment appsv1.Deployment
		err = yaml.UnmarshalStrict([]byte(first), &deployment)
		template = deployment.Spec.Template
	}
	if err != nil || template.Labels[appLabel] != app {
		t.Fatalf("manifest of %s: label %q, error %v", app, template.Labels[appLabel], err)
	}
	return template.Spec.Containers[0].Resources.Requests.Cpu().MilliValue()
}

func TestTheTableHasALinePerGroup(t *testing.T) {
	got := Summary(checker.Figures{
		Took: 90 * time.Second, PodsPeak: 56, Pods: 8, Waiting: 1, Evictions: 5, Refused: 2, PeakRSS: 57 << 20,
		Median: 420 * time.Millisecond, Slowest: 1354 * time.Millisecond, Counted: 49,
		Groups: []checker.GroupFigures{
			{Group: checker.Group{Name: "general", Min: 1, Max: 20, First: []string{"i-1"}}, Peak: 7, Now: 1, Bought: 6, Ended: 6},
			{Group: checker.Group{Name: "large", Max: 5}, Peak: 1, Now: 1, Bought: 1},
		},
	})
	want := `  node group  min  max  first  peak  last  bought  ended
     general    1   20      1     7     1       6      6
       large    0    5      0     1     1       1      0

The story took 90 s. At most 56 pods ran at once; 8 are left, 1 of them waiting. 5 pods were evicted; 2 evictions were refused.
From the news that a pod is unschedulable to the request for its machine: median 420 ms, slowest 1354 ms (49 pods).
Memory of the autoscaler at its peak: 57 MiB.
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}
