package expander_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/expander"
)

// mapObject is what the operator has written; nil: nothing.
type mapObject struct {
	object *corev1.ConfigMap
	err    error
}

func (m *mapObject) read() (*corev1.ConfigMap, error) { return m.object, m.err }

func (m *mapObject) write(text string) {
	m.object = &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: config.PriorityConfigMap, UID: "u-1"}, Data: map[string]string{"priorities": text},
	}
}

// events are notices as "reason: message"; those that are only logged have no reason.
func events(notices []report.Notice) []string {
	var out []string
	for _, n := range notices {
		text := n.Message
		if n.Reason != "" {
			text = n.Reason + ": " + n.Message
		}
		if n.ConfigMap.Name != "" {
			text += " @" + n.ConfigMap.Namespace + "/" + n.ConfigMap.Name
		}
		out = append(out, text)
	}
	return out
}

const (
	at        = " @kube-system/cluster-autoscaler-priority-expander"
	wasRead   = "expander priority: the map of priorities was read"
	spotFirst = "10: [\".*spot.*\"]\n50: [\"^ondemand-a$\"]"
)

func groupsOf(names ...string) (ids []cloudprovider.GroupID) {
	for _, name := range names {
		ids = append(ids, cloudprovider.GroupID(name))
	}
	return ids
}

func TestPriority(t *testing.T) {
	for name, tc := range map[string]struct {
		text    string // of the map; empty: there is no ConfigMap
		options []string
		chain   []config.Expander
		want    outcome
		notices []string // of the choice
	}{
		"X05: the highest priority wins": {
			text: spotFirst, options: []string{"spot-1", "ondemand-a", "gpu"},
			want: outcome{"ondemand-a", map[string]string{
				"spot-1": `priority: priority 10 by ".*spot.*", the highest is 50`, "gpu": "priority: no expression matches it, the highest priority is 50",
			}},
			notices: []string{"PriorityConfigMapNotMatchedGroup: no expression matches these node groups, so they are not grown while another one with a priority could help: gpu" + at},
		},
		"X06: a group with a low priority is better than one without": {
			text: spotFirst, options: []string{"spot-1", "gpu"},
			want:    outcome{"spot-1", map[string]string{"gpu": "priority: no expression matches it, the highest priority is 10"}},
			notices: []string{"PriorityConfigMapNotMatchedGroup: no expression matches these node groups, so they are not grown while another one with a priority could help: gpu" + at},
		},
		"X07: groups without priority all stay when no other is there": {
			text: spotFirst, options: []string{"gpu", "other"},
			want:    outcome{"other", map[string]string{"gpu": "random"}}, // by the seed
			notices: []string{"PriorityConfigMapNoGroupMatched: no expression matches any of the node groups that could help, so none of them is preferred: gpu, other" + at},
		},
		"X08: without a map all stay": {options: []string{"gpu", "spot-1"}, want: outcome{"spot-1", map[string]string{"gpu": "random"}}},
		"X09: a group that two lists match counts by the higher one": {
			text: "10: [spot-1]\n50: [spot]\n20: [other]", options: []string{"other", "spot-1"},
			want: outcome{"spot-1", map[string]string{"other": `priority: priority 20 by "other", the highest is 50`}},
		},
		"C40: quoted numbers count": {
			text: `{"10": [ng-x], "50": [ng-y]}`, options: []string{"ng-x", "ng-y"},
			want: outcome{"ng-y", map[string]string{"ng-x": `priority: priority 10 by "ng-x", the highest is 50`}},
		},
		"priorities below -1 win where there are no others": {
			text: "-5: [a]\n-10: [b]", options: []string{"b", "a", "c"},
			want: outcome{"a", map[string]string{
				"b": `priority: priority -10 by "b", the highest is -5`, "c": "priority: no expression matches it, the highest priority is -5",
			}},
			notices: []string{"PriorityConfigMapNotMatchedGroup: no expression matches these node groups, so they are not grown while another one with a priority could help: c" + at},
		},
		"the next expander decides between equal priorities": {
			text: "50: [spot]\n10: [other]", options: []string{"spot-1", "spot-2", "other"}, chain: []config.Expander{config.ExpanderPriority, config.ExpanderLeastNodes},
			want: outcome{"spot-1", map[string]string{"spot-2": "least-nodes", "other": `priority: priority 10 by "other", the highest is 50`}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var m mapObject
			if tc.text != "" {
				m.write(tc.text)
			}
			names := tc.chain
			if names == nil {
				names = []config.Expander{config.ExpanderPriority}
			}
			chain := chainOf(t, expander.Sources{Priorities: m.read}, names...)
			var asked expander.Question
			for i, group := range tc.options {
				asked.Options = append(asked.Options, machines(group, i+1, "2"))
			}
			chain.Update(noon, nil)
			choice := chain.Choose(t.Context(), asked)
			if diff := cmp.Diff(tc.want, told(asked, choice)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tc.notices, events(choice.Notices)); diff != "" {
				t.Error(diff)
			}
			if again := chain.Choose(t.Context(), asked); len(again.Notices) > 0 {
				t.Errorf("the second choice tells %v again", events(again.Notices))
			}
		})
	}
}

