package pendingpods

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/processors/nodeinfos"
	"example.com/cluster-autoscaler/simulator/podfacts"
)

// UpcomingAnnotation marks nodes of the snapshot that are on their way.
const UpcomingAnnotation = "cluster-autoscaler.k8s.io/upcoming-node"

// injectUpcoming puts a placeholder into the snapshot for every node that is on its way, in the place of those that are registered and not
// started, with the pods that are bound to those: the scheduler minds the taint of a node that is not ready for a few seconds less than readiness
// does, and a placeholder without them would have the same room for pods that come next. A group without template is left as it is; the state of
// the group says why nothing is known of it.
func injectUpcoming(_ context.Context, in In, b batch) (batch, error) {
	for _, upcoming := range in.Upcoming {
		template := in.Templates[upcoming.Group]
		if upcoming.Count <= 0 || len(template.Variants) == 0 {
			continue
		}
		known := upcoming.Machines
		var places []nodeinfos.Place
		var bound [][]*corev1.Pod // of the places
		for _, name := range upcoming.NotStarted {
			node, ok := in.Snapshot.Node(name)
			if !ok {
				continue
			}
			places, bound = append(places, nodeinfos.PlaceOf(node)), append(bound, ownPods(in.Snapshot.Pods(name)))
			if err := in.Snapshot.RemoveNode(name); err != nil {
				b.errs = append(b.errs, fmt.Errorf("replacing the not started node %s of group %s: %w", name, upcoming.Group, err))
				continue
			}
			b.notStarted = append(b.notStarted, name)
		}
		b = addPlaceholders(in, b, upcoming, append(places, known...), bound)
	}
	return b, nil
}

// ownPods are the pods that a template does not hold anyway.
func ownPods(pods []*corev1.Pod) []*corev1.Pod {
	var own []*corev1.Pod
	for _, pod := range pods {
		if !podfacts.IsDaemonSet(pod) && !podfacts.IsMirror(pod) {
			own = append(own, pod)
		}
	}
	return own
}

// addPlaceholders takes the variant of each machine that is known, and the variants in turn for the others. bound are the pods of the first places.
func addPlaceholders(in In, b batch, upcoming Upcoming, places []nodeinfos.Place, bound [][]*corev1.Pod) batch {
	template := in.Templates[upcoming.Group]
	fresh := nodeinfos.Smallest(template.Variants)
	turn := 0
	for i := range upcoming.Count {
		node := fresh[turn%len(fresh)]
		at, matched := 0, false
		if i < len(places) {
			at, matched = template.Match(places[i])
		}
		if matched {
			node = template.Variants[at].NodeTemplate
		} else {
			turn++
		}
		placeholder := node.Copy(fmt.Sprintf("upcoming-%d", i))
		placeholder.Node.Annotations = marked(placeholder.Node.Annotations)
		if i < len(bound) {
			placeholder.Pods = append(placeholder.Pods, bound[i]...)
		}
		if err := in.Snapshot.AddNode(placeholder); err != nil {
			b.errs = append(b.errs, fmt.Errorf("injecting an upcoming node of group %s: %w", upcoming.Group, err))
			continue
		}
		b.placeholders[placeholder.Node.Name] = upcoming.Group
	}
	return b
}

func marked(annotations map[string]string) map[string]string {
	out := maps.Clone(annotations)
	if out == nil {
		out = map[string]string{}
	}
	out[UpcomingAnnotation] = "true"
	return out
}
