package awstest

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// templateVersion is one version of a template.
type templateVersion struct {
	LaunchTemplate
	LaunchTemplateVersion
}

func (v templateVersion) key() string {
	return fmt.Sprintf("%s %010d", v.ID, v.Number)
}

// describeLaunchTemplateVersions lists versions of one template, or $Latest and $Default of all.
func describeLaunchTemplateVersions(c *call) ([]element, error) {
	found, err := c.templateVersions()
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b templateVersion) int { return cmp.Compare(a.key(), b.key()) })
	found = slices.CompactFunc(found, func(a, b templateVersion) bool { return a.key() == b.key() })
	found, next, err := page(c, found, templateVersion.key, resultPages(1, 200))
	if err != nil {
		return nil, err
	}
	set := node("launchTemplateVersionSet")
	for _, v := range found {
		if c.params.value("ResolveAlias") == "true" {
			v.ImageID = c.w.resolveImage(v.ImageID)
		}
		set.children = append(set.children, node("item",
			text("launchTemplateId", v.ID), text("launchTemplateName", v.Name), number("versionNumber", v.Number),
			boolean("defaultVersion", v.Number == v.Default), v.xml()))
	}
	return []element{set, optional("nextToken", next)}, nil
}

// templateVersions finds what the request asks for.
func (c *call) templateVersions() ([]templateVersion, error) {
	id, name, versions := c.params.value("LaunchTemplateId"), c.params.value("LaunchTemplateName"), c.params.list("LaunchTemplateVersion")
	var templates []LaunchTemplate
	switch {
	case id != "" && name != "":
		return nil, failure(http.StatusBadRequest, "InvalidParameterCombination", "Only one of LaunchTemplateId and LaunchTemplateName may be given.")
	case id == "" && name == "":
		if len(versions) == 0 || slices.ContainsFunc(versions, func(v string) bool { return v != "$Latest" && v != "$Default" }) {
			return nil, failure(http.StatusBadRequest, "MissingParameter", "Without a launch template only the versions $Latest and $Default can be asked for.")
		}
		templates = slices.Collect(maps.Values(c.w.templates))
	default:
		t, ok := c.w.template(id, name)
		switch {
		case !ok && id != "":
			return nil, failure(http.StatusBadRequest, "InvalidLaunchTemplateId.NotFound", "The specified launch template, with template ID %s, does not exist.", id)
		case !ok:
			return nil, failure(http.StatusBadRequest, "InvalidLaunchTemplateName.NotFoundException", "The specified launch template, with template name %s, does not exist.", name)
		}
		templates = []LaunchTemplate{t}
	}
	var found []templateVersion
	for _, t := range templates {
		if len(versions) == 0 {
			for _, v := range t.Versions {
				found = append(found, templateVersion{t, v})
			}
		}
		for _, wanted := range versions {
			v, ok := t.version(wanted)
			if !ok && (id != "" || name != "") {
				return nil, failure(http.StatusBadRequest, "InvalidLaunchTemplateId.VersionNotFound",
					"Could not find the specified version %s for the launch template with ID %s.", wanted, t.ID)
			}
			if ok {
				found = append(found, templateVersion{t, v})
			}
		}
	}
	return found, nil
}

// xml renders the data of a version.
func (v LaunchTemplateVersion) xml() element {
	data := node("launchTemplateData",
		optional("imageId", v.ImageID), optional("instanceType", v.InstanceType), optional("userData", v.UserData))
	if v.Requirements != nil {
		data.children = append(data.children, v.Requirements.xml("instanceRequirements", ec2Spelling()))
	}
	if v.Spot {
		data.children = append(data.children, node("instanceMarketOptions", text("marketType", string(Spot))))
	}
	if len(v.BlockDevices) > 0 {
		data.children = append(data.children, blockDevices("blockDeviceMappingSet", v.BlockDevices))
	}
	if v.CPUCores > 0 {
		data.children = append(data.children, node("cpuOptions", number("coreCount", v.CPUCores), number("threadsPerCore", max(v.CPUThreadsPerCore, 1))))
	}
	if v.EFAInterfaces > 0 {
		interfaces := node("networkInterfaceSet")
		for i := range v.EFAInterfaces {
			interfaces.children = append(interfaces.children, node("item",
				text("interfaceType", "efa"), number("networkCardIndex", i), number("deviceIndex", min(i, 1))))
		}
		data.children = append(data.children, interfaces)
	}
	if len(v.InstanceTags) > 0 {
		data.children = append(data.children, node("tagSpecificationSet", node("item", text("resourceType", "instance"), tagSet(v.InstanceTags))))
	}
	return data
}

