package report_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/simulator"
)

var (
	at  = time.Date(2031, 4, 5, 6, 7, 8, 0, time.UTC)
	pod = report.PodRef{Namespace: "web", Name: "p"}
)

// reasons has one of each type apart from Rejected, with the code and the text that it has.
var reasons = []struct {
	reason report.Reason
	code   report.Code
	text   string
}{
	// Groups.
	{report.GroupAtMaxSize{Target: 3, Max: 3}, "GroupAtMaxSize", "max node group size reached"},
	{report.GroupBackedOff{Until: at, Why: "timeout"}, "GroupBackedOff", "in backoff after failed scale-up"},
	{report.GroupUnhealthy{Missing: 6, Expected: 12}, "GroupUnhealthy", "not ready for scale-up"},
	{report.GroupSetAside{Error: "AccessDenied", Until: at}, "GroupSetAside", "set aside until 2031-04-05T06:07:08Z: AccessDenied"},
	{report.NoTemplate{Error: "no launch template"}, "NoTemplate", "no template for new nodes: no launch template"},
	{report.LimitReached{Limit: "cluster-wide", Resources: []string{"cpu", "memory"}}, "LimitReached", `exceeded quota: "cluster-wide", resources: cpu, memory`},
	{report.AtomicOverLimit{Nodes: 8, Room: 3}, "AtomicOverLimit", "atomic scale-up exceeds cluster node count limit"},
	{report.NotAllFit{Fit: 2, Wanted: 3}, "NotAllFit", "not all pods would fit and scale-up is using all-or-nothing strategy"},
	{report.DroppedByExpander{Expander: "least-waste"}, "DroppedByExpander", "expansion options filtered out and no longer considered"},
	{report.ExecutionFailed{Error: "sold out"}, "ExecutionFailed", "scale-up execution failed: sold out"},
	{report.NotGuaranteed{Until: at}, "NotGuaranteed", "the group may or may not deliver a node that fits, no further attempt until 2031-04-05T06:07:08Z"},
	{report.EstimateLimit{Nodes: 1000}, "EstimateLimit", "estimate ended at 1000 nodes"},
	// Pods.
	{report.Upcoming{Node: "n"}, "Upcoming", "fits on n"},
	{report.WaitingForPreemption{Node: "n"}, "WaitingForPreemption", "waits for preemption on n"},
	{report.TooYoung{Age: time.Second, Needed: time.Minute}, "TooYoung", "is 1s old, not yet 1m0s"},
	{report.Expendable{Priority: -11, Cutoff: -10}, "Expendable", "priority -11 is below the cut-off -10"},
	{report.DaemonSetPod{}, "DaemonSetPod", "belongs to a DaemonSet"},
	{report.OtherScheduler{Name: "volcano"}, "OtherScheduler", `scheduler "volcano" is not allowed`},
	{report.Gated{}, "Gated", "has scheduling gates"},
	{report.PurchaseOnTheWay{Group: "g", Until: at}, "PurchaseOnTheWay", "a node of g was bought for it, no other one until 2031-04-05T06:07:08Z"},
	// Nodes, with the names of scale-down 1.9.
	{report.ScaleDownDisabledAnnotation{}, "ScaleDownDisabledAnnotation", "its annotation forbids removal"},
	{report.ScaleDownUnreadyDisabled{}, "ScaleDownUnreadyDisabled", "it is unready and --scale-down-unready-enabled is off"},
	{report.NotAutoscaled{}, "NotAutoscaled", "it belongs to no node group"},
	{report.NotUnneededLongEnough{Since: at, Needed: time.Minute}, "NotUnneededLongEnough", "unneeded since 2031-04-05T06:07:08Z, not yet for 1m0s"},
	{report.NotUnreadyLongEnough{Since: at, Needed: time.Minute}, "NotUnreadyLongEnough", "unready and unneeded since 2031-04-05T06:07:08Z, not yet for 1m0s"},
	{report.NodeGroupMinSizeReached{Size: 3, Deleting: 1, Min: 2}, "NodeGroupMinSizeReached", "group size 3 with 1 deletions in progress, minimum 2"},
	{report.AtomicScaleDownFailed{Removable: 3, Size: 4}, "AtomicScaleDownFailed", "the group goes as a whole only, 3 of 4 nodes can"},
	{
		report.MinimalResourceLimitExceeded{Resources: []report.Minimum{
			{Resource: "cpu", Usage: 12, Takes: 4, Min: 10}, {Resource: "memory", Usage: 12 << 30, Takes: 4 << 30, Min: 10 << 30},
		}}, "MinimalResourceLimitExceeded",
		"a cluster minimum would be violated: cpu 12 less 4, minimum 10, memory 12Gi less 4Gi, minimum 10Gi",
	},
	{report.CurrentlyBeingDeleted{Since: at}, "CurrentlyBeingDeleted", "carries a deletion taint of 2031-04-05T06:07:08Z"},
	{report.NotUnderutilized{Resource: "cpu", Got: 0.75, Threshold: 0.5}, "NotUnderutilized", "cpu utilisation 0.75 is above 0.5"},
	{report.RecentlyUnremovable{First: report.NotAutoscaled{}, Until: at}, "RecentlyUnremovable",
		"it belongs to no node group (not looked at again until 2031-04-05T06:07:08Z)"},
	{report.NoPlaceToMovePods{Pod: pod, Nearest: "n", Lacks: &simulator.Rejection{Reasons: []string{"Insufficient cpu"}}}, "NoPlaceToMovePods",
		"no place for pod web/p, nearest is n: Insufficient cpu"},
	{report.BlockedByPod{Pod: pod, Why: "NotEnoughPdb", PDB: "web/budget", Err: "bad"}, "BlockedByPod", "pod web/p blocks: NotEnoughPdb (web/budget): bad"},
	{report.BlockedByOnCompletionPod{Pod: pod, More: 2}, "BlockedByOnCompletionPod", "waits for pod web/p and 2 more to end"},
	{report.UnexpectedError{Error: "unreadable"}, "UnexpectedError", "unreadable"},
	{report.NoNodeInfo{}, "NoNodeInfo", "it is not in the snapshot"},
	// Nodes, our own.
	{report.NotReached{Limit: "time"}, "NotReached", "not looked at: time"},
	{report.CoolDown{StartedBy: "scale-up of g", Until: at}, "CoolDown", "cool-down after scale-up of g until 2031-04-05T06:07:08Z"},
	{report.AtMinSizeBefore{Target: 2, Min: 2}, "AtMinSizeBefore", "group size 2 is at its minimum 2"},
	{report.DeletionInProgress{Since: at}, "DeletionInProgress", "being removed since 2031-04-05T06:07:08Z"},
	{report.ResourceClaimsNotSimulated{Pod: pod}, "ResourceClaimsNotSimulated", "pod web/p has resource claims, which are not simulated"},
}

