package saved_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/core/saved"
	"example.com/cluster-autoscaler/processors/nodeinfos"
	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/simtest"
)

var epoch = time.Date(2031, 4, 5, 6, 0, 0, 0, time.UTC)

// maker makes random states.
type maker struct{ *rand.Rand }

func (m maker) time() time.Time {
	return epoch.Add(time.Duration(m.IntN(3600)) * time.Second).Add(time.Duration(m.IntN(1000)))
}
func (m maker) word(of string) string { return fmt.Sprintf("%s-%d", of, m.IntN(1000)) }
func (m maker) chance() bool          { return m.IntN(2) == 0 }

func (m maker) marks() saved.Marks {
	return saved.MarksOf([]types.UID{types.UID(m.word("pod")), types.UID(m.word("pod"))})
}

func (m maker) backoff() saved.Backoff {
	return saved.Backoff{
		Until: m.time(), LastFailed: m.time(), Duration: time.Duration(m.IntN(1800)) * time.Second,
		Class: cloudprovider.ErrorClassOutOfResources, Code: m.word("code"), Message: m.word("no more \"machines\"\n"),
	}
}

func (m maker) group(i int) saved.Group {
	g := saved.Group{ID: cloudprovider.GroupID(fmt.Sprintf("g-%03d", i))}
	if m.chance() {
		g.Request = &saved.Request{Increase: 1 + m.IntN(9), Since: m.time(), Expires: m.time()}
		g.Believed = &saved.Belief{Target: m.IntN(9), Since: m.time(), Certain: m.chance(), Intended: m.chance()}
	}
	if m.chance() {
		b := m.backoff()
		g.Backoff = &b
		g.Places = []saved.Place{{Zone: m.word("zone"), Type: m.word("type"), Backoff: m.backoff()}}
	}
	if m.chance() {
		g.SetAside = &saved.SetAside{Error: m.word("error"), Since: m.time(), Until: m.time()}
		g.AsideSince, g.RepairFrom = m.time(), m.time()
		g.LastScaleUp, g.LastDeletion, g.LastFailure = m.time(), m.time(), m.time()
		g.DeletionOf, g.FailureBy = "n", "n: out of order"
	}
	for range m.IntN(3) {
		g.FirstSeen = append(g.FirstSeen, saved.FirstSeen{Instance: m.word("i"), Since: m.time()})
		g.Failing = append(g.Failing, m.word("i"))
		g.EmptySince = append(g.EmptySince, m.time())
		g.WrongSize = &saved.WrongSize{Registered: m.IntN(9), Target: m.IntN(9), Since: m.time()}
	}
	return g
}

func (m maker) learnt(i int) nodeinfos.LearntTemplate {
	group := cloudprovider.GroupID(fmt.Sprintf("g-%03d", i))
	node := simtest.Node(string(group)).Label("pool", m.word("pool")).Build()
	node.ResourceVersion = "" // what is stored is what a node is like
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	l := nodeinfos.LearntTemplate{
		Group: group, Place: nodeinfos.Place{Zone: m.word("zone"), Type: "m5.large"}, At: epoch.Add(-time.Duration(m.IntN(300)) * time.Hour),
		Template: simulator.NodeTemplate{Node: node},
	}
	if m.chance() {
		l.Template.Pods = []*corev1.Pod{simtest.Pod(m.word("agent")).Requests("100m", "1Gi").Build()}
		l.Template.Pods[0].Status = corev1.PodStatus{}
		l.Template.Pods[0].CreationTimestamp = metav1.Time{}
		l.Described, l.Newest, l.Changed = &nodeinfos.Description{Labels: map[string]string{"team": m.word("x")}}, &nodeinfos.Description{}, l.At
		l.Template.CSINode = &storagev1.CSINode{
			ObjectMeta: metav1.ObjectMeta{Name: node.Name, UID: types.UID(m.word("csi"))},
			Spec:       storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: "ebs", NodeID: "i", Allocatable: &storagev1.VolumeNodeResources{Count: new(int32(25))}}}},
		}
	}
	node.CreationTimestamp = metav1.Time{}
	return l
}

func (m maker) reason() report.Reason {
	pod := report.PodRef{Namespace: "default", Name: m.word("pod"), UID: types.UID(m.word("uid"))}
	all := []report.Reason{
		report.NoPlaceToMovePods{Pod: pod}, report.BlockedByPod{Pod: pod, Why: "NotReplicated", PDB: "default/pdb"},
		report.NoPlaceToMovePods{Pod: pod, Nearest: "n", Lacks: &simulator.Rejection{
			Filter: simulator.InsufficientResource, Plugin: "NodeResourcesFit", Reasons: []string{"Insufficient cpu"},
			Short: []simulator.Shortage{{Resource: "cpu", Asked: 4000, Offered: -3}},
		}},
		report.BlockedByOnCompletionPod{Pod: pod}, report.UnexpectedError{Error: m.word("error")}, report.NoNodeInfo{},
		report.ResourceClaimsNotSimulated{Pod: pod},
	}
	return all[m.IntN(len(all))]
}

