package shapes_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/simulated"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/simulator/simtest"
)

// The numbers of Mixed that do not grow with it.
const (
	mixedGroups     = 30
	mixedPools      = 10 // of groups, one in each of three zones; the last one is tainted
	mixedBudgets    = 50
	mixedApps       = 200
	mixedDaemonSets = 10
	mixedPerShape   = 10 // waiting pods of one shape
	mixedFill       = 70 // percent of the nodes' CPU, DaemonSets included
)

const (
	poolLabel  = "pool"
	taintKey   = "dedicated"
	nowhere    = "nowhere" // begins the names of pods that fit nowhere
	daemonCPU  = capacity / 100
	smallestMe = capacity / 100
)

// generator makes Mixed from a seed.
type generator struct {
	rand *rand.Rand
	cluster
	apps []string // of the running pods, one entry for each
}

// mixed: busy nodes of many groups, waiting pods of many shapes. A tenth of the shapes has (anti-)affinity, a tenth fits nowhere.
func mixed(s size) (cluster, error) {
	var groups []simulated.Group
	for i := range mixedGroups {
		target := s.nodes / mixedGroups
		if i < s.nodes%mixedGroups {
			target++
		}
		groups = append(groups, mixedGroup(i, target))
	}
	c, err := newCluster(nil, groups...)
	g := &generator{rand: rand.New(rand.NewPCG(1, 1)), cluster: c}
	for i := range mixedApps {
		g.objects = append(g.objects, replicaSet(appName(i)))
	}
	for i := range mixedBudgets {
		g.objects = append(g.objects, budget(appName(i*mixedApps/mixedBudgets), int32(i%3)))
	}
	daemons := g.daemonSets()
	for _, node := range g.nodes {
		g.occupy(node, daemons)
	}
	shapes := max(mixedPerShape, s.pods/mixedPerShape)
	for i := range s.pods {
		if i < shapes {
			g.pods = append(g.pods, g.shape(i).make(g.nameOf(i, 0), ""))
			continue
		}
		first := g.pods[len(g.pods)-shapes]
		g.pods = append(g.pods, prototype{first}.make(g.nameOf(i%shapes, i/shapes), ""))
	}
	return g.cluster, err
}

func appName(i int) string { return fmt.Sprintf("app-%03d", i) }

// nameOf is the name of the n-th pod of a shape; it tells the pods that fit nowhere.
func (g *generator) nameOf(shape, n int) string {
	if shape%10 == 1 {
		return fmt.Sprintf("%s-%03d-%d", nowhere, shape, n)
	}
	return fmt.Sprintf("shape-%03d-%d", shape, n)
}

// mixedGroup is in a pool and a zone; machines are of four sizes.
func mixedGroup(i, target int) simulated.Group {
	sizes := []string{"10", "4", "20", "8"}
	memory := []string{"10000", "8000", "10000", "20000"}
	pool, zone := i%mixedPools, i/mixedPools
	node := simtest.Node("t").CPU(sizes[pool%len(sizes)]).Memory(memory[pool%len(memory)]).
		Zone(fmt.Sprintf("z%d", zone)).Label(poolLabel, fmt.Sprintf("p%d", pool))
	if pool == mixedPools-1 {
		node = node.Taint(taintKey, "batch", corev1.TaintEffectNoSchedule)
	}
	return groupOf(cloudprovider.GroupID(fmt.Sprintf("g%02d", i)), target, node)
}

// daemonSets adds them and returns what their pods are like.
func (g *generator) daemonSets() []prototype {
	var out []prototype
	for i := range mixedDaemonSets {
		name := fmt.Sprintf("daemon-%d", i)
		b := asking(daemonCPU, 10).Label("daemon", name).DaemonSet(name).Tolerates("")
		template := b.Build()
		g.objects = append(g.objects, &appsv1.DaemonSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name, UID: types.UID("DaemonSet-" + name)},
			Spec: appsv1.DaemonSetSpec{
				Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"daemon": name}},
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: template.Labels}, Spec: template.Spec},
			},
		})
		out = append(out, running(b))
	}
	return out
}

// occupy fills a node to the usual share, give or take a quarter of the node, with pods of the DaemonSets and of random apps.
func (g *generator) occupy(node *corev1.Node, daemons []prototype) {
	for i, daemon := range daemons {
		g.pods = append(g.pods, daemon.make(fmt.Sprintf("daemon-%d-%s", i, node.Name), node.Name))
	}
	cpu, memory := node.Status.Allocatable.Cpu().MilliValue(), node.Status.Allocatable.Memory().Value()
	percent := int64(mixedFill - 25 + g.rand.IntN(51))
	left := cpu*percent/100 - int64(len(daemons)*daemonCPU)
	for i := 0; left >= smallestMe; i++ {
		asked := min(left, smallestMe*(1+g.rand.Int64N(8)))
		left -= asked
		app := appName(g.rand.IntN(mixedApps))
		g.apps = append(g.apps, app)
		b := owned(asking(asked, memory*asked/cpu/2), app).Tolerates(taintKey)
		g.pods = append(g.pods, running(b).make(fmt.Sprintf("%s-%02d", node.Name, i), node.Name))
	}
}

