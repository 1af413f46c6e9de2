package awstest

import (
	"cmp"
	"slices"
	"strings"

	"example.com/cluster-autoscaler/cloudprovider/aws/instancetypes"
)

// PutLaunchTemplate adds a launch template or replaces the one of the same id or name, and returns its id. Versions without a number
// get the next one.
func (s *Server) PutLaunchTemplate(t LaunchTemplate) string {
	t = t.numbered()
	_ = s.change(func(w *world) error { // can't fail
		if old, ok := w.template(t.ID, t.Name); ok && t.ID == "" {
			t.ID = old.ID
		}
		if t.ID == "" {
			t.ID = "lt-" + w.hexID("template", 17)
		}
		w.templates[t.ID] = t
		for _, g := range w.groups {
			w.completeRefs(g)
			w.touch(g)
		}
		return nil
	})
	return t.ID
}

// RemoveLaunchTemplate takes a launch template away; groups keep their reference to it.
func (s *Server) RemoveLaunchTemplate(id string) {
	_ = s.change(func(w *world) error { delete(w.templates, id); return nil }) // can't fail
}

// PutLaunchConfiguration adds or replaces a launch configuration.
func (s *Server) PutLaunchConfiguration(c LaunchConfiguration) {
	_ = s.change(func(w *world) error { w.configs[c.Name] = c; return nil }) // can't fail
}

// PutImage adds or replaces an AMI.
func (s *Server) PutImage(i Image) {
	_ = s.change(func(w *world) error { w.images[i.ID] = i; return nil }) // can't fail
}

// PutImageAlias makes resolve:ssm:PARAMETER in launch templates stand for an AMI.
func (s *Server) PutImageAlias(parameter, imageID string) {
	_ = s.change(func(w *world) error { w.aliases["resolve:ssm:"+parameter] = imageID; return nil }) // can't fail
}

// PutInstanceType adds or replaces an instance type that the region offers.
func (s *Server) PutInstanceType(t instancetypes.Type) {
	_ = s.change(func(w *world) error { w.types[t.Name] = t; return nil }) // can't fail
}

// RemoveInstanceType makes the region stop offering a type. Machines of that type stay.
func (s *Server) RemoveInstanceType(name string) {
	_ = s.change(func(w *world) error { delete(w.types, name); return nil }) // can't fail
}

// InstanceType tells what a type offers; false: the region doesn't have it.
func (s *Server) InstanceType(name string) (instancetypes.Type, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.world.types[name]
	return t, ok
}

// SetCredentials says what the service thinks of the credentials that requests carry from now on.
func (s *Server) SetCredentials(c Credentials) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.credentials = c
}

// Deny takes permissions away, each named like autoscaling:SetDesiredCapacity or ec2:*.
func (s *Server) Deny(actions ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range actions {
		s.world.denied[a] = true
	}
}

// Allow gives denied permissions back, by the names that were denied.
func (s *Server) Allow(actions ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range actions {
		delete(s.world.denied, a)
	}
}

// Instances returns all instances of all groups, also ending ones that are still listed, sorted by group and launch time; equal times
// stay in the order of launch.
func (s *Server) Instances() []Instance {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	var all []Instance
	for _, g := range s.world.groups {
		for _, m := range g.machines {
			all = append(all, m.clone())
		}
	}
	slices.SortStableFunc(all, func(a, b Instance) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), a.LaunchTime.Compare(b.LaunchTime))
	})
	return all
}

// Groups returns the settings of all groups with their present desired capacity, sorted by name.
func (s *Server) Groups() []Group {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	var all []Group
	for _, g := range s.world.groups {
		all = append(all, g.clone())
	}
	slices.SortFunc(all, func(a, b Group) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Changed returns a channel that is closed at the next change of any instance. Take it before the snapshot that you look at:
//
//	for {
//		changed := server.Changed()
//		show(server.Instances())
//		<-changed
//	}
func (s *Server) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// Events returns all that happened in the world, oldest first.
func (s *Server) Events() []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	return slices.Clone(s.world.events)
}
