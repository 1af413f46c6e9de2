package roles

import (
	"context"
	"fmt"
	"net"

	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/cache"
	basecompatibility "k8s.io/component-base/compatibility"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"

	"example.com/cluster-autoscaler/hack/playground/process"
)

// runScheduler runs kube-scheduler with its own flags on a free port, which it announces when its caches are full.
func runScheduler(ctx context.Context, args []string) error {
	o := options.NewOptions()
	flags := pflag.NewFlagSet("kube-scheduler", pflag.ContinueOnError)
	for _, set := range o.Flags.FlagSets {
		flags.AddFlagSet(set)
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("opening a port: %w", err)
	}
	o.SecureServing.Listener = listener

	registry := o.ComponentGlobalsRegistry
	if err := registry.Set(); err != nil {
		return fmt.Errorf("setting feature gates: %w", err)
	}
	if err := logsapi.ValidateAndApply(o.Logs, registry.FeatureGateFor(basecompatibility.DefaultKubeComponent)); err != nil {
		return fmt.Errorf("setting up logs: %w", err)
	}
	if o.InformerName, err = cache.NewInformerName("kube-scheduler"); err != nil {
		return fmt.Errorf("naming the informers: %w", err)
	}
	if _, err := clientConfig(ctx, flags.Lookup("kubeconfig").Value.String()); err != nil {
		return err
	}
	config, scheduler, err := app.Setup(ctx, o)
	if err != nil {
		return fmt.Errorf("setting up: %w", err)
	}
	go func() {
		server := "https://" + listener.Addr().String()
		if err := waitReadyz(ctx, server); err != nil {
			return // ctx ended
		}
		if err := process.NotifyReady(server); err != nil {
			klog.FromContext(ctx).Error(err, "Readiness could not be announced")
		}
	}()
	return app.Run(ctx, config, scheduler)
}
