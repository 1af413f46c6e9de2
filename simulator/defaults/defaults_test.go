package defaults_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"example.com/cluster-autoscaler/simulator/defaults"
)

// object reads an object of the given type.
func object(t *testing.T, into runtime.Object, text string) runtime.Object {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
		t.Fatal(err)
	}
	return into
}

const tolerations = `tolerations: [{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 300},
  {key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 300}]`

const basics = "restartPolicy: Always, terminationGracePeriodSeconds: 30, schedulerName: default-scheduler"

func TestObjectsSayWhatAnAPIServerTakesThemToMean(t *testing.T) {
	for name, test := range map[string]struct {
		create    func() runtime.Object
		have      string
		want      string
		unchanged bool
	}{
		"an empty pod": {
			create: func() runtime.Object { return &corev1.Pod{} }, have: "{}",
			want: "{spec: {" + basics + ", containers: null, " + tolerations + "}, status: {phase: Pending}}",
		},
		"a pod that says everything": {
			create: func() runtime.Object { return &corev1.Pod{} }, unchanged: true,
			have: `{spec: {restartPolicy: Never, terminationGracePeriodSeconds: 5, schedulerName: mine, tolerations: [{operator: Exists}],
  containers: [{name: c, ports: [{containerPort: 80, hostPort: 81, protocol: UDP}], resources: {requests: {cpu: 1}, limits: {cpu: 2}}}],
  volumes: [{name: v, hostPath: {path: /}}]}, status: {phase: Running}}`,
		},
		"limits without requests, in all containers": {
			create: func() runtime.Object { return &corev1.Pod{} },
			have: `{spec: {tolerations: [{operator: Exists}], initContainers: [{name: i, resources: {limits: {cpu: 3}}}],
  containers: [{name: c, resources: {limits: {cpu: 2, memory: 1Gi}, requests: {cpu: 1}}}]}}`,
			want: `{spec: {` + basics + `, tolerations: [{operator: Exists}], initContainers: [{name: i, resources: {limits: {cpu: 3}, requests: {cpu: 3}}}],
  containers: [{name: c, resources: {limits: {cpu: 2, memory: 1Gi}, requests: {cpu: 1, memory: 1Gi}}}]}, status: {phase: Pending}}`,
		},
		"limits of the pod as a whole": {
			create: func() runtime.Object { return &corev1.Pod{} },
			have:   `{spec: {tolerations: [{operator: Exists}], resources: {limits: {cpu: 4, memory: 4Gi}}, containers: [{name: c, resources: {requests: {cpu: 1}}}]}}`,
			want: `{spec: {` + basics + `, tolerations: [{operator: Exists}], resources: {limits: {cpu: 4, memory: 4Gi}, requests: {cpu: 1, memory: 4Gi}},
  containers: [{name: c, resources: {requests: {cpu: 1}}}]}, status: {phase: Pending}}`,
		},
		"ports on the network of the node": {
			create: func() runtime.Object { return &corev1.Pod{} },
			have:   `{spec: {tolerations: [{operator: Exists}], hostNetwork: true, containers: [{name: c, ports: [{containerPort: 80}, {containerPort: 81, hostPort: 82}]}]}}`,
			want: `{spec: {` + basics + `, tolerations: [{operator: Exists}], hostNetwork: true, containers: [{name: c,
  ports: [{containerPort: 80, hostPort: 80, protocol: TCP}, {containerPort: 81, hostPort: 82, protocol: TCP}]}]}, status: {phase: Pending}}`,
		},
		"tolerations that say it for one taint only": {
			create: func() runtime.Object { return &corev1.Pod{} },
			have:   `{spec: {tolerations: [{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 5}, {key: node.kubernetes.io/unreachable, effect: NoSchedule}], containers: []}}`,
			want: `{spec: {` + basics + `, containers: [], tolerations: [{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 5},
  {key: node.kubernetes.io/unreachable, effect: NoSchedule}, {key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 300}]}, status: {phase: Pending}}`,
		},
		"volumes that don't say what they are, quantities that are too fine, and time that is none": {
			create: func() runtime.Object { return &corev1.Pod{} },
			have: `{spec: {tolerations: [{operator: Exists}], terminationGracePeriodSeconds: -1, overhead: {cpu: 100u}, containers: [{name: c, resources: {requests: {cpu: 1500u}}}],
  volumes: [{name: v}, {name: w, ephemeral: {volumeClaimTemplate: {spec: {}}}}]}}`,
			want: `{spec: {restartPolicy: Always, schedulerName: default-scheduler, tolerations: [{operator: Exists}], terminationGracePeriodSeconds: 1, overhead: {cpu: 1m},
  containers: [{name: c, resources: {requests: {cpu: 2m}}}], volumes: [{name: v, emptyDir: {}}, {name: w, ephemeral: {volumeClaimTemplate: {spec: {volumeMode: Filesystem}}}}]}, status: {phase: Pending}}`,
		},
		"a node without allocatable": {
			create: func() runtime.Object { return &corev1.Node{} }, have: "{status: {capacity: {cpu: 4, memory: 1Gi}}}",
			want: "{status: {capacity: {cpu: 4, memory: 1Gi}, allocatable: {cpu: 4, memory: 1Gi}}}",
		},
		"a node with allocatable": {create: func() runtime.Object { return &corev1.Node{} }, have: "{status: {capacity: {cpu: 4}, allocatable: {cpu: 3}}}", unchanged: true},
		"a namespace": {
			create: func() runtime.Object { return &corev1.Namespace{} }, have: "{metadata: {name: n}}",
			want: "{metadata: {name: n, labels: {kubernetes.io/metadata.name: n}}, status: {phase: Active}}",
		},
		"a volume": {
			create: func() runtime.Object { return &corev1.PersistentVolume{} }, have: "{}",
			want: "{spec: {persistentVolumeReclaimPolicy: Retain, volumeMode: Filesystem}, status: {phase: Pending}}",
		},
		"a claim":       {create: func() runtime.Object { return &corev1.PersistentVolumeClaim{} }, have: "{}", want: "{spec: {volumeMode: Filesystem}, status: {phase: Pending}}"},
		"a block claim": {create: func() runtime.Object { return &corev1.PersistentVolumeClaim{} }, have: "{spec: {volumeMode: Block}, status: {phase: Bound}}", unchanged: true},
		"a storage class": {
			create: func() runtime.Object { return &storagev1.StorageClass{} }, have: "{provisioner: p}",
			want: "{provisioner: p, reclaimPolicy: Delete, volumeBindingMode: Immediate}",
		},
		"a storage class that waits": {create: func() runtime.Object { return &storagev1.StorageClass{} }, have: "{provisioner: p, reclaimPolicy: Retain, volumeBindingMode: WaitForFirstConsumer}", unchanged: true},
		"a CSI driver": {
			create: func() runtime.Object { return &storagev1.CSIDriver{} }, have: "{spec: {}}",
			want: "{spec: {attachRequired: true, podInfoOnMount: false, storageCapacity: false, volumeLifecycleModes: [Persistent]}}",
		},
		"a CSI driver that says it": {create: func() runtime.Object { return &storagev1.CSIDriver{} }, have: "{spec: {attachRequired: false, podInfoOnMount: true, storageCapacity: true, volumeLifecycleModes: [Ephemeral]}}", unchanged: true},
		"a priority class":          {create: func() runtime.Object { return &schedulingv1.PriorityClass{} }, have: "{value: 3}", want: "{value: 3, preemptionPolicy: PreemptLowerPriority}"},
		"a ReplicaSet": {
			create: func() runtime.Object { return &appsv1.ReplicaSet{} }, have: "{spec: {template: {spec: {containers: [{name: c, resources: {limits: {cpu: 1}}}]}}}}",
			want: "{spec: {replicas: 1, template: {spec: {" + basics + ", containers: [{name: c, resources: {limits: {cpu: 1}}}]}}}}", // the limits count once a pod is made
		},
		"a ReplicaSet of none": {create: func() runtime.Object { return &appsv1.ReplicaSet{} }, have: "{spec: {replicas: 0, template: {spec: {" + basics + ", containers: []}}}}", unchanged: true},
		"a Deployment":         {create: func() runtime.Object { return &appsv1.Deployment{} }, have: "{}", want: "{spec: {replicas: 1, template: {spec: {" + basics + ", containers: null}}}}"},
		"a StatefulSet": {
			create: func() runtime.Object { return &appsv1.StatefulSet{} }, have: "{spec: {volumeClaimTemplates: [{spec: {}}]}}",
			want: "{spec: {replicas: 1, podManagementPolicy: OrderedReady, volumeClaimTemplates: [{spec: {volumeMode: Filesystem}}], template: {spec: {" + basics + ", containers: null}}}}",
		},
		"a DaemonSet": {create: func() runtime.Object { return &appsv1.DaemonSet{} }, have: "{}", want: "{spec: {template: {spec: {" + basics + ", containers: null}}}}"},
		"a Job": {
			create: func() runtime.Object { return &batchv1.Job{} }, have: "{}",
			want: "{spec: {parallelism: 1, completions: 1, completionMode: NonIndexed, suspend: false, template: {spec: {" + basics + ", containers: null}}}}",
		},
		"a Job that works off a queue": {
			create: func() runtime.Object { return &batchv1.Job{} }, have: "{spec: {parallelism: 5}}",
			want: "{spec: {parallelism: 5, completionMode: NonIndexed, suspend: false, template: {spec: {" + basics + ", containers: null}}}}",
		},
		"a Job that says how many": {
			create: func() runtime.Object { return &batchv1.Job{} }, have: "{spec: {completions: 5, suspend: true, completionMode: Indexed}}",
			want: "{spec: {parallelism: 1, completions: 5, completionMode: Indexed, suspend: true, template: {spec: {" + basics + ", containers: null}}}}",
		},
		"a ReplicationController": {
			create: func() runtime.Object { return &corev1.ReplicationController{} }, have: "{spec: {template: {metadata: {labels: {a: b}}}}}",
			want: "{spec: {replicas: 1, selector: {a: b}, template: {metadata: {labels: {a: b}}, spec: {" + basics + ", containers: null}}}}",
		},
		"a ReplicationController without a template": {create: func() runtime.Object { return &corev1.ReplicationController{} }, have: "{}", want: "{spec: {replicas: 1}}"},
		"a kind without defaults":                    {create: func() runtime.Object { return &corev1.Service{} }, have: "{spec: {selector: {a: b}}}", unchanged: true},
	} {
		t.Run(name, func(t *testing.T) {
			if test.unchanged {
				test.want = test.have
			}
			got, want := object(t, test.create(), test.have), object(t, test.create(), test.want)
			defaults.Object(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("object (-want +got):\n%s", diff)
			}
			again := got.DeepCopyObject()
			defaults.Object(again)
			if diff := cmp.Diff(got, again); diff != "" {
				t.Errorf("the second time something changes (-first +second):\n%s", diff)
			}
		})
	}
}

