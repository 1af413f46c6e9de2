package awstest

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// idempotent is the outcome of a call that carried a client token.
type idempotent struct {
	request string // all that the client asked for
	answer  []element
}

// pool is where LaunchInstances got machines, or none.
type pool struct {
	typ    string
	market Market
	zone   string
	subnet string
}

// launchOrder is a LaunchInstances request that makes sense.
type launchOrder struct {
	group      *group
	zone       string
	capacity   int // in units
	candidates []candidate
	why        LaunchFailure // nothing can be launched; empty otherwise
	retry      bool          // what is missing is left to the group
}

// launchInstances launches machines at once and tells which it got and what it didn't get.
func launchInstances(c *call) ([]element, error) {
	token, asked := c.params.value("ClientToken"), url.Values(c.params).Encode()
	if old, ok := c.w.tokens[token]; ok && token != "" {
		if old.request != asked {
			return nil, failure(http.StatusBadRequest, "IdempotentParameterMismatch", "The client token %s was used with other parameters.", token)
		}
		return old.answer, nil
	}
	order, err := c.launchOrder()
	if err != nil {
		return nil, err
	}
	c.begin(order.group)
	answer := c.w.launchAll(order)
	answer = append(answer, text("AutoScalingGroupName", order.group.Name), optional("ClientToken", token))
	if token != "" {
		c.w.tokens[token] = idempotent{asked, answer}
	}
	return answer, nil
}

// launchOrder judges the request.
func (c *call) launchOrder() (launchOrder, error) {
	g, err := c.group()
	if err != nil {
		return launchOrder{}, err
	}
	if err := c.w.permit(c.request, "ec2:CreateFleet"); err != nil {
		return launchOrder{}, err
	}
	n, err := strconv.Atoi(c.params.value("RequestedCapacity"))
	retry := c.params.value("RetryStrategy")
	mixed := g.MixedInstances
	switch {
	case err != nil || n < 1 || n > 100 && !g.weighted():
		return launchOrder{}, validation("RequestedCapacity '%s' isn't between 1 and 100.", c.params.value("RequestedCapacity"))
	case retry != "" && retry != "none" && retry != "retry-with-group-configuration":
		return launchOrder{}, validation("RetryStrategy '%s' isn't one of none, retry-with-group-configuration.", retry)
	case g.LaunchConfiguration != "":
		return launchOrder{}, validation("LaunchInstances needs a group with a launch template.")
	case mixed != nil && mixed.SpotPercentAboveBase != 0 && (mixed.SpotPercentAboveBase != 100 || mixed.OnDemandBase > 0):
		return launchOrder{}, validation("LaunchInstances needs a mixed instances policy that is all On-Demand or all Spot.")
	case g.suspended(ProcessLaunch):
		return launchOrder{}, validation("The Launch process of AutoScalingGroup %s is suspended.", g.Name)
	case max(g.units(), g.Desired)+n > g.Max:
		return launchOrder{}, validation("The requested capacity %d would bring the group above its max value %d.", n, g.Max)
	}
	zone, err := c.launchZone(g)
	if err != nil {
		return launchOrder{}, err
	}
	order := launchOrder{group: g, zone: zone, capacity: n, retry: retry == "retry-with-group-configuration"}
	order.candidates, order.why = c.w.candidates(g.Group)
	return order, nil
}

// weighted tells whether the group counts in units that aren't machines.
func (g Group) weighted() bool {
	return g.DesiredCapacityType == "vcpu" || g.DesiredCapacityType == "memory-mib" ||
		g.MixedInstances != nil && slices.ContainsFunc(g.MixedInstances.Overrides, func(o Override) bool { return o.Weight > 0 })
}

