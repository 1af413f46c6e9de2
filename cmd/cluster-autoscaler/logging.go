package main

import (
	"flag"
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // makes --logging-format=json known
	"k8s.io/klog/v2"

	"example.com/cluster-autoscaler/core/config"
)

// setGates sets the feature gates of the linked Kubernetes libraries.
func setGates(gates map[string]bool) error {
	if err := logsapi.AddFeatureGates(utilfeature.DefaultMutableFeatureGate); err != nil {
		return fmt.Errorf("preparing the feature gates of logging: %w", err)
	}
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(gates); err != nil {
		return fmt.Errorf("--feature-gates: want gates of the linked Kubernetes libraries that may be set: %w", err)
	}
	return nil
}

// setUpLogging applies the logging flags to klog and to the logging of component-base.
func setUpLogging(options config.Logging) error {
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	for _, setting := range options.KlogSettings() {
		if setting.Value == "" {
			continue
		}
		if err := flags.Set(setting.Name, setting.Value); err != nil {
			return fmt.Errorf("--%s=%q: %w", setting.Name, setting.Value, err)
		}
	}
	cfg := logsapi.NewLoggingConfiguration()
	cfg.Format = string(options.Format)
	cfg.FlushFrequency.Duration.Duration = options.FlushFrequency
	cfg.FlushFrequency.SerializeAsString = true
	cfg.Verbosity = logsapi.VerbosityLevel(options.Verbosity)
	for _, module := range options.VModule {
		cfg.VModule = append(cfg.VModule, logsapi.VModuleItem{FilePattern: module.Pattern, Verbosity: logsapi.VerbosityLevel(module.Verbosity)})
	}
	cfg.Options.Text.SplitStream = options.TextSplitStream
	cfg.Options.Text.InfoBufferSize = byteQuantity(options.TextInfoBufferBytes)
	cfg.Options.JSON.SplitStream = options.JSONSplitStream
	cfg.Options.JSON.InfoBufferSize = byteQuantity(options.JSONInfoBufferBytes)
	if err := logsapi.ValidateAndApply(cfg, utilfeature.DefaultFeatureGate); err != nil {
		return fmt.Errorf("applying the logging flags: %w", err)
	}
	return nil
}

func byteQuantity(count int64) resource.QuantityValue {
	return resource.QuantityValue{Quantity: *resource.NewQuantity(count, resource.BinarySI)}
}