func TestLimitsAndRequestsDoNotShareWhatCanChange(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("1")}}}}}}
	defaults.Pod(pod)
	resources := pod.Spec.Containers[0].Resources
	resources.Requests["cpu"] = resource.MustParse("2")
	if got := resources.Limits.Cpu().String(); got != "1" {
		t.Errorf("the limit is %s", got)
	}
	node := &corev1.Node{Status: corev1.NodeStatus{Capacity: corev1.ResourceList{"cpu": resource.MustParse("1")}}}
	defaults.Node(node)
	node.Status.Allocatable["cpu"] = resource.MustParse("2")
	if got := node.Status.Capacity.Cpu().String(); got != "1" {
		t.Errorf("the capacity is %s", got)
	}
}

func TestThePriorityOfAPodComesFromItsClass(t *testing.T) {
	class := func(name string, value int32, global bool, policy *corev1.PreemptionPolicy) *schedulingv1.PriorityClass {
		return &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value, GlobalDefault: global, PreemptionPolicy: policy}
	}
	lower, never := corev1.PreemptLowerPriority, corev1.PreemptNever
	named := []*schedulingv1.PriorityClass{class("polite", 5, false, &never)}
	global := append(named, class("b", 4, true, nil), class("a", 3, true, &never), class("c", 9, true, nil))
	for name, test := range map[string]struct {
		classes []*schedulingv1.PriorityClass
		spec    corev1.PodSpec
		want    corev1.PodSpec
		wantErr string
	}{
		"none": {named, corev1.PodSpec{}, corev1.PodSpec{Priority: new(int32(0)), PreemptionPolicy: &lower}, ""},
		"its own": {
			named, corev1.PodSpec{PriorityClassName: "polite"},
			corev1.PodSpec{PriorityClassName: "polite", Priority: new(int32(5)), PreemptionPolicy: &never}, "",
		},
		"the lowest of the global defaults": {
			global, corev1.PodSpec{}, corev1.PodSpec{PriorityClassName: "a", Priority: new(int32(3)), PreemptionPolicy: &never}, "",
		},
		"its own before the global default": {
			global, corev1.PodSpec{PriorityClassName: "c"}, corev1.PodSpec{PriorityClassName: "c", Priority: new(int32(9)), PreemptionPolicy: &lower}, "",
		},
		"that of nodes": {
			nil, corev1.PodSpec{PriorityClassName: "system-node-critical"},
			corev1.PodSpec{PriorityClassName: "system-node-critical", Priority: new(int32(2_000_001_000)), PreemptionPolicy: &lower}, "",
		},
		"that of clusters": {
			nil, corev1.PodSpec{PriorityClassName: "system-cluster-critical"},
			corev1.PodSpec{PriorityClassName: "system-cluster-critical", Priority: new(int32(2_000_000_000)), PreemptionPolicy: &lower}, "",
		},
		"what it has already": {
			global, corev1.PodSpec{PriorityClassName: "gone", Priority: new(int32(8))}, corev1.PodSpec{PriorityClassName: "gone", Priority: new(int32(8))}, "",
		},
		"a policy of its own": {
			global, corev1.PodSpec{PriorityClassName: "c", PreemptionPolicy: &never}, corev1.PodSpec{PriorityClassName: "c", Priority: new(int32(9)), PreemptionPolicy: &never}, "",
		},
		"of a class that does not exist": {global, corev1.PodSpec{PriorityClassName: "gone"}, corev1.PodSpec{PriorityClassName: "gone"}, `there is no PriorityClass "gone"`},
	} {
		t.Run(name, func(t *testing.T) {
			spec := test.spec
			text := ""
			if err := defaults.NewPriorities(test.classes).Admit(&spec); err != nil {
				text = err.Error()
			}
			if text != test.wantErr {
				t.Errorf("error %q, want %q", text, test.wantErr)
			}
			if diff := cmp.Diff(test.want, spec); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheZeroPrioritiesKnowWhatEveryClusterHas(t *testing.T) {
	spec := corev1.PodSpec{PriorityClassName: "system-node-critical"}
	if err := (defaults.Priorities{}).Admit(&spec); err != nil || *spec.Priority != 2_000_001_000 {
		t.Errorf("priority %v, error %v", spec.Priority, err)
	}
}

func TestClaimsWithoutAClassGetTheDefaultOne(t *testing.T) {
	class := func(name, key string, created int64) *storagev1.StorageClass {
		return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{key: "true"}, CreationTimestamp: metav1.Unix(created, 0)}}
	}
	const current, beta = "storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"
	for name, test := range map[string]struct {
		classes []*storagev1.StorageClass
		claim   corev1.PersistentVolumeClaim
		want    *string
	}{
		"none where there is none":    {[]*storagev1.StorageClass{class("a", "other", 1)}, corev1.PersistentVolumeClaim{}, nil},
		"the one":                     {[]*storagev1.StorageClass{class("z", "other", 9), class("a", current, 1)}, corev1.PersistentVolumeClaim{}, new("a")},
		"the one of an older cluster": {[]*storagev1.StorageClass{class("a", beta, 1)}, corev1.PersistentVolumeClaim{}, new("a")},
		"the newest":                  {[]*storagev1.StorageClass{class("a", current, 1), class("b", current, 2)}, corev1.PersistentVolumeClaim{}, new("b")},
		"the first by name":           {[]*storagev1.StorageClass{class("b", current, 1), class("a", current, 1)}, corev1.PersistentVolumeClaim{}, new("a")},
		"its own":                     {[]*storagev1.StorageClass{class("a", current, 1)}, corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: new("")}}, new("")},
		"the one of its annotation": {
			[]*storagev1.StorageClass{class("a", current, 1)},
			corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{corev1.BetaStorageClassAnnotation: "x"}}}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			defaults.SetStorageClass([]*corev1.PersistentVolumeClaim{&test.claim}, test.classes)
			if diff := cmp.Diff(test.want, test.claim.Spec.StorageClassName); diff != "" {
				t.Errorf("class (-want +got):\n%s", diff)
			}
		})
	}
}
