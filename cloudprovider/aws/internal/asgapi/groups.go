package asgapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asg"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/discovery"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/faults"
)

// Listing is what a series of DescribeAutoScalingGroups calls gave.
type Listing struct {
	Groups []asg.Group // in AWS's order
	// Broken names the groups whose description cannot be used, and says why.
	Broken map[string]error
	// At is AWS's time of the first answer.
	At time.Time
	// Unread are the names that were asked for in calls that failed.
	Unread []string
}

// GroupsByName describes the named groups; names that AWS doesn't know are left out of the listing. No names, no call. An error
// concerns the names in Unread, the rest of the listing is good.
func (c *Client) GroupsByName(ctx context.Context, names []string) (Listing, error) {
	var listing Listing
	var errs []error
	for batch := range slices.Chunk(names, pageSize) {
		err := c.describe(ctx, &listing, autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: batch})
		if err != nil {
			listing.Unread = append(listing.Unread, batch...)
			errs = append(errs, err)
		}
	}
	return listing, errors.Join(errs...)
}

// GroupsByRule describes all groups that a rule matches. An empty rule makes no call: it would mean all groups of the account. With an
// error the listing is incomplete, and what it holds is good.
func (c *Client) GroupsByRule(ctx context.Context, rule discovery.Rule) (Listing, error) {
	var listing Listing
	if len(rule) == 0 {
		return listing, nil
	}
	var filters []types.Filter
	for _, f := range rule.Filters() {
		filters = append(filters, types.Filter{Name: aws.String(f.Name), Values: f.Values})
	}
	err := c.describe(ctx, &listing, autoscaling.DescribeAutoScalingGroupsInput{Filters: filters})
	listing.Groups = slices.DeleteFunc(listing.Groups, func(g asg.Group) bool { return !rule.Matches(g.Tags) })
	return listing, err
}

// describe reads all pages of one request into the listing.
func (c *Client) describe(ctx context.Context, listing *Listing, in autoscaling.DescribeAutoScalingGroupsInput) error {
	in.MaxRecords = aws.Int32(pageSize)
	for {
		out, err := c.describePage(ctx, &in)
		if err != nil {
			return err
		}
		if listing.At.IsZero() {
			listing.At = c.serverTime(out.ResultMetadata)
		}
		for i := range out.AutoScalingGroups {
			listing.add(&out.AutoScalingGroups[i])
		}
		if aws.ToString(out.NextToken) == "" { // a page may be short or empty although more follow: only the token decides
			return nil
		}
		in.NextToken = out.NextToken
	}
}

func (c *Client) describePage(ctx context.Context, in *autoscaling.DescribeAutoScalingGroupsInput) (*autoscaling.DescribeAutoScalingGroupsOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	out, err := c.api.DescribeAutoScalingGroups(ctx, in)
	return out, faults.Wrap("DescribeAutoScalingGroups", err)
}

func (l *Listing) add(in *types.AutoScalingGroup) {
	name := aws.ToString(in.AutoScalingGroupName)
	if name == "" {
		return // nothing can be done about a group without a name, and nobody asked for it
	}
	group, err := convertGroup(in)
	if err != nil {
		if l.Broken == nil {
			l.Broken = map[string]error{}
		}
		l.Broken[name] = err
	}
	l.Groups = append(l.Groups, group)
}

