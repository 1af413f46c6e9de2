package observation_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"

	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/simulator/readiness"
	"example.com/cluster-autoscaler/simulator/simtest"
	"example.com/cluster-autoscaler/simulator/taints"
)

// picture is what an Observation says of the cluster, in words.
type picture struct {
	Nodes, Waiting, Unprocessed, Nominated, Gated []string
	Sets, Budgets, Controllers                    []string
	OnNodes                                       []string
	Expected                                      int // pods that the snapshot expects
}

// pictureOf tells versions apart by the resource version, and everything that an override changes.
func pictureOf(seen observation.Observation) picture {
	p := picture{Expected: seen.Snapshot.Expected()}
	for _, node := range seen.Nodes {
		r := readiness.Of(node)
		p.Nodes = append(p.Nodes, fmt.Sprintf("%s@%s ready %t %s", node.Name, node.ResourceVersion, r.Ready, r.Reason))
		line := node.Name
		if inside, ok := seen.Snapshot.Node(node.Name); !ok || inside != node {
			line += " is another one in the snapshot"
		}
		if csi := seen.Snapshot.CSINode(node.Name); csi != nil {
			line += " csi@" + csi.ResourceVersion
		}
		var pods []string
		for _, pod := range seen.Snapshot.Pods(node.Name) {
			pods = append(pods, podName(pod))
		}
		p.OnNodes = append(p.OnNodes, fmt.Sprint(line, pods, " asks ", seen.Snapshot.Requested(node.Name)))
	}
	for _, node := range seen.Snapshot.Nodes() {
		if !slices.Contains(seen.Nodes, node) {
			p.OnNodes = append(p.OnNodes, node.Name+" is in the snapshot only")
		}
	}
	for _, pod := range seen.Unschedulable {
		p.Waiting = append(p.Waiting, podName(pod))
	}
	for _, pod := range seen.Unprocessed {
		p.Unprocessed = append(p.Unprocessed, podName(pod))
	}
	for _, pod := range seen.Nominated {
		p.Nominated = append(p.Nominated, podName(pod))
	}
	for _, pod := range seen.Gated {
		p.Gated = append(p.Gated, podName(pod))
	}
	for _, set := range seen.Controllers.ReplicaSets {
		p.Controllers = append(p.Controllers, set.Name+"@"+set.ResourceVersion)
	}
	for _, job := range seen.Controllers.Jobs {
		p.Controllers = append(p.Controllers, job.Name+"@"+job.ResourceVersion)
	}
	for _, set := range seen.DaemonSets {
		p.Sets = append(p.Sets, set.Namespace+"/"+set.Name+"@"+set.ResourceVersion)
	}
	for _, budget := range seen.PodDisruptionBudgets {
		p.Budgets = append(p.Budgets, budget.Namespace+"/"+budget.Name+"@"+budget.ResourceVersion)
	}
	return p
}

func podName(pod *corev1.Pod) string {
	return fmt.Sprintf("%s/%s[%s]@%s", pod.Namespace, pod.Name, pod.UID, pod.ResourceVersion)
}

// labelledCloud has a label for accelerators that changes.
type labelledCloud struct {
	*cloud
	label *string
}

func (c labelledCloud) GPULabel() string   { return *c.label }
func (c labelledCloud) GPUTypes() []string { return nil }

var followed = observation.Options{
	BypassedSchedulers: []string{"volcano"}, ExpendableCutoff: -10, Taints: taints.Rules{StartupKeys: []string{"agent"}},
	Controllers: true,
}

// story is a cluster of which the same things are told in different ways.
type story struct {
	*testing.T
	r      *rand.Rand
	client *fake.Clientset // asked by nobody
	label  string
	// told gets events, compared has none; both live as long as the story.
	told, compared *observation.Source
	objects        map[string]runtime.Object // by kind and name
	pending        []any                     // events that were not delivered yet
	version        int
}

func newStory(t *testing.T, seed uint64) *story {
	s := &story{T: t, r: rand.New(rand.NewPCG(seed, 0)), client: fake.NewClientset(), objects: map[string]runtime.Object{}}
	s.told, s.compared = s.source(), s.source()
	s.told.AssumeTold()
	s.compared.AssumeSynced()
	return s
}

func (s *story) source() *observation.Source {
	return newSourceWith(s.T, s.client, labelledCloud{&cloud{}, &s.label}, clocktesting.NewFakeClock(now), followed)
}

func nameOf(object runtime.Object) string {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%T %s/%s", object, accessor.GetNamespace(), accessor.GetName())
}

