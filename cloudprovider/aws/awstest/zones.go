package awstest

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// zones are the names of the region's zones: those of the configuration and those of the groups.
func (w *world) zones() []string {
	names := map[string]bool{}
	for _, z := range w.cfg.Zones {
		names[z] = true
	}
	for _, g := range w.groups {
		for _, z := range g.Zones {
			names[z] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// zoneID is the id of a zone, for example use1-az1 for us-east-1a. Real accounts have the letters in an order of their own.
func zoneID(zone string) string {
	parts := strings.Split(zone, "-")
	if len(parts) < 3 || zone == "" {
		return zone
	}
	var short strings.Builder
	short.WriteString(parts[0])
	for _, word := range parts[1 : len(parts)-1] {
		short.WriteString(word[:min(1, len(word))])
	}
	last := parts[len(parts)-1]
	digits := strings.TrimRight(last, "abcdefghijklmnopqrstuvwxyz")
	letter := strings.TrimPrefix(last, digits)
	if letter == "" {
		return zone
	}
	return short.String() + digits + "-az" + strconv.Itoa(int(letter[0]-'a')+1)
}

// describeAvailabilityZones lists the zones of the region.
func describeAvailabilityZones(c *call) ([]element, error) {
	names, ids := c.params.list("ZoneName"), c.params.list("ZoneId")
	all := c.w.zones()
	for _, name := range names {
		if !slices.Contains(all, name) {
			return nil, failure(http.StatusBadRequest, "InvalidParameterValue", "Invalid availability zone: [%s]", name)
		}
	}
	set := node("availabilityZoneInfo")
	for _, name := range all {
		if len(names) > 0 && !slices.Contains(names, name) || len(ids) > 0 && !slices.Contains(ids, zoneID(name)) {
			continue
		}
		set.children = append(set.children, node("item", c.zone(name)...))
	}
	return []element{set}, nil
}

// zone renders a zone. A name with more between region and letter than nothing is a Local Zone.
func (c *call) zone(name string) []element {
	region := c.w.cfg.Region
	kind, group, optIn := "availability-zone", region, "opt-in-not-required"
	parent := []element{}
	if rest := strings.TrimPrefix(name, region); strings.HasPrefix(rest, "-") {
		kind, group, optIn = "local-zone", strings.TrimRight(name, "abcdefghijklmnopqrstuvwxyz"), "opted-in"
		parent = []element{text("parentZoneName", region+"a"), text("parentZoneId", zoneID(region+"a"))}
	}
	return append(parent,
		text("zoneName", name), text("zoneId", zoneID(name)), text("zoneState", "available"), text("regionName", region),
		text("zoneType", kind), text("groupName", group), text("networkBorderGroup", group), text("optInStatus", optIn))
}