// shape is the i-th shape of waiting pods.
func (g *generator) shape(i int) prototype {
	app := fmt.Sprintf("shape-%03d", i)
	b := asking(smallestMe*(1+g.rand.Int64N(30)), 50*(1+g.rand.Int64N(60)))
	b = owned(b, app).CreatedAt(epoch.Add(-scanInterval * 6))
	switch {
	case i%10 == 0:
		b = g.related(b, app, i/10)
	case i%10 == 1:
		b = fitsNowhere(b, i/10)
	case g.rand.IntN(3) == 0:
		pool := g.rand.IntN(mixedPools)
		b = b.NodeSelector(poolLabel, fmt.Sprintf("p%d", pool))
		if pool == mixedPools-1 {
			b = b.Tolerates(taintKey)
		}
	case g.rand.IntN(5) == 0:
		b = b.NodeSelector(corev1.LabelTopologyZone, fmt.Sprintf("z%d", g.rand.IntN(3)))
	}
	return waiting(b)
}

// related has affinity or anti-affinity, in turn: apart from each other by node, together by zone, and beside a running app.
func (g *generator) related(b simtest.PodBuilder, app string, turn int) simtest.PodBuilder {
	switch turn % 3 {
	case 0:
		return b.AntiAffinity(corev1.LabelHostname, "app", app)
	case 1:
		return b.Affinity(corev1.LabelTopologyZone, "app", app)
	default:
		return b.Affinity(corev1.LabelTopologyZone, "app", g.apps[g.rand.IntN(len(g.apps))])
	}
}

// fitsNowhere asks for more than any node has, for a pool that does not exist, or for the tainted one, in turn.
func fitsNowhere(b simtest.PodBuilder, turn int) simtest.PodBuilder {
	switch turn % 3 {
	case 0:
		return b.Request(corev1.ResourceCPU, "100")
	case 1:
		return b.NodeSelector(poolLabel, "none")
	default:
		return b.NodeSelector(poolLabel, fmt.Sprintf("p%d", mixedPools-1))
	}
}

// wantMixed: nothing can be done for the pods that fit nowhere, and something is done, or could be, for every other one. What is bought is what was
// decided, holds the pods that it was bought for, and is the same for the same seed.
func wantMixed(w *world, s size, told report.Report) error {
	fates := map[report.PodFate]int{}
	distinct := map[report.PodRef]bool{}
	for _, pod := range told.ScaleUp.Pods {
		distinct[pod.Pod] = true
		fates[pod.Fate]++
		hopeless := strings.HasPrefix(pod.Pod.Name, nowhere)
		if hopeless != (pod.Fate == report.PodUnschedulable) || hopeless && len(pod.Groups) != mixedGroups {
			return fmt.Errorf("verdict %+v", pod)
		}
	}
	bought, targets := 0, 0
	for _, outcome := range told.ScaleUp.Outcomes {
		bought += outcome.Granted
	}
	for _, group := range told.Groups {
		now, _ := w.cloud.Group(group.Group)
		targets += now.Target
	}
	var option report.Option // none if there is room for every pod that fits anywhere
	if chosen := slices.IndexFunc(told.ScaleUp.Options, func(o report.Option) bool { return o.Chosen }); chosen >= 0 {
		option = told.ScaleUp.Options[chosen]
	} else if fates[report.PodFits]+fates[report.PodUnschedulable] != s.pods {
		return fmt.Errorf("nothing was bought, with fates %v", fates)
	}
	return errors.Join(
		count("pods with a verdict", len(distinct), s.pods), count("nodes bought", bought, option.Nodes), count("nodes in all", targets, s.nodes+bought),
		count("pods with bought nodes", fates[report.PodTriggered], option.Pods), wantSame(s, bought, fates),
		count("nodes with a verdict", judged(told), s.nodes),
	)
}

// judged is how many nodes have a verdict; one that could go but not yet has two.
func judged(told report.Report) int {
	nodes := map[string]bool{}
	for _, kept := range told.ScaleDown.Kept {
		nodes[kept.Node] = true
	}
	for _, unneeded := range told.ScaleDown.Unneeded {
		nodes[unneeded.Node] = true
	}
	return len(nodes)
}

// outcome is what an iteration on Mixed comes to.
type outcome struct{ bought, triggered, fits int }

// wantSame compares with what the seed comes to when the framework alone is asked, where that is known.
func wantSame(s size, bought int, fates map[report.PodFate]int) error {
	known := map[size]outcome{
		{10, 30}: {2, 7, 15}, {20, 60}: {5, 17, 24}, {50, 150}: {3, 25, 89}, {100, 300}: {12, 71, 153}, {200, 600}: {18, 113, 378},
		{1_000, 3_000}: {74, 377, 2_021},
	}
	got := outcome{bought, fates[report.PodTriggered], fates[report.PodFits]}
	if want, ok := known[s]; ok && got != want {
		return fmt.Errorf("outcome %+v, want %+v", got, want)
	}
	return nil
}
