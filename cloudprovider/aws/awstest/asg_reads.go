package awstest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// describeLaunchConfigurations lists launch configurations; unknown names are left out.
func describeLaunchConfigurations(c *call) ([]element, error) {
	names := c.params.list("LaunchConfigurationNames.member")
	if len(names) > 50 {
		return nil, validation("The number of launch configuration names (%d) is above 50.", len(names))
	}
	var found []LaunchConfiguration
	for _, name := range slices.Sorted(maps.Keys(c.w.configs)) {
		if len(names) == 0 || slices.Contains(names, name) {
			found = append(found, c.w.configs[name])
		}
	}
	found, next, err := page(c, found, func(l LaunchConfiguration) string { return l.Name }, recordPages(50))
	if err != nil {
		return nil, err
	}
	members := make([]element, 0, len(found))
	for _, l := range found {
		devices := node("BlockDeviceMappings")
		for _, d := range l.BlockDevices {
			devices.children = append(devices.children, node("member", text("DeviceName", d.DeviceName),
				node("Ebs", positive("VolumeSize", d.SizeGiB), optional("VolumeType", d.VolumeType), positive("Iops", d.IOPS),
					positive("Throughput", d.Throughput), optional("SnapshotId", d.SnapshotID))))
		}
		members = append(members, node("member",
			text("LaunchConfigurationName", l.Name),
			text("LaunchConfigurationARN", fmt.Sprintf("arn:aws:autoscaling:%s:%s:launchConfiguration:%s", c.w.cfg.Region, c.w.cfg.Account, l.Name)),
			optional("InstanceType", l.InstanceType), optional("ImageId", l.ImageID), optional("SpotPrice", l.SpotPrice),
			optional("UserData", l.UserData), devices, text("CreatedTime", timestamp(time.Unix(0, 0)))))
	}
	return []element{node("LaunchConfigurations", members...), optional("NextToken", next)}, nil
}

// activitiesAreKeptFor is how far back the service tells activities.
const activitiesAreKeptFor = 6 * 7 * 24 * time.Hour

// describeScalingActivities lists activities, newest first.
func describeScalingActivities(c *call) ([]element, error) {
	all, err := c.activities()
	if err != nil {
		return nil, err
	}
	keep, err := activityFilter(c)
	if err != nil {
		return nil, err
	}
	ids := c.params.list("ActivityIds.member")
	all = slices.DeleteFunc(all, func(a *activity) bool {
		return a.start.After(c.at) || c.at.Sub(a.start) > activitiesAreKeptFor || len(ids) > 0 && !slices.Contains(ids, a.id) || !keep(a)
	})
	slices.SortFunc(all, func(a, b *activity) int { return cmp.Or(b.start.Compare(a.start), cmp.Compare(b.serial, a.serial)) })
	newestFirst := func(a *activity) string {
		return fmt.Sprintf("%020d%020d", int64(1)<<62-a.start.UnixNano(), int64(1)<<62-int64(a.serial))
	}
	all, next, err := page(c, all, newestFirst, recordPages(100))
	if err != nil {
		return nil, err
	}
	members := make([]element, 0, len(all))
	for _, a := range all {
		members = append(members, node("member", a.xml(c.at)...))
	}
	return []element{node("Activities", members...), optional("NextToken", next)}, nil
}

// activities are those of the group that the request names, or of all groups; those of deleted groups only on demand.
func (c *call) activities() ([]*activity, error) {
	name := c.params.value("AutoScalingGroupName")
	var all []*activity
	for _, g := range c.w.groups {
		if name == "" || g.Name == name {
			all = append(all, g.activities...)
		}
	}
	_, known := c.w.groups[name]
	if c.params.value("IncludeDeletedGroups") == "true" {
		for _, a := range c.w.deleted {
			if name == "" || a.group == name {
				all = append(all, a)
				known = true
			}
		}
	}
	if name != "" && !known {
		return nil, noSuchGroup(name)
	}
	return all, nil
}

// activityFilter makes one condition of the request's filters.
func activityFilter(c *call) (func(*activity) bool, error) {
	var conditions []func(*activity) bool
	for _, f := range c.params.filters(AutoScaling) {
		switch f.name {
		case "Status":
			if c.params.value("AutoScalingGroupName") == "" {
				return nil, validation("The Status filter needs AutoScalingGroupName.")
			}
			conditions = append(conditions, func(a *activity) bool { return slices.Contains(f.values, string(a.statusAt(c.at))) })
		case "StartTimeLowerBound", "StartTimeUpperBound":
			if len(f.values) != 1 {
				return nil, validation("Filter %s takes exactly one value, got %d.", f.name, len(f.values))
			}
			bound, err := time.Parse(time.RFC3339, f.values[0])
			if err != nil {
				return nil, validation("Filter %s: %q isn't an ISO 8601 time.", f.name, f.values[0])
			}
			conditions = append(conditions, func(a *activity) bool {
				if f.name == "StartTimeLowerBound" {
					return !a.start.Before(bound)
				}
				return !a.start.After(bound)
			})
		default:
			return nil, validation("Filter type %s is not correct. Allowed Filter types are: StartTimeLowerBound StartTimeUpperBound Status", f.name)
		}
	}
	return func(a *activity) bool {
		for _, holds := range conditions {
			if !holds(a) {
				return false
			}
		}
		return true
	}, nil
}

// describeTags lists the tags of all groups.
func describeTags(c *call) ([]element, error) {
	type entry struct {
		group string
		tag   Tag
	}
	facts := map[string]func(entry) string{
		"key":                 func(e entry) string { return e.tag.Key },
		"value":               func(e entry) string { return e.tag.Value },
		"auto-scaling-group":  func(e entry) string { return e.group },
		"propagate-at-launch": func(e entry) string { return strconv.FormatBool(e.tag.PropagateAtLaunch) },
	}
	filters := c.params.filters(AutoScaling)
	for _, f := range filters {
		if facts[f.name] == nil {
			return nil, validation("Filter type %s is not correct. Allowed Filter types are: auto-scaling-group propagate-at-launch key value", f.name)
		}
	}
	var all []entry
	for _, name := range slices.Sorted(maps.Keys(c.groups)) {
		for _, t := range c.groups[name].sortedTags() {
			e := entry{name, t}
			if !slices.ContainsFunc(filters, func(f filter) bool { return !slices.Contains(f.values, facts[f.name](e)) }) {
				all = append(all, e)
			}
		}
	}
	key := func(e entry) string { return e.group + "\x00" + e.tag.Key }
	slices.SortFunc(all, func(a, b entry) int { return cmp.Compare(key(a), key(b)) })
	all, next, err := page(c, all, key, recordPages(50))
	if err != nil {
		return nil, err
	}
	members := make([]element, 0, len(all))
	for _, e := range all {
		members = append(members, node("member", e.tag.xml(e.group)...))
	}
	return []element{node("Tags", members...), optional("NextToken", next)}, nil
}
