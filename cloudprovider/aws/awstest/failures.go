package awstest

import (
	"fmt"
	"strings"
)

// LaunchFailure is why a launch failed: EC2's error code, or what stands in for it where the service tells none.
type LaunchFailure string

// The reasons with a text of their own. Any other is put into the activity's StatusMessage as it is.
const (
	InsufficientInstanceCapacity      LaunchFailure = "InsufficientInstanceCapacity"
	UnfulfillableCapacity             LaunchFailure = "UnfulfillableCapacity"
	CouldNotLaunchSpot                LaunchFailure = "CouldNotLaunchSpot" // without a code
	MaxSpotInstanceCountExceeded      LaunchFailure = "MaxSpotInstanceCountExceeded"
	SpotMaxPriceTooLow                LaunchFailure = "SpotMaxPriceTooLow"
	VcpuLimitExceeded                 LaunchFailure = "VcpuLimitExceeded"
	InstanceLimitExceeded             LaunchFailure = "InstanceLimitExceeded"
	InsufficientFreeAddressesInSubnet LaunchFailure = "InsufficientFreeAddressesInSubnet"
	ReservationCapacityExceeded       LaunchFailure = "ReservationCapacityExceeded"
	MaxFleetCountExceeded             LaunchFailure = "MaxFleetCountExceeded"
	InsufficientCapacityOnOutpost     LaunchFailure = "InsufficientCapacityOnOutpost"
	VolumeLimitExceeded               LaunchFailure = "VolumeLimitExceeded"
	MaxIOPSLimitExceeded              LaunchFailure = "MaxIOPSLimitExceeded"
	UnsupportedInZone                 LaunchFailure = "Unsupported"
	UnsupportedByImage                LaunchFailure = "UnsupportedByImage" // image and type don't match
	PlacementGroupLimit               LaunchFailure = "PlacementGroupLimit"
	LaunchTemplateGone                LaunchFailure = "InvalidLaunchTemplateId.NotFound"
	LaunchTemplateWithoutInstanceType LaunchFailure = "InvalidLaunchTemplate"
	ImageGone                         LaunchFailure = "InvalidAMIID.NotFound"
	KeyPairGone                       LaunchFailure = "InvalidKeyPair.NotFound"
	SecurityGroupGone                 LaunchFailure = "InvalidGroup.NotFound"
	SubnetGone                        LaunchFailure = "InvalidSubnetID.NotFound"
	SnapshotGone                      LaunchFailure = "InvalidSnapshot.NotFound"
	KMSKeyUnusable                    LaunchFailure = "Client.InternalError"
	InvalidParameter                  LaunchFailure = "InvalidParameterValue"
	InstanceProfileInvalid            LaunchFailure = "InvalidInstanceProfile"
	NotAuthorized                     LaunchFailure = "UnauthorizedOperation"
	ServiceLinkedRoleMissing          LaunchFailure = "AuthFailure.ServiceLinkedRoleCreationNotPermitted"
	LifecycleHookAbandoned            LaunchFailure = "LifecycleHookAbandoned"
	LifecycleResultAbandon            LaunchFailure = "LifecycleResultAbandon" // a hook's action said ABANDON
	UnhealthyDuringLaunch             LaunchFailure = "UnhealthyDuringLaunch"  // ELB health check
	LaunchThrottled                   LaunchFailure = "RequestLimitExceeded"   // the service tries again by itself
	Mysterious                        LaunchFailure = "Mysterious"             // a sentence that fits nothing

	launchingFailed    = " Launching EC2 instance failed."
	couldNotLaunchSpot = "Could not launch Spot Instances. "
)

// LaunchFailures are all reasons with a text of their own.
func LaunchFailures() []LaunchFailure {
	return []LaunchFailure{
		InsufficientInstanceCapacity, UnfulfillableCapacity, CouldNotLaunchSpot, MaxSpotInstanceCountExceeded, SpotMaxPriceTooLow,
		VcpuLimitExceeded, InstanceLimitExceeded, InsufficientFreeAddressesInSubnet, ReservationCapacityExceeded, MaxFleetCountExceeded,
		InsufficientCapacityOnOutpost, VolumeLimitExceeded, MaxIOPSLimitExceeded, UnsupportedInZone, UnsupportedByImage, PlacementGroupLimit,
		LaunchTemplateGone, LaunchTemplateWithoutInstanceType, ImageGone, KeyPairGone, SecurityGroupGone, SubnetGone, SnapshotGone,
		KMSKeyUnusable, InvalidParameter, InstanceProfileInvalid, NotAuthorized, ServiceLinkedRoleMissing, LifecycleHookAbandoned,
		LifecycleResultAbandon, UnhealthyDuringLaunch, LaunchThrottled, Mysterious,
	}
}

// Text is the StatusMessage of a launch that fails for the reason: of an m5.large on demand in us-east-1a.
func (f LaunchFailure) Text() string {
	return f.message(placement{candidate: candidate{typ: "m5.large", image: "ami-1"}, market: OnDemand, zone: "us-east-1a", subnet: "subnet-us-east-1a"})
}

