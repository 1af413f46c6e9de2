package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"k8s.io/utils/clock"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws"
	"example.com/cluster-autoscaler/cloudprovider/digitalocean"
	"example.com/cluster-autoscaler/core/config"
)

// providerBuilder makes one cloud provider from the options.
type providerBuilder func(ctx context.Context, options config.Options, observer cloudprovider.CallObserver) (cloudprovider.CloudProvider, error)

// linkedProviders are the clouds that this binary can drive, by the name that --cloud-provider takes.
func linkedProviders() map[string]providerBuilder {
	return map[string]providerBuilder{
		aws.Name:          newAWS,
		digitalocean.Name: newDigitalOcean,
	}
}

// checkProvider refuses a name that is missing or unknown and lists the known ones.
func checkProvider(name string, known map[string]providerBuilder) error {
	if _, ok := known[name]; ok {
		return nil
	}
	return fmt.Errorf("--cloud-provider=%q: want one of: %s", name, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
}

func newAWS(ctx context.Context, options config.Options, observer cloudprovider.CallObserver) (cloudprovider.CloudProvider, error) {
	file, err := readGiven("--cloud-config", options.Cloud.ConfigFile)
	if err != nil {
		return nil, err
	}
	overrides, err := readGiven("--aws-price-overrides", options.Cloud.AWSPriceOverrides)
	if err != nil {
		return nil, err
	}
	return aws.New(ctx, aws.Options{
		Nodes: options.Cloud.Nodes, AutoDiscovery: options.Cloud.AutoDiscovery, CloudConfig: file,
		StaticInstanceTypes:  options.Cloud.AWSStaticInstanceList,
		DiscoverAny:          options.Cloud.AWSDiscoverAny,
		RefreshInterval:      options.Cloud.AWSRefreshInterval,
		Random:               rand.New(rand.NewPCG(seed(), seed())),
		MaxNodeProvisionTime: options.NodeGroupDefaults.MaxNodeProvisionTime,
		PriceOverrides:       overrides,
		ReadPrices:           slices.Contains(options.ScaleUp.Expanders, config.ExpanderPrice),
		ReportIdentity:       true,
		Version:              versionText(), Clock: clock.RealClock{}, Observer: observer,
	})
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
