package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/metrics"
)

// providerBuilder makes one cloud provider from the options.
type providerBuilder func(ctx context.Context, options config.Options, observer cloudprovider.CallObserver) (cloudprovider.CloudProvider, error)

// provider is a cloud that this binary can drive. Which ones those are is decided by build tags: the tag of a cloud builds a binary with that cloud, several
// tags one with several, and no tag one with all.
type provider struct {
	build providerBuilder
	// gpuLabel marks nodes with accelerators, bookkeepingLabels say nothing about what a node is good for. Both are for simulations, which have no cloud to
	// ask.
	gpuLabel          string
	bookkeepingLabels []string
	// metrics are the instruments that only this cloud needs.
	metrics metrics.Options
	// observe makes metrics of what the provider tells about its requests, groups of what is wrong with single groups; nil: there are none.
	observe func(*metrics.Metrics) cloudprovider.CallObserver
	groups  func(cloudprovider.CloudProvider, *metrics.Metrics)
}

// linkedProviders are the clouds that this binary can drive, by the name that --cloud-provider takes.
func linkedProviders() map[string]provider {
	linked := map[string]provider{}
	linkAWS(linked)
	linkDigitalOcean(linked)
	linkExternalGRPC(linked)
	return linked
}

// chosenProvider is the name of the cloud to drive: that of the flag, or of the only cloud there is. The error lists the names there are.
func chosenProvider(name string, linked map[string]provider) (string, error) {
	if name == "" && len(linked) == 1 {
		for only := range linked {
			return only, nil
		}
	}
	if _, ok := linked[name]; ok {
		return name, nil
	}
	return "", fmt.Errorf("--cloud-provider=%q: want one of: %s", name, strings.Join(slices.Sorted(maps.Keys(linked)), ", "))
}

// observer is told about the requests to a cloud.
func (p provider) observer(m *metrics.Metrics) cloudprovider.CallObserver {
	if p.observe == nil {
		return cloudprovider.ObserverFunc(func(cloudprovider.Call) {})
	}
	return p.observe(m)
}

// readGiven reads the file that a flag names; nil: it names none. The error is one line.
func readGiven(flag, path string) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s=%q: want a readable file: %w", flag, path, err)
	}
	return text, nil
}
