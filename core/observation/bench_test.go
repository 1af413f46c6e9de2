package observation_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clocktesting "k8s.io/utils/clock/testing"

	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/simulator/simtest"
)

// running is a pod as a kubelet and some controllers leave it.
func running() *corev1.Pod {
	since := metav1.NewTime(now.Add(-time.Hour))
	return simtest.Pod("p").Label("app", "web").Label("pod-template-hash", "5f6d7c8b9").OwnedBy("ReplicaSet", "web").Requests("100m", "1Gi").
		Tolerates("node.kubernetes.io/not-ready").Tolerates("node.kubernetes.io/unreachable").Grace(30).With(func(p *corev1.Pod) {
		p.GenerateName = "web-5f6d7c8b9-"
		p.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet", FieldsV1: &metav1.FieldsV1{Raw: make([]byte, 2000)}}}
		p.Spec.ServiceAccountName, p.Spec.DNSPolicy, p.Spec.RestartPolicy = "default", corev1.DNSClusterFirst, corev1.RestartPolicyAlways
		p.Spec.SecurityContext = &corev1.PodSecurityContext{}
		p.Spec.Volumes = []corev1.Volume{{Name: "token", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{}}}}
		p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "token"}}
		p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "MODE", Value: "production"}}
		p.Status.Phase, p.Status.StartTime, p.Status.HostIP, p.Status.PodIP = corev1.PodRunning, &since, "10.0.0.1", "10.1.0.1"
		p.Status.PodIPs = []corev1.PodIP{{IP: "10.1.0.1"}}
		for _, kind := range []corev1.PodConditionType{
			corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled,
		} {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: since})
		}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", Ready: true, State: corev1.ContainerState{
			Running: &corev1.ContainerStateRunning{StartedAt: since},
		}}}
	}).Build()
}

// copies are pods like this one, as if each was decoded, in workloads of so many. change makes them differ in more than names.
func copies(of *corev1.Pod, count, workload int, change func(*corev1.Pod)) []*corev1.Pod {
	pods := make([]*corev1.Pod, 0, count)
	for i := range count {
		pod := of.DeepCopy()
		pod.Name, pod.ResourceVersion = fmt.Sprint("p-", i), fmt.Sprint(i)
		pod.UID = types.UID(fmt.Sprintf("5a2f1c3e-0000-4000-8000-%012d", i))
		pod.OwnerReferences[0].UID = types.UID(fmt.Sprint("w-", i/workload))
		change(pod)
		pods = append(pods, pod)
	}
	return pods
}

// Ingesting a pod may cost 5 µs in all. Left out: decoding, and what the informer does. B-kept/pod is what a pod occupies afterwards, B-whole/pod what
// it would without the transform.
func BenchmarkTransform(b *testing.B) {
	const batch = 10_000
	for _, kind := range []struct {
		name     string
		workload int
		change   func(*corev1.Pod)
	}{
		{"Deployments", 40, func(*corev1.Pod) {}},
		{"StatefulSets", 40, func(pod *corev1.Pod) { pod.Labels[appsv1.StatefulSetPodNameLabel] = pod.Name }},
		{"Jobs", 1, func(pod *corev1.Pod) {
			pod.OwnerReferences[0].Kind, pod.Labels[batchv1.JobNameLabel] = "Job", pod.Name
		}},
	} {
		b.Run(kind.name, func(b *testing.B) {
			pod := running()
			var whole, kept uint64
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				transform := observation.NewTransform()
				before := heap()
				pods := copies(pod, batch, kind.workload, kind.change)
				whole = heap() - before
				b.StartTimer()
				for _, pod := range pods {
					if _, err := transform(pod); err != nil {
						b.Fatal(err)
					}
				}
				b.StopTimer()
				kept = heap() - before
				runtime.KeepAlive(pods)
				runtime.KeepAlive(transform)
				b.StartTimer()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/batch/1e3, "µs/pod")
			b.ReportMetric(float64(whole)/batch, "B-whole/pod")
			b.ReportMetric(float64(kept)/batch, "B-kept/pod")
		})
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC() // what finalizers have let go of
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// One observation of a cluster of so many nodes with thirty pods each, when between observations one node in 25 has sent a heartbeat and a pod in 300
// has changed. Left out: the cloud, and the informers; the stores are written before the timer starts, and so are the events.
func BenchmarkObserve(b *testing.B) {
	for _, nodes := range []int{1250, 5000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			source, err := observation.NewSource(fake.NewClientset(), &cloud{}, clocktesting.NewFakeClock(now), observation.Options{})
			if err != nil {
				b.Fatal(err)
			}
			source.AssumeTold()
			transform := observation.NewTransform()
			nodeStore, podStore := source.Factory().Core().V1().Nodes().Informer().GetStore(), source.Factory().Core().V1().Pods().Informer().GetStore()
			tell := func(objects ...any) {
				for _, object := range objects {
					store := podStore
					if _, ok := object.(*corev1.Node); ok {
						store = nodeStore
					}
					if err := store.Update(object); err != nil {
						b.Fatal(err)
					}
					source.Tell(object)
				}
			}
			var machines []*corev1.Node
			for i := range nodes {
				machines = append(machines, simtest.Node(fmt.Sprintf("n-%05d", i)).Build())
				tell(machines[i])
			}
			pods := copies(running(), 30*nodes, 40, func(*corev1.Pod) {})
			for i, pod := range pods {
				pod.Spec.NodeName = machines[i/30].Name
				tell(transformed(b, transform, pod))
			}
			start := time.Now()
			if _, err := source.Observe(b.Context(), now, nil); err != nil {
				b.Fatal(err)
			}
			first := time.Since(start)
			n := 0
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				for range nodes / 25 {
					n++
					node := *machines[n*7919%nodes]
					node.ResourceVersion = fmt.Sprint("v", n)
					node.Status.Conditions = slices.Clone(node.Status.Conditions)
					tell(&node)
				}
				for range len(pods) / 300 {
					n++
					pod := *pods[n*7919%len(pods)]
					pod.ResourceVersion = fmt.Sprint("v", n)
					tell(&pod)
				}
				b.StartTimer()
				if _, err := source.Observe(b.Context(), now, nil); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(first.Nanoseconds())/1e3/float64(len(pods)), "µs-first/pod")
		})
	}
}
