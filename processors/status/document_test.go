package status_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/processors/status"
)

func clock(text string) time.Time {
	at, err := time.Parse("15:04:05", text)
	if err != nil {
		panic(err)
	}
	return at.AddDate(2031, 3, 4)
}

func golden(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func text(t *testing.T, doc status.Document) string {
	t.Helper()
	out, err := doc.YAML()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// example is the report behind the example of operator-surface 4.3 at the given time.
func example(at time.Time, growing bool, unneeded int) report.Report {
	counts := report.NodeCounts{Registered: 5, Ready: 4, NotStarted: 1, Unregistered: 1}
	r := report.Report{
		At:      at,
		Cluster: report.ClusterStatus{Counts: counts, Managed: counts, Healthy: true},
		Groups: []report.GroupStatus{
			{Group: "blue-workers", Min: 2, Max: 12, Target: 6, Counts: counts, Healthy: true, ScalingUp: growing, LastProbe: at, Unneeded: unneeded},
			{Group: "green-gpu", Max: 3, Healthy: true, Backoff: &report.Backoff{
				Until: at.Add(time.Minute), Class: cloudprovider.ErrorClassOther, Code: "cloudProviderError", Message: "zone z1 is out of that machine type",
			}},
		},
		ScaleDown: report.ScaleDown{Result: report.ScaleDownNoCandidates},
	}
	for range unneeded {
		r.ScaleDown.Unneeded = append(r.ScaleDown.Unneeded, report.UnneededNode{})
	}
	return r
}

func TestTheDocumentIsTheOneThatOperatorsParse(t *testing.T) {
	doc := status.Initializing(clock("04:59:50"), "")
	doc = status.Render(example(clock("05:00:00"), false, 1), doc)
	doc = status.Render(example(clock("05:30:00"), false, 0), doc)
	doc = status.Render(example(clock("06:05:00"), true, 0), doc)
	at := clock("06:07:08").Add(123456789)
	doc = status.Render(example(at, true, 0), doc)
	if diff := cmp.Diff(golden(t, "running.yaml"), text(t, doc)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestTheDocumentBeforeThereIsAnythingToTell(t *testing.T) {
	want := golden(t, "initializing.yaml")
	if diff := cmp.Diff(want, text(t, status.Initializing(clock("06:07:08").Add(500*time.Millisecond), "Cluster has no nodes."))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	want = strings.Replace(want, "message: Cluster has no nodes.\n", "", 1)
	if diff := cmp.Diff(want, text(t, status.Initializing(clock("06:07:08").Add(500*time.Millisecond), ""))); diff != "" {
		t.Errorf("without a message (-want +got):\n%s", diff)
	}
}

func TestTheDocumentNamesWhatIsWrong(t *testing.T) {
	at := clock("06:07:08")
	r := report.Report{
		At: at,
		Cluster: report.ClusterStatus{
			Counts: report.NodeCounts{
				Registered: 23, Ready: 3, NotStarted: 2, Suspended: 4, Unready: 9, ResourceUnready: 7, Deleted: 5, Unregistered: 8, LongUnregistered: 6,
			},
			Managed: report.NodeCounts{Registered: 13, Unready: 1},
		},
		Groups: []report.GroupStatus{
			{Group: "sick", Min: 1, Max: 9, Target: 4, Counts: report.NodeCounts{Registered: 4, Unready: 4}, LastProbe: at, Unneeded: 3,
				Backoff: &report.Backoff{Until: at, Code: "Q"}},
			{Group: "denied", Max: 5, Target: 1, Counts: report.NodeCounts{Registered: 1, Ready: 1}, LastProbe: at, Healthy: true,
				SetAside: &report.GroupSetAside{Error: "AccessDenied", Since: clock("06:00:00"), Until: clock("06:12:08").Add(time.Millisecond)}},
		},
		GroupErrors: []cloudprovider.GroupError{
			{Group: "stale", Err: errors.New("size unreadable"), Since: clock("05:50:00")},
			{Group: "lost", Err: errors.New("group not found"), Since: clock("05:40:00")},
		},
		Features: []report.Feature{
			{Name: "namespaces", Since: clock("05:00:00")},
			{Name: "persistentvolumeclaims", Error: "persistentvolumeclaims is forbidden", Since: clock("05:00:00")},
		},
		ScaleDown: report.ScaleDown{Result: report.ScaleDownInCooldown, Unneeded: make([]report.UnneededNode, 3)},
	}
	want := golden(t, "trouble.yaml")
	if diff := cmp.Diff(want, text(t, status.Render(r, status.Initializing(at, "")))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	parsed, err := status.Parse(want)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, text(t, parsed)); diff != "" {
		t.Errorf("read and written again (-want +got):\n%s", diff)
	}
}

// A group that is known from older data only stands in both lists of a report.
func TestAGroupIsSetAsideOnce(t *testing.T) {
	stale := errors.New("size unreadable")
	doc := status.Render(report.Report{
		At: clock("06:00:00"),
		Groups: []report.GroupStatus{
			{Group: "stale", SetAside: &report.GroupSetAside{Error: stale.Error(), Since: clock("05:59:00")}},
		},
		GroupErrors: []cloudprovider.GroupError{{Group: "stale", Err: stale, Since: clock("05:50:00")}},
	}, status.Document{})
	want := []status.SetAside{{Name: "stale", Error: "size unreadable", Since: metav1.NewTime(clock("05:50:00"))}}
	if diff := cmp.Diff(want, doc.SetAside); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestScaleUpOfAGroupIsTheFirstThatHolds(t *testing.T) {
	backoff := &report.Backoff{Code: "Q", Message: "m"}
	tests := map[string]struct {
		group report.GroupStatus
		want  string
		info  status.BackoffInfo
	}{
		"scaling up": {group: report.GroupStatus{ScalingUp: true, Backoff: backoff}, want: "InProgress"},
		"unhealthy":  {group: report.GroupStatus{Backoff: backoff}, want: "Unhealthy"},
		"backed off": {group: report.GroupStatus{Healthy: true, Backoff: backoff}, want: "Backoff", info: status.BackoffInfo{ErrorCode: "Q", ErrorMessage: "m"}},
		"nothing":    {group: report.GroupStatus{Healthy: true}, want: "NoActivity"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			doc := status.Render(report.Report{At: clock("06:00:00"), Groups: []report.GroupStatus{test.group}}, status.Document{})
			got := doc.NodeGroups[0].ScaleUp
			if got.Status != test.want || got.BackoffInfo != test.info {
				t.Errorf("status %s with %+v, want %s with %+v", got.Status, got.BackoffInfo, test.want, test.info)
			}
		})
	}
}

func TestTheTimeOfATransitionIsKeptWhileTheStatusIs(t *testing.T) {
	at := func(minute int) time.Time { return clock("06:00:00").Add(time.Duration(minute) * time.Minute) }
	render := func(minute int, healthy bool, before status.Document) status.Document {
		return status.Render(report.Report{
			At: at(minute), Cluster: report.ClusterStatus{Healthy: healthy}, ScaleDown: report.ScaleDown{Result: report.ScaleDownNoCandidates},
			Groups: []report.GroupStatus{{Group: "g", Healthy: healthy, LastProbe: at(minute)}},
		}, before)
	}
	doc := render(0, true, status.Initializing(at(0), ""))
	doc = render(1, true, doc)
	check := func(probe, transition int) {
		t.Helper()
		want := status.Times{LastProbeTime: metav1.NewTime(at(probe)), LastTransitionTime: metav1.NewTime(at(transition))}
		for what, got := range map[string]status.Times{
			"cluster": doc.ClusterWide.Health.Times, "group": doc.NodeGroups[0].Health.Times, "scale-up of the group": doc.NodeGroups[0].ScaleUp.Times,
		} {
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", what, diff)
			}
		}
	}
	check(1, 0)
	doc = render(2, false, doc)
	check(2, 2)
	doc = render(3, false, doc)
	check(3, 2)
	doc = render(4, true, doc)
	check(4, 4)
}

func TestScaleDownTimesStandStillWhileNobodyLooks(t *testing.T) {
	at := func(minute int) time.Time { return clock("06:00:00").Add(time.Duration(minute) * time.Minute) }
	render := func(minute int, result report.ScaleDownResult, unneeded int, before status.Document) status.Document {
		return status.Render(report.Report{
			At: at(minute), ScaleDown: report.ScaleDown{Result: result, Unneeded: make([]report.UnneededNode, unneeded)},
			Groups: []report.GroupStatus{{Group: "g", Unneeded: unneeded}},
		}, before)
	}
	doc := render(0, report.ScaleDownNotTried, 0, status.Initializing(at(0), ""))
	check := func(want status.ScaleDown) {
		t.Helper()
		if diff := cmp.Diff(want, doc.ClusterWide.ScaleDown); diff != "" {
			t.Errorf("cluster (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want, doc.NodeGroups[0].ScaleDown); diff != "" {
			t.Errorf("group (-want +got):\n%s", diff)
		}
	}
	times := func(probe, transition int) status.Times {
		return status.Times{LastProbeTime: metav1.NewTime(at(probe)), LastTransitionTime: metav1.NewTime(at(transition))}
	}
	check(status.ScaleDown{Status: "NoCandidates"})
	doc = render(1, report.ScaleDownNoCandidates, 0, doc)
	check(status.ScaleDown{Status: "NoCandidates", Times: times(1, 1)})
	doc = render(2, report.ScaleDownInCooldown, 2, doc)
	check(status.ScaleDown{Status: "CandidatesPresent", Candidates: 2, Times: times(2, 2)})
	doc = render(3, report.ScaleDownNotTried, 0, doc)
	check(status.ScaleDown{Status: "CandidatesPresent", Candidates: 2, Times: times(2, 2)})
	doc = render(4, report.ScaleDownStarted, 1, doc)
	check(status.ScaleDown{Status: "CandidatesPresent", Candidates: 1, Times: times(4, 2)})
}

func TestTheClusterGrowsIfAGroupDoes(t *testing.T) {
	for _, growing := range []bool{false, true} {
		doc := status.Render(report.Report{At: clock("06:00:00"), Groups: []report.GroupStatus{{Group: "a"}, {Group: "b", ScalingUp: growing}, {Group: "c"}}}, status.Document{})
		if want := map[bool]string{false: "NoActivity", true: "InProgress"}[growing]; doc.ClusterWide.ScaleUp.Status != want {
			t.Errorf("a group grows: %t; the cluster's status is %s, want %s", growing, doc.ClusterWide.ScaleUp.Status, want)
		}
	}
}

func TestWhatIsNoDocumentIsAnError(t *testing.T) {
	if _, err := status.Parse("nodeGroups: 5"); err == nil {
		t.Error("no error")
	}
}
