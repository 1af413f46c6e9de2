package awstest

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// describeAutoScalingGroups lists groups by name or by filters. Unknown names are left out, as the service does.
func describeAutoScalingGroups(c *call) ([]element, error) {
	names, filters := c.params.list("AutoScalingGroupNames.member"), c.params.filters(AutoScaling)
	if len(names) > 0 && len(filters) > 0 {
		return nil, validation("AutoScalingGroupNames and Filters can't be given in one request.")
	}
	limit := 50
	if c.params.value("MaxRecords") == "100" {
		limit = 100
	}
	if len(names) > limit {
		return nil, validation("The number of group names (%d) is above the page size (%d).", len(names), limit)
	}
	for _, f := range filters {
		if !strings.HasPrefix(f.name, "tag:") && f.name != "tag-key" && f.name != "tag-value" {
			return nil, validation("Filter type %s is not correct. Allowed Filter types are: tag-key tag-value tag:<key>", f.name)
		}
	}
	var views []*groupView
	for _, name := range slices.Sorted(maps.Keys(c.groups)) {
		g := c.groups[name]
		if g.hasTags(filters) && (len(names) == 0 || slices.Contains(names, name)) && (c.params.value("IncludeManagedResources") != "false" || g.Operator == "") {
			views = append(views, g)
		}
	}
	views, next, err := page(c, views, func(g *groupView) string { return g.Name }, recordPages(50))
	if err != nil {
		return nil, err
	}
	members := make([]element, 0, len(views))
	for _, g := range views {
		members = append(members, node("member", g.xml(c)...))
	}
	return []element{node("AutoScalingGroups", members...), optional("NextToken", next)}, nil
}

// hasTags tells whether the group's tags fulfil all filters.
func (g *groupView) hasTags(filters []filter) bool {
	for _, f := range filters {
		key, byKey := strings.CutPrefix(f.name, "tag:")
		if !slices.ContainsFunc(g.Tags, func(t Tag) bool {
			switch {
			case byKey:
				return t.Key == key && slices.Contains(f.values, t.Value)
			case f.name == "tag-key":
				return slices.Contains(f.values, t.Key)
			}
			return slices.Contains(f.values, t.Value)
		}) {
			return false
		}
	}
	return true
}

// xml renders the group as a member of AutoScalingGroups.
func (g *groupView) xml(c *call) []element {
	zoneIDs := make([]string, 0, len(g.Zones))
	for _, z := range g.Zones {
		zoneIDs = append(zoneIDs, zoneID(z))
	}
	var instances element
	if c.params.value("IncludeInstances") != "false" {
		instances = node("Instances")
		for _, m := range g.machines {
			instances.children = append(instances.children, node("member", m.xml()...))
		}
	}
	zones, protection, warmSize := texts("AvailabilityZones", "member", g.Zones), optional("DeletionProtection", g.DeletionProtection), element{}
	if g.ZoneIDsOnly {
		zones = element{}
	}
	if g.WarmPool != nil {
		warmSize = number("WarmPoolSize", len(g.warm))
	}
	tags := node("Tags")
	for _, t := range g.sortedTags() {
		tags.children = append(tags.children, node("member", t.xml(g.Name)...))
	}
	suspended := node("SuspendedProcesses")
	for _, p := range g.SuspendedProcesses {
		suspended.children = append(suspended.children, node("member",
			text("ProcessName", string(p)), text("SuspensionReason", "User suspended at "+g.created.UTC().Format("2006-01-02T15:04:05Z"))))
	}
	status, operator := element{}, element{}
	if g.deleting {
		status = text("Status", "Delete in progress")
	}
	if g.Operator != "" {
		operator = node("Operator", text("Principal", g.Operator))
	}
	return append([]element{
		text("AutoScalingGroupName", g.Name),
		text("AutoScalingGroupARN", g.arn),
		number("MinSize", g.Min),
		number("MaxSize", g.Max),
		number("DesiredCapacity", g.Desired),
		optional("DesiredCapacityType", g.DesiredCapacityType),
		number("DefaultCooldown", int(g.cooldown().Seconds())),
		text("HealthCheckType", "EC2"),
		number("HealthCheckGracePeriod", 0),
		text("CreatedTime", timestamp(g.created)),
		zones, protection, g.WarmPool.xml(), warmSize,
		texts("AvailabilityZoneIds", "member", zoneIDs),
		text("VPCZoneIdentifier", strings.Join(g.subnets(), ",")),
		instances, tags, suspended, status, operator,
		texts("TerminationPolicies", "member", []string{cmp.Or(string(g.TerminationPolicy), string(TerminationDefault))}),
		boolean("NewInstancesProtectedFromScaleIn", g.ProtectNewInstances),
		boolean("CapacityRebalance", g.CapacityRebalance),
	}, g.sourceXML()...)
}