var noon = time.Date(2031, 4, 5, 12, 0, 0, 0, time.UTC)

func TestTheMapIsReadAnewAndMistakesAreToldOncePerChange(t *testing.T) {
	var m mapObject
	chain := chainOf(t, expander.Sources{Priorities: m.read}, config.ExpanderPriority)
	asked := expander.Question{Options: []expander.Option{machines("ng-x", 1, "2"), machines("ng-y", 1, "2")}}
	forget := func() { m.object = nil }
	without := func() { m.write(""); m.object.Data = nil }
	unreadable := func() { m.err = errors.New("the API server is away") }
	write := func(text string) func() { return func() { m.err = nil; m.write(text) } }
	const lastValid = "; until then the last valid map stays in force"
	missing := "does not exist; until then no group is preferred"
	high := `key "priorities": line 1 has the key "high", want a priority, which is a whole number` + lastValid
	keyless := `has no key "priorities", want one with a YAML map of whole numbers to lists of regular expressions` + lastValid
	for i, step := range []struct {
		do     func() // nil: nothing changes
		took   string // "" if all stay and the draw decides
		told   []string
		error  string
		sinceS int // when the trouble began, or when the map came into force: the step
	}{
		{do: func() {}, told: []string{"expander priority: ConfigMap cluster-autoscaler-priority-expander " + missing}, error: missing},
		{error: missing},
		{do: write("10: [ng-x]\n50: [ng-y]"), took: "ng-y", told: []string{wasRead}, sinceS: 2},
		{do: func() { m.object = m.object.DeepCopy(); m.object.Annotations = map[string]string{"touched": "yes"} }, took: "ng-y", sinceS: 2},
		{do: write("10: [ng-y]\n50: [ng-x]"), took: "ng-x", told: []string{"expander priority: the changed map of priorities is in force"}, sinceS: 2},
		// C40: a typing error leaves the last good order in force and is told once.
		{do: write("high: [ng-y]"), took: "ng-x", told: []string{"PriorityConfigMapInvalid: " + high + at}, error: high, sinceS: 5},
		{took: "ng-x", error: high, sinceS: 5},
		{do: without, took: "ng-x", told: []string{"PriorityConfigMapInvalid: " + keyless + at}, error: keyless, sinceS: 5},
		{do: write("20: [ng-y]"), took: "ng-y", told: []string{wasRead}, sinceS: 8},
		{
			do: unreadable, took: "ng-y", error: "cannot be read: the API server is away" + lastValid, sinceS: 9,
			told: []string{"expander priority: ConfigMap cluster-autoscaler-priority-expander cannot be read: the API server is away" + lastValid},
		},
		{do: write("20: [ng-y]"), took: "ng-y", told: []string{wasRead}, sinceS: 10},
		{do: forget, told: []string{"expander priority: ConfigMap cluster-autoscaler-priority-expander " + missing}, error: missing, sinceS: 11},
		{
			do: write("["), told: []string{
				"PriorityConfigMapInvalid: key \"priorities\": it is no YAML: yaml: line 1: did not find expected node content; until then no group is preferred" + at,
			},
			error: "key \"priorities\": it is no YAML: yaml: line 1: did not find expected node content; until then no group is preferred", sinceS: 11,
		},
	} {
		if step.do != nil {
			step.do()
		}
		settings := chain.Update(noon.Add(time.Duration(i)*time.Second), nil)
		if diff := cmp.Diff(step.told, events(settings.Notices)); diff != "" {
			t.Errorf("step %d: notices: %s", i, diff)
		}
		want := []report.Feature{{
			Name: "configmaps/cluster-autoscaler-priority-expander", Error: step.error, Since: noon.Add(time.Duration(step.sinceS) * time.Second),
		}}
		if diff := cmp.Diff(want, settings.Features); diff != "" {
			t.Errorf("step %d: %s", i, diff)
		}
		got := told(asked, chain.Choose(t.Context(), asked))
		drawn := got.Dropped["ng-x"] == "random" || got.Dropped["ng-y"] == "random"
		if step.took == "" && !drawn || step.took != "" && (got.Took != step.took || drawn) {
			t.Errorf("step %d: took %s and dropped %v, want %q", i, got.Took, got.Dropped, step.took)
		}
	}
}

