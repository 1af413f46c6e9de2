package awstest

import (
	"net/http"
	"slices"
	"strconv"
)

// noSuchGroup is the answer to a request for a group that isn't there.
func noSuchGroup(name string) error {
	return validation("AutoScalingGroup name not found - no such group: %s", name)
}

// group finds the group that a write names.
func (c *call) group() (*group, error) {
	name := c.params.value("AutoScalingGroupName")
	g, ok := c.w.groups[name]
	switch {
	case name == "":
		return nil, validation("1 validation error detected: Value null at 'autoScalingGroupName' failed to satisfy constraint: Member must not be null")
	case !ok:
		return nil, noSuchGroup(name)
	case g.deleting:
		return nil, validation("AutoScalingGroup %s is being deleted.", name)
	}
	return g, nil
}

// setDesiredCapacity sets the desired capacity within the bounds.
func setDesiredCapacity(c *call) ([]element, error) {
	g, err := c.group()
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(c.params.value("DesiredCapacity"))
	switch {
	case err != nil:
		return nil, validation("Value '%s' at 'desiredCapacity' isn't a number", c.params.value("DesiredCapacity"))
	case n > g.Max:
		return nil, validation("New SetDesiredCapacity value %d is above max value %d for the AutoScalingGroup.", n, g.Max)
	case n < g.Min:
		return nil, validation("New SetDesiredCapacity value %d is below min value %d for the AutoScalingGroup.", n, g.Min)
	}
	if c.params.value("HonorCooldown") == "true" {
		if a := c.w.cooling(g); a != nil {
			return nil, failure(http.StatusBadRequest, "ScalingActivityInProgress", "Scaling activity %s is in progress and blocks this action", a.id)
		}
	}
	c.begin(g)
	c.w.setDesired(g, n, CauseRequest)
	return nil, nil
}

// cooling is the activity that keeps the group in its cooldown; nil when nothing does.
func (w *world) cooling(g *group) *activity {
	for _, a := range slices.Backward(g.activities) {
		if a.end.IsZero() || a.status == ActivitySuccessful && w.now.Sub(a.end) < g.cooldown() {
			return a
		}
	}
	return nil
}

// terminateInstanceInAutoScalingGroup ends one instance, or a batch of one group. Nothing is done unless all of it can be.
func terminateInstanceInAutoScalingGroup(c *call) ([]element, error) {
	decrement := c.params.value("ShouldDecrementDesiredCapacity")
	if decrement != "true" && decrement != "false" {
		return nil, validation("1 validation error detected: Value null at 'shouldDecrementDesiredCapacity' failed to satisfy constraint: Member must not be null")
	}
	id, ids := c.params.value("InstanceId"), c.params.list("InstanceIds.member")
	switch {
	case (id == "") == (len(ids) == 0):
		return nil, validation("Exactly one of InstanceId and InstanceIds must be given.")
	case len(ids) > 100:
		return nil, validation("The number of instance ids (%d) is above 100.", len(ids))
	case id != "":
		ids = []string{id}
	default:
		if _, err := c.group(); err != nil {
			return nil, err
		}
	}
	g, machines, err := c.victims(ids)
	if err != nil {
		return nil, err
	}
	c.begin(g)
	if decrement == "true" {
		if err := c.w.decrement(g, machines); err != nil {
			return nil, err
		}
	} else {
		g.why = "an instance was launched in response to a terminated instance needing to be replaced"
	}
	var activities []element
	for _, m := range machines {
		m = c.w.end(g, m, CauseRequest)
		activities = append(activities, node("member", m.end.xml(c.w.now)...))
	}
	if id != "" {
		return []element{{name: "Activity", children: activities[0].children}}, nil
	}
	return []element{node("Activities", activities...)}, nil
}

// victims finds the instances, which must all be of one group.
func (c *call) victims(ids []string) (*group, []*machine, error) {
	name := c.params.value("AutoScalingGroupName")
	var group *group
	var machines []*machine
	for _, id := range ids {
		g, m := c.w.find(id)
		switch {
		case m == nil && c.w.isWarm(id):
			return nil, nil, validation("Instance %s is in the warm pool and can't be terminated by this call.", id)
		case m == nil:
			return nil, nil, validation("Instance Id not found - No managed instance found for instance ID: %s", id)
		case name != "" && g.Name != name, group != nil && g != group:
			return nil, nil, validation("Instance %s isn't in the group of the request.", id)
		case m.Lifecycle == Terminated, m.leaving():
			return nil, nil, validation("Instance Id not found - No managed instance found for instance ID: %s", id)
		}
		group = g
		if !slices.Contains(machines, m) {
			machines = append(machines, m)
		}
	}
	return group, machines, nil
}

// decrement lowers desired along with instances that are about to be ended. Those that don't count lower nothing, unless the group does so.
func (w *world) decrement(g *group, machines []*machine) error {
	less := 0
	for _, m := range machines {
		if m.counts() || m.Ending() && g.DecrementsAgain {
			less += m.units()
		}
	}
	if less == 0 {
		return nil
	}
	if g.Desired-less < g.Min {
		if g.DecrementsAgain && !slices.ContainsFunc(machines, func(m *machine) bool { return m.counts() }) {
			return nil
		}
		return validation("Currently, desiredSize equals minSize (%d). Terminating instance without replacement will violate group's min size constraint. "+
			"Either set shouldDecrementDesiredCapacity flag to false or lower group's min size.", g.Min)
	}
	w.setDesired(g, g.Desired-less, CauseDecrement)
	return nil
}

// setInstanceProtection sets or clears the protection from scale-in.
func setInstanceProtection(c *call) ([]element, error) {
	g, err := c.group()
	if err != nil {
		return nil, err
	}
	ids := c.params.list("InstanceIds.member")
	if len(ids) == 0 || len(ids) > 50 {
		return nil, validation("The number of instance ids (%d) isn't between 1 and 50.", len(ids))
	}
	_, machines, err := c.victims(ids)
	if err != nil {
		return nil, err
	}
	c.begin(g)
	protected := c.params.value("ProtectedFromScaleIn") == "true"
	for _, m := range machines {
		c.w.put(g, m, func(m *machine) { m.Protected = protected })
	}
	return nil, nil
}