func (s *story) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// set stores a new object, or a new version.
func (s *story) set(object runtime.Object) {
	accessor, err := meta.Accessor(object)
	s.must(err)
	s.version++
	accessor.SetResourceVersion(fmt.Sprint(s.version))
	s.objects[nameOf(object)] = object
	for _, source := range []*observation.Source{s.told, s.compared} {
		s.must(storeOf(s.T, source, object).Update(object))
	}
	s.pending = append(s.pending, object)
}

// remove deletes an object. With a relist, the event knows an older version of it.
func (s *story) remove(object runtime.Object) {
	delete(s.objects, nameOf(object))
	for _, source := range []*observation.Source{s.told, s.compared} {
		s.must(storeOf(s.T, source, object).Delete(object))
	}
	if s.r.IntN(2) == 0 {
		key, err := cache.MetaNamespaceKeyFunc(object)
		s.must(err)
		s.pending = append(s.pending, cache.DeletedFinalStateUnknown{Key: key, Obj: object.DeepCopyObject()})
		return
	}
	s.pending = append(s.pending, object)
}

// relist stores other objects that say the same, without some that have gone unnoticed.
func (s *story) relist() {
	for _, name := range sortedNames(s.objects) {
		object := s.objects[name]
		if s.r.IntN(8) == 0 {
			s.remove(object)
			continue
		}
		s.version-- // it stays the same
		accessor, err := meta.Accessor(object)
		s.must(err)
		version := accessor.GetResourceVersion()
		again := object.DeepCopyObject()
		s.set(again)
		accessor, err = meta.Accessor(again)
		s.must(err)
		accessor.SetResourceVersion(version)
	}
}

func sortedNames(objects map[string]runtime.Object) []string {
	var out []string
	for name := range objects {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// deliver tells of what has happened, in an order of its own for each object kind; some is told late, some twice.
func (s *story) deliver(share int) {
	s.r.Shuffle(len(s.pending), func(i, j int) { s.pending[i], s.pending[j] = s.pending[j], s.pending[i] })
	count := len(s.pending) * share / 100
	for _, event := range s.pending[:count] {
		s.told.Tell(event)
		if s.r.IntN(5) == 0 {
			s.told.Tell(event)
		}
	}
	s.pending = s.pending[count:]
}

// happen lets something happen.
func (s *story) happen() {
	switch what := s.r.IntN(100); {
	case what < 55:
		s.set(s.randomPod())
	case what < 75:
		s.set(s.randomNode())
	case what < 80:
		s.set(&storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: s.nodeName()}})
	case what < 84:
		s.set(&appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: s.oneOf("a", "b"), Name: s.oneOf("x", "y", "z")}})
	case what < 86:
		s.set(&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: s.oneOf("rs-x", "rs-y")}})
	case what < 87:
		s.set(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: s.oneOf("job-x", "job-y")}})
	case what < 89:
		s.set(&policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: s.oneOf("a", "b"), Name: s.oneOf("x", "y", "z")}})
	case what < 97:
		if names := sortedNames(s.objects); len(names) > 0 {
			s.remove(s.objects[names[s.r.IntN(len(names))]])
		}
	case what < 99:
		s.relist()
	default:
		s.label = s.oneOf("", "test/gpu")
	}
}

func (s *story) oneOf(choices ...string) string { return choices[s.r.IntN(len(choices))] }

func (s *story) nodeName() string { return fmt.Sprint("n", s.r.IntN(6)) }

func (s *story) randomNode() *corev1.Node {
	b := simtest.Node(s.nodeName())
	for _, change := range []func(){
		func() { b = b.Label("test/gpu", "k80") },
		func() { b = b.Resource("nvidia.com/gpu", "1") },
		func() { b = b.Taint("agent", "", corev1.TaintEffectNoSchedule) },
		func() { b = b.Cordoned() },
		func() { b = b.NotReady(now) },
	} {
		if s.r.IntN(4) == 0 {
			change()
		}
	}
	return b.Build()
}

// randomPod changes a pod, or replaces it by another one of the same name.
func (s *story) randomPod() *corev1.Pod {
	name := fmt.Sprint("p", s.r.IntN(8))
	b := simtest.Pod(name).Namespace(s.oneOf("a", "b")).Requests(s.oneOf("100m", "200m"), "").CreatedAt(now.Add(-time.Duration(s.r.IntN(3)) * time.Minute))
	uid := types.UID(fmt.Sprint(b.Build().UID, "-", s.r.IntN(2)))
	if s.r.IntN(10) == 0 {
		uid = "" // then the name is what it goes by
	}
	b = b.With(func(p *corev1.Pod) { p.UID = uid })
	for _, change := range []func(){
		func() { b = b.On(s.nodeName()) },
		func() { b = b.On(s.nodeName()) },
		func() { b = b.Nominated(s.nodeName()) },
		func() { b = b.Unschedulable(now) },
		func() { b = judged(b, corev1.ConditionFalse, corev1.PodReasonSchedulingGated) },
		func() { b = b.DeletedAt(now) },
		func() { b = phase(b, corev1.PodSucceeded) },
		func() { b = b.Priority(-11) },
		func() { b = scheduler(b, "volcano") },
		func() { b = scheduler(b, "volcano") },
	} {
		if s.r.IntN(4) == 0 {
			change()
		}
	}
	return b.Build()
}

