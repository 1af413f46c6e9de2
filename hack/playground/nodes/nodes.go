package nodes

import (
	"context"
	"embed"
	"fmt"
	"io"
	"io/fs"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/apis/v1alpha1"
	"sigs.k8s.io/kwok/pkg/kwok/controllers"
	"sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/client"
	"sigs.k8s.io/yaml"

	"example.com/cluster-autoscaler/hack/playground/annotations"
)

//go:embed stages/*.yaml
var stageFiles embed.FS

const (
	// leaseSeconds is the kubelet's default; KWOK renews each Lease after a quarter of it.
	leaseSeconds = 40

	// parallelism is how many objects of a kind are worked on at once. Each is a small write to a server on the same machine.
	parallelism = 4

	// podNetwork gives every pod an address; nobody reaches it.
	podNetwork = "10.244.0.0/16"

	// nodeAddress is the address of nodes that have none of their own.
	nodeAddress = "10.0.0.1"
)

// Run starts KWOK's controllers on all nodes with annotations.Managed and returns once they watch; they run until ctx ends. They write
// their log to the writer, V(0) lines only. kubeconfig names the file with the credentials; they need all rights on nodes, pods and leases.
func Run(ctx context.Context, kubeconfig string, logs io.Writer) error {
	ctx = log.NewContext(ctx, log.NewLogger(logs, log.LevelInfo))
	stages, err := loadStages()
	if err != nil {
		return err
	}
	settings, err := clients(kubeconfig)
	if err != nil {
		return err
	}
	settings.Clock = clock.RealClock{}
	settings.ID = "kwok"
	settings.LocalStages = stages
	settings.ManageNodesWithAnnotationSelector = annotations.Managed + "=" + annotations.ManagedValue
	settings.CIDR = podNetwork
	settings.NodeIP = nodeAddress
	settings.NodeLeaseDurationSeconds = leaseSeconds
	settings.NodeLeaseParallelism = parallelism
	settings.NodePlayStageParallelism = parallelism
	settings.PodPlayStageParallelism = parallelism
	settings.PodsOnNodeSyncParallelism = parallelism

	controller, err := controllers.NewController(settings)
	if err != nil {
		return fmt.Errorf("making KWOK's controller: %w", err)
	}
	if err := controller.Start(ctx); err != nil {
		return fmt.Errorf("starting KWOK's controller: %w", err)
	}
	return nil
}

// clients makes the clients that KWOK wants.
func clients(kubeconfig string) (controllers.Config, error) {
	var c controllers.Config
	set, err := client.NewClientset("", kubeconfig)
	if err != nil {
		return c, fmt.Errorf("making clients for %s: %w", kubeconfig, err)
	}
	config, err := set.ToRESTConfig()
	if err != nil {
		return c, fmt.Errorf("reading %s: %w", kubeconfig, err)
	}
	if c.DynamicClient, err = set.ToDynamicClient(); err != nil {
		return c, fmt.Errorf("making a dynamic client: %w", err)
	}
	if c.RESTMapper, err = set.ToRESTMapper(); err != nil {
		return c, fmt.Errorf("making a REST mapper: %w", err)
	}
	if c.RESTClient, err = rest.RESTClientFor(config); err != nil {
		return c, fmt.Errorf("making a REST client: %w", err)
	}
	if c.TypedClient, err = kubernetes.NewForConfig(config); err != nil {
		return c, fmt.Errorf("making a client: %w", err)
	}
	c.ImpersonatingDynamicClient = set.ToImpersonatingDynamicClient()
	c.ImpersonatingTypedClient = set.ToImpersonatingTypedClient()
	return c, nil
}

// loadStages reads the embedded stages, by the kind that they are for.
func loadStages() (map[internalversion.StageResourceRef][]*internalversion.Stage, error) {
	paths, err := fs.Glob(stageFiles, "stages/*.yaml")
	if err != nil {
		return nil, fmt.Errorf("listing stages: %w", err)
	}
	stages := map[internalversion.StageResourceRef][]*internalversion.Stage{}
	for _, path := range paths {
		text, err := stageFiles.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("reading a stage: %w", err)
		}
		var written v1alpha1.Stage
		if err := yaml.UnmarshalStrict(text, &written); err != nil {
			return nil, fmt.Errorf("parsing %s: %w", path, err)
		}
		v1alpha1.SetObjectDefaults_Stage(&written)
		stage, err := internalversion.ConvertToInternalStage(&written)
		if err != nil {
			return nil, fmt.Errorf("converting %s: %w", path, err)
		}
		kind := stage.Spec.ResourceRef
		stages[kind] = append(stages[kind], stage)
	}
	return stages, nil
}