func (m maker) state() saved.State {
	var s saved.State
	r := &s.Registry
	r.LastScaleUp, r.LastDeletion, r.LastFailure = m.time(), m.time(), m.time()
	r.DeletionOf, r.FailureBy = "n and 3 more", "out of order"
	for i := range m.IntN(5) {
		r.Groups = append(r.Groups, m.group(i))
		r.Learnt = append(r.Learnt, m.learnt(i))
		r.Purchases = append(r.Purchases, saved.Purchase{
			Group: "g", Nodes: 1 + m.IntN(5), At: m.time(), Expires: m.time(), Pods: m.marks(),
		})
		r.Attempts = append(r.Attempts, saved.Attempt{Group: "g", Until: m.time(), Pods: m.marks()})
		s.Planner.Timers = append(s.Planner.Timers, saved.Timer{Node: m.word("n"), UID: types.UID(m.word("uid")), Since: m.time()})
		s.Planner.Rechecks = append(s.Planner.Rechecks, saved.Recheck{Node: m.word("n"), UID: types.UID(m.word("uid")), Until: m.time(), First: m.reason()})
		s.Planner.Hints = map[string]string{m.word("default/p"): m.word("n"), m.word("default/p"): m.word("n")}
	}
	return s
}

func states(t *testing.T, each func(seed uint64, state saved.State)) {
	t.Helper()
	for seed := range uint64(200) {
		each(seed, maker{rand.New(rand.NewPCG(seed, 1))}.state())
	}
}

func encode(t *testing.T, state saved.State, limit int) string {
	t.Helper()
	text, err := new(saved.Encoder).Encode(state, limit)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > limit {
		t.Fatalf("the text has %d bytes, the limit is %d", len(text), limit)
	}
	return text
}

func decode(t *testing.T, text string) saved.State {
	t.Helper()
	state, err := saved.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

func TestWhatIsDecodedIsWhatWasEncoded(t *testing.T) {
	states(t, func(seed uint64, state saved.State) {
		got := decode(t, encode(t, state, saved.Limit))
		if diff := cmp.Diff(state, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("seed %d (-encoded +decoded):\n%s", seed, diff)
		}
	})
}

func TestEqualStatesHaveEqualTextsWhoeverMakesThem(t *testing.T) {
	var always saved.Encoder
	states(t, func(seed uint64, state saved.State) {
		text, err := always.Encode(state, saved.Limit)
		if err != nil {
			t.Fatal(err)
		}
		state.Planner.Hints = maps.Clone(state.Planner.Hints)
		again, err := always.Encode(state, saved.Limit)
		if err != nil {
			t.Fatal(err)
		}
		if other := encode(t, decode(t, text), saved.Limit); text != again || text != other {
			t.Fatalf("seed %d: the texts differ", seed)
		}
	})
}

func TestTheTextStaysTheSameWhileLiveNodesOnlyReport(t *testing.T) {
	live := func(at time.Time, version string, heartbeat time.Time, pool string) saved.State {
		l := maker{rand.New(rand.NewPCG(1, 1))}.learnt(1)
		l.At = at
		l.Template.Node.ResourceVersion = version
		l.Template.Node.Labels["pool"] = pool
		l.Template.Node.Status.Conditions[0].LastHeartbeatTime = metav1.NewTime(heartbeat)
		for _, pod := range l.Template.Pods {
			pod.ResourceVersion = "1"
		}
		if csi := l.Template.CSINode; csi != nil {
			csi.ResourceVersion = "1"
		}
		return saved.State{Registry: saved.Registry{Learnt: []nodeinfos.LearntTemplate{l}}}
	}
	var e saved.Encoder
	var texts []string
	for _, state := range []saved.State{
		live(epoch, "1", epoch, "a"), live(epoch.Add(10*time.Second), "1", epoch, "a"), live(epoch.Add(time.Minute), "2", epoch.Add(time.Minute), "a"),
		live(epoch.Add(2*time.Minute), "3", epoch, "b"), live(epoch.Add(time.Hour), "3", epoch, "b"),
	} {
		text, err := e.Encode(state, saved.Limit)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text)
	}
	if texts[0] != texts[1] || texts[1] != texts[2] {
		t.Error("a report of the kubelet changes the text")
	}
	if texts[2] == texts[3] {
		t.Error("a new label does not change the text")
	}
	if texts[3] == texts[4] {
		t.Error("an hour does not change the text")
	}
}

