package equivalence

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/cluster-autoscaler/simulator/podfacts"
)

// maxShapes is how many different pods of one controller are told apart. A controller whose pods all differ would otherwise cost
// a comparison of each with each.
const maxShapes = 10

// Groups splits the pods into groups of equal ones, in the order of their first pods; within a group the order stays. A pod without
// controller or of a DaemonSet is a group of its own, as are those that go beyond what is told apart of one controller.
func Groups(pods []*corev1.Pod) [][]*corev1.Pod {
	var (
		groups [][]*corev1.Pod
		index  Index
		of     = map[Shape]int{}
	)
	for _, pod := range pods {
		shape, ok := index.Shape(pod)
		at, joined := of[shape]
		switch {
		case !ok:
			groups = append(groups, []*corev1.Pod{pod})
		case joined:
			groups[at] = append(groups[at], pod)
		default:
			of[shape] = len(groups)
			groups = append(groups, []*corev1.Pod{pod})
		}
	}
	return groups
}

// Shape is what equal pods have in common. Shapes of one Index can be compared with ==.
type Shape struct {
	controller types.UID
	number     int
}

// Index learns the shapes of the pods that it is shown. The zero value knows none.
type Index struct {
	known map[types.UID][]traits
}

type traits struct {
	labels map[string]string
	spec   corev1.PodSpec
}

// Shape returns the shape of the pod; ok is false if the pod is like no other one: without controller, of a DaemonSet, or one too
// many of its controller's.
func (x *Index) Shape(pod *corev1.Pod) (shape Shape, ok bool) {
	controller := metav1.GetControllerOfNoCopy(pod)
	if controller == nil || podfacts.IsDaemonSet(pod) {
		return Shape{}, false
	}
	known := x.known[controller.UID]
	this := traits{labels: pod.Labels, spec: withoutIdentity(&pod.Spec)}
	for i := range known {
		if maps.Equal(known[i].labels, this.labels) && apiequality.Semantic.DeepEqual(known[i].spec, this.spec) {
			return Shape{controller: controller.UID, number: i}, true
		}
	}
	if len(known) == maxShapes {
		return Shape{}, false
	}
	if x.known == nil {
		x.known = map[types.UID][]traits{}
	}
	x.known[controller.UID] = append(known, this)
	return Shape{controller: controller.UID, number: len(known)}, true
}

// withoutIdentity is a copy of the spec without what differs between the pods of one controller and means nothing to the scheduler:
// tokens, host names, environment.
func withoutIdentity(spec *corev1.PodSpec) corev1.PodSpec {
	out := *spec
	out.Hostname = ""
	projected := map[string]bool{}
	out.Volumes = nil
	for i := range spec.Volumes {
		if spec.Volumes[i].Projected != nil {
			projected[spec.Volumes[i].Name] = true
			continue
		}
		out.Volumes = append(out.Volumes, spec.Volumes[i])
	}
	out.Containers = plain(spec.Containers, projected)
	out.InitContainers = plain(spec.InitContainers, projected)
	return out
}

func plain(containers []corev1.Container, projected map[string]bool) []corev1.Container {
	out := make([]corev1.Container, len(containers))
	for i := range containers {
		out[i] = containers[i]
		out[i].Env = nil
		out[i].VolumeMounts = nil
		for _, mount := range containers[i].VolumeMounts {
			if !projected[mount.Name] {
				out[i].VolumeMounts = append(out[i].VolumeMounts, mount)
			}
		}
	}
	return out
}
