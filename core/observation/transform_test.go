package observation_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/tools/cache"
	ndf "k8s.io/component-helpers/nodedeclaredfeatures"

	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/podfacts"
	"example.com/cluster-autoscaler/simulator/simtest"
)

func transformed[T any](t testing.TB, transform cache.TransformFunc, object T) T {
	t.Helper()
	out, err := transform(object)
	if err != nil {
		t.Fatal(err)
	}
	typed, ok := out.(T)
	if !ok {
		t.Fatalf("the transform makes a %T of a %T", out, object)
	}
	return typed
}

func TestAPodKeepsWhatIsReadAndLosesTheRest(t *testing.T) {
	amounts := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	always, yes, preempts, group := corev1.ContainerRestartPolicyAlways, true, corev1.PreemptNever, "g"
	kept := simtest.Pod("p").Label("app", "web").OwnedBy("ReplicaSet", "web").Requests("100m", "1Gi").On("n").Priority(5).HostPort(80).
		Tolerates("own").NodeSelector("disk", "ssd").AntiAffinity(corev1.LabelHostname, "app", "web").Spread(corev1.LabelTopologyZone, 1, "app", "web").
		Claim("data").EmptyDir("scratch", "").HostPath("logs").Grace(60).
		Annotation("cluster-autoscaler.kubernetes.io/safe-to-evict", "false").Annotation("kubernetes.io/config.source", "api").
		Annotation("autoscaling.x-k8s.io/consume-provisioning-request", "r").
		With(func(p *corev1.Pod) {
			p.Spec.Overhead, p.Spec.OS = amounts, &corev1.PodOS{Name: corev1.Linux}
			p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group}
			p.Spec.PreemptionPolicy, p.Spec.PriorityClassName, p.Spec.HostUsers = &preempts, "high", &yes
			p.Spec.Resources = &corev1.ResourceRequirements{Requests: amounts}
			p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}}
			p.Spec.InitContainers = []corev1.Container{{Name: "sidecar", RestartPolicy: &always}}
			p.Spec.Containers[0].RestartPolicyRules = []corev1.ContainerRestartRule{{Action: corev1.ContainerRestartRuleActionRestartAllContainers}}
			p.Status.NominatedNodeName = "n"
			p.Status.Resources = &corev1.ResourceRequirements{Requests: amounts}
			p.Status.AllocatedResources = amounts
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", AllocatedResources: amounts, Resources: &corev1.ResourceRequirements{Requests: amounts}}}
			p.Status.Conditions = []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, LastTransitionTime: p.CreationTimestamp},
				{Type: corev1.PodReady, Status: corev1.ConditionTrue},
				{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue},
				{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonInfeasible},
				{Type: corev1.PodResizeInProgress, Status: corev1.ConditionTrue},
			}
		})
	whole := kept.With(func(p *corev1.Pod) {
		p.ManagedFields, p.Finalizers, p.GenerateName = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}, []string{"f"}, "p-"
		p.Annotations["kubectl.kubernetes.io/last-applied-configuration"] = "{}"
		p.Annotations["vendor/checksum"] = "0"
		c := &p.Spec.Containers[0]
		c.Command, c.Args, c.Env = []string{"run"}, []string{"fast"}, []corev1.EnvVar{{Name: "A", Value: "b"}}
		c.LivenessProbe, c.SecurityContext, c.Lifecycle = &corev1.Probe{}, &corev1.SecurityContext{Privileged: &yes}, &corev1.Lifecycle{}
		c.VolumeMounts = []corev1.VolumeMount{{Name: "token", MountPath: "/token"}}
		for _, source := range []corev1.VolumeSource{
			{Projected: &corev1.ProjectedVolumeSource{}}, {ConfigMap: &corev1.ConfigMapVolumeSource{}}, {Secret: &corev1.SecretVolumeSource{}},
			{DownwardAPI: &corev1.DownwardAPIVolumeSource{}},
		} {
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "token", VolumeSource: source})
		}
		p.Spec.EphemeralContainers = []corev1.EphemeralContainer{{}}
		p.Spec.HostAliases, p.Spec.DNSConfig = []corev1.HostAlias{{}}, &corev1.PodDNSConfig{}
		p.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "pull"}}
		p.Spec.ServiceAccountName, p.Spec.DeprecatedServiceAccount, p.Spec.DNSPolicy = "default", "default", corev1.DNSClusterFirst
		p.Spec.SecurityContext, p.Spec.AutomountServiceAccountToken, p.Spec.EnableServiceLinks = &corev1.PodSecurityContext{}, &yes, &yes
		p.Spec.Hostname, p.Spec.Subdomain = "p", "web"
		p.Status.QOSClass, p.Status.Message, p.Status.Reason = corev1.PodQOSBurstable, "text", "text"
		p.Status.PodIP, p.Status.HostIP, p.Status.StartTime = "10.0.0.1", "10.0.0.2", &p.CreationTimestamp
		p.Status.PodIPs, p.Status.HostIPs = []corev1.PodIP{{IP: "10.0.0.1"}}, []corev1.HostIP{{IP: "10.0.0.2"}}
		p.Status.ContainerStatuses[0].Image, p.Status.ContainerStatuses[0].ContainerID = "example/main", "id"
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "sidecar", Ready: true}}
		p.Status.EphemeralContainerStatuses = []corev1.ContainerStatus{{Name: "debug"}}
		p.Status.Conditions[0].Message = "0/3 nodes are available"
		p.Status.Conditions[1].LastTransitionTime, p.Status.Conditions[1].LastProbeTime = p.CreationTimestamp, p.CreationTimestamp
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.ContainersReady}, corev1.PodCondition{Type: "vendor/gate"})
	})
	if diff := cmp.Diff(kept.Build(), transformed(t, observation.NewTransform(), whole.Build())); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestOtherObjectsLoseWhatIsNeverRead(t *testing.T) {
	node := simtest.Node("n").Annotation("cluster-autoscaler.kubernetes.io/scale-down-disabled", "true")
	full := node.With(func(n *corev1.Node) {
		n.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}
		n.Annotations[corev1.LastAppliedConfigAnnotation] = "{}"
		n.Status.Images = []corev1.ContainerImage{{SizeBytes: 1}}
		n.Status.VolumesInUse, n.Status.VolumesAttached = []corev1.UniqueVolumeName{"v"}, []corev1.AttachedVolume{{Name: "v"}}
	})
	if diff := cmp.Diff(node.Build(), transformed(t, observation.NewTransform(), full.Build())); diff != "" {
		t.Errorf("a node (-want +got):\n%s", diff)
	}
	set := func(env []corev1.EnvVar) *appsv1.DaemonSet {
		set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "agent"}}
		set.Spec.Template.Spec = simtest.Pod("p").Requests("1", "1Gi").HostPath("logs").Build().Spec
		set.Spec.Template.Spec.Containers[0].Env = env
		return set
	}
	if diff := cmp.Diff(set(nil), transformed(t, observation.NewTransform(), set([]corev1.EnvVar{{Name: "A"}}))); diff != "" {
		t.Errorf("a DaemonSet (-want +got):\n%s", diff)
	}
	tombstone := cache.DeletedFinalStateUnknown{Key: "default/p", Obj: simtest.Pod("p").Build()}
	if got := transformed(t, observation.NewTransform(), tombstone); got.Key != tombstone.Key || got.Obj != tombstone.Obj {
		t.Error("a tombstone is changed")
	}
}

