package observation_test

import (
	"context"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/simulator/simtest"
)

var now = simtest.Epoch.Add(time.Hour)

// cloud answers what a test wants it to. It cannot tell whether machines exist.
type cloud struct {
	groups      []cloudprovider.NodeGroup
	groupErrors []cloudprovider.GroupError
	groupOf     func(*corev1.Node) (cloudprovider.GroupID, error)
	refreshErr  error
	refreshes   int
}

func (c *cloud) Name() string { return "test" }
func (c *cloud) Refresh(context.Context) error {
	c.refreshes++
	return c.refreshErr
}
func (c *cloud) NodeGroups() []cloudprovider.NodeGroup   { return c.groups }
func (c *cloud) GroupErrors() []cloudprovider.GroupError { return c.groupErrors }
func (c *cloud) Changed() <-chan struct{}                { return nil }
func (c *cloud) Cleanup(context.Context) error           { return nil }
func (c *cloud) GroupOf(node *corev1.Node) (cloudprovider.GroupID, error) {
	if c.groupOf == nil {
		return "", nil
	}
	return c.groupOf(node)
}

// ableCloud has the optional abilities, too.
type ableCloud struct {
	*cloud
	exists, known map[string]bool // by node name
}

func (c ableCloud) InstanceExists(node *corev1.Node) (exists, known bool) {
	return c.exists[node.Name], c.known[node.Name]
}
func (c ableCloud) GPULabel() string   { return "test/gpu" }
func (c ableCloud) GPUTypes() []string { return []string{"k80"} }
func (c ableCloud) BookkeepingLabels() []string {
	return []string{"test/pool"}
}
func (c ableCloud) ResourceLimits(defaults cloudprovider.ResourceLimits) cloudprovider.ResourceLimits {
	defaults.Max = map[string]int64{"cpu": 2 * defaults.Max["cpu"]}
	return defaults
}

// nodeGroup is a group of the test's cloud; only what is read is there.
type nodeGroup struct {
	cloudprovider.NodeGroup
	id          cloudprovider.GroupID
	state       cloudprovider.GroupState
	variants    []cloudprovider.TemplateVariant
	templateErr error
}

func (g nodeGroup) ID() cloudprovider.GroupID       { return g.id }
func (g nodeGroup) State() cloudprovider.GroupState { return g.state }
func (g nodeGroup) Templates(context.Context) ([]cloudprovider.TemplateVariant, error) {
	return g.variants, g.templateErr
}

func newSource(t *testing.T, c cloudprovider.CloudProvider, options observation.Options) *observation.Source {
	t.Helper()
	return newSourceWith(t, fake.NewClientset(), c, clocktesting.NewFakeClock(now), options)
}

func newSourceWith(t *testing.T, client *fake.Clientset, c cloudprovider.CloudProvider, clk clock.WithTicker, options observation.Options) *observation.Source {
	t.Helper()
	source, err := observation.NewSource(client, c, clk, options)
	if err != nil {
		t.Fatal(err)
	}
	return source
}

// filled is a source whose stores hold the objects.
func filled(t *testing.T, c cloudprovider.CloudProvider, options observation.Options, objects ...runtime.Object) *observation.Source {
	t.Helper()
	source := newSource(t, c, options)
	source.AssumeSynced()
	for _, object := range objects {
		if err := storeOf(t, source, object).Add(object); err != nil {
			t.Fatal(err)
		}
	}
	return source
}

func storeOf(t *testing.T, source *observation.Source, object runtime.Object) cache.Store {
	t.Helper()
	f := source.Factory()
	switch object.(type) {
	case *corev1.Node:
		return f.Core().V1().Nodes().Informer().GetStore()
	case *corev1.Pod:
		return f.Core().V1().Pods().Informer().GetStore()
	case *corev1.ReplicationController:
		return f.Core().V1().ReplicationControllers().Informer().GetStore()
	case *appsv1.DaemonSet:
		return f.Apps().V1().DaemonSets().Informer().GetStore()
	case *appsv1.ReplicaSet:
		return f.Apps().V1().ReplicaSets().Informer().GetStore()
	case *appsv1.StatefulSet:
		return f.Apps().V1().StatefulSets().Informer().GetStore()
	case *batchv1.Job:
		return f.Batch().V1().Jobs().Informer().GetStore()
	case *policyv1.PodDisruptionBudget:
		return f.Policy().V1().PodDisruptionBudgets().Informer().GetStore()
	case *storagev1.CSINode:
		return f.Storage().V1().CSINodes().Informer().GetStore()
	default:
		t.Fatalf("there is no store for a %T", object)
		return nil
	}
}

func observe(t *testing.T, source *observation.Source) observation.Observation {
	t.Helper()
	seen, err := source.Observe(t.Context(), now, nil)
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

func names[T interface{ GetName() string }](objects []T) []string {
	var out []string
	for _, object := range objects {
		out = append(out, object.GetName())
	}
	return out
}
