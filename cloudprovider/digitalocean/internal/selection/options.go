package selection

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/digitalocean/internal/doapi"
)

// tagOption begins the tags by which a pool overrides options: k8s-cluster-autoscaler-opt:NAME:VALUE.
const tagOption = "k8s-cluster-autoscaler-opt:"

// gpuProvisionTime is how long machines with accelerators may take to come if nobody says otherwise: they can take much longer than others.
const gpuProvisionTime = time.Hour

// Options are what a pool overrides: what its tags say, then the cluster's configuration if that is given, then what its accelerators need. rejected
// lists what cannot be read, one sentence each.
func Options(pool doapi.Pool, cluster *doapi.Cluster) (o cloudprovider.OptionOverrides, rejected []string) {
	if strings.HasPrefix(pool.Size, "gpu-") {
		longer := gpuProvisionTime
		o.MaxNodeProvisionTime = &longer
	}
	if cluster != nil {
		rejected = append(rejected, fromCluster(&o, *cluster)...)
	}
	for _, tag := range pool.Tags {
		text, ok := strings.CutPrefix(tag, tagOption)
		if !ok {
			continue
		}
		name, value, _ := strings.Cut(text, ":")
		if err := set(&o, strings.ToLower(name), value); err != nil {
			rejected = append(rejected, fmt.Sprintf("the tag %q is ignored: %v", tag, err))
		}
	}
	return o, rejected
}

// fromCluster takes over the configuration of the managed autoscaler.
func fromCluster(o *cloudprovider.OptionOverrides, cluster doapi.Cluster) (rejected []string) {
	if share := cluster.UtilizationThreshold; share != nil {
		if *share < 0 || *share > 1 {
			rejected = append(rejected, fmt.Sprintf("the cluster's scale_down_utilization_threshold %g is ignored: want 0 to 1", *share))
		} else {
			cpu, gpu := *share, *share
			o.ScaleDownUtilizationThreshold, o.ScaleDownGPUUtilizationThreshold = &cpu, &gpu
		}
	}
	if text := cluster.UnneededTime; text != nil {
		if d, err := time.ParseDuration(*text); err != nil || d < 0 {
			rejected = append(rejected, fmt.Sprintf("the cluster's scale_down_unneeded_time %q is ignored: want a duration such as 10m", *text))
		} else {
			o.ScaleDownUnneededTime = &d
		}
	}
	return rejected
}

// set enters one option. Dots are not allowed in tags, hence percentages.
func set(o *cloudprovider.OptionOverrides, name, value string) error {
	shares := map[string]**float64{
		"scaledownutilizationthreshold":    &o.ScaleDownUtilizationThreshold,
		"scaledowngpuutilizationthreshold": &o.ScaleDownGPUUtilizationThreshold,
	}
	durations := map[string]**time.Duration{
		"scaledownunneededtime": &o.ScaleDownUnneededTime, "scaledownunreadytime": &o.ScaleDownUnreadyTime,
		"maxnodeprovisiontime": &o.MaxNodeProvisionTime, "maxnodestartuptime": &o.MaxNodeStartupTime,
	}
	if target, ok := shares[name]; ok {
		percent, err := strconv.Atoi(value)
		if err != nil || percent < 0 || percent > 100 {
			return fmt.Errorf("want a percentage from 0 to 100, not %q", value)
		}
		share := float64(percent) / 100
		*target = &share
		return nil
	}
	if target, ok := durations[name]; ok {
		d, err := time.ParseDuration(value)
		if err != nil || d < 0 {
			return fmt.Errorf("want a duration such as 10m, not %q", value)
		}
		*target = &d
		return nil
	}
	if name == "ignoredaemonsetsutilization" {
		b, err := strconv.ParseBool(value)
		if err != nil {
			return fmt.Errorf("want true or false, not %q", value)
		}
		o.IgnoreDaemonSetsUtilization = &b
		return nil
	}
	return fmt.Errorf("no option is called %q", name)
}
