package document_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/core/scenario/document"
)

// few tells whether resolving the input stays cheap: a few bytes may ask for a million pods.
func few(in document.Input) bool {
	const limit = 1000
	objects := []*document.Objects{&in.Objects}
	for i := range in.Scenario.Timeline {
		if apply := in.Scenario.Timeline[i].Apply; apply != nil {
			objects = append(objects, apply)
		}
	}
	total := 0
	for _, o := range objects {
		for _, p := range o.PodsDocuments {
			total += *p.Spec.Count
		}
		for _, g := range o.NodeGroups {
			total += g.Spec.Nodes
		}
	}
	return total <= limit
}

// FuzzRead reads anything: there is either an input that can be resolved and played, or errors of one line each that name the file.
func FuzzRead(f *testing.F) {
	f.Add(everything)
	f.Add(dump(2, 3))
	f.Add(documents(plainGroup("g"), ours("Pods", "web", "{count: 3, owner: Job, onNodes: [g-0]}"), node("n1")))
	f.Fuzz(func(t *testing.T, text string) {
		in, warnings, err := read(text)
		for _, w := range warnings {
			if w.File != "a.yaml" || w.Document < 1 || strings.ContainsAny(w.Message, "\n\r") {
				t.Errorf("warning %+v", w)
			}
		}
		if err == nil {
			if _, _, other := read(text); other != nil {
				t.Errorf("the second time: %v", other)
			}
			err = playable(in)
		}
		if err == nil {
			return
		}
		faults, ok := errors.AsType[document.Errors](err)
		if !ok || len(faults) == 0 || len(faults) > 51 {
			t.Fatalf("error %T with %d faults: %v", err, len(faults), err)
		}
		for _, fault := range faults {
			if fault.File == "" || fault.Message == "" || strings.ContainsAny(fault.Error(), "\n\r\x00") {
				t.Errorf("error %q", fault.Error())
			}
		}
		if _, _, other := read(text); other != nil {
			if diff := cmp.Diff(err.Error(), other.Error()); diff != "" {
				t.Errorf("the second time other errors (-first +second):\n%s", diff)
			}
		}
	})
}

// playable resolves the input and finishes what its timeline applies.
func playable(in document.Input) error {
	if !few(in) {
		return nil
	}
	c, err := document.Resolve(in)
	if err != nil {
		return err
	}
	for _, e := range c.Scenario.Timeline {
		e.Times(time.Hour)
		if e.Apply == nil {
			continue
		}
		around := document.Surroundings{At: c.Start.Add(e.At), NodeGroups: c.NodeGroups, PriorityClasses: c.PriorityClasses}
		if _, err := document.Finish(e.Apply, around); err != nil {
			if _, ok := errors.AsType[document.Errors](err); !ok {
				return err
			}
		}
	}
	return nil
}
