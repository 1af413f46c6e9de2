package status

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/report"
)

// TimeLayout is the layout of the time in the document and in the annotation.
const TimeLayout = "2006-01-02 15:04:05.999999999 -0700 MST"

// Document is the value of the key "status" (operator-surface 4.2). It prints with its keys in alphabetical order.
type Document struct {
	Time             string       `json:"time,omitempty"`
	AutoscalerStatus string       `json:"autoscalerStatus,omitempty"`
	Message          string       `json:"message,omitempty"`
	ClusterWide      ClusterWide  `json:"clusterWide"`
	NodeGroups       []NodeGroup  `json:"nodeGroups,omitempty"`
	SetAside         []SetAside   `json:"setAside,omitempty"`
	FeaturesOff      []FeatureOff `json:"featuresOff,omitempty"`
}

// ClusterWide is the state of the cluster.
type ClusterWide struct {
	Health    Health         `json:"health"`
	ScaleUp   ClusterScaleUp `json:"scaleUp"`
	ScaleDown ScaleDown      `json:"scaleDown"`
}

// Health is a health status with the counts behind it.
type Health struct {
	Status     string     `json:"status,omitempty"`
	NodeCounts NodeCounts `json:"nodeCounts"`
	// Foreign are those of the counted nodes that belong to no group; left out if there are none. They don't count for health unless a
	// flag says so. Upstream has no such key.
	Foreign *Foreign `json:"foreignNodes,omitempty"`
	Times
}

// Foreign counts nodes of no group.
type Foreign struct {
	Total   int `json:"total"`
	Unready int `json:"unready"`
}

// NodeCounts counts nodes by class.
type NodeCounts struct {
	Registered       Registered `json:"registered"`
	LongUnregistered int        `json:"longUnregistered"`
	Unregistered     int        `json:"unregistered"`
}

// Registered counts registered nodes by class.
type Registered struct {
	Total        int          `json:"total"`
	Ready        int          `json:"ready"`
	NotStarted   int          `json:"notStarted"`
	Suspended    int          `json:"suspended"`
	BeingDeleted int          `json:"beingDeleted,omitempty"`
	Unready      UnreadyCount `json:"unready"`
}

// UnreadyCount counts unready nodes; ResourceUnready of them wait for a device.
type UnreadyCount struct {
	Total           int `json:"total"`
	ResourceUnready int `json:"resourceUnready"`
}

