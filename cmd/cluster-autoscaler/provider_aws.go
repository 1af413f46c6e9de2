//go:build aws || !(digitalocean || externalgrpc)

package main

import (
	"context"
	"math/rand/v2"
	"slices"

	"k8s.io/utils/clock"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws"
	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/metrics"
)

func linkAWS(linked map[string]provider) {
	linked[aws.Name] = provider{
		build: newAWS, gpuLabel: aws.GPULabel, bookkeepingLabels: aws.BookkeepingLabels(),
		metrics: metrics.Options{AWS: true}, observe: func(m *metrics.Metrics) cloudprovider.CallObserver { return awsMeter{m} }, groups: showAWSGroups,
	}
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
		PauseByTag:           options.Cloud.AWSPauseByTag,
		Random:               rand.New(rand.NewPCG(seed(), seed())),
		MaxNodeProvisionTime: options.NodeGroupDefaults.MaxNodeProvisionTime,
		PriceOverrides:       overrides,
		ReadPrices:           slices.Contains(options.ScaleUp.Expanders, config.ExpanderPrice),
		ReportIdentity:       true,
		Version:              versionText(), Clock: clock.RealClock{}, Observer: observer,
	})
}

// awsMeter makes metrics of what the provider tells about its requests.
type awsMeter struct{ metrics *metrics.Metrics }

var (
	_ cloudprovider.CallObserver  = awsMeter{}
	_ cloudprovider.EventObserver = awsMeter{}
)

// ObserveCall records a request.
func (m awsMeter) ObserveCall(call cloudprovider.Call) {
	m.metrics.AWSCall(call.Service, call.Operation, call.Code, call.Throttled)
	if endpoint, measured := aws.RequestEndpoint(call.Operation); measured {
		m.metrics.CloudCall(endpoint, call.Code, call.Duration)
	}
}

// ObserveEvent counts what happened.
func (m awsMeter) ObserveEvent(event cloudprovider.Event) {
	switch event.Kind {
	case cloudprovider.EventRefreshed:
		m.metrics.AWSRefreshed(event.At, event.Duration, event.Code == "success")
	case cloudprovider.EventLaunchFailed:
		m.metrics.AWSLaunchFailed(string(event.Group), event.Code)
	case cloudprovider.EventSizeCorrected:
		m.metrics.AWSDesiredCorrected(string(event.Group))
	case cloudprovider.EventUnset:
	}
}

// showAWSGroups shows what is wrong with single groups.
func showAWSGroups(cloud cloudprovider.CloudProvider, m *metrics.Metrics) {
	provider, ok := cloud.(*aws.Provider)
	if !ok {
		return
	}
	m.AWSGroups(func() []metrics.AWSGroup {
		figures := provider.Figures()
		groups := make([]metrics.AWSGroup, 0, len(figures))
		for _, f := range figures {
			groups = append(groups, metrics.AWSGroup{Name: string(f.Group), Missing: f.Missing, Stale: f.Stale, SetAside: f.SetAside})
		}
		return groups
	})
}
