package checker

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"
)

// Log is all that was recorded of one story, by ascending time.
type Log []Record

// Record is one thing that was seen, one line of a log. Exactly one field besides Time is set.
type Record struct {
	Time  time.Time `json:"time"`            // see the type of what is set
	Story *Story    `json:"story,omitempty"` // the first line
	Act   *Act      `json:"act,omitempty"`
	Pod   *Pod      `json:"pod,omitempty"`
	Node  *Node     `json:"node,omitempty"`
	PDB   *PDB      `json:"pdb,omitempty"`
	Write *Write    `json:"write,omitempty"`
	Call  *Call     `json:"call,omitempty"`
	Cloud *Cloud    `json:"cloud,omitempty"`
	Event *Event    `json:"event,omitempty"`
	End   *End      `json:"end,omitempty"` // the last line
}

// Story says what there was when the story began and how it has to end.
type Story struct {
	Autoscaler string  `json:"autoscaler"` // its user name at the API server
	Kubelets   string  `json:"kubelets"`   // the user name of what ends pods
	Machines   string  `json:"machines"`   // the user name of what makes and removes Node objects
	Groups     []Group `json:"groups"`
	Apps       []App   `json:"apps"`
}

// Group is a node group and what has to become of it.
type Group struct {
	Name   string   `json:"name"`
	Min    int      `json:"min"`
	Max    int      `json:"max"`
	First  []string `json:"first"`  // the machines that exist at the beginning, as many as desired
	Bought int      `json:"bought"` // how many machines have to be bought in all
	Final  int      `json:"final"`  // its size at the end
}

// App is the pods of one workload, told by their label app, and what has to become of them.
type App struct {
	Name     string `json:"name"`
	Running  int    `json:"running"`            // at the end, healthy
	Finished int    `json:"finished,omitempty"` // have succeeded in the course of the story
	Waiting  int    `json:"waiting,omitempty"`  // fit nowhere, wait to the end, and are told why
}

// Act is a change that the story's author made. Time is right before it.
type Act struct {
	Name string `json:"name"`
}

// Pod is the state of a pod. Time is when a watch brought the news; a state is recorded when it differs from the one before.
type Pod struct {
	UID           string `json:"uid"`
	Namespace     string `json:"namespace"`
	Name          string `json:"name"`
	App           string `json:"app"`
	Owner         string `json:"owner,omitempty"` // the kind of its controller
	Mirror        bool   `json:"mirror,omitempty"`
	Priority      int32  `json:"priority,omitempty"`
	Node          string `json:"node,omitempty"`
	Phase         string `json:"phase"`
	Unschedulable bool   `json:"unschedulable,omitempty"` // the scheduler says that no node has room
	Healthy       bool   `json:"healthy,omitempty"`       // it is Ready
	Ending        bool   `json:"ending,omitempty"`        // it was told to end
	Gone          bool   `json:"gone,omitempty"`
}

// Node is the state of a node, recorded like that of a pod.
type Node struct {
	Name     string   `json:"name"`
	Provider string   `json:"provider"` // its providerID
	Ready    bool     `json:"ready,omitempty"`
	Cordoned bool     `json:"cordoned,omitempty"`
	Taints   []string `json:"taints,omitempty"` // keys
	Gone     bool     `json:"gone,omitempty"`
}

// PDB is the state of a PodDisruptionBudget, recorded like that of a pod.
type PDB struct {
	Name  string `json:"name"`
	App   string `json:"app"`   // whose pods it protects
	Least int    `json:"least"` // how many of them have to stay healthy
	Gone  bool   `json:"gone,omitempty"`
}

// Write is one line of the API server's audit log. Time is when the server had answered.
type Write struct {
	User      string `json:"user"`
	Verb      string `json:"verb"`
	Resource  string `json:"resource"` // for example pods or pods/eviction
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	Code      int    `json:"code"`
	Node      string `json:"node,omitempty"` // of a pods/binding: where the pod goes
}