// afresh is what a source sees that has never seen anything else.
func (s *story) afresh() picture {
	source := s.source()
	source.AssumeSynced()
	for _, object := range s.objects {
		s.must(storeOf(s.T, source, object).Add(object))
	}
	return pictureOf(observe(s.T, source))
}

// Whatever happens, and in whatever order and however late it is told: once it is told, both sources see what a new one sees.
func TestTheClusterIsSeenTheSameFromEventsAndFromListing(t *testing.T) {
	var all picture
	for seed := range uint64(30) {
		s := newStory(t, seed)
		for step := range 40 {
			for range s.r.IntN(6) {
				s.happen()
			}
			if s.r.IntN(3) == 0 { // an iteration while events are on their way
				s.deliver(s.r.IntN(100))
				observe(t, s.told)
			}
			s.deliver(100)
			want := s.afresh()
			for how, source := range map[string]*observation.Source{"told": s.told, "compared": s.compared} {
				if diff := gocmp.Diff(want, pictureOf(observe(t, source))); diff != "" {
					t.Fatalf("seed %d, step %d, %s (-want +got):\n%s", seed, step, how, diff)
				}
			}
			all.Nodes, all.OnNodes = append(all.Nodes, want.Nodes...), append(all.OnNodes, want.OnNodes...)
			all.Waiting, all.Unprocessed = append(all.Waiting, want.Waiting...), append(all.Unprocessed, want.Unprocessed...)
			all.Sets, all.Budgets = append(all.Sets, want.Sets...), append(all.Budgets, want.Budgets...)
			all.Nominated, all.Gated, all.Controllers = append(all.Nominated, want.Nominated...), append(all.Gated, want.Gated...), append(all.Controllers, want.Controllers...)
		}
	}
	for what, seen := range map[string][]string{
		readiness.ReasonResourceNotReady: all.Nodes, readiness.ReasonStartupTaint: all.Nodes, " a/p": all.OnNodes, "csi@": all.OnNodes,
		"b/p": all.Waiting, "a/p": all.Unprocessed, "a/x": all.Sets, "b/z": all.Budgets,
		"/p": all.Nominated, "p1": all.Gated, "rs-x": all.Controllers, "job-y": all.Controllers,
	} {
		if !slices.ContainsFunc(seen, func(line string) bool { return strings.Contains(line, what) }) {
			t.Errorf("no story is about %q: it proves nothing of that", what)
		}
	}
}

func TestWhatWasHandedOutStaysAsItIs(t *testing.T) {
	for seed := range uint64(10) {
		s := newStory(t, seed)
		type handed struct {
			seen  observation.Observation
			lists picture
		}
		lists := func(seen observation.Observation) picture {
			p := picture{Nodes: names(seen.Nodes), Sets: names(seen.DaemonSets), Budgets: names(seen.PodDisruptionBudgets)}
			for _, pod := range seen.Unschedulable {
				p.Waiting = append(p.Waiting, podName(pod))
			}
			for _, pod := range seen.Unprocessed {
				p.Unprocessed = append(p.Unprocessed, podName(pod))
			}
			return p
		}
		var before []handed
		for range 30 {
			for range 5 {
				if s.happen(); s.r.IntN(4) == 0 {
					continue
				}
			}
			s.deliver(100)
			seen := observe(t, s.told)
			for _, h := range before {
				if diff := gocmp.Diff(h.lists, lists(h.seen), ignoreVersions()); diff != "" {
					t.Fatalf("seed %d: an earlier observation has changed (-before +now):\n%s", seed, diff)
				}
			}
			before = append(before, handed{seen, lists(seen)})
		}
	}
}

// ignoreVersions leaves out what the story itself changes of objects that were handed out, as relist does.
func ignoreVersions() gocmp.Option {
	return gocmp.Comparer(func(a, b string) bool {
		return cmp.Compare(strings.Split(a, "@")[0], strings.Split(b, "@")[0]) == 0
	})
}

