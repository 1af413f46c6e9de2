package awstest

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
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
	switch {
	case v.Spot && v.SpotMaxPrice != "":
		data.children = append(data.children, node("instanceMarketOptions", text("marketType", string(Spot)),
			node("spotOptions", text("maxPrice", v.SpotMaxPrice))))
	case v.Spot:
		data.children = append(data.children, node("instanceMarketOptions", text("marketType", string(Spot))))
	case v.CapacityBlock:
		data.children = append(data.children, node("instanceMarketOptions", text("marketType", string(CapacityBlock))))
	}
	if len(v.BlockDevices) > 0 {
		data.children = append(data.children, blockDevices("blockDeviceMappingSet", v.BlockDevices))
	}
	if v.CPUCores > 0 {
		data.children = append(data.children, node("cpuOptions", number("coreCount", v.CPUCores), number("threadsPerCore", max(v.CPUThreadsPerCore, 1))))
	}
	if interfaces := v.interfaces(); len(interfaces) > 0 {
		data.children = append(data.children, node("networkInterfaceSet", interfaces...))
	}
	if len(v.InstanceTags) > 0 {
		data.children = append(data.children, node("tagSpecificationSet", node("item", text("resourceType", "instance"), tagSet(v.InstanceTags))))
	}
	return node(data.name, append(data.children, v.settings()...)...)
}

// interfaces renders the network interfaces.
func (v LaunchTemplateVersion) interfaces() []element {
	var all []element
	add := func(n NetworkInterface) {
		all = append(all, node("item", optional("interfaceType", n.Type), number("networkCardIndex", n.Card),
			number("deviceIndex", n.Device), optional("subnetId", n.Subnet)))
	}
	for i := range v.EFAInterfaces {
		add(NetworkInterface{Type: "efa", Card: i, Device: min(i, 1)})
	}
	for _, n := range v.NetworkInterfaces {
		add(n)
	}
	return all
}

// settings renders what says how the machine is run rather than what it is.
func (v LaunchTemplateVersion) settings() []element {
	var all []element
	if v.CapacityReservation != "" {
		all = append(all, node("capacityReservationSpecification", text("capacityReservationPreference", v.CapacityReservation)))
	}
	if v.PlacementGroup != "" || v.Tenancy != "" {
		all = append(all, node("placement", optional("groupName", v.PlacementGroup), optional("tenancy", v.Tenancy)))
	}
	if v.InstanceProfile != "" {
		all = append(all, node("iamInstanceProfile", text("name", v.InstanceProfile)))
	}
	if v.MetadataHopLimit > 0 || v.RequiresMetadataToken {
		tokens := "optional"
		if v.RequiresMetadataToken {
			tokens = "required"
		}
		all = append(all, node("metadataOptions", number("httpPutResponseHopLimit", max(v.MetadataHopLimit, 1)), text("httpTokens", tokens)))
	}
	if v.HibernationSupport {
		all = append(all, node("hibernationOptions", boolean("configured", true)))
	}
	if v.EnclaveOn {
		all = append(all, node("enclaveOptions", boolean("enabled", true)))
	}
	return all
}

// blockDevices renders disks in EC2's spelling.
func blockDevices(tag string, devices []BlockDevice) element {
	set := node(tag)
	for _, d := range devices {
		set.children = append(set.children, node("item", text("deviceName", d.DeviceName),
			node("ebs", positive("volumeSize", d.SizeGiB), optional("volumeType", d.VolumeType), positive("iops", d.IOPS),
				positive("throughput", d.Throughput), optional("snapshotId", d.SnapshotID))))
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
