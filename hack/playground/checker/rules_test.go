package checker

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// at is a moment of a made-up story, in seconds.
func at(seconds float64) time.Time {
	return time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC).Add(time.Duration(seconds * float64(time.Second)))
}

// machineEnds is a log in which machine i-1 of group g, node n, ends at 10 s.
func machineEnds(more ...Record) Log {
	return append(Log{
		{Time: at(0), Story: &Story{Kubelets: "kubelets", Groups: []Group{{Name: "g", Max: 9, First: []string{"i-1"}}}}},
		{Time: at(1), Node: &Node{Name: "n", Provider: "aws:///zone/i-1"}},
		{Time: at(10), Cloud: &Cloud{Kind: Ending, Group: "g", Instance: "i-1", Cause: "Request", Call: 1}},
	}, more...)
}

func TestWhatKeepsAMachineFromBeingEnded(t *testing.T) {
	held := []string{"10:00:10.000: machine i-1 (node n) was ended with ns/p on it"}
	pod := func(seconds float64, change func(*Pod)) Record {
		p := Pod{UID: "u", Namespace: "ns", Name: "p", Node: "n", Phase: "Running"}
		change(&p)
		return Record{Time: at(seconds), Pod: &p}
	}
	as := func(change func(*Pod)) func(*Pod) { return change }
	running := as(func(*Pod) {})
	gone := as(func(p *Pod) { p.Gone = true })
	kubeletSays := func(seconds float64, code int) Record {
		return Record{Time: at(seconds), Write: &Write{User: "kubelets", Verb: "delete", Resource: "pods", Namespace: "ns", Name: "p", Code: code}}
	}
	tests := map[string]struct {
		records []Record
		want    []string
	}{
		"a running pod does":                            {[]Record{pod(2, running)}, held},
		"a pod that ends but is there does":             {[]Record{pod(2, running), pod(9, func(p *Pod) { p.Ending = true })}, held},
		"a pod that was bound and doesn't run yet does": {[]Record{pod(9, func(p *Pod) { p.Phase = "Pending" })}, held},
		"a pod whose binding only the audit log knows does": {[]Record{
			{Time: at(9), Write: &Write{Resource: "pods/binding", Namespace: "ns", Name: "p", Node: "n", Code: 201}},
			pod(8, func(p *Pod) { p.Node = "" }), pod(11, running),
		}, held},
		"a pod that came later doesn't":                                      {[]Record{pod(11, running)}, nil},
		"a pod of another node doesn't":                                      {[]Record{pod(2, func(p *Pod) { p.Node = "m" })}, nil},
		"a pod that was gone doesn't":                                        {[]Record{pod(2, running), pod(9, gone)}, nil},
		"a pod that was gone a moment later does":                            {[]Record{pod(2, running), pod(10.001, gone)}, held},
		"a pod that a kubelet removed before the watch told of it doesn't":   {[]Record{pod(2, running), kubeletSays(9.999, 200), pod(10.001, gone)}, nil},
		"a pod that a kubelet failed to remove does":                         {[]Record{pod(2, running), kubeletSays(9, 409), pod(10.001, gone)}, held},
		"a pod that had succeeded doesn't":                                   {[]Record{pod(2, running), pod(9, func(p *Pod) { p.Phase = "Succeeded" })}, nil},
		"a pod that had failed doesn't":                                      {[]Record{pod(2, running), pod(9, func(p *Pod) { p.Phase = "Failed" })}, nil},
		"a pod of a DaemonSet doesn't":                                       {[]Record{pod(2, func(p *Pod) { p.Owner = "DaemonSet" })}, nil},
		"a mirror pod doesn't":                                               {[]Record{pod(2, func(p *Pod) { p.Mirror = true })}, nil},
		"an expendable pod doesn't":                                          {[]Record{pod(2, func(p *Pod) { p.Priority = -11 })}, nil},
		"a pod of the least priority that counts does":                       {[]Record{pod(2, func(p *Pod) { p.Priority = -10 })}, held},
		"a pod on a later node of the same machine does":                     {[]Record{{Time: at(3), Node: &Node{Name: "again", Provider: "aws:///zone/i-1"}}, pod(4, func(p *Pod) { p.Node = "again" })}, []string{"10:00:10.000: machine i-1 (node again) was ended with ns/p on it"}},
		"a machine that never was a node can go whatever runs on other ones": {[]Record{pod(2, func(p *Pod) { p.Node = "m" }), {Time: at(12), Cloud: &Cloud{Kind: Ending, Group: "g", Instance: "i-2"}}}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, got := nothingUndrainedEnded(read(machineEnds(test.records...)))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHowFarADesiredSizeMayBeLowered(t *testing.T) {
	raised := Record{Time: at(1), Cloud: &Cloud{Kind: DesiredChanged, Group: "g", From: 3, To: 6, Call: 1}}
	failure := Record{Time: at(2), Cloud: &Cloud{Kind: LaunchFailed, Group: "g"}}
	other := Record{Time: at(2), Cloud: &Cloud{Kind: LaunchFailed, Group: "h"}}
	lowered := func(action string, from, to, liveFrom, liveTo int) Record {
		return Record{Time: at(5), Call: &Call{Number: 2, Action: action, Group: "g", DesiredFrom: from, DesiredTo: to, LiveFrom: liveFrom, LiveTo: liveTo}}
	}
	const set, terminate = "SetDesiredCapacity", "TerminateInstanceInAutoScalingGroup"
	fault := func(text string) []string { return []string{"10:00:05.000: request 2 (" + text} }
	tests := map[string]struct {
		log  Log
		want []string
	}{
		"not while machines are on their way": {
			Log{raised, lowered(set, 6, 5, 3, 3)}, fault("SetDesiredCapacity) lowered group g to 5, with 3 machines left and 3 on their way"),
		},
		"by as many as failed":             {Log{raised, failure, lowered(set, 6, 5, 3, 3)}, nil},
		"not by more than failed":          {Log{raised, failure, lowered(set, 6, 4, 3, 3)}, fault("SetDesiredCapacity) lowered group g to 4, with 3 machines left and 2 on their way")},
		"not for failures in other groups": {Log{raised, other, lowered(set, 6, 5, 3, 3)}, fault("SetDesiredCapacity) lowered group g to 5, with 3 machines left and 3 on their way")},
		"not for failures before the last raise": {
			Log{{Time: at(0), Cloud: failure.Cloud}, raised, lowered(set, 6, 5, 3, 3)},
			fault("SetDesiredCapacity) lowered group g to 5, with 3 machines left and 3 on their way"),
		},
		"not below what exists, whatever the service then ends": {
			Log{lowered(set, 6, 5, 6, 5)}, fault("SetDesiredCapacity) lowered group g to 5, with 6 machines left and 0 on their way"),
		},
		"by one with the machine that goes":             {Log{lowered(terminate, 6, 5, 6, 5)}, nil},
		"by one with the machine, and others may come":  {Log{lowered(terminate, 6, 5, 4, 3)}, nil},
		"not with a machine that was going already":     {Log{lowered(terminate, 6, 5, 6, 6)}, fault("TerminateInstanceInAutoScalingGroup) lowered group g to 5, with 6 machines left and 0 on their way")},
		"a raise is none":                               {Log{lowered(set, 3, 6, 3, 3)}, nil},
		"a request without effect is none":              {Log{lowered(set, 0, 0, 0, 0)}, nil},
		"and a machine that was named may go":           {Log{{Time: at(3), Cloud: &Cloud{Kind: Ending, Group: "g", Instance: "i", Cause: "Request"}}}, nil},
		"but none that died and was replaced unnoticed": {Log{{Time: at(3), Cloud: &Cloud{Kind: Ending, Group: "g", Instance: "i", Cause: "Health"}}}, []string{"10:00:03.000: nobody named machine i of group g, and it was ended (Health)"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, got := nothingCutOff(read(test.log))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

func TestABudgetCountsFromTheMomentWhenItWasFilled(t *testing.T) {
	pod := func(seconds float64, uid string, healthy bool) Record {
		return Record{Time: at(seconds), Pod: &Pod{UID: uid, App: "a", Phase: "Running", Healthy: healthy}}
	}
	pdb := func(seconds float64, least int) Record {
		return Record{Time: at(seconds), PDB: &PDB{Name: "b", App: "a", Least: least}}
	}
	tests := map[string]struct {
		log  Log
		want []string
	}{
		"pods that come up don't overdraw it": {Log{pdb(1, 2), pod(2, "x", true), pod(3, "y", true)}, nil},
		"a pod too few does":                  {Log{pdb(1, 2), pod(2, "x", true), pod(3, "y", true), pod(4, "y", false)}, []string{"10:00:04.000: app a has 1 healthy pods, its budget b demands 2"}},
		"a pod that ends counts no more": {
			Log{pdb(1, 1), pod(2, "x", true), {Time: at(3), Pod: &Pod{UID: "x", App: "a", Phase: "Running", Healthy: true, Ending: true}}},
			[]string{"10:00:03.000: app a has 0 healthy pods, its budget b demands 1"},
		},
		"a looser budget forbids less":         {Log{pdb(1, 2), pod(2, "x", true), pod(3, "y", true), pdb(4, 1), pod(5, "y", false)}, nil},
		"one that is gone forbids nothing":     {Log{pdb(1, 1), pod(2, "x", true), {Time: at(3), PDB: &PDB{Name: "b", Gone: true}}, pod(4, "x", false)}, nil},
		"a story without a budget has no test": {Log{pod(2, "x", true)}, []string{"there was no budget to keep"}},
		"a shortage is told once": {
			Log{pdb(1, 2), pod(2, "x", true), pod(3, "y", true), pod(4, "y", false), pod(5, "x", false)},
			[]string{"10:00:04.000: app a has 1 healthy pods, its budget b demands 2"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, got := budgetsKept(read(test.log))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSignsThatARecordIsIncomplete(t *testing.T) {
	const uid, key = "u", "ns/p"
	story := Record{Time: at(0), Story: &Story{Groups: []Group{{Name: "g", First: []string{"i-1"}}}}}
	node := Record{Time: at(1), Node: &Node{Name: "n", Provider: "aws:///zone/i-1"}}
	running := Pod{UID: uid, Namespace: "ns", Name: "p", Node: "n", Phase: "Running"}
	pod := Record{Time: at(3), Pod: &running}
	binding := Record{Time: at(2), Write: &Write{Resource: "pods/binding", Namespace: "ns", Name: "p", Node: "n", Code: 201}}
	refused := Record{Time: at(2), Write: &Write{Resource: "pods/binding", Namespace: "ns", Name: "p", Node: "n", Code: 409}}
	end := func(pods ...Pod) Record { return Record{Time: at(9), End: &End{Pods: pods, Complete: true}} }
	call := func(at time.Time) Record {
		return Record{Time: at, Call: &Call{Number: 7, Action: "SetDesiredCapacity", Group: "g", At: at, DesiredFrom: 1, DesiredTo: 2}}
	}
	change := func(seconds float64, call int) Record {
		return Record{Time: at(seconds), Cloud: &Cloud{Kind: DesiredChanged, Group: "g", From: 1, To: 2, Call: call}}
	}
	tests := map[string]struct {
		log  Log
		want []string
	}{
		"none":                              {Log{story, node, binding, pod, call(at(4)), change(4, 7), end(running)}, nil},
		"no story":                          {Log{end()}, []string{"it doesn't begin with the story"}},
		"no end":                            {Log{story}, []string{"it doesn't end with the final state"}},
		"a node of an unknown machine":      {Log{story, {Time: at(1), Node: &Node{Name: "m", Provider: "aws:///zone/i-2"}}, end()}, []string{"nothing tells where node m comes from"}},
		"a pod that is not listed":          {Log{story, node, binding, pod, end()}, []string{"nothing tells what became of pod ns/p"}},
		"a pod that is listed only":         {Log{story, node, end(running)}, []string{"pod ns/p is listed at the end in another state than the watch told"}},
		"a pod that is listed elsewhere":    {Log{story, node, binding, pod, end(Pod{UID: uid, Namespace: "ns", Name: "p", Node: "m", Phase: "Running"})}, []string{"pod ns/p is listed at the end in another state than the watch told"}},
		"a pod that nobody bound":           {Log{story, node, pod, end(running)}, []string{"pod ns/p is on node n, but the audit log has no binding of it"}},
		"a pod whose binding was refused":   {Log{story, node, refused, pod, end(running)}, []string{"pod ns/p is on node n, but the audit log has no binding of it"}},
		"a binding of a pod without a life": {Log{story, node, binding, end()}, []string{"the audit log has a pods/binding of pod " + key + ", which no watch saw"}},
		"a change without its request":      {Log{story, change(4, 7), end()}, []string{"DesiredChanged in group g comes from request 7, which isn't in the log"}},
		"a request without its change":      {Log{story, call(at(4)), end()}, []string{"request 7 (SetDesiredCapacity) changed group g, but nothing happened there"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, got := complete(read(test.log))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}
