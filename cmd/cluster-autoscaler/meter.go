package main

import (
	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws"
	"example.com/cluster-autoscaler/metrics"
)

// meter makes metrics of what a cloud provider tells about itself.
type meter struct{ metrics *metrics.Metrics }

var (
	_ cloudprovider.CallObserver  = meter{}
	_ cloudprovider.EventObserver = meter{}
)

// ObserveCall records a request.
func (m meter) ObserveCall(call cloudprovider.Call) {
	if call.Provider != aws.Name {
		return
	}
	m.metrics.AWSCall(call.Service, call.Operation, call.Code, call.Throttled)
	if endpoint, measured := aws.RequestEndpoint(call.Operation); measured {
		m.metrics.CloudCall(endpoint, call.Code, call.Duration)
	}
}

// ObserveEvent counts what happened.
func (m meter) ObserveEvent(event cloudprovider.Event) {
	if event.Provider != aws.Name {
		return
	}
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

// groups shows what is wrong with single groups, where the cloud tells.
func (m meter) groups(cloud cloudprovider.CloudProvider) {
	provider, ok := cloud.(*aws.Provider)
	if !ok {
		return
	}
	m.metrics.AWSGroups(func() []metrics.AWSGroup {
		figures := provider.Figures()
		groups := make([]metrics.AWSGroup, 0, len(figures))
		for _, f := range figures {
			groups = append(groups, metrics.AWSGroup{Name: string(f.Group), Missing: f.Missing, Stale: f.Stale, SetAside: f.SetAside})
		}
		return groups
	})
}
