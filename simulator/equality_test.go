package simulator_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"

	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/simtest"
	"example.com/cluster-autoscaler/simulator/simtest/randomcluster"
)

// contest asks the same questions of a Scheduler with its fast path, of one without it, and of kube-scheduler's framework. The first
// looks at a snapshot that changes step by step, the others at ones made anew.
type contest struct {
	generator *randomcluster.Generator
	world     randomcluster.World
	fast      *simulator.Scheduler
	plain     *simulator.Scheduler
	second    *simulator.Scheduler // with its fast path, another profile and the same snapshot
	kube      *kubeScheduler
	factories []informers.SharedInformerFactory
	disabled  map[string]bool // plug-ins out of action, which kube-scheduler doesn't know of

	snapshot *simulator.Snapshot
	now      reference
	saved    []reference
	history  []string
	coverage *coverage
}

func newContest(t *testing.T, choices *randomcluster.Choices, counted *coverage) *contest {
	t.Helper()
	generator := randomcluster.New(choices)
	return contestIn(t, generator.World(), generator, counted)
}

func contestIn(t *testing.T, world randomcluster.World, generator *randomcluster.Generator, counted *coverage) *contest {
	t.Helper()
	c := &contest{generator: generator, world: world, snapshot: simulator.NewSnapshot(), disabled: map[string]bool{}, coverage: counted}
	options := simulator.Options{Parallelism: 1, Disabled: func(plugin string) bool { return c.disabled[plugin] }}
	if c.world.Profile != "" {
		options.Profile = profileOf(t, c.world.Profile)
	}
	c.fast = c.scheduler(t, options)
	options.FrameworkOnly = true
	c.plain = c.scheduler(t, options)
	if options.Profile != (simulator.Profile{}) {
		c.second = c.scheduler(t, simulator.Options{Parallelism: 1})
	}
	c.kube = newKubeScheduler(t, c.factory(t), c.world.Profile)
	strays, err := c.snapshot.Sync(c.world.Cluster)
	must(t, err)
	if len(strays) > 0 {
		t.Fatalf("a random cluster has strays: %v", strays)
	}
	c.now = clusterOf(c.world.Cluster.Nodes, c.world.Cluster.CSINodes, c.world.Cluster.Pods)
	return c
}

func (c *contest) scheduler(t *testing.T, options simulator.Options) *simulator.Scheduler {
	t.Helper()
	scheduler, err := simulator.NewScheduler(t.Context(), c.factory(t), options)
	must(t, err)
	return scheduler
}

func (c *contest) factory(t *testing.T) informers.SharedInformerFactory {
	t.Helper()
	factory := simtest.Factory(t, c.world.Objects...)
	c.factories = append(c.factories, factory)
	return factory
}

func profileOf(t *testing.T, text string) simulator.Profile {
	t.Helper()
	path := filepath.Join(t.TempDir(), "profile.yaml")
	must(t, os.WriteFile(path, []byte(text), 0o600))
	profile, err := simulator.LoadProfile(path)
	must(t, err)
	return profile
}

func (c *contest) note(format string, args ...any) {
	c.history = append(c.history, fmt.Sprintf(format, args...))
}

func (c *contest) story() string {
	return strings.Join(c.history, "\n") + "\nprofile:\n" + c.world.Profile
}