func TestWhereTheLimitIsShortTheOldestLearntFactsGoFirst(t *testing.T) {
	m := maker{rand.New(rand.NewPCG(7, 7))}
	state := m.state()
	state.Registry.Learnt = nil
	for i := range 60 {
		l := m.learnt(i)
		l.At = epoch.Add(-time.Duration((i*37)%60) * time.Hour)
		state.Registry.Learnt = append(state.Registry.Learnt, l)
	}
	full := len(encode(t, state, saved.Limit))
	for _, limit := range []int{full - 1, full * 2 / 3, full / 2} {
		text := encode(t, state, limit)
		if text != encode(t, state, limit) {
			t.Errorf("limit %d: two texts differ", limit)
		}
		got := decode(t, text)
		kept := len(got.Registry.Learnt)
		if kept == 0 || kept >= len(state.Registry.Learnt) {
			t.Fatalf("limit %d of %d: %d templates are kept", limit, full, kept)
		}
		youngest := slices.Clone(state.Registry.Learnt)
		slices.SortFunc(youngest, func(a, b nodeinfos.LearntTemplate) int { return b.At.Compare(a.At) })
		want := map[cloudprovider.GroupID]bool{}
		for _, l := range youngest[:kept] {
			want[l.Group] = true
		}
		for _, l := range got.Registry.Learnt {
			if !want[l.Group] {
				t.Errorf("limit %d: %s of %s is kept although younger ones went", limit, l.Group, l.At)
			}
		}
		got.Registry.Learnt, state.Registry.Learnt = nil, slices.Clone(state.Registry.Learnt)
		rest := state
		rest.Registry.Learnt = nil
		if diff := cmp.Diff(rest, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("limit %d: more than templates went (-want +got):\n%s", limit, diff)
		}
	}
}

func TestWhatWasAskedOfTheCloudIsLeftOutLast(t *testing.T) {
	m := maker{rand.New(rand.NewPCG(3, 3))}
	state := saved.State{Registry: saved.Registry{Purchases: []saved.Purchase{{Group: "g", Nodes: 1, At: epoch, Expires: epoch}}}}
	must := len(encode(t, state, saved.Limit))
	state.Planner.Hints = map[string]string{}
	for i := range 300 {
		state.Planner.Hints[fmt.Sprint("default/", m.Uint64())] = fmt.Sprint(m.Uint64())
		state.Planner.Rechecks = append(state.Planner.Rechecks, saved.Recheck{Node: fmt.Sprint(m.Uint64()), Until: epoch, First: report.NoNodeInfo{}})
		state.Planner.Timers = append(state.Planner.Timers, saved.Timer{Node: fmt.Sprint(m.Uint64(), i), Since: epoch})
	}
	var got []string
	for limit := saved.Limit; limit > must; limit = len(encode(t, state, limit)) - 1 {
		part := decode(t, encode(t, state, limit))
		got = append(got, fmt.Sprint(len(part.Planner.Hints), len(part.Planner.Rechecks), len(part.Planner.Timers), len(part.Registry.Purchases)))
	}
	if diff := cmp.Diff([]string{"300 300 300 1", "0 300 300 1", "0 0 300 1", "0 0 0 1"}, got); diff != "" {
		t.Errorf("hints, rechecks, timers and purchases as the limit falls (-want +got):\n%s", diff)
	}
	if text, err := new(saved.Encoder).Encode(state, must-1-20); !errors.Is(err, saved.ErrTooLarge) {
		t.Errorf("below that: %d bytes, error %v", len(text), err)
	}
}

func TestMarksTellTheirPodsFromOthers(t *testing.T) {
	var pods []types.UID
	for i := range 1000 {
		pods = append(pods, types.UID(fmt.Sprintf("%08x-7f0e-4c0f-9d2b-0a4cbe1d%04x", i*7919, i)))
	}
	marks := saved.MarksOf(pods[:500])
	backwards := slices.Clone(pods[:500])
	slices.Reverse(backwards)
	if !slices.Equal(marks, saved.MarksOf(backwards)) {
		t.Error("the order of the pods matters")
	}
	for i, pod := range pods {
		if got, want := marks.Have(pod), i < 500; got != want {
			t.Errorf("pod %d is among them: %v, want %v", i, got, want)
		}
	}
	for _, damaged := range []saved.Marks{nil, {}, {1}, marks[:len(marks)-1]} {
		damaged.Have(pods[0]) // does not panic
	}
}

