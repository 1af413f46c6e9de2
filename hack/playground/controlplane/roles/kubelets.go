package roles

import (
	"context"
	"os"

	"github.com/spf13/pflag"

	"example.com/cluster-autoscaler/hack/playground/nodes"
	"example.com/cluster-autoscaler/hack/playground/process"
)

// runKubelets runs KWOK for all nodes of the playground's clouds.
func runKubelets(ctx context.Context, args []string) error {
	flags := pflag.NewFlagSet("kubelets", pflag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", "", "credentials for the API server")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if _, err := clientConfig(ctx, *kubeconfig); err != nil {
		return err
	}
	if err := nodes.Run(ctx, *kubeconfig, os.Stderr); err != nil {
		return err
	}
	if err := process.NotifyReady(""); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}
