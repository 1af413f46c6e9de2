package awstest

import "net/http"

// actionName names an action of a service.
type actionName struct {
	service Service
	name    string
}

// action is how a request is carried out: one of run, json and plain, by the protocol of the service.
type action struct {
	run    func(*call) ([]element, error) // the content of an XML answer
	json   func(*call) (any, error)       // the JSON answer
	plain  func(*call) (RawAnswer, error) // any other answer
	write  bool
	silent bool // the XML answer has no result element
}

// do carries the request out.
func (a action) do(c *call) (content, error) {
	var result content
	var err error
	switch {
	case a.json != nil:
		result.json, err = a.json(c)
	case a.plain != nil:
		result.plain, err = a.plain(c)
	default:
		result.xml, err = a.run(c)
	}
	return result, err
}

// actions is everything that is served.
func actions() map[actionName]action {
	return map[actionName]action{
		{AutoScaling, "DescribeAutoScalingGroups"}:           {run: describeAutoScalingGroups},
		{AutoScaling, "DescribeAutoScalingInstances"}:        {run: describeAutoScalingInstances},
		{AutoScaling, "DescribeInstanceRefreshes"}:           {run: describeInstanceRefreshes},
		{AutoScaling, "DescribeLaunchConfigurations"}:        {run: describeLaunchConfigurations},
		{AutoScaling, "DescribeScalingActivities"}:           {run: describeScalingActivities},
		{AutoScaling, "DescribeTags"}:                        {run: describeTags},
		{AutoScaling, "DescribeWarmPool"}:                    {run: describeWarmPool},
		{AutoScaling, "LaunchInstances"}:                     {run: launchInstances, write: true},
		{AutoScaling, "SetDesiredCapacity"}:                  {run: setDesiredCapacity, write: true, silent: true},
		{AutoScaling, "SetInstanceProtection"}:               {run: setInstanceProtection, write: true},
		{AutoScaling, "TerminateInstanceInAutoScalingGroup"}: {run: terminateInstanceInAutoScalingGroup, write: true},

		{EC2, "DescribeAvailabilityZones"}:                {run: describeAvailabilityZones},
		{EC2, "DescribeImages"}:                           {run: describeImages},
		{EC2, "DescribeInstances"}:                        {run: describeInstances},
		{EC2, "DescribeInstanceTypes"}:                    {run: describeInstanceTypes},
		{EC2, "DescribeLaunchTemplateVersions"}:           {run: describeLaunchTemplateVersions},
		{EC2, "DescribeInstanceTypeOfferings"}:            {run: describeInstanceTypeOfferings},
		{EC2, "DescribeSpotPriceHistory"}:                 {run: describeSpotPriceHistory},
		{EC2, "GetInstanceTypesFromInstanceRequirements"}: {run: getInstanceTypesFromInstanceRequirements},

		{STS, "AssumeRole"}:                {run: assumeRole},
		{STS, "AssumeRoleWithWebIdentity"}: {run: assumeRoleWithWebIdentity},
		{STS, "GetCallerIdentity"}:         {run: getCallerIdentity},

		{EKS, "DescribeNodegroup"}: {json: describeNodegroup},

		{Pricing, "GetProducts"}: {json: getProducts},

		{ContainerCredentials, "GetCredentials"}: {json: getContainerCredentials},

		{Metadata, "PutToken"}:            {plain: putToken},
		{Metadata, "GetIdentityDocument"}: {plain: getIdentityDocument},
		{Metadata, "GetMetadata"}:         {plain: getMetadata},
		{Metadata, "ListRoles"}:           {plain: listRoles},
		{Metadata, "GetRoleCredentials"}:  {plain: getRoleCredentials},
	}
}

// unknownAction is the service's answer to an action that it doesn't have.
func unknownAction(r request) error {
	switch r.service {
	case EKS, Metadata, ContainerCredentials:
		return failure(http.StatusNotFound, "NotFoundException", "There is nothing of that name here.")
	case Pricing:
		return failure(http.StatusBadRequest, "UnknownOperationException", "")
	case EC2:
		return failure(http.StatusBadRequest, "InvalidAction", "The action %s is not valid for this web service.", r.action)
	default:
		return failure(http.StatusBadRequest, "InvalidAction", "Could not find operation %s for version %s.", r.action, r.params.value("Version"))
	}
}
