package digitalocean

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/digitalocean/internal/cloudconfig"
	"example.com/cluster-autoscaler/cloudprovider/digitalocean/internal/doapi"
	"example.com/cluster-autoscaler/cloudprovider/digitalocean/internal/selection"
	"example.com/cluster-autoscaler/cloudprovider/digitalocean/internal/tokens"
	"example.com/cluster-autoscaler/cloudprovider/internal/calls"
)

// Name selects this provider in --cloud-provider.
const Name = "digitalocean"

// GPULabel is the key of the label by which DOKS tells what accelerator a node has, unless the cloud config names another.
const GPULabel = cloudconfig.DefaultGPULabel

// Options is what a Provider is made with.
type Options struct {
	// CloudConfig is the content of the file behind --cloud-config; nil: none, which is an error.
	CloudConfig []byte
	// Getenv reads the environment, if the file asks for the token from there; nil: the environment is empty.
	Getenv func(name string) string
	// Nodes and AutoDiscovery are the values of --nodes (MIN:MAX:POOL) and --node-group-auto-discovery (doks:tag=TAG,…). They add pools whose managed
	// autoscaling is off. Values of another form are ignored with a warning, as upstream ignores all.
	Nodes, AutoDiscovery []string
	// Version goes into the user agent of all calls; empty: dev.
	Version string
	Clock   clock.WithDelayedExecution // required
	// Observer is told about every request, second tries included; nil: nobody is.
	Observer cloudprovider.CallObserver
}

// New checks the options and makes a Provider with an empty view. It reads the token file and makes no request; the API is first asked by Refresh.
func New(ctx context.Context, o Options) (*Provider, error) {
	if o.Clock == nil {
		return nil, errors.New("making the DigitalOcean provider: Options.Clock is nil")
	}
	config, err := cloudconfig.Parse(o.CloudConfig, o.Getenv)
	if err != nil {
		return nil, fmt.Errorf("configuring the DigitalOcean provider: %w", err)
	}
	source := tokens.Literal(config.Token)
	if config.TokenFile != "" {
		if source, err = tokens.File(config.TokenFile); err != nil {
			return nil, fmt.Errorf("configuring the DigitalOcean provider: %w", err)
		}
	}
	if config, err = config.Check(); err != nil {
		return nil, fmt.Errorf("configuring the DigitalOcean provider: %w", err)
	}
	api, err := doapi.New(doapi.Options{
		Provider: Name, ClusterID: config.ClusterID, URL: config.URL, UserAgent: "cluster-autoscaler-digitalocean/" + versionOr(o.Version),
		BudgetPercent: config.BudgetPercent, Tokens: source, Clock: o.Clock, Observer: observerOr(o.Observer),
	})
	if err != nil {
		return nil, fmt.Errorf("configuring the DigitalOcean provider: %w", err)
	}
	rules, warnings := selection.Parse(o.Nodes, o.AutoDiscovery)
	logger := klog.FromContext(ctx)
	for _, warning := range append(config.Warnings, warnings...) {
		logger.Info("Part of the configuration is not used", "reason", warning)
	}
	logger.Info("Using DigitalOcean Kubernetes", "cluster", config.ClusterID, "url", config.URL)
	p := &Provider{
		calls: calls.Group{Cloud: "DigitalOcean"},
		api:   api, clock: o.Clock, config: config, rules: rules, changed: make(chan struct{}, 1), books: map[string]*book{}, others: map[string]string{},
	}
	p.view.Store(&view{})
	return p, nil
}

func versionOr(version string) string {
	if version == "" {
		return "dev"
	}
	return version
}

func observerOr(observer cloudprovider.CallObserver) cloudprovider.CallObserver {
	if observer == nil {
		return cloudprovider.ObserverFunc(func(cloudprovider.Call) {})
	}
	return observer
}