// randomPod has some of everything that scheduling may look at, and some of everything else.
func randomPod(r *rand.Rand, name string) *corev1.Pod {
	b := simtest.Pod(name).Label("app", fmt.Sprint(r.IntN(3))).OwnedBy("ReplicaSet", fmt.Sprint(r.IntN(4)))
	maybe := func(add func(simtest.PodBuilder) simtest.PodBuilder) {
		if r.IntN(3) == 0 {
			b = add(b)
		}
	}
	quantity := func() string { return fmt.Sprintf("%dm", 100*(1+r.IntN(30))) }
	list := func() corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(quantity()), corev1.ResourceMemory: resource.MustParse(fmt.Sprint(1+r.IntN(9), "Gi"))}
	}
	app := fmt.Sprint(r.IntN(3))
	maybe(func(b simtest.PodBuilder) simtest.PodBuilder {
		return b.Requests(quantity(), fmt.Sprint(1+r.IntN(9), "Gi"))
	})
	maybe(func(b simtest.PodBuilder) simtest.PodBuilder { return b.HostPort(int32(80 + r.IntN(2))) })
	maybe(func(b simtest.PodBuilder) simtest.PodBuilder {
		return b.NodeSelector("disk", []string{"ssd", "hdd"}[r.IntN(2)])
	})
	maybe(func(b simtest.PodBuilder) simtest.PodBuilder { return b.Tolerates("own") })
	maybe(func(b simtest.PodBuilder) simtest.PodBuilder { return b.AntiAffinity(corev1.LabelHostname, "app", app) })
	maybe(func(b simtest.PodBuilder) simtest.PodBuilder { return b.Affinity(corev1.LabelTopologyZone, "app", app) })
	maybe(func(b simtest.PodBuilder) simtest.PodBuilder {
		return b.Spread(corev1.LabelTopologyZone, 1, "app", app)
	})
	maybe(func(b simtest.PodBuilder) simtest.PodBuilder { return b.Claim("lost") })
	maybe(func(b simtest.PodBuilder) simtest.PodBuilder { return b.EmptyDir("scratch", "") })
	maybe(func(b simtest.PodBuilder) simtest.PodBuilder {
		return b.With(func(p *corev1.Pod) {
			always := corev1.ContainerRestartPolicyAlways
			init := corev1.Container{Name: "init", Resources: corev1.ResourceRequirements{Requests: list()}}
			if r.IntN(2) == 0 {
				init.RestartPolicy = &always
			}
			p.Spec.InitContainers = append(p.Spec.InitContainers, init)
		})
	})
	maybe(func(b simtest.PodBuilder) simtest.PodBuilder {
		return b.With(func(p *corev1.Pod) { p.Spec.Overhead = list() })
	})
	maybe(func(b simtest.PodBuilder) simtest.PodBuilder {
		return b.With(func(p *corev1.Pod) { p.Spec.Resources = &corev1.ResourceRequirements{Requests: list()} })
	})
	maybe(func(b simtest.PodBuilder) simtest.PodBuilder {
		return b.With(func(p *corev1.Pod) {
			p.Status.Resources, p.Status.AllocatedResources = &corev1.ResourceRequirements{Requests: list()}, list()
		})
	})
	maybe(func(b simtest.PodBuilder) simtest.PodBuilder {
		return b.With(func(p *corev1.Pod) { resized(r, p, list) })
	})
	maybe(func(b simtest.PodBuilder) simtest.PodBuilder {
		return b.With(func(p *corev1.Pod) {
			p.Spec.Containers[0].RestartPolicyRules = []corev1.ContainerRestartRule{{Action: corev1.ContainerRestartRuleActionRestartAllContainers}}
		})
	})
	maybe(func(b simtest.PodBuilder) simtest.PodBuilder {
		return b.With(func(p *corev1.Pod) {
			mount := corev1.VolumeMount{Name: "scratch"}
			if r.IntN(2) == 0 {
				mount.BindMountOptions = []string{"noexec"}
			}
			p.Spec.Containers[0].VolumeMounts = append(p.Spec.Containers[0].VolumeMounts, mount)
		})
	})
	maybe(func(b simtest.PodBuilder) simtest.PodBuilder {
		return b.With(func(p *corev1.Pod) {
			no := false
			p.Spec.HostNetwork, p.Spec.HostUsers = true, &no
			p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A"}}
			p.Annotations = map[string]string{"vendor/x": "y"}
		})
	})
	return b.Build()
}