func TestExpressionsThatMatchNoGroupAreToldOncePerMap(t *testing.T) {
	var m mapObject
	m.write("10: [spto]\n50: [ondemand]")
	chain := chainOf(t, expander.Sources{Priorities: m.read}, config.ExpanderPriority)
	for i, step := range []struct {
		text   string
		groups []cloudprovider.GroupID
		want   []string
	}{
		{want: []string{wasRead}}, // the cloud has told of no groups yet
		{groups: groupsOf("spot-1", "ondemand"), want: []string{`PriorityConfigMapNotMatchedGroup: expressions that match none of the 2 node groups: "spto" of priority 10` + at}},
		{groups: groupsOf("ondemand")},
		{text: "10: [spot]\n50: [ondemand]", groups: groupsOf("spot-1", "ondemand"), want: []string{"expander priority: the changed map of priorities is in force"}},
		{groups: groupsOf("ondemand")}, // a group that goes later is no mistake
	} {
		if step.text != "" {
			m.write(step.text)
		}
		if diff := cmp.Diff(step.want, events(chain.Update(noon, step.groups).Notices)); diff != "" {
			t.Errorf("step %d: %s", i, diff)
		}
	}
}

func TestAGroupThatJoinsLaterIsToldToo(t *testing.T) {
	var m mapObject
	m.write("10: [a]")
	chain := chainOf(t, expander.Sources{Priorities: m.read}, config.ExpanderPriority)
	chain.Update(noon, nil)
	for i, step := range []struct{ options, want []string }{
		{[]string{"a", "b"}, []string{"b"}}, {[]string{"a", "b", "c"}, []string{"c"}}, {[]string{"a", "b", "c"}, nil},
	} {
		var asked expander.Question
		for _, group := range step.options {
			asked.Options = append(asked.Options, machines(group, 1, "2"))
		}
		var want []string
		for _, group := range step.want {
			want = append(want, "PriorityConfigMapNotMatchedGroup: no expression matches these node groups, so they are not grown while another one with a priority could help: "+group+at)
		}
		if diff := cmp.Diff(want, events(chain.Choose(t.Context(), asked).Notices)); diff != "" {
			t.Errorf("step %d: %s", i, diff)
		}
	}
}
