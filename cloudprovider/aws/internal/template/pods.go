package template

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// nodeCritical is the value of the priority class system-node-critical.
const nodeCritical int32 = 2000001000

// pods is what a fresh node runs from the start: kube-proxy, except on Windows.
func pods(node *corev1.Node, sys system) []*corev1.Pod {
	if sys.windows {
		return nil
	}
	priority := nodeCritical
	return []*corev1.Pod{{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceSystem, Name: "kube-proxy-" + node.Name,
			Labels: map[string]string{"component": "kube-proxy", "tier": "node"},
			Annotations: map[string]string{ // a static pod, which goes with its node
				"kubernetes.io/config.source": "file",
				"kubernetes.io/config.mirror": "kube-proxy",
			},
		},
		Spec: corev1.PodSpec{
			NodeName: node.Name, Priority: &priority, PriorityClassName: "system-node-critical",
			Containers: []corev1.Container{{
				Name: "kube-proxy",
				Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(100, resource.DecimalSI)},
				},
			}},
		},
	}}
}