func TestEveryReasonHasItsCodeAndItsWords(t *testing.T) {
	seen := map[report.Code]bool{}
	for _, want := range reasons {
		if got := want.reason.Code(); got != want.code || seen[got] {
			t.Errorf("%T has the code %q (again: %t), want %q alone", want.reason, got, seen[got], want.code)
		}
		seen[want.code] = true
		if got := want.reason.String(); got != want.text {
			t.Errorf("%T says %q, want %q", want.reason, got, want.text)
		}
	}
}

// The list above is compared with what the package declares, so that a new reason is not forgotten.
func TestNoReasonIsMissingHere(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "codes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var declared, listed []string
	for _, decl := range file.Decls {
		method, ok := decl.(*ast.FuncDecl)
		if !ok || method.Name.Name != "reason" || method.Recv == nil {
			continue
		}
		if receiver, ok := method.Recv.List[0].Type.(*ast.Ident); ok && receiver.Name != "Rejected" {
			declared = append(declared, receiver.Name)
		}
	}
	for _, r := range reasons {
		listed = append(listed, string(r.code)) // each is named like its type
	}
	slices.Sort(declared)
	slices.Sort(listed)
	if diff := cmp.Diff(listed, declared); diff != "" {
		t.Errorf("-listed +declared:\n%s", diff)
	}
}