// The burst that the published figures are about leaves room for the status and for what is learnt.
func TestThePurchaseForFiftyThousandPodsFits(t *testing.T) {
	m := maker{rand.New(rand.NewPCG(1, 9))}
	var pods []types.UID
	for range 50_000 {
		pods = append(pods, types.UID(fmt.Sprintf("%016x-%016x", m.Uint64(), m.Uint64())))
	}
	text := encode(t, saved.State{Registry: saved.Registry{Purchases: []saved.Purchase{{Group: "g", Nodes: 1000, At: epoch, Expires: epoch, Pods: saved.MarksOf(pods)}}}}, saved.Limit)
	if len(text) > 500<<10 {
		t.Errorf("the text has %d bytes", len(text))
	}
}

func TestAHeapOfHintsIsNotStored(t *testing.T) {
	state := saved.State{Planner: saved.Planner{Hints: map[string]string{}}}
	for i := range 10_001 {
		state.Planner.Hints[fmt.Sprint("default/", i)] = "n"
	}
	if got := len(decode(t, encode(t, state, saved.Limit)).Planner.Hints); got != 0 {
		t.Errorf("%d hints are stored", got)
	}
	delete(state.Planner.Hints, "default/0")
	if got := len(decode(t, encode(t, state, saved.Limit)).Planner.Hints); got != 10_000 {
		t.Errorf("of 10000 hints %d are stored", got)
	}
}

// packed is the text of a document.
func packed(plain string) string {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	_, _ = io.WriteString(zip, plain)
	_ = zip.Close()
	return base64.StdEncoding.EncodeToString(out.Bytes())
}

func TestATextThatCannotBeUsedIsRefusedWithTheReason(t *testing.T) {
	good := packed(`{"version":1}`)
	for name, test := range map[string]struct{ text, want string }{
		"not base64":             {"%%%", "base64"},
		"not compressed":         {base64.StdEncoding.EncodeToString([]byte("hello")), "unpacking"},
		"nothing":                {"", "unpacking"},
		"cut short":              {base64.StdEncoding.EncodeToString([]byte(good)[:8]), "unpacking"},
		"no JSON":                {packed("hello"), "version"},
		"a later version":        {packed(`{"version":2}`), "version 2"},
		"no version":             {packed(`{"registry":{}}`), "version 0"},
		"a list for a number":    {packed(`{"version":1,"registry":{"groups":[{"request":{"increase":[]}}]}}`), "reading the state"},
		"a time that is none":    {packed(`{"version":1,"planner":{"timers":[{"since":"yesterday"}]}}`), "reading the state"},
		"a template of nonsense": {packed(`{"version":1,"learnt":[{"node":7}]}`), "learnt"},
		"numbers of no reason":   {packed(`{"version":1,"planner":{"rechecks":[{"first":{"code":"NoPlaceToMovePods","detail":7}}]}}`), "NoPlaceToMovePods"},
		"a bomb":                 {packed(`{"version":1}` + strings.Repeat(" ", 65<<20)), "more than"},
	} {
		t.Run(name, func(t *testing.T) {
			if state, err := saved.Decode(test.text); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("state %+v, error %v; want one with %q", state, err, test.want)
			}
		})
	}
	for name, text := range map[string]string{
		"nothing but the version":   good,
		"a field of a later age":    packed(`{"version":1,"more":[1]}`),
		"a reason of a later age":   packed(`{"version":1,"planner":{"rechecks":[{"node":"n","first":{"code":"Sunspots","detail":{}}}]}}`),
		"a template without a node": packed(`{"version":1,"learnt":[{"group":"g"},{"group":"g","node":{},"pods":[null]}]}`),
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(saved.State{}, decode(t, text), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("state (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("")
	f.Add(packed(`{"version":1,"learnt":[null],"planner":null,"registry":null}`))
	f.Add(packed(`{"version":1,"planner":{"rechecks":[{}]}}`))
	for seed := range uint64(5) {
		text, err := new(saved.Encoder).Encode(maker{rand.New(rand.NewPCG(seed, 2))}.state(), saved.Limit)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, text := range []string{text, packed(text)} {
			state, err := saved.Decode(text)
			if err != nil {
				continue
			}
			// What can be read can be written, and is then read as the same.
			again, err := new(saved.Encoder).Encode(state, 64<<20)
			if err != nil {
				continue // such as a year beyond 9999
			}
			once, err := saved.Decode(again)
			if err != nil {
				t.Fatal(err)
			}
			twice, err := new(saved.Encoder).Encode(once, 64<<20)
			if err != nil || again != twice {
				t.Fatalf("the text is not stable: error %v", err)
			}
		}
	})
}