func resized(r *rand.Rand, p *corev1.Pod, list func() corev1.ResourceList) {
	if r.IntN(2) == 0 { // what a kubelet reports of a pod that is not being resized, or is to get more
		for _, c := range p.Spec.Containers {
			has := c.Resources.Requests.DeepCopy()
			if cpu, ok := has[corev1.ResourceCPU]; ok && r.IntN(2) == 0 {
				cpu.Set(0)
				has[corev1.ResourceCPU] = cpu
			}
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{
				Name: c.Name, AllocatedResources: has, Resources: &corev1.ResourceRequirements{Requests: has},
			})
		}
		return
	}
	for _, c := range p.Spec.Containers {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Ready: true, AllocatedResources: list(), Resources: &corev1.ResourceRequirements{Requests: list()},
		})
	}
	reason := []string{corev1.PodReasonInfeasible, corev1.PodReasonDeferred}[r.IntN(2)]
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: reason})
}

// Whatever the scheduler may look at, it sees the same in the trimmed pod, as one that runs and as one that waits.
func TestATrimmedPodSchedulesLikeTheOriginal(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	scheduler := simtest.Scheduler(t)
	transform := observation.NewTransform()
	nodes := []*corev1.Node{
		simtest.Node("a").Zone("z1").Label("disk", "ssd").CPU("8").Build(),
		simtest.Node("b").Zone("z2").Label("disk", "hdd").CPU("4").Taint("own", "", corev1.TaintEffectNoSchedule).Build(),
	}
	var whole, trimmed []*corev1.Pod
	rejections := map[simulator.FilterCode]int{}
	for i := range 400 {
		pod := randomPod(r, fmt.Sprint("p", i))
		whole, trimmed = append(whole, pod), append(trimmed, transformed(t, transform, pod.DeepCopy()))
		if diff := cmp.Diff(podfacts.Requests(whole[i]), podfacts.Requests(trimmed[i])); diff != "" {
			t.Fatalf("pod %d: requests (-original +trimmed):\n%s", i, diff)
		}
		if podfacts.HasResourceClaims(whole[i]) != podfacts.HasResourceClaims(trimmed[i]) || podfacts.IsDaemonSet(whole[i]) != podfacts.IsDaemonSet(trimmed[i]) {
			t.Fatalf("pod %d: other facts differ", i)
		}
		before, after := demands(t, whole[i]), demands(t, trimmed[i])
		if !before.Equal(after) {
			t.Fatalf("pod %d: the features that a node has to declare differ", i)
		}
	}
	for i := 0; i < len(whole); i += 4 { // three pods run, the fourth looks for a place
		snapshots := [2]*simulator.Snapshot{}
		for side, pods := range [][]*corev1.Pod{whole, trimmed} {
			snapshots[side] = simtest.Snapshot(t, nodes, nil)
			for k := range 3 {
				if err := snapshots[side].AddPod(pods[i+k], nodes[k%2].Name); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, node := range nodes {
			want, err := scheduler.Check(t.Context(), snapshots[0], whole[i+3], node.Name)
			if err != nil {
				t.Fatal(err)
			}
			got, err := scheduler.Check(t.Context(), snapshots[1], trimmed[i+3], node.Name)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("pod %d on node %s (-original +trimmed):\n%s", i+3, node.Name, diff)
			}
			if want != nil {
				rejections[want.Filter]++
			}
		}
	}
	if len(rejections) < 6 {
		t.Errorf("the pods are refused for %v only, too few to prove anything", rejections)
	}
}

func demands(t *testing.T, pod *corev1.Pod) ndf.FeatureSet {
	t.Helper()
	set, err := ndf.DefaultFramework.InferForPodScheduling(&ndf.PodInfo{Spec: &pod.Spec, Status: &pod.Status}, version.MustParseGeneric("1.37"))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestEqualPartsOfPodsShareMemory(t *testing.T) {
	transform := observation.NewTransform()
	build := func(name, token string, change func(*corev1.Pod)) *corev1.Pod {
		pod := simtest.Pod(name).Label("app", "web").OwnedBy("ReplicaSet", "web").Requests("100m", "1Gi").Tolerates("own").NodeSelector("disk", "ssd").
			AntiAffinity(corev1.LabelHostname, "app", "web").Spread(corev1.LabelTopologyZone, 1, "app", "web").EmptyDir("scratch", "").
			Annotation("cluster-autoscaler.kubernetes.io/safe-to-evict", "true").With(func(p *corev1.Pod) {
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: token, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{}}})
			p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: token}}
			p.Spec.Overhead = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
			p.Spec.OS = &corev1.PodOS{Name: corev1.Linux}
			p.Status.Conditions = []corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now.Add(time.Duration(len(name)) * time.Second))},
			}
		}).Build()
		if change != nil {
			change(pod)
		}
		return transformed(t, transform, pod)
	}
	first := build("a", "token-1", nil)
	type parts struct{ Labels, Annotations, Owners, Containers, Tolerations, Selector, Affinity, Spread, Volumes, Overhead, OS, Conditions bool }
	shared := func(pod *corev1.Pod) parts {
		return parts{
			Labels: isSameMap(first.Labels, pod.Labels), Annotations: isSameMap(first.Annotations, pod.Annotations),
			Owners:      unsafe.SliceData(first.OwnerReferences) == unsafe.SliceData(pod.OwnerReferences),
			Containers:  unsafe.SliceData(first.Spec.Containers) == unsafe.SliceData(pod.Spec.Containers),
			Tolerations: unsafe.SliceData(first.Spec.Tolerations) == unsafe.SliceData(pod.Spec.Tolerations),
			Selector:    isSameMap(first.Spec.NodeSelector, pod.Spec.NodeSelector), Affinity: first.Spec.Affinity == pod.Spec.Affinity,
			Spread:   unsafe.SliceData(first.Spec.TopologySpreadConstraints) == unsafe.SliceData(pod.Spec.TopologySpreadConstraints),
			Volumes:  unsafe.SliceData(first.Spec.Volumes) == unsafe.SliceData(pod.Spec.Volumes),
			Overhead: reflect.ValueOf(first.Spec.Overhead).Pointer() == reflect.ValueOf(pod.Spec.Overhead).Pointer(), OS: first.Spec.OS == pod.Spec.OS,
			Conditions: unsafe.SliceData(first.Status.Conditions) == unsafe.SliceData(pod.Status.Conditions),
		}
	}
	all := parts{true, true, true, true, true, true, true, true, true, true, true, true}
	if diff := cmp.Diff(all, shared(build("bb", "token-2", nil))); diff != "" {
		t.Errorf("an equal pod shares (-want +got):\n%s", diff)
	}
	other := build("c", "token-3", func(p *corev1.Pod) {
		no := false
		p.Labels["app"], p.OwnerReferences[0].Controller = "db", &no
		p.Annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"] = "false"
		p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("0.1001")
		p.Spec.Tolerations[0].Effect, p.Spec.NodeSelector["disk"] = corev1.TaintEffectNoExecute, "hdd"
		p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].TopologyKey = "zone"
		p.Spec.TopologySpreadConstraints[0].MaxSkew, p.Spec.Volumes[0].Name = 2, "other"
		p.Spec.Overhead[corev1.ResourceCPU], p.Spec.OS.Name = resource.MustParse("2"), corev1.Windows
		p.Status.Conditions[0].Status = corev1.ConditionFalse
	})
	if diff := cmp.Diff(parts{}, shared(other)); diff != "" {
		t.Errorf("a pod that differs in everything shares (-want +got):\n%s", diff)
	}
	if other.Labels["app"] != "db" || first.Labels["app"] != "web" {
		t.Error("sharing has changed a pod")
	}
}

