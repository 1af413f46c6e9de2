//go:build externalgrpc || !(aws || digitalocean)

package main

import (
	"context"

	"k8s.io/utils/clock"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/externalgrpc"
	"example.com/cluster-autoscaler/core/config"
)

func linkExternalGRPC(linked map[string]provider) {
	linked[externalgrpc.Name] = provider{build: newExternalGRPC}
}

func newExternalGRPC(ctx context.Context, options config.Options, observer cloudprovider.CallObserver) (cloudprovider.CloudProvider, error) {
	file, err := readGiven("--cloud-config", options.Cloud.ConfigFile)
	if err != nil {
		return nil, err
	}
	of := options.NodeGroupDefaults
	return externalgrpc.New(ctx, externalgrpc.Options{
		CloudConfig: file, Clock: clock.RealClock{}, Observer: observer,
		Defaults: cloudprovider.OptionOverrides{
			ScaleDownUtilizationThreshold:    &of.ScaleDownUtilizationThreshold,
			ScaleDownGPUUtilizationThreshold: &of.ScaleDownGPUUtilizationThreshold,
			ScaleDownUnneededTime:            &of.ScaleDownUnneededTime,
			ScaleDownUnreadyTime:             &of.ScaleDownUnreadyTime,
			MaxNodeProvisionTime:             &of.MaxNodeProvisionTime,
			MaxNodeStartupTime:               &of.MaxNodeStartupTime,
			IgnoreDaemonSetsUtilization:      &of.IgnoreDaemonSetsUtilization,
		},
	})
}
