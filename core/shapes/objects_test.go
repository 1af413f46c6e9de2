package shapes_test

import (
	"fmt"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/simulated"
	"example.com/cluster-autoscaler/simulator/simtest"
)

// capacity is what every node offers: in milli-CPU, and as many bytes of memory.
const capacity = 10_000

// maxPods is how many pods a node takes, unless the shape wants it to hold more.
const maxPods = 110

// group has machines of the usual capacity that take at least so many pods.
func group(id cloudprovider.GroupID, target, pods int) simulated.Group {
	node := simtest.Node("t").CPU("10").Memory(strconv.Itoa(capacity)).MaxPods(strconv.Itoa(max(maxPods, pods)))
	return groupOf(id, target, node)
}

func groupOf(id cloudprovider.GroupID, target int, node simtest.NodeBuilder) simulated.Group {
	return simulated.Group{
		ID: id, Max: max(10_000, 4*target), Target: target,
		Templates:   []cloudprovider.TemplateVariant{{Key: "only", Node: node.Label("group", string(id)).Build()}},
		AppearDelay: 10 * time.Second, LaunchDelay: 30 * time.Second, RegisterDelay: 30 * time.Second, DeleteDelay: 20 * time.Second,
		NodeName: func(n int) string { return fmt.Sprintf("%s-%05d", id, n) }, // sorts by number
	}
}

// asking is a pod as the API server would hand it over that asks for so many milli-CPU and bytes: it has the parts that an admission
// controller, a kubelet, and a field manager add, which the transform has to look through.
func asking(milliCPU, bytes int64) simtest.PodBuilder {
	return simtest.Pod("p").With(func(pod *corev1.Pod) {
		pod.CreationTimestamp = metav1.NewTime(epoch.Add(-time.Minute))
		pod.ManagedFields = []metav1.ManagedFieldsEntry{{
			Manager: "kube-controller-manager", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", FieldsType: "FieldsV1",
			FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:metadata":{"f:labels":{}},"f:spec":{"f:containers":{},"f:tolerations":{}}}`)},
		}}
		seconds := int64(300)
		pod.Spec.Tolerations = []corev1.Toleration{
			{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds},
			{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds},
		}
		pod.Spec.ServiceAccountName = "default"
		pod.Spec.Volumes = []corev1.Volume{{Name: "token", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}}},
		}}}}
		container := &pod.Spec.Containers[0]
		container.VolumeMounts = []corev1.VolumeMount{{Name: "token", ReadOnly: true, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"}}
		container.Env = []corev1.EnvVar{{Name: "MODE", Value: "production"}}
		container.Resources.Requests = corev1.ResourceList{
			corev1.ResourceCPU:    *resource.NewMilliQuantity(milliCPU, resource.DecimalSI),
			corev1.ResourceMemory: *resource.NewQuantity(bytes, resource.DecimalSI),
		}
	})
}

// share asks for one in so many parts of a node.
func share(of int) simtest.PodBuilder { return asking(capacity/int64(of), capacity/int64(of)) }

// owned is a pod of the ReplicaSet named app, with the labels that its Deployment gives it.
func owned(b simtest.PodBuilder, app string) simtest.PodBuilder {
	return b.Label("app", app).Label(appsv1.DefaultDeploymentUniqueLabelKey, "5f6d7c8b9").OwnedBy("ReplicaSet", app)
}

// replicaSet is what owned pods refer to.
func replicaSet(app string) *appsv1.ReplicaSet {
	replicas := int32(2)
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: app, UID: types.UID("ReplicaSet-" + app)},
		Spec:       appsv1.ReplicaSetSpec{Replicas: &replicas},
	}
}

// prototype is what pods are copied from.
type prototype struct{ pod *corev1.Pod }

// waiting pods were found to fit nowhere.
func waiting(b simtest.PodBuilder) prototype {
	return prototype{b.Unschedulable(epoch.Add(-time.Minute)).Build()}
}

// running pods have what a kubelet reports.
func running(b simtest.PodBuilder) prototype {
	since := metav1.NewTime(epoch.Add(-time.Hour))
	return prototype{b.CreatedAt(since.Time).With(func(pod *corev1.Pod) {
		pod.Status.Phase, pod.Status.StartTime, pod.Status.HostIP, pod.Status.PodIP = corev1.PodRunning, &since, "10.0.0.1", "10.1.0.1"
		pod.Status.HostIPs, pod.Status.PodIPs = []corev1.HostIP{{IP: "10.0.0.1"}}, []corev1.PodIP{{IP: "10.1.0.1"}}
		for _, kind := range []corev1.PodConditionType{
			corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled,
		} {
			pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: since})
		}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "main", Ready: true, Image: "example/main", ImageID: "example/main@sha256:0123456789abcdef", ContainerID: "containerd://0123456789abcdef",
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: since}},
		}}
	}).Build()}
}

// make is another pod like the prototype; node empty: it has none. It shares nothing with others, like an object that was decoded.
func (p prototype) make(name, node string) *corev1.Pod {
	pod := p.pod.DeepCopy()
	pod.Name, pod.UID, pod.ResourceVersion, pod.Spec.NodeName = name, types.UID("pod-"+name), "1", node
	return pod
}

// many are n waiting pods named prefix-00000 and so on.
func (p prototype) many(prefix string, n int) []*corev1.Pod {
	pods := make([]*corev1.Pod, 0, n)
	for i := range n {
		pods = append(pods, p.make(fmt.Sprintf("%s-%05d", prefix, i), ""))
	}
	return pods
}
