package scenario

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/scenario/document"
)

// happening is one time at which an entry of the timeline happens.
type happening struct {
	at    time.Duration
	entry *document.Entry
}

// happenings unrolls the timeline up to the end of the play, by time and then in the order of the document.
func happenings(timeline []document.Entry, duration time.Duration) []happening {
	var all []happening
	for i := range timeline {
		entry := &timeline[i]
		until := duration
		if entry.Every <= 0 {
			until = min(until, entry.At)
		} else if entry.Until >= 0 {
			until = min(until, entry.Until)
		}
		for at := entry.At; at <= until; at += max(entry.Every, time.Nanosecond) {
			all = append(all, happening{at: ceil(at), entry: entry})
			if entry.Every <= 0 {
				break
			}
		}
	}
	slices.SortStableFunc(all, func(a, b happening) int { return int(a.at - b.at) })
	return all
}

// happen carries out the actions of an entry, in the order of its fields.
func (w *world) happen(ctx context.Context, entry *document.Entry) error {
	w.stirred = true
	if entry.Apply != nil {
		if err := w.apply(entry.Apply); err != nil {
			return err
		}
	}
	for _, reference := range entry.Delete {
		if err := w.delete(reference); err != nil {
			return err
		}
	}
	if s := entry.Scale; s != nil && s.Count != nil {
		if err := w.scale(s.Kind, s.Namespace, s.Name, *s.Count); err != nil {
			return err
		}
	}
	if entry.Cloud != nil {
		if err := w.changeCloud(*entry.Cloud); err != nil {
			return err
		}
	}
	if entry.Nodes != nil {
		if err := w.changeNodes(*entry.Nodes); err != nil {
			return err
		}
	}
	if r := entry.Restart; r != nil {
		return w.kill(ctx, durationOf(r.Downtime), r.Graceful)
	}
	return nil
}

// apply creates or replaces objects.
func (w *world) apply(objects *document.Objects) error {
	groups := make([]*document.NodeGroup, 0, len(w.groups))
	for _, id := range sortedIDs(w.groups) {
		groups = append(groups, w.groups[id])
	}
	finished, err := document.Finish(objects, document.Surroundings{At: w.now(), NodeGroups: groups, PriorityClasses: w.priorityClasses()})
	if err != nil {
		return err
	}
	return w.adopt(finished)
}

// changeNodes lets something happen to nodes. Nodes that do not exist (any more) are left out.
func (w *world) changeNodes(change document.NodesChange) error {
	for _, name := range change.Names {
		if w.nodes.by[name] == nil {
			continue
		}
		if change.Gone != nil && *change.Gone {
			if err := w.lose(name); err != nil {
				return err
			}
			continue
		}
		if change.Ready != nil {
			status, reason := corev1.ConditionFalse, "KubeletNotReady"
			if *change.Ready {
				status, reason = corev1.ConditionTrue, "KubeletReady"
			}
			if err := w.setReady(name, status, reason); err != nil {
				return err
			}
		}
		if change.Cordoned != nil {
			err := w.changeNode(name, func(node *corev1.Node) { node.Spec.Unschedulable = *change.Cordoned })
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// delete takes an object away, and with an owner its pods.
func (w *world) delete(reference document.Reference) error {
	key := reference.Name
	if reference.Namespace != "" {
		key = reference.Namespace + "/" + reference.Name
	}
	switch reference.Kind {
	case document.KindNodeGroup:
		w.interfered()
		delete(w.groups, cloudprovider.GroupID(reference.Name))
		return w.cloud.RemoveGroup(cloudprovider.GroupID(reference.Name))
	case kindNode:
		return w.removeNode(reference.Name)
	case kindPod:
		if pod := w.pods.by[key]; pod != nil {
			return w.deletePod(pod, graceOf(pod))
		}
		return nil
	case kindPDB:
		return w.budgets.drop(key)
	case kindDaemonSet:
		return w.deleteDaemonSet(key)
	case kindDeployment:
		return w.deleteDeployment(key)
	case document.KindPods, kindReplicaSet, kindStatefulSet, kindJob, kindRC:
		return w.dismiss(workloadKey(reference.Kind, reference.Namespace, reference.Name))
	}
	table := w.others[reference.Kind]
	if table == nil {
		return fmt.Errorf("deleting %s %s: nothing is known of this kind", reference.Kind, key)
	}
	return table.drop(key)
}

// dismiss takes a workload away with its owner and its pods.
func (w *world) dismiss(key string) error {
	hired := w.workloads[key]
	if hired == nil {
		return nil
	}
	for known, other := range w.workloads { // in any order: the same are deleted
		if other == hired {
			delete(w.workloads, known)
		}
	}
	if hired.loose {
		for _, name := range hired.made {
			if pod := w.pods.by[name]; pod != nil {
				if err := w.deletePod(pod, graceOf(pod)); err != nil {
					return err
				}
			}
		}
		if hired.kind == kindDaemonSet {
			return w.deleteDaemonSet(hired.namespace + "/" + hired.name)
		}
		return nil
	}
	delete(w.ownerOf, hired.uid)
	if err := w.others[hired.kind].drop(hired.namespace + "/" + hired.name); err != nil {
		return err
	}
	return w.deletePodsOf(byKey(w.pods.ofOwner[hired.uid]))
}

func (w *world) deletePodsOf(pods []*corev1.Pod) error {
	for _, pod := range pods {
		if err := w.deletePod(pod, graceOf(pod)); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) deleteDaemonSet(key string) error {
	set := w.sets.by[key]
	if set == nil {
		return nil
	}
	if err := w.sets.drop(key); err != nil {
		return err
	}
	return w.deletePodsOf(byKey(w.pods.ofOwner[set.UID]))
}

func (w *world) deleteDeployment(key string) error {
	deployment, ok := w.others[kindDeployment].by[key].(*appsv1.Deployment)
	if !ok {
		return nil
	}
	for _, set := range slices.Clone(w.others[kindReplicaSet].all()) {
		if owner := metav1.GetControllerOfNoCopy(set); owner != nil && owner.UID == deployment.UID {
			if err := w.dismiss(workloadKey(kindReplicaSet, set.GetNamespace(), set.GetName())); err != nil {
				return err
			}
		}
	}
	return w.others[kindDeployment].drop(key)
}