// launchZone is the one zone that the request names in one of three ways; a group of one zone needs none.
func (c *call) launchZone(g *group) (string, error) {
	named := map[string]bool{}
	for _, z := range c.params.list("AvailabilityZones.member") {
		named[z] = true
	}
	for _, id := range c.params.list("AvailabilityZoneIds.member") {
		i := slices.IndexFunc(g.Zones, func(z string) bool { return zoneID(z) == id })
		if i < 0 {
			return "", validation("Availability Zone %s isn't one of the group.", id)
		}
		named[g.Zones[i]] = true
	}
	for _, subnet := range c.params.list("SubnetIds.member") {
		i := slices.IndexFunc(g.Zones, func(z string) bool { return g.subnetOf(z) == subnet })
		if i < 0 {
			return "", validation("Subnet %s isn't one of the group.", subnet)
		}
		named[g.Zones[i]] = true
	}
	switch {
	case len(named) > 1:
		return "", validation("LaunchInstances takes one Availability Zone or subnet.")
	case len(named) == 0 && len(g.Zones) > 1:
		return "", validation("A group with several Availability Zones needs AvailabilityZones or SubnetIds.")
	case len(named) == 0:
		return c.w.zonesByLoad(g)[0], nil
	}
	for z := range named {
		if !slices.Contains(g.Zones, z) {
			return "", validation("Availability Zone %s isn't one of the group.", z)
		}
		return z, nil
	}
	return "", nil
}

// launchAll launches what it can get and raises desired by it; with retry by all that was asked for.
func (w *world) launchAll(o launchOrder) []element {
	g, got := o.group, 0
	launched, failed := map[pool][]string{}, map[pool]LaunchFailure{}
	if o.why != "" {
		p := w.placed(g, o.zone, firstOf(o.candidates))
		failed[p.pool()] = o.why
	}
	for o.why == "" && got < o.capacity {
		p, ok := w.first(o, failed)
		if !ok {
			break
		}
		a := w.newActivity(g, launchVerb, causeAt(w.now, "an instance was started in response to a LaunchInstances request."))
		w.launched(g, launch{}, a, p)
		m := g.machines[len(g.machines)-1]
		launched[p.pool()] = append(launched[p.pool()], m.ID)
		got += m.units()
	}
	raise := min(got, g.Max-g.Desired)
	if o.retry {
		raise = max(raise, min(o.capacity, g.Max-g.Desired))
	}
	w.setDesired(g, g.Desired+raise, CauseRequest)
	instances, errors := node("Instances"), node("Errors")
	for p, ids := range launched {
		instances.children = append(instances.children, node("member", append(p.xml(), texts("InstanceIds", "member", ids))...))
	}
	for p, why := range failed {
		code, _, _ := strings.Cut(string(why), " ")
		if len(code) > 60 || strings.HasSuffix(code, ",") {
			code = "InvalidConfiguration"
		}
		place := w.placed(g, o.zone, candidate{typ: p.typ})
		place.market, place.subnet = p.market, p.subnet
		errors.children = append(errors.children, node("member", append(p.xml(), text("ErrorCode", code), text("ErrorMessage", why.message(place)))...))
	}
	byText := func(a, b element) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) }
	slices.SortFunc(instances.children, byText)
	slices.SortFunc(errors.children, byText)
	return []element{instances, errors}
}

// first is the first placement in the zone that can be had; the reasons of those before it are noted.
func (w *world) first(o launchOrder, failed map[pool]LaunchFailure) (placement, bool) {
	for _, candidate := range w.ordered(o.group, o.zone, o.candidates) {
		p := w.placed(o.group, o.zone, candidate)
		reason, ok := w.get(o.group, p)
		if ok {
			return p, true
		}
		failed[p.pool()] = reason
	}
	return placement{}, false
}

func (p placement) pool() pool { return pool{p.typ, p.market, p.zone, p.subnet} }

// xml renders the pool.
func (p pool) xml() []element {
	return []element{
		optional("InstanceType", p.typ), text("MarketType", string(p.market)), text("SubnetId", p.subnet),
		text("AvailabilityZone", p.zone), text("AvailabilityZoneId", zoneID(p.zone)),
	}
}
