package cloudconfig

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Config is what the file says that matters here. The zero value says nothing.
type Config struct {
	Region    string // [Global] Region
	Zone      string // [Global] Zone, for example eu-west-1a
	RoleARN   string // [Global] RoleARN: assume this role for all calls
	SourceARN string // [Global] SourceARN: sent along when assuming the role, against the confused deputy
	Overrides []Override
	// Warnings name what was read and isn't understood, one line each.
	Warnings []string
}

// Override says where a service is to be reached.
type Override struct {
	Service       string // endpoint prefix: ec2, autoscaling, eks, sts, pricing
	Region        string // counts only when it is the region of the client
	URL           string
	SigningRegion string
	SigningName   string // empty: the SDK's own
}

// Override returns what the file says for a service in a region.
func (c Config) Override(service, region string) (Override, bool) {
	for _, o := range c.Overrides {
		if o.Service == service && o.Region == region {
			return o, true
		}
	}
	return Override{}, false
}

// knownServices are the names that a client here asks for.
func knownServices() []string { return []string{"autoscaling", "ec2", "eks", "pricing", "sts"} }

// knownGlobal are the keys that the cloud controller knows and that mean nothing here.
func knownGlobal() []string {
	return []string{
		"vpc", "subnetid", "routetableid", "kubernetesclustertag", "kubernetesclusterid", "disablesecuritygroupingress",
		"elbsecuritygroup", "nodeipfamilies", "clusterserviceloadbalancerhealthprobemode", "clusterservicesharedloadbalancerhealthprobepath",
		"clusterservicesharedloadbalancerhealthprobeport", "supportedtopologyinstancetypepattern", "nlbsecuritygroupmode",
	}
}

// Parse reads the text of the file. Unknown sections, keys and services are warnings; a text that isn't of the form, a
// ServiceOverride that lacks a required key, and two for the same service and region are errors, joined.
func Parse(text []byte) (Config, error) {
	sections, entries, err := read(string(text))
	if err != nil {
		return Config{}, fmt.Errorf("reading the AWS cloud config: %w", err)
	}
	var config Config
	overrides := newOverrides(sections)
	for _, s := range sections {
		if s.name != "global" && s.name != "serviceoverride" {
			config.Warnings = append(config.Warnings, fmt.Sprintf("line %d: the section [%s] is unknown and ignored", s.line, s.name))
		}
	}
	for _, e := range entries {
		switch e.section {
		case "global":
			if !config.setGlobal(e) {
				config.Warnings = append(config.Warnings, e.where()+": the key is unknown and ignored")
			}
		case "serviceoverride":
			if !overrides.set(e) {
				config.Warnings = append(config.Warnings, e.where()+": the key is unknown and ignored")
			}
		}
	}
	var faults []error
	config.Overrides, faults = overrides.check()
	for _, o := range config.Overrides {
		if !slices.Contains(knownServices(), o.Service) {
			config.Warnings = append(config.Warnings,
				fmt.Sprintf("the ServiceOverride for service %q is never used; used are %s", o.Service, strings.Join(knownServices(), ", ")))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return Config{}, fmt.Errorf("reading the AWS cloud config: %w", err)
	}
	return config, nil
}

func (c *Config) setGlobal(e entry) bool {
	switch e.key {
	case "region":
		c.Region = strings.TrimSpace(e.value)
	case "zone":
		c.Zone = strings.TrimSpace(e.value)
	case "rolearn":
		c.RoleARN = strings.TrimSpace(e.value)
	case "sourcearn":
		c.SourceARN = strings.TrimSpace(e.value)
	default:
		return slices.Contains(knownGlobal(), e.key)
	}
	return true
}

// overrides collects the ServiceOverride sections by name, in the order of the file.
type overrides struct {
	names  []string
	values map[string]*Override
}

func newOverrides(sections []section) *overrides {
	o := &overrides{values: map[string]*Override{}}
	for _, s := range sections {
		if s.name != "serviceoverride" || o.values[s.subsection] != nil {
			continue
		}
		o.names = append(o.names, s.subsection)
		o.values[s.subsection] = &Override{}
	}
	return o
}

func (o *overrides) set(e entry) bool {
	override := o.values[e.subsection]
	switch e.key {
	case "service":
		override.Service = strings.TrimSpace(e.value)
	case "region":
		override.Region = strings.TrimSpace(e.value)
	case "url":
		override.URL = strings.TrimSpace(e.value)
	case "signingregion":
		override.SigningRegion = strings.TrimSpace(e.value)
	case "signingname":
		override.SigningName = strings.TrimSpace(e.value)
	case "signingmethod": // all signatures are version 4
	default:
		return false
	}
	return true
}

func (o *overrides) check() ([]Override, []error) {
	var list []Override
	var faults []error
	first := map[[2]string]string{}
	for _, name := range o.names {
		override := *o.values[name]
		for _, required := range []struct{ key, value string }{
			{"Service", override.Service}, {"Region", override.Region}, {"URL", override.URL}, {"SigningRegion", override.SigningRegion},
		} {
			if required.value == "" {
				faults = append(faults, fmt.Errorf("[ServiceOverride %q] lacks the key %s", name, required.key))
			}
		}
		pair := [2]string{override.Service, override.Region}
		if other, twice := first[pair]; twice && pair[0] != "" {
			faults = append(faults, fmt.Errorf("[ServiceOverride %q] and [ServiceOverride %q] are both for service %s in region %s", other, name, pair[0], pair[1]))
			continue
		}
		first[pair] = name
		list = append(list, override)
	}
	return list, faults
}