// Times are when a status was last judged and when it last changed.
type Times struct {
	LastProbeTime      metav1.Time `json:"lastProbeTime"`
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`
}

// ClusterScaleUp says whether some group grows.
type ClusterScaleUp struct {
	Status string `json:"status,omitempty"`
	Times
}

// ScaleDown says whether there are candidates for removal.
type ScaleDown struct {
	Status     string `json:"status,omitempty"`
	Candidates int    `json:"candidates,omitempty"`
	Times
}

// NodeGroup is the state of one group.
type NodeGroup struct {
	Name      string       `json:"name"`
	Health    GroupHealth  `json:"health"`
	ScaleUp   GroupScaleUp `json:"scaleUp"`
	ScaleDown ScaleDown    `json:"scaleDown"`
}

// GroupHealth is the health of a group and its sizes.
type GroupHealth struct {
	Health
	CloudProviderTarget int `json:"cloudProviderTarget"`
	MinSize             int `json:"minSize"`
	MaxSize             int `json:"maxSize"`
}

// GroupScaleUp says whether a group grows, or why not.
type GroupScaleUp struct {
	Status      string      `json:"status,omitempty"`
	BackoffInfo BackoffInfo `json:"backoffInfo"`
	Times
}

// BackoffInfo says why a group is backed off; empty: it is not.
type BackoffInfo struct {
	ErrorCode    string `json:"errorCode,omitempty"`
	ErrorMessage string `json:"errorMessage,omitempty"`
}

// SetAside is a group that is left alone because of an error. Upstream has no such list; parsers of its keys are not disturbed.
type SetAside struct {
	Name  string      `json:"name"`
	Error string      `json:"error"`
	Since metav1.Time `json:"since,omitzero"`
	Until metav1.Time `json:"until,omitzero"`
}

// FeatureOff is an optional kind of object that cannot be read, and why.
type FeatureOff struct {
	Name  string      `json:"name"`
	Error string      `json:"error"`
	Since metav1.Time `json:"since"`
}

// The values of the statuses.
const (
	running      = "Running"
	initializing = "Initializing"
	healthy      = "Healthy"
	unhealthy    = "Unhealthy"
	inProgress   = "InProgress"
	noActivity   = "NoActivity"
	backedOff    = "Backoff"
	candidates   = "CandidatesPresent"
	noCandidates = "NoCandidates"
)

// Initializing is the document before the first iteration, or while there is nothing to decide on. The message may be empty.
func Initializing(at time.Time, message string) Document {
	return Document{Time: at.UTC().Format(TimeLayout), AutoscalerStatus: initializing, Message: message}
}

// Render is the document that follows from the report. before is the last document, whose times of transition are kept where the status
// is the same.
func Render(r report.Report, before Document) Document {
	doc := Document{Time: r.At.UTC().Format(TimeLayout), AutoscalerStatus: running}
	probed := stamp(r.At)
	old := before.ClusterWide

	doc.ClusterWide.Health = Health{Status: healthWord(r.Cluster.Healthy), NodeCounts: counts(r.Cluster.Counts), Foreign: foreign(r.Cluster)}
	doc.ClusterWide.Health.Times = transition(old.Health.Status, doc.ClusterWide.Health.Status, old.Health.Times, probed)
	doc.ClusterWide.ScaleUp.Status = noActivity
	for _, group := range r.Groups {
		if group.ScalingUp {
			doc.ClusterWide.ScaleUp.Status = inProgress
		}
	}
	doc.ClusterWide.ScaleUp.Times = transition(old.ScaleUp.Status, doc.ClusterWide.ScaleUp.Status, old.ScaleUp.Times, probed)
	looked := r.ScaleDown.Result != report.ScaleDownNotTried && r.ScaleDown.Result != ""
	doc.ClusterWide.ScaleDown = scaleDown(len(r.ScaleDown.Unneeded), old.ScaleDown, looked, probed)

	known := make(map[string]NodeGroup, len(before.NodeGroups))
	for _, group := range before.NodeGroups {
		known[group.Name] = group
	}
	for _, group := range r.Groups {
		before := known[string(group.Group)]
		out := renderGroup(group, before)
		out.ScaleDown = scaleDown(group.Unneeded, before.ScaleDown, looked, probed)
		doc.NodeGroups = append(doc.NodeGroups, out)
	}
	doc.SetAside = setAside(r)
	for _, off := range r.Features {
		if off.Error == "" {
			continue
		}
		doc.FeaturesOff = append(doc.FeaturesOff, FeatureOff{
			Name: off.Name, Error: off.Error, Since: stamp(off.Since),
		})
	}
	return doc
}

// setAside lists the groups that are left alone, those that are in the report in its order, then those that could not be described at all.
func setAside(r report.Report) []SetAside {
	var out []SetAside
	trouble := make(map[cloudprovider.GroupID]cloudprovider.GroupError, len(r.GroupErrors))
	for _, t := range r.GroupErrors {
		trouble[t.Group] = t
	}
	for _, group := range r.Groups {
		aside := group.SetAside
		if aside == nil {
			continue
		}
		since := aside.Since
		if t, ok := trouble[group.Group]; ok { // the cloud knows better since when
			since = t.Since
			delete(trouble, group.Group)
		}
		out = append(out, SetAside{Name: string(group.Group), Error: aside.Error, Since: stamp(since), Until: stamp(aside.Until)})
	}
	for _, t := range r.GroupErrors {
		if _, open := trouble[t.Group]; open {
			out = append(out, SetAside{Name: string(t.Group), Error: t.Err.Error(), Since: stamp(t.Since)})
		}
	}
	return out
}

// NewlySetAside are the groups that were not set aside before, or because of something else, in the order of the document. Those that are only being
// repaired are not among them.
func NewlySetAside(before, now Document) []SetAside {
	var out []SetAside
	for _, aside := range now.SetAside {
		known := slices.ContainsFunc(before.SetAside, func(b SetAside) bool { return b.Name == aside.Name && b.Error == aside.Error })
		if !known && aside.Error != report.BeingRepaired {
			out = append(out, aside)
		}
	}
	return out
}

// stamp is a time as it stands in the document: UTC, whole seconds, null for the zero time.
func stamp(at time.Time) metav1.Time {
	if at.IsZero() {
		return metav1.Time{}
	}
	return metav1.NewTime(at.UTC().Truncate(time.Second))
}

// renderGroup is the state of a group apart from its scale-down.
func renderGroup(group report.GroupStatus, old NodeGroup) NodeGroup {
	probed := stamp(group.LastProbe)
	out := NodeGroup{
		Name: string(group.Group),
		Health: GroupHealth{
			Health:              Health{Status: healthWord(group.Healthy), NodeCounts: counts(group.Counts)},
			CloudProviderTarget: group.Target, MinSize: group.Min, MaxSize: group.Max,
		},
	}
	out.Health.Times = transition(old.Health.Status, out.Health.Status, old.Health.Times, probed)
	switch {
	case group.ScalingUp:
		out.ScaleUp.Status = inProgress
	case !group.Healthy:
		out.ScaleUp.Status = unhealthy
	case group.Backoff != nil:
		out.ScaleUp.Status = backedOff
		out.ScaleUp.BackoffInfo = BackoffInfo{ErrorCode: group.Backoff.Code, ErrorMessage: group.Backoff.Message}
	default:
		out.ScaleUp.Status = noActivity
	}
	out.ScaleUp.Times = transition(old.ScaleUp.Status, out.ScaleUp.Status, old.ScaleUp.Times, probed)
	return out
}

// scaleDown says whether there are candidates. In an iteration that did not look for any, what was found last still stands.
func scaleDown(count int, old ScaleDown, looked bool, probed metav1.Time) ScaleDown {
	if !looked {
		if old.Status == "" {
			old.Status = noCandidates
		}
		return old
	}
	out := ScaleDown{Status: noCandidates, Candidates: count}
	if count > 0 {
		out.Status = candidates
	}
	before := old.Status
	if old.LastProbeTime.IsZero() {
		before = "" // nobody had looked
	}
	out.Times = transition(before, out.Status, old.Times, probed)
	return out
}

func transition(before, now string, old Times, probed metav1.Time) Times {
	if before == now {
		return Times{LastProbeTime: probed, LastTransitionTime: old.LastTransitionTime}
	}
	return Times{LastProbeTime: probed, LastTransitionTime: probed}
}

func healthWord(ok bool) string {
	if ok {
		return healthy
	}
	return unhealthy
}

func foreign(c report.ClusterStatus) *Foreign {
	total := c.Counts.Registered - c.Managed.Registered
	if total == 0 {
		return nil
	}
	return &Foreign{Total: total, Unready: c.Counts.Unready - c.Managed.Unready}
}

func counts(c report.NodeCounts) NodeCounts {
	return NodeCounts{
		Registered: Registered{
			Total: c.Registered, Ready: c.Ready, NotStarted: c.NotStarted, Suspended: c.Suspended, BeingDeleted: c.Deleted,
			Unready: UnreadyCount{Total: c.Unready, ResourceUnready: c.ResourceUnready},
		},
		LongUnregistered: c.LongUnregistered, Unregistered: c.Unregistered,
	}
}

// YAML is the document as it stands in the ConfigMap.
func (d Document) YAML() (string, error) {
	text, err := yaml.Marshal(d)
	if err != nil {
		return "", fmt.Errorf("writing the status as YAML: %w", err)
	}
	return string(text), nil
}

// Parse reads a document that YAML has made. Unknown keys are ignored.
func Parse(text string) (Document, error) {
	var d Document
	if err := yaml.Unmarshal([]byte(text), &d); err != nil {
		return Document{}, fmt.Errorf("reading the status: %w", err)
	}
	return d, nil
}