func TestAnObservationOfWhatHasNotChangedIsTheSame(t *testing.T) {
	pending := simtest.Pod("p").Unschedulable(now).Build()
	source := filled(t, &cloud{}, observation.Options{}, simtest.Node("a").Build(), simtest.Node("b").Build(), pending)
	first, second := observe(t, source), observe(t, source)
	if &first.Nodes[0] != &second.Nodes[0] || &first.Unschedulable[0] != &second.Unschedulable[0] {
		t.Error("the lists are made anew though nothing has changed")
	}
	version := first.Snapshot.Version("a")
	if again := observe(t, source); again.Snapshot.Version("a") != version {
		t.Error("a node of the snapshot has changed though nothing has happened")
	}
}

func TestAnOptionalKindThatCannotBeReadAnyMoreIsLeftOut(t *testing.T) {
	source := filled(t, &cloud{}, observation.Options{}, simtest.Node("n").Build(), &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "n"}},
		&appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "d"}}, &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "b"}})
	kinds := []string{"csinodes.storage.k8s.io", "daemonsets.apps", "poddisruptionbudgets.policy"}
	counts := func() [3]bool {
		seen := observe(t, source)
		return [3]bool{seen.Snapshot.CSINode("n") != nil, len(seen.DaemonSets) == 1, len(seen.PodDisruptionBudgets) == 1}
	}
	for i, kind := range kinds {
		source.Deny(kind, errors.New("no rule allows it"))
		want := [3]bool{true, true, true}
		want[i] = false
		if got := counts(); got != want {
			t.Errorf("without %s: %v, want %v", kind, got, want)
		}
		source.Allow(kind)
		if got := counts(); got != [3]bool{true, true, true} {
			t.Errorf("%s can be read again: %v", kind, got)
		}
	}
}

func TestNothingIsTakenOverWhileAForkIsOpen(t *testing.T) {
	source := filled(t, &cloud{}, observation.Options{}, simtest.Node("n").Build())
	seen := observe(t, source)
	seen.Snapshot.Fork()
	more := simtest.Pod("p").On("n").Build()
	if err := storeOf(t, source, more).Add(more); err != nil {
		t.Fatal(err)
	}
	if _, err := source.Observe(t.Context(), now, nil); err == nil || !strings.Contains(err.Error(), "1 forks are open") {
		t.Errorf("error %v, want one that says why", err)
	}
	if err := seen.Snapshot.Revert(); err != nil {
		t.Fatal(err)
	}
	if on := observe(t, source).Snapshot.Pods("n"); len(on) != 1 {
		t.Errorf("%d pods on the node once the fork is closed, want 1", len(on))
	}
}

// The informers are real here; the relist is that of a watch that broke.
func TestInformersTellOfWhatChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone, kept := simtest.Pod("gone").On("n").Build(), simtest.Pod("kept").On("n").Build()
		s := newServer(simtest.Node("n").Build(), gone, kept)
		source, _ := s.reading(t)
		if err := source.WaitForSync(quiet(t)); err != nil {
			t.Fatal(err)
		}
		onNode := func() []string {
			synctest.Wait()
			seen, err := source.Observe(t.Context(), now, nil)
			if err != nil {
				t.Fatal(err)
			}
			var out []string
			for _, pod := range seen.Snapshot.Pods("n") {
				out = append(out, pod.Name+" "+string(pod.UID))
			}
			return out
		}
		want := func(when string, want ...string) {
			t.Helper()
			if diff := gocmp.Diff(want, onNode()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", when, diff)
			}
		}
		want("at first", "gone pod-default-gone", "kept pod-default-kept")
		s.watcher("pods").Add(simtest.Pod("late").On("n").Build())
		want("a pod was added", "gone pod-default-gone", "kept pod-default-kept", "late pod-default-late")
		s.watcher("pods").Modify(phase(simtest.Pod("late").On("n"), corev1.PodSucceeded).Build())
		want("it has finished", "gone pod-default-gone", "kept pod-default-kept")
		s.watcher("nodes").Delete(simtest.Node("n").Build())
		want("the node is gone")
		s.watcher("nodes").Add(simtest.Node("n").Build())
		want("the node is back", "gone pod-default-gone", "kept pod-default-kept")

		if err := s.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), "default", "gone"); err != nil {
			t.Fatal(err)
		}
		replaced := simtest.Pod("kept").On("n").With(func(p *corev1.Pod) { p.UID = "another" }).Build()
		if err := s.Tracker().Update(corev1.SchemeGroupVersion.WithResource("pods"), replaced, "default"); err != nil {
			t.Fatal(err)
		}
		expired := apierrors.NewResourceExpired("too old").Status()
		s.watcher("pods").Error(&expired)
		wait(time.Minute)
		want("the pods were listed again", "kept another")
	})
}
