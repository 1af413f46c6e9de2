package nodetags

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"time"

	"example.com/cluster-autoscaler/cloudprovider"
)

// takeOption reads one autoscaling option. The names are lower case, as upstream's are.
func (t *Tags) takeOption(name, value string) string {
	value = strings.TrimSpace(value)
	switch name {
	case "scaledownutilizationthreshold":
		return takeShare(&t.Options.ScaleDownUtilizationThreshold, value)
	case "scaledowngpuutilizationthreshold":
		return takeShare(&t.Options.ScaleDownGPUUtilizationThreshold, value)
	case "scaledownunneededtime":
		return takeDuration(&t.Options.ScaleDownUnneededTime, value)
	case "scaledownunreadytime":
		return takeDuration(&t.Options.ScaleDownUnreadyTime, value)
	case "maxnodeprovisiontime":
		return takeDuration(&t.Options.MaxNodeProvisionTime, value)
	case "maxnodestartuptime":
		return takeDuration(&t.Options.MaxNodeStartupTime, value)
	case "ignoredaemonsetsutilization":
		return takeBool(&t.Options.IgnoreDaemonSetsUtilization, value)
	case "zeroormaxnodescaling":
		return takeBool(&t.Options.ZeroOrMaxNodeScaling, value)
	case "allownonatomicscaleuptomax":
		return takeBool(&t.Options.AllowNonAtomicScaleUpToMax, value)
	default:
		return "there is no such option"
	}
}

// joinOptions takes each option from first, else from second.
func joinOptions(first, second cloudprovider.OptionOverrides) cloudprovider.OptionOverrides {
	return cloudprovider.OptionOverrides{
		ScaleDownUtilizationThreshold:    cmp.Or(first.ScaleDownUtilizationThreshold, second.ScaleDownUtilizationThreshold),
		ScaleDownGPUUtilizationThreshold: cmp.Or(first.ScaleDownGPUUtilizationThreshold, second.ScaleDownGPUUtilizationThreshold),
		ScaleDownUnneededTime:            cmp.Or(first.ScaleDownUnneededTime, second.ScaleDownUnneededTime),
		ScaleDownUnreadyTime:             cmp.Or(first.ScaleDownUnreadyTime, second.ScaleDownUnreadyTime),
		MaxNodeProvisionTime:             cmp.Or(first.MaxNodeProvisionTime, second.MaxNodeProvisionTime),
		MaxNodeStartupTime:               cmp.Or(first.MaxNodeStartupTime, second.MaxNodeStartupTime),
		IgnoreDaemonSetsUtilization:      cmp.Or(first.IgnoreDaemonSetsUtilization, second.IgnoreDaemonSetsUtilization),
		ZeroOrMaxNodeScaling:             cmp.Or(first.ZeroOrMaxNodeScaling, second.ZeroOrMaxNodeScaling),
		AllowNonAtomicScaleUpToMax:       cmp.Or(first.AllowNonAtomicScaleUpToMax, second.AllowNonAtomicScaleUpToMax),
	}
}

func takeShare(into **float64, value string) string {
	share, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsNaN(share) || share < 0 || share > 1 {
		return "want a number from 0 to 1"
	}
	*into = &share
	return ""
}

func takeDuration(into **time.Duration, value string) string {
	d, err := time.ParseDuration(value)
	if err != nil || d < 0 {
		return "want a duration such as 10m or 1h30m, not negative"
	}
	*into = &d
	return ""
}

func takeBool(into **bool, value string) string {
	b, err := strconv.ParseBool(strings.ToLower(value))
	if err != nil {
		return "want true or false"
	}
	*into = &b
	return ""
}