// convertGroup reads a group. With an error the group holds name and tags only.
func convertGroup(in *types.AutoScalingGroup) (asg.Group, error) {
	group := asg.Group{Name: aws.ToString(in.AutoScalingGroupName), Tags: make(map[string]string, len(in.Tags))}
	for _, tag := range in.Tags {
		group.Tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	if in.MinSize == nil || in.MaxSize == nil || in.DesiredCapacity == nil {
		return group, errors.New("AWS does not tell its minimum, maximum and desired capacity")
	}
	group.Min, group.Max, group.Desired = int(*in.MinSize), int(*in.MaxSize), int(*in.DesiredCapacity)
	if group.Min < 0 || group.Max < 0 || group.Desired < 0 {
		return group, fmt.Errorf("AWS tells a negative size: minimum %d, maximum %d, desired capacity %d", group.Min, group.Max, group.Desired)
	}
	if group.Max < group.Min {
		return group, errors.New("AWS tells a maximum below the minimum")
	}
	group.Unit = aws.ToString(in.DesiredCapacityType)
	group.Zones, group.ZoneIDs = in.AvailabilityZones, in.AvailabilityZoneIds
	group.Status = aws.ToString(in.Status)
	if in.Operator != nil {
		group.Operator = aws.ToString(in.Operator.Principal)
	}
	for _, process := range in.SuspendedProcesses {
		group.Suspended = append(group.Suspended, aws.ToString(process.ProcessName))
	}
	group.Instances = convertInstances(in.Instances)
	launch, err := convertLaunch(in)
	group.Launch = launch
	return group, err
}

// convertInstances leaves out what has no id and what is listed twice: a machine must not count for more than one.
func convertInstances(in []types.Instance) []asg.Instance {
	var instances []asg.Instance
	seen := make(map[string]bool, len(in))
	for _, each := range in {
		if instance := convertInstance(each); instance.ID != "" && !seen[instance.ID] {
			seen[instance.ID] = true
			instances = append(instances, instance)
		}
	}
	return instances
}

func convertInstance(in types.Instance) asg.Instance {
	return asg.Instance{
		ID: aws.ToString(in.InstanceId), Zone: aws.ToString(in.AvailabilityZone), Type: aws.ToString(in.InstanceType),
		Lifecycle: asg.Lifecycle(in.LifecycleState), Weight: weight(in.WeightedCapacity), Protected: aws.ToBool(in.ProtectedFromScaleIn),
		Unhealthy: strings.EqualFold(aws.ToString(in.HealthStatus), "unhealthy"),
	}
}

// weight reads a weight, which is text on the wire.
func weight(text *string) int {
	n, err := strconv.Atoi(aws.ToString(text))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

func convertLaunch(in *types.AutoScalingGroup) (asg.Launch, error) {
	launch := asg.Launch{Configuration: aws.ToString(in.LaunchConfigurationName), Template: convertTemplate(in.LaunchTemplate)}
	policy := in.MixedInstancesPolicy
	if policy == nil {
		return launch, nil
	}
	if policy.LaunchTemplate == nil || policy.LaunchTemplate.LaunchTemplateSpecification == nil {
		return launch, errors.New("its mixed instances policy has no launch template")
	}
	launch.Template = convertTemplate(policy.LaunchTemplate.LaunchTemplateSpecification)
	for _, o := range policy.LaunchTemplate.Overrides {
		requirements, err := convertRequirements(o.InstanceRequirements)
		if err != nil {
			return launch, err
		}
		if text := aws.ToString(o.WeightedCapacity); text != "" && weight(&text) == 0 {
			return launch, fmt.Errorf("the weight %q of instance type %q is not a whole number above 0", text, aws.ToString(o.InstanceType))
		}
		launch.Overrides = append(launch.Overrides, asg.Override{
			Type: aws.ToString(o.InstanceType), Weight: weight(o.WeightedCapacity), Template: convertTemplate(o.LaunchTemplateSpecification),
			ImageID: aws.ToString(o.ImageId), Requirements: requirements,
		})
	}
	launch.Distribution = convertDistribution(policy.InstancesDistribution, launch.ByRequirements())
	if launch.ByRequirements() && len(launch.Types()) > 0 {
		return launch, errors.New("its mixed instances policy has both instance types and instance requirements")
	}
	return launch, nil
}

// convertDistribution fills AWS's defaults in.
func convertDistribution(in *types.InstancesDistribution, byRequirements bool) *asg.Distribution {
	out := &asg.Distribution{OnDemandPercentage: 100, OnDemandStrategy: "prioritized", SpotStrategy: "lowest-price"}
	if byRequirements { // there is no order of preference
		out.OnDemandStrategy = "lowest-price"
	}
	if in == nil {
		return out
	}
	out.OnDemandBase = int(aws.ToInt32(in.OnDemandBaseCapacity))
	if in.OnDemandPercentageAboveBaseCapacity != nil {
		out.OnDemandPercentage = int(*in.OnDemandPercentageAboveBaseCapacity)
	}
	out.OnDemandStrategy = cmp.Or(aws.ToString(in.OnDemandAllocationStrategy), out.OnDemandStrategy)
	out.SpotStrategy = cmp.Or(aws.ToString(in.SpotAllocationStrategy), out.SpotStrategy)
	return out
}

func convertRequirements(in *types.InstanceRequirements) (asg.Requirements, error) {
	if in == nil {
		return "", nil
	}
	text, err := json.Marshal(in)
	if err != nil {
		return "", fmt.Errorf("keeping the instance requirements of its mixed instances policy: %w", err)
	}
	return asg.Requirements(text), nil
}

func convertTemplate(in *types.LaunchTemplateSpecification) asg.TemplateRef {
	if in == nil {
		return asg.TemplateRef{}
	}
	ref := asg.TemplateRef{ID: aws.ToString(in.LaunchTemplateId), Name: aws.ToString(in.LaunchTemplateName), Version: aws.ToString(in.Version)}
	if ref.Version == "" {
		ref.Version = "$Default"
	}
	return ref
}
