package permissions

import (
	"slices"
	"strings"
	"sync"
)

// The policies of deploy/aws, by the name of the file without iam-policy and .json: Base is iam-policy.json.
const (
	Base       = ""
	EKS        = "eks"
	Attributes = "attributes"
	Protection = "protection"
	Refreshes  = "refreshes"
	Zones      = "zones"
	Prices     = "prices"
)

// Action is something that AWS may allow.
type Action struct {
	// Name is IAM's, for example autoscaling:SetDesiredCapacity.
	Name string
	// Policy is the file that grants it.
	Policy string
	// Without says in words what does not work when it is denied.
	Without string
}

// Operation is the API's name of the action.
func (a Action) Operation() string {
	_, operation, _ := strings.Cut(a.Name, ":")
	return operation
}

// Writes tells whether the action changes something, so that a policy can limit it to tagged groups.
func (a Action) Writes() bool {
	return !strings.HasPrefix(a.Operation(), "Describe") && !strings.HasPrefix(a.Operation(), "Get")
}

// Actions lists all that is used, without the calls to STS, which need no permission.
func Actions() []Action {
	return []Action{
		{"autoscaling:DescribeAutoScalingGroups", Base, "nothing works"},
		{"autoscaling:DescribeInstanceRefreshes", Refreshes, "a group whose machines AWS is replacing is scaled down all the same"},
		{"autoscaling:DescribeLaunchConfigurations", Base, "groups with a launch configuration do not grow from zero"},
		{"autoscaling:DescribeScalingActivities", Base, "launches that fail are noticed only after --max-node-provision-time"},
		{"autoscaling:SetDesiredCapacity", Base, "no group grows"},
		{"autoscaling:SetInstanceProtection", Protection, "machines are not protected while places that stay empty are given up, so that fewer are given up"},
		{"autoscaling:TerminateInstanceInAutoScalingGroup", Base, "no group shrinks"},
		{"ec2:DescribeAvailabilityZones", Zones, "groups of which AWS tells only zone ids have no template while they are empty, and templates lack the zone id"},
		{"ec2:DescribeImages", Base, "templates do not know the disk and the operating system of the AMI"},
		{"ec2:DescribeInstanceTypeOfferings", Zones, "types that a zone does not offer are reckoned with there"},
		{"ec2:DescribeInstanceTypes", Base, "instance types are those of the built-in list"},
		{"ec2:DescribeLaunchTemplateVersions", Base, "groups with a launch template do not grow from zero"},
		{"ec2:DescribeSpotPriceHistory", Prices, "spot instances are taken to cost as much as those on demand"},
		{"ec2:GetInstanceTypesFromInstanceRequirements", Attributes, "groups that choose instance types by attributes do not grow from zero without tags for cpu and memory"},
		{"eks:DescribeNodegroup", EKS, "labels and taints of managed node groups are not known while they are empty"},
		{"pricing:GetProducts", Prices, "prices on demand come from the built-in formula"},
	}
}

// Of finds the action that an operation of an API needs; false: it is not used, or needs none.
func Of(operation string) (Action, bool) {
	actions := Actions()
	i := slices.IndexFunc(actions, func(a Action) bool { return a.Operation() == operation })
	if i < 0 {
		return Action{}, false
	}
	return actions[i], true
}

// IsDenial tells whether an error code of AWS means that the identity lacks a permission.
func IsDenial(code string) bool {
	switch code {
	case "AccessDenied", "AccessDeniedException", "UnauthorizedOperation":
		return true
	default:
		return false
	}
}

// Change is what a call has shown.
type Change int

// The changes.
const (
	None    Change = iota // nothing new
	Missing               // the action is denied, which was not known
	Granted               // the action is allowed again
)

// Memory knows which actions were denied last. The zero value is ready; safe for concurrent use.
type Memory struct {
	mu     sync.Mutex
	denied map[string]bool
}

// Note enters how a call of an operation ended: the error code, or success. The success of a write says nothing about other groups, so that
// it never counts as granted again.
func (m *Memory) Note(operation, code string) Change {
	action, used := Of(operation)
	if !used {
		return None
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch was := m.denied[operation]; {
	case IsDenial(code) && !was:
		if m.denied == nil {
			m.denied = map[string]bool{}
		}
		m.denied[operation] = true
		return Missing
	case code == "success" && was && !action.Writes():
		delete(m.denied, operation)
		return Granted
	default:
		return None
	}
}
