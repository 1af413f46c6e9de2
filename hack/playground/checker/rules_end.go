package checker

import (
	"fmt"
	"slices"
)

// complete looks for signs that something is missing in the record: a story without beginning or end, a machine or pod that appears in one
// source and not in another.
func complete(h *history) (string, []string) {
	var faults []string
	if len(h.log) == 0 || h.log[0].Story == nil {
		faults = append(faults, "it doesn't begin with the story")
	}
	if len(h.log) == 0 || h.log[len(h.log)-1].End == nil {
		faults = append(faults, "it doesn't end with the final state")
	} else if !h.end.Complete {
		faults = append(faults, "the story was not played to its end")
	}
	for _, id := range keys(h.nodes) {
		if h.groupOf[id] == "" {
			faults = append(faults, fmt.Sprintf("nothing tells where node %s comes from", h.nodes[id][0]))
		}
	}
	faults = append(faults, h.podsDisagree()...)
	faults = append(faults, h.writesDisagree()...)
	faults = append(faults, h.callsDisagree()...)
	return fmt.Sprintf("%d records of %d pods and %d machines", len(h.log), len(h.pods), len(h.groupOf)), faults
}

// podsDisagree compares the pods that are left according to the watch with those that were listed at the end.
func (h *history) podsDisagree() []string {
	var faults []string
	listed := map[string]bool{}
	for _, pod := range h.end.Pods {
		listed[pod.UID] = true
		if life := h.pods[pod.UID]; life == nil || life.Gone || life.Node != pod.Node || life.Phase != pod.Phase {
			faults = append(faults, fmt.Sprintf("pod %s is listed at the end in another state than the watch told", pod.name()))
		}
	}
	for _, uid := range h.order {
		if life := h.pods[uid]; !life.Gone && !listed[uid] {
			faults = append(faults, fmt.Sprintf("nothing tells what became of pod %s", life.name()))
		}
	}
	return faults
}

// writesDisagree looks for pods that the audit log knows and the watch doesn't.
func (h *history) writesDisagree() []string {
	var faults []string
	known, bound := map[string]bool{}, map[string]bool{}
	for _, life := range h.pods {
		known[life.name()] = true
	}
	for _, r := range h.log {
		if w := r.Write; w != nil && w.accepted() && (w.Resource == "pods/binding" || w.Resource == "pods/eviction") {
			name := w.Namespace + "/" + w.Name
			if !known[name] {
				faults = append(faults, fmt.Sprintf("the audit log has a %s of pod %s, which no watch saw", w.Resource, name))
			}
			bound[name] = bound[name] || w.Resource == "pods/binding"
		}
	}
	for _, uid := range h.order {
		if life := h.pods[uid]; life.Node != "" && !bound[life.name()] {
			faults = append(faults, fmt.Sprintf("pod %s is on node %s, but the audit log has no binding of it", life.name(), life.Node))
		}
	}
	return faults
}

// callsDisagree compares the cloud's log of requests with what happened in the cloud.
func (h *history) callsDisagree() []string {
	var faults []string
	changed := map[int]Call{}
	for _, r := range h.log {
		if r.Call != nil && !r.Call.At.IsZero() {
			changed[r.Call.Number] = *r.Call
		}
	}
	told := map[int]bool{}
	for _, r := range h.log {
		if r.Cloud == nil || r.Cloud.Call == 0 {
			continue
		}
		told[r.Cloud.Call] = true
		if _, ok := changed[r.Cloud.Call]; !ok {
			faults = append(faults, fmt.Sprintf("%s in group %s comes from request %d, which isn't in the log", r.Cloud.Kind, r.Cloud.Group, r.Cloud.Call))
		}
	}
	for _, r := range h.log {
		if r.Call != nil && (r.Call.DesiredFrom != r.Call.DesiredTo || len(r.Call.Ended) > 0) && !told[r.Call.Number] {
			faults = append(faults, fmt.Sprintf("request %d (%s) changed group %s, but nothing happened there", r.Call.Number, r.Call.Action, r.Call.Group))
		}
	}
	return faults
}

