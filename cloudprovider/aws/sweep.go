package aws

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/klog/v2"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asg"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asgapi"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/discovery"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/launch"
)

// sweep is one reading of all groups that the operator asked for.
type sweep struct {
	answers  map[string]answer
	order    []string        // names of answers
	unread   map[string]bool // named groups whose question failed
	complete bool            // every discovery question was answered to its end
	asked    moment
	asks     int // questions that were put
	failed   int // of those, the ones without any answer
	err      error
}

// nothing tells whether nothing at all could be learnt.
func (s *sweep) nothing() bool { return s.asks > 0 && s.failed == s.asks }

func (s *sweep) wanted() []launch.Wanted {
	var wanted []launch.Wanted
	for _, name := range s.order {
		group := s.answers[name].group
		wanted = append(wanted, launch.Wanted{Launch: group.Launch, Zones: group.Zones, ZoneIDs: group.ZoneIDs})
	}
	return wanted
}

// add enters a listing. The first answer about a group stays.
func (s *sweep) add(listing asgapi.Listing, err error) {
	s.asks++
	for _, group := range listing.Groups {
		if _, twice := s.answers[group.Name]; twice {
			continue
		}
		s.order = append(s.order, group.Name)
		s.answers[group.Name] = answer{group: group, broken: listing.Broken[group.Name], asked: s.asked, server: listing.At}
	}
	for _, name := range listing.Unread {
		s.unread[name] = true
	}
	if err != nil {
		s.err = errors.Join(s.err, err)
		if len(listing.Groups) == 0 {
			s.failed++
		}
	}
}

// sweep asks for the named groups, for those that the rules match, and by name for discovered ones that are suddenly missing.
func (p *Provider) sweep(ctx context.Context) *sweep {
	s := &sweep{answers: map[string]answer{}, unread: map[string]bool{}, complete: true, asked: p.moment()}
	if len(p.wanted.named) > 0 {
		names := make([]string, 0, len(p.wanted.named))
		for _, named := range p.wanted.named {
			names = append(names, named.Name)
		}
		s.add(p.api.GroupsByName(ctx, names))
	}
	for _, rule := range p.wanted.rules {
		listing, err := p.api.GroupsByRule(ctx, rule)
		s.complete = s.complete && err == nil
		s.add(listing, err)
	}
	if missing := p.missing(s); len(missing) > 0 {
		// Listings by tag lag behind: a group counts as gone only when AWS doesn't know its name or its tags are others now.
		listing, err := p.api.GroupsByName(ctx, missing)
		listing.Groups = slices.DeleteFunc(listing.Groups, func(g asg.Group) bool { return !p.discovers(g.Tags) })
		s.add(listing, err)
	}
	return s
}

// missing lists the discovered groups that a complete listing lacks.
func (p *Provider) missing(s *sweep) []string {
	if !s.complete {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var names []string
	for _, name := range slices.Sorted(maps.Keys(p.books)) {
		if _, found := s.answers[name]; !found && p.books[name].named == nil {
			names = append(names, name)
		}
	}
	return names
}

func (p *Provider) discovers(tags map[string]string) bool {
	return slices.ContainsFunc(p.wanted.rules, func(rule discovery.Rule) bool { return rule.Matches(tags) })
}

// enter brings the books up to what the sweep found. Call with mu held.
func (p *Provider) enter(ctx context.Context, s *sweep) {
	logger := klog.FromContext(ctx)
	for _, name := range s.order {
		b := p.books[name]
		if b == nil {
			b = p.open(name)
			logger.V(1).Info("Found an Auto Scaling group", "nodeGroup", name, "named", b.named != nil)
		}
		p.take(b, s.answers[name])
	}
	for _, named := range p.wanted.named {
		if _, found := s.answers[named.Name]; !found && !s.unread[named.Name] {
			p.lost(named.Name, s.asked)
		}
	}
	if !s.complete {
		return
	}
	for name, b := range p.books {
		if _, found := s.answers[name]; !found && b.named == nil && !s.unread[name] {
			delete(p.books, name)
			logger.V(1).Info("An Auto Scaling group is gone or has lost its tags", "nodeGroup", name)
		}
	}
}

// open starts a book.
func (p *Provider) open(name string) *book {
	b := &book{name: name}
	for i := range p.wanted.named {
		if p.wanted.named[i].Name == name {
			b.named = &p.wanted.named[i]
		}
	}
	p.books[name] = b
	return b
}

// lost notes that AWS doesn't know a named group. What was known of it is kept for one more round: listings can be wrong for a moment.
func (p *Provider) lost(name string, at moment) {
	b := p.books[name]
	if b == nil {
		b = p.open(name)
	}
	id := cloudprovider.GroupID(name)
	b.setFault(&cloudprovider.GoneError{Group: id, Err: fmt.Errorf("AWS knows no Auto Scaling group of this name in region %s: check --nodes, the region (from %s) and the account",
		p.wanted.region, p.wanted.regionSource)}, at.at)
	b.gone++
	if b.known && b.gone > 1 {
		fault := b.fault
		p.books[name] = &book{name: name, named: b.named, fault: fault, gone: b.gone}
	}
}