// subnets are the group's subnets, one per zone.
func (g *groupView) subnets() []string {
	if len(g.Subnets) > 0 {
		return g.Subnets
	}
	subnets := make([]string, 0, len(g.Zones))
	for _, z := range g.Zones {
		subnets = append(subnets, "subnet-"+z)
	}
	return subnets
}

// sourceXML is where the group's machines come from.
func (g *groupView) sourceXML() []element {
	switch {
	case g.LaunchConfiguration != "":
		return []element{text("LaunchConfigurationName", g.LaunchConfiguration)}
	case g.LaunchTemplate != nil:
		return []element{g.LaunchTemplate.xml("LaunchTemplate")}
	}
	mixed := g.MixedInstances
	overrides := node("Overrides")
	for _, o := range mixed.Overrides {
		member := node("member", optional("InstanceType", o.InstanceType), optional("ImageId", o.ImageID))
		if o.Weight > 0 {
			member.children = append(member.children, text("WeightedCapacity", strconv.Itoa(o.Weight)))
		}
		if o.LaunchTemplate != nil {
			member.children = append(member.children, o.LaunchTemplate.xml("LaunchTemplateSpecification"))
		}
		if o.Requirements != nil {
			member.children = append(member.children, o.Requirements.xml("InstanceRequirements", autoScalingSpelling()))
		}
		overrides.children = append(overrides.children, member)
	}
	return []element{node("MixedInstancesPolicy",
		node("LaunchTemplate", mixed.LaunchTemplate.xml("LaunchTemplateSpecification"), overrides),
		node("InstancesDistribution",
			text("OnDemandAllocationStrategy", string(cmp.Or(mixed.OnDemandStrategy, Prioritized))),
			number("OnDemandBaseCapacity", mixed.OnDemandBase),
			number("OnDemandPercentageAboveBaseCapacity", 100-mixed.SpotPercentAboveBase),
			text("SpotAllocationStrategy", string(cmp.Or(mixed.SpotStrategy, CapacityOptimizedPrioritized))),
			optional("SpotMaxPrice", mixed.SpotMaxPrice)),
	)}
}

// xml renders a reference to a launch template; parts that are empty are left out.
func (r LaunchTemplateRef) xml(tag string) element {
	if r == (LaunchTemplateRef{}) {
		return element{}
	}
	return node(tag, optional("LaunchTemplateId", r.ID), optional("LaunchTemplateName", r.Name), optional("Version", r.Version))
}

// xml renders the instance as a member of a group's Instances.
func (i Instance) xml() []element {
	weight := element{}
	if i.Weight > 0 {
		weight = text("WeightedCapacity", strconv.Itoa(i.Weight))
	}
	return []element{
		text("InstanceId", i.ID),
		text("InstanceType", i.Type),
		text("AvailabilityZone", i.Zone),
		text("AvailabilityZoneId", zoneID(i.Zone)),
		text("LifecycleState", string(i.Lifecycle)),
		text("HealthStatus", i.Health),
		boolean("ProtectedFromScaleIn", i.Protected),
		i.LaunchTemplate.xml("LaunchTemplate"),
		optional("LaunchConfigurationName", i.LaunchConfiguration),
		optional("ImageId", i.ImageID),
		weight,
	}
}

// sortedTags are the group's tags by key, as the service lists them.
func (g Group) sortedTags() []Tag {
	return slices.SortedStableFunc(slices.Values(g.Tags), func(a, b Tag) int { return cmp.Compare(a.Key, b.Key) })
}

// xml renders the tag of a group.
func (t Tag) xml(group string) []element {
	value := text("Value", t.Value)
	if t.Valueless {
		value = element{}
	}
	return []element{
		text("Key", t.Key), value, text("ResourceId", group), text("ResourceType", "auto-scaling-group"),
		boolean("PropagateAtLaunch", t.PropagateAtLaunch),
	}
}

// describeAutoScalingInstances lists instances of all groups, or those of the given ids; unknown ids are left out.
func describeAutoScalingInstances(c *call) ([]element, error) {
	ids := c.params.list("InstanceIds.member")
	if len(ids) > 50 {
		return nil, validation("The number of instance ids (%d) is above 50.", len(ids))
	}
	var found []Instance
	for _, g := range c.groups {
		for _, m := range g.machines {
			if len(ids) == 0 || slices.Contains(ids, m.ID) {
				found = append(found, m.Instance)
			}
		}
	}
	slices.SortFunc(found, func(a, b Instance) int { return cmp.Compare(a.ID, b.ID) })
	found, next, err := page(c, found, func(i Instance) string { return i.ID }, pageLimits{usual: 50, most: 50, least: 1, parameter: "MaxRecords"})
	if err != nil {
		return nil, err
	}
	members := make([]element, 0, len(found))
	for _, i := range found {
		i.Health = strings.ToUpper(i.Health) // this action has its own spelling
		members = append(members, node("member", append(i.xml(), text("AutoScalingGroupName", i.Group))...))
	}
	return []element{node("AutoScalingInstances", members...), optional("NextToken", next)}, nil
}