// compare asks about a pod on all nodes, and returns the answers in the order of the nodes.
func (c *contest) compare(t *testing.T, pod *corev1.Pod, rebuilt *simulator.Snapshot) []verdict {
	t.Helper()
	asked := c.kube.ask(t.Context(), pod)
	var answers []verdict
	for _, n := range c.now.nodes {
		name := n.object.Name
		same := func(want, got verdict, sides string) {
			if !reflect.DeepEqual(want, got) { // a hundred times as quick as to see where
				diff := cmp.Diff(want, got, cmp.AllowUnexported(verdict{}))
				t.Fatalf("pod %s on node %s (%s):\n%s\n%s\nafter\n%s", keyOf(pod), name, sides, diff, c.describe(pod, n.object), c.story())
			}
		}
		got := verdictOf(c.fast.Check(t.Context(), c.snapshot, pod, name))
		answers = append(answers, got)
		if len(c.disabled) > 0 {
			same(verdictOf(c.plain.Check(t.Context(), rebuilt, pod, name)), got, "-framework +fast path")
			continue
		}
		want := asked.about(t.Context(), name)
		c.coverage.count(want)
		same(want, got, "-kube-scheduler +fast path")
		if c.coverage.asked%4 == 0 { // the same scheduler about a snapshot that it hasn't seen
			same(got, verdictOf(c.fast.Check(t.Context(), rebuilt, pod, name)), "-changed step by step +built from scratch")
		}
		if c.coverage.asked%4 == 1 && c.second != nil {
			same(verdictOf(c.second.Check(t.Context(), rebuilt, pod, name)), verdictOf(c.second.Check(t.Context(), c.snapshot, pod, name)),
				"by a second scheduler -built from scratch +changed step by step")
		}
		if c.coverage.asked%5 == 0 {
			same(want, verdictOf(c.plain.Check(t.Context(), c.snapshot, pod, name)), "-kube-scheduler +framework")
		}
	}
	return answers
}

// compareAll asks about all pods: pending ones, and those that lie somewhere, as they are and as if they were to move.
func (c *contest) compareAll(t *testing.T) {
	t.Helper()
	rebuilt := c.rebuild(t)
	c.compareClasses(t, rebuilt)
	for i, l := range c.now.lies {
		switch i % 8 {
		case 0:
			c.compare(t, l.pod, rebuilt)
		case 2, 6:
			moved := *l.pod
			moved.Spec.NodeName = ""
			c.compare(t, &moved, rebuilt)
		case 4:
			changed := c.generator.Changed(l.pod)
			changed.Spec.NodeName = ""
			c.compare(t, changed, rebuilt)
		}
	}
}

func (c *contest) rebuild(t *testing.T) *simulator.Snapshot {
	t.Helper()
	c.kube.look(c.now)
	return c.now.build(t)
}

// search places a pod wherever it fits, or on a node that is named, and compares the place and the words.
func (c *contest) search(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	search := c.searchOrder()
	c.note("place %s anywhere after %d from %d", pod.Name, search.StartAfter, search.From)
	rebuilt := c.rebuild(t)
	wantPlace, wantRejections, wantErr := c.plain.PlaceAnywhere(t.Context(), rebuilt, pod, search)
	place, rejections, err := c.fast.PlaceAnywhere(t.Context(), c.snapshot, pod, search)
	if diff := cmp.Diff([]any{wantPlace, wantRejections, wantErr != nil}, []any{place, rejections, err != nil}); diff != "" {
		t.Fatalf("pod %s (-framework +fast path):\n%s\n%s\nafter\n%s", keyOf(pod), diff, c.describe(pod, nil), c.story())
	}
	if place.Node != "" {
		c.now.lies = append(c.now.lies, lying{pod: pod, node: place.Node})
	}
}

// searchOrder is where to look, with some of the nodes left out.
func (c *contest) searchOrder() simulator.Search {
	g := c.generator
	search := simulator.Search{StartAfter: g.Of(len(c.now.nodes)+3) - 1}
	if g.Chance(25) {
		search.From = g.Of(len(c.now.nodes) + 1)
	}
	if g.Chance(50) {
		accepted := g.Of(256)
		search.Accept = func(node *corev1.Node) bool {
			return accepted>>((len(node.Name)+int(node.Name[len(node.Name)-1]))%8)&1 == 0
		}
	}
	return search
}

func (c *contest) place(t *testing.T, pod *corev1.Pod, node string) {
	t.Helper()
	c.note("place %s on %s", pod.Name, node)
	want, wantErr := c.plain.Place(t.Context(), c.rebuild(t), pod, node)
	got, err := c.fast.Place(t.Context(), c.snapshot, pod, node)
	if diff := cmp.Diff([]any{want, wantErr != nil}, []any{got, err != nil}); diff != "" {
		t.Fatalf("pod %s on node %s (-framework +fast path):\n%s\n%s\nafter\n%s", keyOf(pod), node, diff, c.describe(pod, nil), c.story())
	}
	if got == nil && err == nil {
		c.now.lies = append(c.now.lies, lying{pod: pod, node: node})
	}
}