// blockDevices renders disks in EC2's spelling.
func blockDevices(tag string, devices []BlockDevice) element {
	set := node(tag)
	for _, d := range devices {
		set.children = append(set.children, node("item", text("deviceName", d.DeviceName),
			node("ebs", number("volumeSize", d.SizeGiB), optional("volumeType", d.VolumeType))))
	}
	return set
}

// tagSet renders tags in EC2's spelling.
func tagSet(tags map[string]string) element {
	set := node("tagSet")
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		set.children = append(set.children, node("item", text("key", key), text("value", tags[key])))
	}
	return set
}

// describeImages lists images by id, or all.
func describeImages(c *call) ([]element, error) {
	ids := c.params.list("ImageId")
	for _, id := range ids {
		if !strings.HasPrefix(id, "ami-") {
			return nil, failure(http.StatusBadRequest, "InvalidAMIID.Malformed", "Invalid id: %q (expecting \"ami-...\")", id)
		}
		if _, ok := c.w.images[id]; !ok {
			return nil, failure(http.StatusBadRequest, "InvalidAMIID.NotFound", "The image id '[%s]' does not exist", id)
		}
	}
	set := node("imagesSet")
	for _, id := range slices.Sorted(maps.Keys(c.w.images)) {
		if len(ids) > 0 && !slices.Contains(ids, id) {
			continue
		}
		i := c.w.images[id]
		platform, details, root := "", "Linux/UNIX", ""
		if i.Windows {
			platform, details = "windows", "Windows"
		}
		if len(i.BlockDevices) > 0 {
			root = i.BlockDevices[0].DeviceName
		}
		set.children = append(set.children, node("item",
			text("imageId", id), text("imageState", "available"), text("architecture", i.architecture()), text("virtualizationType", "hvm"),
			optional("platform", platform), text("platformDetails", details), optional("rootDeviceName", root),
			blockDevices("blockDeviceMapping", i.BlockDevices)))
	}
	return []element{set}, nil
}

// describeInstances lists machines, also those that ended within the last hour.
func describeInstances(c *call) ([]element, error) {
	ids, filters := c.params.list("InstanceId"), c.params.filters(EC2)
	var all []Instance
	for _, g := range c.groups {
		for _, m := range g.machines {
			all = append(all, m.Instance)
		}
	}
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
	for _, i := range all {
		ok, err := c.machineFits(i, filters)
		if err != nil {
			return nil, err
		}
		if ok && (len(ids) == 0 || slices.Contains(ids, i.ID)) {
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

// machineFits judges a machine by filters.
func (c *call) machineFits(i Instance, filters []filter) (bool, error) {
	for _, f := range filters {
		key, byTag := strings.CutPrefix(f.name, "tag:")
		facts := map[string]string{
			"instance-id": i.ID, "instance-state-name": string(i.Machine), "availability-zone": i.Zone,
			"instance-type": i.Type, "private-dns-name": i.PrivateDNSName, "private-ip-address": i.PrivateIP,
		}
		fact, known := facts[f.name]
		if byTag {
			fact, known = i.Tags[key], true
		}
		if !known {
			return false, c.invalid("The filter '%s' is invalid", f.name)
		}
		if !anyGlob(f.values, fact) {
			return false, nil
		}
	}
	return true, nil
}

// machineXML renders a machine as EC2 does.
func (c *call) machineXML(i Instance) []element {
	codes := map[MachineState]int{MachinePending: 0, MachineRunning: 16, MachineShuttingDown: 32, MachineTerminated: 48}
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