func isSameMap(a, b map[string]string) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}

// The pods of a workload need not come one after the other, nor need those that have parts in common belong to one.
func TestPodsShareMemoryWhateverComesBetween(t *testing.T) {
	transform := observation.NewTransform()
	build := func(name, owner, app string) *corev1.Pod {
		return transformed(t, transform, simtest.Pod(name).Label("app", app).OwnedBy("ReplicaSet", owner).Requests("100m", "").Tolerates("own").
			AntiAffinity(corev1.LabelHostname, "app", app).Build())
	}
	first, other := build("a", "web", "web"), build("b", "db", "db")
	again := build("c", "web", "web")
	if first.Spec.Affinity != again.Spec.Affinity || !isSameMap(first.Labels, again.Labels) {
		t.Error("a pod of another workload in between, and nothing is shared")
	}
	if unsafe.SliceData(first.Spec.Containers) != unsafe.SliceData(other.Spec.Containers) ||
		unsafe.SliceData(first.Spec.Tolerations) != unsafe.SliceData(other.Spec.Tolerations) {
		t.Error("pods of two workloads that have parts in common do not share them")
	}
	if first.Spec.Affinity == other.Spec.Affinity || isSameMap(first.Labels, other.Labels) {
		t.Error("pods share what differs")
	}
}

