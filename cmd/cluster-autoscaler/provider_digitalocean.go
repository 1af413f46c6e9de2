//go:build digitalocean || !(aws || externalgrpc)

package main

import (
	"context"
	"os"

	"k8s.io/utils/clock"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/digitalocean"
	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/metrics"
)

func linkDigitalOcean(linked map[string]provider) {
	linked[digitalocean.Name] = provider{
		build: newDigitalOcean, gpuLabel: digitalocean.GPULabel, bookkeepingLabels: digitalocean.BookkeepingLabels(),
		metrics: metrics.Options{DigitalOcean: true}, observe: observeDigitalOcean,
	}
}

// observeDigitalOcean makes metrics of what the provider tells about its requests.
func observeDigitalOcean(m *metrics.Metrics) cloudprovider.CallObserver {
	return cloudprovider.ObserverFunc(func(call cloudprovider.Call) {
		m.DigitalOceanCall(call.Operation, call.Code, call.Duration, call.Throttled)
	})
}

func newDigitalOcean(ctx context.Context, options config.Options, observer cloudprovider.CallObserver) (cloudprovider.CloudProvider, error) {
	file, err := readGiven("--cloud-config", options.Cloud.ConfigFile)
	if err != nil {
		return nil, err
	}
	return digitalocean.New(ctx, digitalocean.Options{
		CloudConfig: file, Getenv: os.Getenv, Nodes: options.Cloud.Nodes, AutoDiscovery: options.Cloud.AutoDiscovery,
		Version: versionText(), Clock: clock.RealClock{}, Observer: observer,
	})
}
