package awstest

// describeInstanceRefreshes tells of the refresh that runs, if one does; what is over isn't kept.
func describeInstanceRefreshes(c *call) ([]element, error) {
	name := c.params.value("AutoScalingGroupName")
	g, ok := c.groups[name]
	if !ok {
		return nil, noSuchGroup(name)
	}
	var refreshes []element
	if g.refreshing > 0 {
		refreshes = append(refreshes, node("member",
			text("InstanceRefreshId", "refresh-of-"+name), text("AutoScalingGroupName", name), text("Status", "InProgress"),
			number("InstancesToUpdate", g.refreshing)))
	}
	return []element{node("InstanceRefreshes", refreshes...)}, nil
}