// The closed set of design 5, and of the label "reason" of unremovable_nodes_count as far as it can occur.
func TestTheCodesAreThoseThatWereAgreedOn(t *testing.T) {
	filters := []report.Code{
		"InsufficientResource", "TaintNotTolerated", "NodeAffinityMismatch", "NodeUnschedulable", "HostPortTaken", "PodAffinityMismatch", "PodAntiAffinity",
		"ExistingPodAntiAffinity", "TopologySpread", "VolumeZone", "VolumeUnbound", "VolumeInUse", "AttachLimit", "ResourceClaim",
		"ResourceClaimsNotSimulated", "NodeFeatureMissing", "OtherFilter",
	}
	var got []report.Code
	for _, code := range simulator.FilterCodes() {
		got = append(got, report.Rejected{Rejection: simulator.Rejection{Filter: code}}.Code())
	}
	if diff := cmp.Diff(filters, got); diff != "" {
		t.Errorf("filters (-want +got):\n%s", diff)
	}
	own := map[report.Code]bool{}
	for _, r := range reasons {
		own[r.code] = true
	}
	for _, code := range []report.Code{
		"GroupAtMaxSize", "GroupBackedOff", "GroupUnhealthy", "GroupSetAside", "NoTemplate", "LimitReached", "AtomicOverLimit", "NotAllFit",
		"DroppedByExpander", "ExecutionFailed", "NotGuaranteed", "EstimateLimit",
		"Upcoming", "WaitingForPreemption", "TooYoung", "Expendable", "DaemonSetPod", "OtherScheduler", "Gated", "PurchaseOnTheWay",
		"NotReached", "CoolDown", "AtMinSizeBefore", "DeletionInProgress", "ResourceClaimsNotSimulated",
		"ScaleDownDisabledAnnotation", "ScaleDownUnreadyDisabled", "NotAutoscaled", "NotUnneededLongEnough", "NotUnreadyLongEnough",
		"NodeGroupMinSizeReached", "AtomicScaleDownFailed", "MinimalResourceLimitExceeded", "CurrentlyBeingDeleted", "NotUnderutilized",
		"RecentlyUnremovable", "NoPlaceToMovePods", "BlockedByPod", "UnexpectedError", "NoNodeInfo", "BlockedByOnCompletionPod",
	} {
		if !own[code] {
			t.Errorf("there is no reason %s", code)
		}
		delete(own, code)
	}
	if len(own) > 0 {
		t.Errorf("reasons that nobody agreed on: %v", own)
	}
}

func TestAReasonWithoutDetailsStillSaysSomething(t *testing.T) {
	for _, test := range []struct {
		reason report.Reason
		want   string
	}{
		{report.GroupSetAside{Error: "stale"}, "set aside until the next refresh says otherwise: stale"},
		{report.NoTemplate{}, "no template for new nodes"},
		{report.Upcoming{Node: "x", Group: "g"}, "fits on an upcoming node of g"},
		{report.PurchaseOnTheWay{Group: "g"}, "a node of g was bought for it, no other one until it is at work"},
		{report.RecentlyUnremovable{Until: at}, "not looked at again until 2031-04-05T06:07:08Z"},
		{report.NoPlaceToMovePods{Pod: pod}, "no place for pod web/p"},
		{report.BlockedByPod{Pod: pod, Why: "NotReplicated"}, "pod web/p blocks: NotReplicated"},
		{report.Rejected{Rejection: simulator.Rejection{Reasons: []string{"Insufficient cpu", "Insufficient memory"}}}, "Insufficient cpu, Insufficient memory"},
		{report.Rejected{Rejection: simulator.Rejection{Filter: simulator.OtherFilter, Plugin: "Custom"}}, "refused by Custom"},
		{report.Rejected{Rejection: simulator.Rejection{Filter: simulator.ResourceClaimsNotSimulated}}, "ResourceClaimsNotSimulated"},
	} {
		if got := test.reason.String(); got != test.want {
			t.Errorf("%#v says %q, want %q", test.reason, got, test.want)
		}
	}
}

func TestAnExpanderMayAddItsNumbers(t *testing.T) {
	dropped := report.DroppedByExpander{Expander: "price", Detail: "score 5.45, the lowest is 1.45"}
	const want = "expansion options filtered out and no longer considered (price: score 5.45, the lowest is 1.45)"
	if got := dropped.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