func TestContainersThatDifferInOneFieldAreNotShared(t *testing.T) {
	never := corev1.ContainerRestartPolicyNever
	changes := map[string]func(*corev1.Container){
		"name":         func(c *corev1.Container) { c.Name = "x" },
		"image":        func(c *corev1.Container) { c.Image = "x" },
		"requests":     func(c *corev1.Container) { c.Resources.Requests = corev1.ResourceList{"x": resource.MustParse("1")} },
		"limits":       func(c *corev1.Container) { c.Resources.Limits = corev1.ResourceList{"x": resource.MustParse("1")} },
		"claims":       func(c *corev1.Container) { c.Resources.Claims = []corev1.ResourceClaim{{Name: "x"}} },
		"ports":        func(c *corev1.Container) { c.Ports = []corev1.ContainerPort{{HostPort: 1}} },
		"resizePolicy": func(c *corev1.Container) { c.ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: "cpu"}} },
		"restart":      func(c *corev1.Container) { c.RestartPolicy = &never },
		"rules":        func(c *corev1.Container) { c.RestartPolicyRules = []corev1.ContainerRestartRule{{Action: "x"}} },
		"mounts": func(c *corev1.Container) {
			c.VolumeMounts = []corev1.VolumeMount{{Name: "x", BindMountOptions: []string{"noexec"}}}
		},
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			transform := observation.NewTransform()
			transformed(t, transform, simtest.Pod("a").Requests("1", "1Gi").Build())
			changed := simtest.Pod("b").Requests("1", "1Gi").With(func(p *corev1.Pod) { change(&p.Spec.Containers[0]) })
			if diff := cmp.Diff(changed.Build().Spec, transformed(t, transform, changed.Build()).Spec); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestWhatContainersHaveIsKeptOnlyIfItIsMoreThanTheyAskFor(t *testing.T) {
	amounts := func(cpu string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	}
	tests := map[string]struct {
		status  corev1.ContainerStatus
		pending bool
		kept    bool
	}{
		"as much":                           {status: corev1.ContainerStatus{Name: "main", AllocatedResources: amounts("1"), Resources: &corev1.ResourceRequirements{Requests: amounts("1")}}},
		"less, until there is room":         {status: corev1.ContainerStatus{Name: "main", AllocatedResources: amounts("0.5")}},
		"as much, but a resize is pending":  {status: corev1.ContainerStatus{Name: "main", AllocatedResources: amounts("1")}, pending: true, kept: true},
		"more is allocated":                 {status: corev1.ContainerStatus{Name: "main", AllocatedResources: amounts("2")}, kept: true},
		"more is used":                      {status: corev1.ContainerStatus{Name: "main", Resources: &corev1.ResourceRequirements{Requests: amounts("2")}}, kept: true},
		"a container that does not exist":   {status: corev1.ContainerStatus{Name: "other", AllocatedResources: amounts("1")}, kept: true},
		"a resource that nobody asked for":  {status: corev1.ContainerStatus{Name: "main", AllocatedResources: corev1.ResourceList{"x": resource.MustParse("1")}}, kept: true},
		"nothing is known of what it has":   {status: corev1.ContainerStatus{Name: "main", Ready: true}},
		"nothing known, and one is pending": {status: corev1.ContainerStatus{Name: "main", Ready: true}, pending: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			pod := simtest.Pod("p").Requests("1", "").With(func(p *corev1.Pod) {
				p.Status.ContainerStatuses = []corev1.ContainerStatus{test.status}
				if test.pending {
					p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonInfeasible}}
				}
			}).Build()
			before := podfacts.Requests(pod)
			got := transformed(t, observation.NewTransform(), pod)
			if kept := len(got.Status.ContainerStatuses) > 0; kept != test.kept {
				t.Errorf("kept is %t, want %t", kept, test.kept)
			}
			if diff := cmp.Diff(before, podfacts.Requests(got)); diff != "" {
				t.Errorf("what the pod takes (-before +after):\n%s", diff)
			}
		})
	}
}