// accepted tells whether the API server carried the write out.
func (w Write) accepted() bool { return w.Code >= 200 && w.Code < 300 }

// Call is one writing request in the log of the stand-in for a cloud. Time is its arrival.
type Call struct {
	Number      int       `json:"number"`
	Action      string    `json:"action"`
	Code        string    `json:"code,omitempty"` // of the error; empty: success
	Group       string    `json:"group,omitempty"`
	At          time.Time `json:"at,omitzero"` // when it took effect; zero: it had none
	DesiredFrom int       `json:"desiredFrom"`
	DesiredTo   int       `json:"desiredTo"`
	LiveFrom    int       `json:"liveFrom"` // instances that exist and aren't ending, before
	LiveTo      int       `json:"liveTo"`   // and after
	Ended       []string  `json:"ended,omitempty"`
}

// Cloud is one event in the world of the stand-in, whoever caused it. Time is exact.
type Cloud struct {
	Kind     string `json:"kind"` // one of the kinds below
	Group    string `json:"group"`
	Instance string `json:"instance,omitempty"`
	Cause    string `json:"cause,omitempty"` // why an instance ends
	Call     int    `json:"call,omitempty"`  // number of the request behind it
	From     int    `json:"from,omitempty"`  // of a DesiredChanged
	To       int    `json:"to,omitempty"`
}

// What happens in the cloud, in the words of the stand-in.
const (
	DesiredChanged = "DesiredChanged"
	Launched       = "Launched"
	LaunchFailed   = "LaunchFailed"
	Ending         = "Ending"
	Gone           = "Gone"
)

// Event is a Kubernetes event that the autoscaler recorded. Time is when a watch brought it.
type Event struct {
	Warning   bool   `json:"warning,omitempty"`
	Reason    string `json:"reason"`
	Kind      string `json:"kind"` // of the object that it is about
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Message   string `json:"message"`
}

// End is what the API server and the cloud list when the story is over.
type End struct {
	Groups   []FinalGroup `json:"groups"`
	Pods     []Pod        `json:"pods"`
	Nodes    []Node       `json:"nodes"`
	Complete bool         `json:"complete"` // the player saw every act through
	PeakRSS  int64        `json:"peakRSS"`  // of the autoscaler, in bytes; 0: unknown
}

// FinalGroup is a group as the cloud lists it.
type FinalGroup struct {
	Name      string   `json:"name"`
	Desired   int      `json:"desired"`
	Instances []string `json:"instances"` // in service, by id
}

// Sort orders the records by time. Those of the same time stay in their order.
func (l Log) Sort() {
	slices.SortStableFunc(l, func(a, b Record) int { return a.Time.Compare(b.Time) })
}

// Write writes the log as JSON lines.
func (l Log) Write(w io.Writer) error {
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false) // for people
	for _, r := range l {
		if err := lines.Encode(r); err != nil {
			return fmt.Errorf("writing a record: %w", err)
		}
	}
	return nil
}

// maxLine is far more than the longest record needs: the last one, which lists all pods.
const maxLine = 16 << 20

// Read reads a log that was written with Write. Unknown fields, and lines that hold no or several things, are errors.
func Read(r io.Reader) (Log, error) {
	var log Log
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for number := 1; lines.Scan(); number++ {
		decoder := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		decoder.DisallowUnknownFields()
		var record Record
		if err := decoder.Decode(&record); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		if n := record.things(); n != 1 {
			return nil, fmt.Errorf("line %d: want exactly one thing that was seen, got %d", number, n)
		}
		log = append(log, record)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading the log: %w", err)
	}
	return log, nil
}

// things counts the fields that are set.
func (r Record) things() int {
	n := 0
	for _, set := range []bool{
		r.Story != nil, r.Act != nil, r.Pod != nil, r.Node != nil, r.PDB != nil, r.Write != nil, r.Call != nil, r.Cloud != nil,
		r.Event != nil, r.End != nil,
	} {
		if set {
			n++
		}
	}
	return n
}