// endedAsPredicted compares the final state with what the story says.
func endedAsPredicted(h *history) (string, []string) {
	var faults []string
	instances := map[string]bool{}
	for _, want := range h.story.Groups {
		i := slices.IndexFunc(h.end.Groups, func(g FinalGroup) bool { return g.Name == want.Name })
		if i < 0 {
			faults = append(faults, fmt.Sprintf("group %s is gone", want.Name))
			continue
		}
		got := h.end.Groups[i]
		if got.Desired != want.Final || len(got.Instances) != want.Final {
			faults = append(faults, fmt.Sprintf("group %s has desired size %d and %d machines in service, want %d", got.Name, got.Desired, len(got.Instances), want.Final))
		}
		for _, id := range got.Instances {
			instances[id] = true
		}
	}
	for _, node := range h.end.Nodes {
		id := instanceOf(node)
		switch {
		case !instances[id]:
			faults = append(faults, fmt.Sprintf("node %s stands for a machine that isn't in service", node.Name))
		case !node.Ready:
			faults = append(faults, fmt.Sprintf("node %s isn't Ready", node.Name))
		}
		delete(instances, id)
	}
	for _, id := range keys(instances) {
		faults = append(faults, fmt.Sprintf("machine %s has no node", id))
	}
	faults = append(faults, h.appsDisagree()...)
	return fmt.Sprintf("%d groups, %d nodes, %d pods", len(h.end.Groups), len(h.end.Nodes), len(h.end.Pods)), faults
}

// appsDisagree compares the pods at the end with what the story says.
func (h *history) appsDisagree() []string {
	var faults []string
	got := map[string]App{}
	for _, pod := range h.end.Pods {
		app := got[pod.App]
		switch {
		case pod.Phase == "Running" && pod.Healthy && !pod.Ending:
			app.Running++
		case pod.Phase == "Pending" && pod.Unschedulable && !pod.Ending:
			app.Waiting++
		case pod.Phase != "Succeeded":
			faults = append(faults, fmt.Sprintf("pod %s is neither well nor waiting for room at the end (%s)", pod.name(), pod.Phase))
		}
		got[pod.App] = app
	}
	for _, life := range h.pods {
		if app := got[life.App]; life.succeeded {
			app.Finished++
			got[life.App] = app
		}
	}
	for _, want := range h.story.Apps {
		have := got[want.Name]
		have.Name = want.Name
		if have != want {
			faults = append(faults, fmt.Sprintf("app %s has %d pods running, %d finished and %d waiting; want %d, %d and %d",
				want.Name, have.Running, have.Finished, have.Waiting, want.Running, want.Finished, want.Waiting))
		}
		delete(got, want.Name)
	}
	for _, name := range keys(got) {
		faults = append(faults, fmt.Sprintf("app %s isn't part of the story", name))
	}
	return faults
}

// Marks that the autoscaler puts on nodes (scale-down 4).
const (
	deletionTaint  = "ToBeDeletedByClusterAutoscaler"
	candidateTaint = "DeletionCandidateOfClusterAutoscaler"
)

// nothingLeftBehind looks at the nodes that are left.
func nothingLeftBehind(h *history) (string, []string) {
	var faults []string
	for _, node := range h.end.Nodes {
		for _, taint := range node.Taints {
			if taint == deletionTaint || taint == candidateTaint {
				faults = append(faults, fmt.Sprintf("node %s still has the taint %s", node.Name, taint))
			}
		}
		if node.Cordoned {
			faults = append(faults, fmt.Sprintf("node %s is still cordoned", node.Name))
		}
	}
	return fmt.Sprintf("%d nodes left", len(h.end.Nodes)), faults
}

// toldWhy looks for an event with a reason about each pod that waits at the end.
func toldWhy(h *history) (string, []string) {
	var faults []string
	told := map[string]bool{}
	for _, r := range h.log {
		if e := r.Event; e != nil && e.Reason == "NotTriggerScaleUp" && e.Kind == "Pod" && e.Message != "" {
			told[e.Namespace+"/"+e.Name] = true
		}
	}
	waiting := 0
	for _, pod := range h.end.Pods {
		if pod.Phase != "Pending" {
			continue
		}
		waiting++
		if !told[pod.name()] {
			faults = append(faults, fmt.Sprintf("pod %s waits and was told nothing", pod.name()))
		}
	}
	return fmt.Sprintf("waiting pods: %d", waiting), faults
}
