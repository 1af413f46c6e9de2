package roles

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/klog/v2"

	"example.com/cluster-autoscaler/hack/playground/process"
)

// workers is how many objects each controller handles at once. One machine runs it all, so a few are enough.
const workers = 4

// controllerSet is what the controllers are made from.
type controllerSet struct {
	config    *rest.Config
	client    kubernetes.Interface
	metadata  metadata.Interface
	mapper    *restmapper.DeferredDiscoveryRESTMapper
	informers informers.SharedInformerFactory
	metadatas metadatainformer.SharedInformerFactory
	started   chan struct{} // closed when the informers of all controllers run
}

// runControllers runs the controllers of kube-controller-manager that make workloads live, with the flags' defaults of the real
// one unless a comment says otherwise. The whole program would pull in the kubelet and the volume plug-ins, which nobody needs here.
func runControllers(ctx context.Context, args []string) error {
	flags := pflag.NewFlagSet("controllers", pflag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", "", "credentials for the API server")
	verbosity := flags.String("v", "0", "verbosity of the log")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := logToStderr(*verbosity); err != nil {
		return err
	}
	set, err := newControllerSet(ctx, *kubeconfig)
	if err != nil {
		return err
	}
	running, err := set.build(ctx)
	if err != nil {
		return err
	}
	set.informers.Start(ctx.Done())
	set.metadatas.Start(ctx.Done())
	close(set.started)
	for _, run := range running {
		go run(ctx)
	}
	set.informers.WaitForCacheSync(ctx.Done())
	if err := process.NotifyReady(""); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// logToStderr sets up klog, which all parts of Kubernetes log with.
func logToStderr(verbosity string) error {
	var level klog.Level
	klog.SetOutput(os.Stderr)
	if err := level.Set(verbosity); err != nil {
		return fmt.Errorf("setting the verbosity of the log: %w", err)
	}
	return nil
}

func newControllerSet(ctx context.Context, kubeconfig string) (*controllerSet, error) {
	config, err := clientConfig(ctx, kubeconfig)
	if err != nil {
		return nil, err
	}
	config.UserAgent = "playground-controllers"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	metadataClient, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a metadata client: %w", err)
	}
	return &controllerSet{
		config:    config,
		client:    client,
		metadata:  metadataClient,
		mapper:    restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery())),
		informers: informers.NewSharedInformerFactory(client, 0),
		metadatas: metadatainformer.NewSharedInformerFactory(metadataClient, 0),
		started:   make(chan struct{}),
	}, nil
}

func (s *controllerSet) allInformers() informerfactory.InformerFactory {
	return informerfactory.NewInformerFactory(s.informers, s.metadatas)
}

// build makes all controllers; they run once the informers do.
func (s *controllerSet) build(ctx context.Context) ([]func(context.Context), error) {
	constructors := []struct {
		name string
		make func(context.Context) (func(context.Context), error)
	}{
		{"deployment", s.deployment},
		{"replicaset", s.replicaSet},
		{"job", s.job},
		{"daemonset", s.daemonSet},
		{"statefulset", s.statefulSet},
		{"disruption", s.disruption},
		{"horizontalpodautoscaler", s.horizontalPodAutoscaler},
		{"garbagecollector", s.garbageCollector},
		{"serviceaccount", s.serviceAccount},
		{"namespace", s.namespace},
		{"nodelifecycle", s.nodeLifecycle},
		{"tainteviction", s.taintEviction},
		{"orphans", s.orphans},
	}
	var all []func(context.Context)
	for _, c := range constructors {
		run, err := c.make(klog.NewContext(ctx, klog.FromContext(ctx).WithName(c.name)))
		if err != nil {
			return nil, fmt.Errorf("making the %s controller: %w", c.name, err)
		}
		all = append(all, run)
	}
	return append(all, s.refreshMapper), nil
}

// refreshMapper lets the mapper learn kinds that were added later.
func (s *controllerSet) refreshMapper(ctx context.Context) {
	ticker := time.NewTicker(30 * time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			s.mapper.Reset()
		case <-ctx.Done():
			return
		}
	}
}