// message is the activity's StatusMessage.
func (f LaunchFailure) message(p placement) string {
	switch f {
	case InsufficientInstanceCapacity:
		return noCapacity(p) + launchingFailed
	case UnsupportedInZone:
		return fmt.Sprintf("Your requested instance type (%s) is not supported in your requested Availability Zone (%s).", p.typ, p.zone) + launchingFailed
	case InsufficientFreeAddressesInSubnet:
		return fmt.Sprintf("There are not enough free addresses in subnet '%s' to satisfy the requested number of instances.", p.subnet) + launchingFailed
	case ImageGone:
		return fmt.Sprintf("The image id '[%s]' does not exist.", p.image) + launchingFailed
	case SubnetGone:
		return fmt.Sprintf("The subnet ID '%s' does not exist.", p.subnet) + launchingFailed
	default: // the text is the same wherever the launch was to be
	}
	if text, ok := spotTexts()[f]; ok {
		return couldNotLaunchSpot + text + launchingFailed
	}
	if text, ok := launchTexts()[f]; ok {
		return text + launchingFailed
	}
	if text, ok := lateTexts()[f]; ok {
		return text
	}
	return string(f)
}

// noCapacity is what EC2 says when a pool is empty.
func noCapacity(p placement) string {
	if p.market == Spot {
		return couldNotLaunchSpot + "InsufficientInstanceCapacity - There is no Spot capacity available that matches your request."
	}
	elsewhere := ""
	if len(p.otherZones) > 0 {
		elsewhere = fmt.Sprintf(" You can currently get %s capacity by not specifying an Availability Zone in your request or choosing %s.",
			p.typ, strings.Join(p.otherZones, ", "))
	}
	return fmt.Sprintf("We currently do not have sufficient %s capacity in the Availability Zone you requested (%s). "+
		"Our system will be working on provisioning additional capacity.%s", p.typ, p.zone, elsewhere)
}

// spotTexts are said of spot launches.
func spotTexts() map[LaunchFailure]string {
	return map[LaunchFailure]string{
		UnfulfillableCapacity: "UnfulfillableCapacity - Unable to fulfill capacity due to your request configuration. " +
			"Please adjust your request and try again.",
		CouldNotLaunchSpot:           "Please try again later.",
		MaxSpotInstanceCountExceeded: "MaxSpotInstanceCountExceeded - Max spot instance count exceeded.",
		SpotMaxPriceTooLow: "SpotMaxPriceTooLow - Your Spot request price of 0.01 is lower than the minimum required " +
			"Spot request fulfillment price of 0.035.",
		ServiceLinkedRoleMissing: "AuthFailure.ServiceLinkedRoleCreationNotPermitted - The provided credentials do not have permission " +
			"to create the service-linked role for EC2 Spot Instances.",
	}
}

// launchTexts are said of any launch that didn't come to a machine.
func launchTexts() map[LaunchFailure]string {
	return map[LaunchFailure]string{
		VcpuLimitExceeded: "You have requested more vCPU capacity than your current vCPU limit of 32 allows for the instance bucket that the " +
			"specified instance type belongs to.",
		InstanceLimitExceeded:         "You have requested more instances (21) than your current instance limit of 20 allows for the specified instance type.",
		ReservationCapacityExceeded:   "ReservationCapacityExceeded - The requested reservations exceeds the available capacity.",
		MaxFleetCountExceeded:         "MaxFleetCountExceeded - You've reached the quota for the total number of EC2 Fleets.",
		InsufficientCapacityOnOutpost: "InsufficientCapacityOnOutpost - There is not enough capacity on the Outpost to launch or start the instance.",
		VolumeLimitExceeded:           "VolumeLimitExceeded - You have exceeded your maximum gp3 storage limit of 50 TiB in this region.",
		MaxIOPSLimitExceeded:          "MaxIOPSLimitExceeded - You have exceeded your maximum io2 IOPS limit of 100000 in this region.",
		UnsupportedByImage: "Unsupported - The architecture 'x86_64' of the specified instance type does not match the architecture 'arm64' " +
			"of the specified AMI.",
		PlacementGroupLimit:               "You have reached the limit of 7 running instances per Availability Zone for the spread placement group 'workers'.",
		LaunchTemplateGone:                "The specified launch template does not exist.",
		LaunchTemplateWithoutInstanceType: "You must use a valid fully-formed launch template. The request must contain the parameter InstanceType.",
		KeyPairGone:                       "The key pair 'workers' does not exist.",
		SecurityGroupGone:                 "The security group 'sg-0a1b2c3d' does not exist in VPC 'vpc-0a1b2c3d'.",
		SnapshotGone:                      "The snapshot 'snap-0a1b2c3d' does not exist.",
		InvalidParameter:                  "InvalidParameterValue - Value (standard) for parameter volumeType is invalid.",
		InstanceProfileInvalid:            "Invalid IAM Instance Profile name - Value (workers) for parameter iamInstanceProfile.name is invalid.",
		NotAuthorized:                     "UnauthorizedOperation - You are not authorized to use launch template: workers.",
		LaunchThrottled:                   "RequestLimitExceeded - Request limit exceeded.",
		Mysterious:                        "Something unforeseen came to pass.",
	}
}

// lateTexts are said of machines that were there and didn't come into service.
func lateTexts() map[LaunchFailure]string {
	return map[LaunchFailure]string{
		KMSKeyUnusable: "Instance became unhealthy while waiting for instance to be in InService state. " +
			"Termination Reason: Client.InternalError: Client error on launch",
		LifecycleHookAbandoned: "Instance failed to complete user's Lifecycle Action: Lifecycle Action was abandoned: Heartbeat Timeout",
		LifecycleResultAbandon: "Instance failed to complete user's Lifecycle Action: Lifecycle Action with token 0a1b2c3d was abandoned: " +
			"Lifecycle Action Completed with ABANDON Result",
		UnhealthyDuringLaunch: "Instance became unhealthy while waiting for instance to be in InService state. " +
			"Termination Reason: ELB health check failed",
	}
}
