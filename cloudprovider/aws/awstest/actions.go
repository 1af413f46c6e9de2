package awstest

import "net/http"

// actionName names an action of a service.
type actionName struct {
	service Service
	name    string
}

// action is how a request is carried out.
type action struct {
	run    func(*call) ([]element, error)
	write  bool
	silent bool // the answer has no result element
}

// actions is everything that is served.
func actions() map[actionName]action {
	return map[actionName]action{
		{AutoScaling, "DescribeAutoScalingGroups"}:           {run: describeAutoScalingGroups},
		{AutoScaling, "DescribeAutoScalingInstances"}:        {run: describeAutoScalingInstances},
		{AutoScaling, "DescribeLaunchConfigurations"}:        {run: describeLaunchConfigurations},
		{AutoScaling, "DescribeScalingActivities"}:           {run: describeScalingActivities},
		{AutoScaling, "DescribeTags"}:                        {run: describeTags},
		{AutoScaling, "SetDesiredCapacity"}:                  {run: setDesiredCapacity, write: true, silent: true},
		{AutoScaling, "SetInstanceProtection"}:               {run: setInstanceProtection, write: true},
		{AutoScaling, "TerminateInstanceInAutoScalingGroup"}: {run: terminateInstanceInAutoScalingGroup, write: true},

		{EC2, "DescribeAvailabilityZones"}:                {run: describeAvailabilityZones},
		{EC2, "DescribeImages"}:                           {run: describeImages},
		{EC2, "DescribeInstances"}:                        {run: describeInstances},
		{EC2, "DescribeInstanceTypes"}:                    {run: describeInstanceTypes},
		{EC2, "DescribeLaunchTemplateVersions"}:           {run: describeLaunchTemplateVersions},
		{EC2, "GetInstanceTypesFromInstanceRequirements"}: {run: getInstanceTypesFromInstanceRequirements},

		{STS, "GetCallerIdentity"}: {run: getCallerIdentity},
	}
}

// unknownAction is the service's answer to an action that it doesn't have.
func unknownAction(r request) error {
	if r.service == EC2 {
		return failure(http.StatusBadRequest, "InvalidAction", "The action %s is not valid for this web service.", r.action)
	}
	return failure(http.StatusBadRequest, "InvalidAction", "Could not find operation %s for version %s.", r.action, r.params.value("Version"))
}

// getCallerIdentity tells who the caller is.
func getCallerIdentity(c *call) ([]element, error) {
	return []element{
		text("Arn", c.w.cfg.Identity), text("UserId", "AROAEXAMPLE:session"), text("Account", c.w.cfg.Account),
	}, nil
}
