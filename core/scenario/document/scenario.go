package document

import (
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// defaultDuration is how long a scenario is played that doesn't say.
const defaultDuration = 30 * time.Minute

// defaultScenario is that of a stream without one.
func defaultScenario() Scenario { return Scenario{Name: "scenario", Duration: defaultDuration} }

// scenarioDocument is the document as it is written.
type scenarioDocument struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        Metadata `json:"metadata"`
	Spec            struct {
		Description string            `json:"description"`
		Flags       []string          `json:"flags"`
		Start       *metav1.Time      `json:"start"`
		Duration    *Duration         `json:"duration"`
		Timeline    []entryDocument   `json:"timeline"`
		Expect      []expectationSpec `json:"expect"`
	} `json:"spec"`
}

// entryDocument is an entry of a timeline as it is written.
type entryDocument struct {
	At      *Duration         `json:"at"`
	Repeat  *repeatDocument   `json:"repeat"`
	Apply   []json.RawMessage `json:"apply"`
	Delete  []Reference       `json:"delete"`
	Scale   *Scale            `json:"scale"`
	Cloud   *CloudChange      `json:"cloud"`
	Nodes   *NodesChange      `json:"nodes"`
	Restart *Restart          `json:"restart"`
}

type repeatDocument struct {
	At    *Duration `json:"at"`
	Every *Duration `json:"every"`
	Until *Duration `json:"until"`
}

func (s scope) scenario(data []byte) {
	if s.timeline {
		s.bad("kind", "a Scenario can't be applied")
		return
	}
	r := s.reader
	if r.scenarios++; r.scenarios > 1 {
		s.bad("", "there is one Scenario already: %s", r.input.places.describe(r.input.places.scenario))
		return
	}
	r.input.places.scenario = s.where
	var d scenarioDocument
	if !strictly(s, data, &d) || !s.clusterWide(KindScenario, d.Metadata) {
		return
	}
	out := Scenario{File: s.file, Document: s.at.document, Name: d.Metadata.Name, Description: d.Spec.Description, Flags: d.Spec.Flags, Duration: defaultDuration}
	report := s.in("spec")
	if d.Spec.Start != nil {
		start := d.Spec.Start.UTC()
		out.Start = &start
		if start.Year() < 1970 || start.Year() > 9999 {
			report.bad("start", "is in the year %d, want 1970 to 9999", start.Year())
		}
	}
	if d.Spec.Duration != nil {
		out.Duration = d.Spec.Duration.Duration
		notNegativeTime(d.Spec.Duration, "duration", report)
	}
	for i := range d.Spec.Timeline {
		within := s
		within.at = report.in(index("timeline", i))
		out.Timeline = append(out.Timeline, within.entry(d.Spec.Timeline[i]))
	}
	for i := range d.Spec.Expect {
		out.Expect = append(out.Expect, d.Spec.Expect[i].expectation(report.in(index("expect", i))))
	}
	r.input.Scenario = out
}
