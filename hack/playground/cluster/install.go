package cluster

import (
	"context"
	"fmt"
	"os"

	"example.com/cluster-autoscaler/hack/playground/autoscaler"
)

// ApplyFile applies a file of manifests; see Apply.
func (c *Cluster) ApplyFile(ctx context.Context, path string, skippedKinds ...string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading manifests: %w", err)
	}
	if err := c.Apply(ctx, text, skippedKinds...); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// InstallAutoscaler applies the manifests that an autoscaler is installed with, starts one that runs as a ServiceAccount of theirs, and
// returns when it is healthy. The Deployment among the manifests is left out, as the program runs beside the cluster.
func (c *Cluster) InstallAutoscaler(ctx context.Context, manifests string, p Autoscaler) (*autoscaler.Autoscaler, error) {
	if err := c.ApplyFile(ctx, manifests, "Deployment"); err != nil {
		return nil, fmt.Errorf("installing the autoscaler: %w", err)
	}
	a, err := c.StartAutoscaler(ctx, "cluster-autoscaler", p)
	if err != nil {
		return nil, err
	}
	if err := a.WaitHealthy(ctx); err != nil {
		return nil, err
	}
	return a, nil
}