// step changes the snapshot in one way, or places a pod.
func (c *contest) step(t *testing.T) {
	t.Helper()
	g := c.generator
	if len(c.now.nodes) == 0 { // most of the rest needs one
		c.addNode(t)
		return
	}
	switch g.Of(19) {
	case 0, 1:
		c.note("fork")
		c.snapshot.Fork()
		c.saved = append(c.saved, c.now.clone())
	case 2, 3:
		c.close(t, g.Chance(70))
	case 4, 5:
		c.addNode(t)
	case 6:
		if len(c.now.nodes) > 1 {
			i := g.Of(len(c.now.nodes))
			name := c.now.nodes[i].object.Name
			c.note("remove node %s", name)
			must(t, c.snapshot.RemoveNode(name))
			c.now.nodes = append(c.now.nodes[:i:i], c.now.nodes[i+1:]...)
			c.now.dropPods(name)
		}
	case 7:
		c.replaceNode(t)
	case 8, 9:
		pod, node := c.sibling(), c.anyNode()
		if len(c.now.lies) > 0 && g.Chance(25) { // a copy of one that is to move, or of one that lies here already
			pod = randomcluster.Pick(g.Choices, c.now.lies[:min(len(c.now.lies), 256)]...).pod
		}
		if c.now.holds(pod, node) >= 0 {
			return
		}
		c.note("add pod %s to %s", pod.Name, node)
		must(t, c.snapshot.AddPod(pod, node))
		c.now.lies = append(c.now.lies, lying{pod: pod, node: node})
	case 10:
		if count := len(c.now.lies); count > 0 {
			i := g.Of(min(count, 256))
			l := c.now.lies[i]
			c.note("remove pod %s from %s", l.pod.Name, l.node)
			must(t, c.snapshot.RemovePod(l.pod, l.node))
			c.now.lies = append(c.now.lies[:i:i], c.now.lies[i+1:]...)
		}
	case 11, 12:
		c.place(t, c.sibling(), c.anyNode())
	case 13, 14:
		c.search(t, c.sibling())
	case 15:
		c.disable()
	case 16:
		c.changeObjects(t)
	case 17:
		c.placeAll(t, c.classmates())
	case 18:
		c.fill(t)
	}
}

// sibling is one more of a kind that the world knows.
func (c *contest) sibling() *corev1.Pod {
	pod := c.generator.Sibling(randomcluster.Pick(c.generator.Choices, c.world.Pending...))
	pod.Status.NominatedNodeName = ""
	return pod
}

func (c *contest) anyNode() string {
	return randomcluster.Pick(c.generator.Choices, c.now.nodes...).object.Name
}

func (c *contest) close(t *testing.T, revert bool) {
	t.Helper()
	last := len(c.saved) - 1
	if last < 0 { // no fork was made here
		return
	}
	if revert {
		c.note("revert")
		must(t, c.snapshot.Revert())
		c.now = c.saved[last]
	} else {
		c.note("commit")
		must(t, c.snapshot.Commit())
	}
	c.saved = c.saved[:last]
}

func (c *contest) addNode(t *testing.T) {
	t.Helper()
	template := randomcluster.Pick(c.generator.Choices, c.world.Templates...).Copy(fmt.Sprint(len(c.history)))
	c.note("add node %s with %d pods", template.Node.Name, len(template.Pods))
	must(t, c.snapshot.AddNode(template))
	c.now.nodes = append(c.now.nodes, referenceNode{object: template.Node, csi: template.CSINode, injected: true})
	for _, pod := range template.Pods {
		c.now.lies = append(c.now.lies, lying{pod: pod, node: template.Node.Name})
	}
}

