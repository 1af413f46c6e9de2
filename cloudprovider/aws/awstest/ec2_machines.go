package awstest

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// describeImages lists images by id, or all.
func describeImages(c *call) ([]element, error) {
	ids := c.params.list("ImageId")
	for _, id := range ids {
		if !strings.HasPrefix(id, "ami-") {
			return nil, failure(http.StatusBadRequest, "InvalidAMIID.Malformed", "Invalid id: %q (expecting \"ami-...\")", id)
		}
		if i, ok := c.w.images[id]; !ok || i.Gone {
			return nil, failure(http.StatusBadRequest, "InvalidAMIID.NotFound", "The image id '[%s]' does not exist", id)
		}
	}
	set := node("imagesSet")
	for _, id := range slices.Sorted(maps.Keys(c.w.images)) {
		if len(ids) > 0 && !slices.Contains(ids, id) {
			continue
		}
		i := c.w.images[id]
		if i.Gone {
			continue
		}
		platform, details, root, virtualization := "", "Linux/UNIX", i.RootDevice, "hvm"
		if i.Windows {
			platform, details = "windows", "Windows"
		}
		if root == "" && len(i.BlockDevices) > 0 {
			root = i.BlockDevices[0].DeviceName
		}
		if i.Paravirtual {
			virtualization = "paravirtual"
		}
		set.children = append(set.children, node("item",
			text("imageId", id), text("imageState", "available"), text("architecture", i.architecture()), text("virtualizationType", virtualization),
			optional("platform", platform), text("platformDetails", cmp.Or(i.Details, details)), optional("name", i.Name),
			text("rootDeviceType", "ebs"), optional("rootDeviceName", root),
			blockDevices("blockDeviceMapping", i.BlockDevices)))
	}
	return []element{set}, nil
}

// describeInstances lists machines, also those that ended within the last hour.
func describeInstances(c *call) ([]element, error) {
	ids, filters := c.params.list("InstanceId"), c.params.filters(EC2)
	var all []Instance
	for _, g := range c.groups {
		for _, m := range slices.Concat(g.machines, g.warm) {
			all = append(all, m.Instance)
		}
	}
	all = append(all, c.w.detached...)
	for _, e := range c.w.ended {
		if !e.at.After(c.at) {
			all = append(all, e.Instance)
		}
	}
	for _, id := range ids {
		if !slices.ContainsFunc(all, func(i Instance) bool { return i.ID == id }) {
			if !strings.HasPrefix(id, "i-") {
				return nil, failure(http.StatusBadRequest, "InvalidInstanceID.Malformed", "Invalid id: %q", id)
			}
			return nil, failure(http.StatusBadRequest, "InvalidInstanceID.NotFound", "The instance ID '%s' does not exist", id)
		}
	}
	var found []Instance
	for _, f := range filters {
		if _, known := machineFacts(Instance{}, f.name)[f.name]; !known {
			return nil, c.invalid("The filter '%s' is invalid", f.name)
		}
	}
	for _, i := range all {
		fits := !slices.ContainsFunc(filters, func(f filter) bool { return !anyGlob(f.values, machineFacts(i, f.name)[f.name]) })
		if fits && (len(ids) == 0 || slices.Contains(ids, i.ID)) {
			found = append(found, i)
		}
	}
	slices.SortFunc(found, func(a, b Instance) int { return cmp.Compare(a.ID, b.ID) })
	found, next, err := page(c, found, func(i Instance) string { return i.ID }, resultPages(5, 1000))
	if err != nil {
		return nil, err
	}
	reservations := node("reservationSet")
	for _, i := range found {
		reservations.children = append(reservations.children, node("item", node("instancesSet", node("item", c.machineXML(i)...))))
	}
	return []element{reservations, optional("nextToken", next)}, nil
}

// machineFacts are what filters can ask of a machine, by filter name; of the tags only the one that the name asks for.
func machineFacts(i Instance, name string) map[string]string {
	facts := map[string]string{
		"instance-id": i.ID, "instance-state-name": string(i.Machine), "availability-zone": i.Zone,
		"instance-type": i.Type, "private-dns-name": i.PrivateDNSName, "private-ip-address": i.PrivateIP,
	}
	if key, ok := strings.CutPrefix(name, "tag:"); ok {
		facts[name] = i.Tags[key]
	}
	return facts
}

// machineXML renders a machine as EC2 does.
func (c *call) machineXML(i Instance) []element {
	codes := map[MachineState]int{MachinePending: 0, MachineRunning: 16, MachineShuttingDown: 32, MachineTerminated: 48, MachineStopped: 80}
	market := ""
	if i.Market == Spot {
		market = string(Spot)
	}
	architecture := ""
	if t, ok := c.w.types[i.Type]; ok {
		names := architectures(t)
		architecture = names[len(names)-1]
	}
	return []element{
		text("instanceId", i.ID), optional("imageId", i.ImageID), text("instanceType", i.Type),
		node("instanceState", text("code", strconv.Itoa(codes[i.Machine])), text("name", string(i.Machine))),
		text("privateDnsName", i.PrivateDNSName), text("privateIpAddress", i.PrivateIP),
		text("launchTime", timestamp(i.LaunchTime)), node("placement", text("availabilityZone", i.Zone)),
		optional("instanceLifecycle", market), optional("architecture", architecture), tagSet(i.Tags),
	}
}
