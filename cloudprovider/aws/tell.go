package aws

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/klog/v2"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/discovery"
)

// tellAll logs what is odd about the groups, each oddity once. Call with mu held.
func (p *Provider) tellAll(ctx context.Context) {
	logger := klog.FromContext(ctx)
	for _, name := range slices.Sorted(maps.Keys(p.books)) {
		b := p.books[name]
		if !b.known {
			continue
		}
		for _, line := range b.oddities(b.templates.told(p, b.description())) {
			if line.event != "" {
				p.notices.tell(cloudprovider.Notice{Reason: line.event, Group: cloudprovider.GroupID(name), Message: line.message + ": " + line.reason})
				continue // core writes the line
			}
			logger.Info(line.message, "nodeGroup", name, "reason", line.reason)
		}
	}
	p.tellAside()
}

// tellAside tells of groups that are set aside, and of those that no longer are, once each. Call with mu held.
func (p *Provider) tellAside() {
	now := p.clock.Now()
	aside := map[string]bool{}
	for name, b := range p.books {
		f := p.troubleAt(b, now)
		if f.err == nil {
			continue
		}
		aside[name] = true
		p.notices.change("aside/"+name, cloudprovider.Notice{Reason: reasonSetAside, Group: cloudprovider.GroupID(name), Message: "set aside: " + f.err.Error()})
	}
	for name := range p.aside {
		if !aside[name] {
			p.notices.change("aside/"+name, cloudprovider.Notice{})
			p.notices.tell(cloudprovider.Notice{Group: cloudprovider.GroupID(name), Message: "no longer set aside", Normal: true})
		}
	}
	p.aside = aside
}

// oddity is a line for the log. With event it is an event, too.
type oddity struct{ message, reason, event string }

// oddities lists what has not been told yet.
func (b *book) oddities(templates string) []oddity {
	var news []oddity
	once := func(before *string, now, message, event string) {
		if now != *before && now != "" {
			news = append(news, oddity{message: message, reason: now, event: event})
		}
		*before = now
	}
	var rejected []string
	for _, r := range b.tags.Rejected {
		rejected = append(rejected, r.String())
	}
	once(&b.told.rejected, strings.Join(rejected, "; "), "tags cannot be used", reasonTag)
	once(&b.told.templates, templates, "A template of an Auto Scaling group needs a look", "")
	once(&b.told.bounds, b.narrowed(), "The bounds of --nodes are not within those of the Auto Scaling group", "")
	var phases []string
	for _, instance := range b.group.Instances {
		if !instance.Lifecycle.Known() {
			phases = append(phases, fmt.Sprintf("%q", string(instance.Lifecycle)))
		}
	}
	slices.Sort(phases)
	once(&b.told.phases, strings.Join(slices.Compact(phases), ", "), "AWS tells lifecycle states that are not known, taken for running", "")
	return news
}

// narrowed says how the bounds of the flag differ from what is used.
func (b *book) narrowed() string {
	if b.named == nil || (b.sizes.MinUnits == b.named.Min && b.sizes.MaxUnits == b.named.Max) {
		return ""
	}
	return fmt.Sprintf("--nodes says %d:%d, the group %d:%d; used is %d:%d", b.named.Min, b.named.Max, b.group.Min, b.group.Max, b.sizes.MinUnits, b.sizes.MaxUnits)
}

// tellRules says, once, what several discovery rules find, each alone and together: many expect them to add up.
func (p *Provider) tellRules(ctx context.Context, found int) {
	how := "a group must match all of them"
	if len(p.wanted.rules) > 1 {
		how = "a group must match any of them"
	}
	var counts []string
	for _, rule := range p.wanted.given {
		listing, err := p.api.GroupsByRule(ctx, rule)
		if err != nil {
			return
		}
		counts = append(counts, fmt.Sprintf("%s alone: %d", rule, len(listing.Groups)))
	}
	p.notices.tell(cloudprovider.Notice{Normal: true, Message: fmt.Sprintf("several --node-group-auto-discovery are given, and %s (--aws-discovery-match): found %d (%s)",
		how, found, strings.Join(counts, ", "))})
}

// tellNothingFound says, once, which tag kept the discovery from finding any group.
func (p *Provider) tellNothingFound(ctx context.Context) {
	logger := klog.FromContext(ctx)
	for _, rule := range p.wanted.rules {
		var counts []string
		for _, tag := range rule {
			listing, err := p.api.GroupsByRule(ctx, discovery.Rule{tag})
			if err != nil {
				return
			}
			counts = append(counts, fmt.Sprintf("%s: %d", tag, len(listing.Groups)))
		}
		logger.Info("No Auto Scaling group carries all tags of the discovery rule", "rule", rule.String(), "region", p.wanted.region, "groupsPerTag", strings.Join(counts, ", "))
	}
}