func (c *contest) replaceNode(t *testing.T) {
	t.Helper()
	i := c.generator.Of(len(c.now.nodes))
	old := c.now.nodes[i].object
	c.note("replace node %s", old.Name)
	replacement := c.generator.Node(old.Name)
	if c.generator.Chance(50) { // as for an upcoming node that takes the place of a broken one
		replacement = old.DeepCopy()
		replacement.Spec.Taints, replacement.Spec.Unschedulable = nil, false
	}
	must(t, c.snapshot.ReplaceNode(replacement))
	c.now.nodes[i].object = replacement
	c.now.dropPods(old.Name)
}

// disable puts plug-ins out of action, or all of them back.
func (c *contest) disable() {
	if len(c.disabled) > 0 {
		c.note("enable all plug-ins")
		clear(c.disabled)
		return
	}
	for range 1 + c.generator.Of(2) {
		name := randomcluster.Pick(c.generator.Choices, simulator.FilterPluginNames()...)
		c.note("disable %s", name)
		c.disabled[name] = true
	}
}

// changeObjects changes what plug-ins look up: the labels of a namespace, whom a service means, whether a claim has its volume.
func (c *contest) changeObjects(t *testing.T) {
	t.Helper()
	g := c.generator
	what, team, app := g.Of(4), randomcluster.Pick(g.Choices, "red", "blue", "green"), randomcluster.Pick(g.Choices, "a0", "a1", "a2")
	volume := randomcluster.Pick(g.Choices, "default-plain", "default-zonal", "default-gone")
	c.note("change objects: %d %s %s %s", what, team, app, volume)
	for _, factory := range c.factories {
		core := factory.Core().V1()
		switch what {
		case 0, 1:
			name := []string{"ns-a", "ns-unknown"}[what]
			must(t, core.Namespaces().Informer().GetStore().Update(&corev1.Namespace{
				ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": team}},
			}))
		case 2:
			must(t, core.Services().Informer().GetStore().Update(&corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "svc"},
				Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": app}},
			}))
		case 3:
			claims := core.PersistentVolumeClaims().Informer().GetStore()
			if claim, ok, _ := claims.GetByKey("default/plain"); ok {
				lost := claim.(*corev1.PersistentVolumeClaim).DeepCopy()
				lost.Spec.VolumeName = volume
				must(t, claims.Update(lost))
			}
		}
	}
}

// run compares everything at the start and at the end, and one pod after each step between.
func (c *contest) run(t *testing.T, steps int) {
	t.Helper()
	c.compareAll(t)
	c.tryAll(t)
	for i := 0; i < steps && c.generator.Left(); i++ {
		c.step(t)
		c.compare(t, randomcluster.Pick(c.generator.Choices, c.world.Pending...), c.rebuild(t))
	}
	clear(c.disabled)
	c.compareAll(t)
	for len(c.saved) > 0 { // all the way back
		c.close(t, true)
	}
	c.compareAll(t)
}

// wantedFilters are those that have to have a say often enough.
func wantedFilters() []string {
	return []string{
		"NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit", "volumes together", "PodTopologySpread",
		"InterPodAffinity PodAffinityMismatch", "InterPodAffinity PodAntiAffinity", "InterPodAffinity ExistingPodAntiAffinity", "NodeDeclaredFeatures",
	}
}

func TestTheFastPathAnswersAsTheFramework(t *testing.T) {
	t.Parallel()
	counted := &coverage{rejected: map[string]int{}}
	for seed := range uint64(150) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			newContest(t, randomcluster.FromSeed(seed), counted).run(t, 8)
		})
		if t.Failed() {
			return // others would only say the same again
		}
	}
	counted.table(t, wantedFilters()...)
}

func FuzzFastPath(f *testing.F) {
	f.Add([]byte("0123456789abcdefghijklmnopqrstuvwxyz"))
	f.Fuzz(func(t *testing.T, bytes []byte) {
		if len(bytes) > 4000 {
			t.Skip("long inputs find nothing that short ones don't")
		}
		newContest(t, randomcluster.FromBytes(bytes), &coverage{rejected: map[string]int{}}).run(t, 30)
	})
}
