package roles

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/rest"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/component-base/featuregate"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"

	"example.com/cluster-autoscaler/hack/playground/process"
)

// runAPIServer runs kube-apiserver with its own flags on the listener that the parent opened. It goes below the cobra command,
// because only the options take a listener.
func runAPIServer(ctx context.Context, args []string) error {
	o := options.NewServerRunOptions()
	flags := pflag.NewFlagSet("kube-apiserver", pflag.ContinueOnError)
	for _, set := range o.Flags().FlagSets {
		flags.AddFlagSet(set)
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	listener, err := process.InheritedListener()
	if err != nil {
		return err
	}
	o.SecureServing.Listener = listener

	registry := o.GenericServerRunOptions.ComponentGlobalsRegistry
	if err := registry.Set(); err != nil {
		return fmt.Errorf("setting feature gates: %w", err)
	}
	gates := registry.FeatureGateFor(basecompatibility.DefaultKubeComponent)
	rest.SetDefaultWarningHandler(rest.NoWarnings{}) // warnings to the server's requests to itself
	if err := logsapi.ValidateAndApply(o.Logs, gates.(featuregate.FeatureGate)); err != nil {
		return fmt.Errorf("setting up logs: %w", err)
	}
	completed, err := o.Complete(ctx)
	if err != nil {
		return fmt.Errorf("completing options: %w", err)
	}
	if faults := completed.Validate(); len(faults) > 0 {
		return utilerrors.NewAggregate(faults)
	}
	go func() {
		server := "https://" + listener.Addr().String()
		if err := waitReadyz(ctx, server); err != nil {
			return // the server's own error is told by Run
		}
		if err := process.NotifyReady(server); err != nil {
			klog.FromContext(ctx).Error(err, "Readiness could not be announced")
		}
	}()
	return app.Run(ctx, completed)
}
