package awstest

import (
	"fmt"
	"slices"
	"strings"
)

// Unlimited is the StockRule.Left that takes a rule away.
const Unlimited = -1

// StockRule limits how many machines launches can still get. Empty fields stand for any. When several rules cover a launch, all of
// them must have machines left, and each gives one.
type StockRule struct {
	Group, Zone, Type string
	Market            Market
	Left              int           // machines still to be had; Unlimited removes the rule
	Reason            LaunchFailure // why launches fail when none is left; empty: InsufficientInstanceCapacity
}

// covers tells whether the rule is about such a launch.
func (r StockRule) covers(group, zone, typ string, market Market) bool {
	return (r.Group == "" || r.Group == group) && (r.Zone == "" || r.Zone == zone) &&
		(r.Type == "" || r.Type == typ) && (r.Market == "" || r.Market == market)
}

// sameScope tells whether two rules are about the same launches.
func (r StockRule) sameScope(o StockRule) bool {
	return r.Group == o.Group && r.Zone == o.Zone && r.Type == o.Type && r.Market == o.Market
}

// LaunchFailure is why a launch failed: EC2's error code.
type LaunchFailure string

// The reasons with a text of their own. Any other is put into the activity's StatusMessage as it is.
const (
	InsufficientInstanceCapacity      LaunchFailure = "InsufficientInstanceCapacity"
	UnfulfillableCapacity             LaunchFailure = "UnfulfillableCapacity"
	MaxSpotInstanceCountExceeded      LaunchFailure = "MaxSpotInstanceCountExceeded"
	SpotMaxPriceTooLow                LaunchFailure = "SpotMaxPriceTooLow"
	VcpuLimitExceeded                 LaunchFailure = "VcpuLimitExceeded"
	InstanceLimitExceeded             LaunchFailure = "InstanceLimitExceeded"
	InsufficientFreeAddressesInSubnet LaunchFailure = "InsufficientFreeAddressesInSubnet"
	UnsupportedInZone                 LaunchFailure = "Unsupported"
	LaunchTemplateGone                LaunchFailure = "InvalidLaunchTemplateId.NotFound"
	LaunchTemplateWithoutInstanceType LaunchFailure = "InvalidLaunchTemplate"
	ImageGone                         LaunchFailure = "InvalidAMIID.NotFound"
	ServiceLinkedRoleMissing          LaunchFailure = "AuthFailure.ServiceLinkedRoleCreationNotPermitted"
	LifecycleHookAbandoned            LaunchFailure = "LifecycleHookAbandoned"
	launchingFailed                                 = " Launching EC2 instance failed."
	couldNotLaunchSpot                              = "Could not launch Spot Instances. "
)

// message is the activity's StatusMessage.
func (f LaunchFailure) message(p placement) string {
	switch f {
	case InsufficientInstanceCapacity:
		if p.market == Spot {
			return couldNotLaunchSpot + "InsufficientInstanceCapacity - There is no Spot capacity available that matches your request." + launchingFailed
		}
		elsewhere := ""
		if len(p.otherZones) > 0 {
			elsewhere = fmt.Sprintf(" You can currently get %s capacity by not specifying an Availability Zone in your request or choosing %s.",
				p.typ, strings.Join(p.otherZones, ", "))
		}
		return fmt.Sprintf("We currently do not have sufficient %s capacity in the Availability Zone you requested (%s). "+
			"Our system will be working on provisioning additional capacity.%s", p.typ, p.zone, elsewhere) + launchingFailed
	case UnfulfillableCapacity:
		return couldNotLaunchSpot + "UnfulfillableCapacity - Unable to fulfill capacity due to your request configuration. " +
			"Please adjust your request and try again." + launchingFailed
	case MaxSpotInstanceCountExceeded:
		return couldNotLaunchSpot + "MaxSpotInstanceCountExceeded - Max spot instance count exceeded." + launchingFailed
	case SpotMaxPriceTooLow:
		return couldNotLaunchSpot + "SpotMaxPriceTooLow - Your Spot request price of 0.01 is lower than the minimum required " +
			"Spot request fulfillment price of 0.035." + launchingFailed
	case VcpuLimitExceeded:
		return "You have requested more vCPU capacity than your current vCPU limit of 32 allows for the instance bucket that the " +
			"specified instance type belongs to." + launchingFailed
	case InstanceLimitExceeded:
		return "You have requested more instances (21) than your current instance limit of 20 allows for the specified instance type." + launchingFailed
	case InsufficientFreeAddressesInSubnet:
		return fmt.Sprintf("There are not enough free addresses in subnet '%s' to satisfy the requested number of instances.", p.subnet) + launchingFailed
	case UnsupportedInZone:
		return fmt.Sprintf("Your requested instance type (%s) is not supported in your requested Availability Zone (%s).", p.typ, p.zone) + launchingFailed
	case LaunchTemplateGone:
		return "The specified launch template does not exist." + launchingFailed
	case LaunchTemplateWithoutInstanceType:
		return "You must use a valid fully-formed launch template. The request must contain the parameter InstanceType." + launchingFailed
	case ImageGone:
		return fmt.Sprintf("The image id '[%s]' does not exist.", p.image) + launchingFailed
	case ServiceLinkedRoleMissing:
		return couldNotLaunchSpot + "AuthFailure.ServiceLinkedRoleCreationNotPermitted - The provided credentials do not have permission " +
			"to create the service-linked role for EC2 Spot Instances." + launchingFailed
	case LifecycleHookAbandoned:
		return "Instance failed to complete user's Lifecycle Action: Lifecycle Action was abandoned: Heartbeat Timeout"
	}
	return string(f)
}

// take gets one machine from the stock, or tells why it can't.
func (w *world) take(group, zone, typ string, market Market) (LaunchFailure, bool) {
	var hit []int
	for i, rule := range w.stock {
		if !rule.covers(group, zone, typ, market) {
			continue
		}
		if rule.Left == 0 {
			if rule.Reason == "" {
				return InsufficientInstanceCapacity, false
			}
			return rule.Reason, false
		}
		hit = append(hit, i)
	}
	for _, i := range hit {
		w.stock[i].Left--
	}
	return "", true
}

// setStock replaces the rule of the same scope.
func (w *world) setStock(rule StockRule) {
	w.stock = slices.DeleteFunc(w.stock, rule.sameScope)
	if rule.Left >= 0 {
		w.stock = append(w.stock, rule)
	}
}
