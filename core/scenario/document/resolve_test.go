package document_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/core/scenario/document"
	"example.com/cluster-autoscaler/simulator/defaults"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func names[T interface{ GetName() string }](objects []T) []string {
	var out []string
	for _, o := range objects {
		out = append(out, o.GetName())
	}
	return out
}

func TestNodesBecomeWhatAKubeletAndACloudMakeOfThem(t *testing.T) {
	c := mustResolve(t, documents(
		group("workers", "{maxSize: 9, nodes: 2, template: {metadata: {labels: {pool: a}}, spec: {taints: [{key: k, effect: NoSchedule}]}, status: {capacity: {cpu: 4, memory: 8Gi}}}}"),
		group("arm", "{maxSize: 9, nodeSelector: {pool: arm}}"),
		"apiVersion: v1\nkind: Node\nmetadata: {name: own, annotations: {scenario.cluster-autoscaler/node-group: workers}, labels: {pool: arm}}\nstatus: {capacity: {cpu: 2, pods: 5}}\n",
		"apiVersion: v1\nkind: Node\nmetadata: {name: selected, labels: {pool: arm, kubernetes.io/arch: arm64, kubernetes.io/hostname: h, topology.kubernetes.io/zone: z2}, creationTimestamp: 2025-12-01T00:00:00Z}\n"+
			"spec: {providerID: 'aws:///x', unschedulable: true, taints: [{key: a, effect: NoSchedule}, {key: node.kubernetes.io/not-ready, effect: NoSchedule}]}\n"+
			"status: {capacity: {cpu: 2}, allocatable: {cpu: 1}, conditions: [{type: Ready, status: 'False'}]}\n",
		"apiVersion: v1\nkind: Node\nmetadata: {name: loose}\n",
		"apiVersion: storage.k8s.io/v1\nkind: CSINode\nmetadata: {name: selected}\nspec: {drivers: [{name: d, nodeID: x}]}\n",
	)+"---\n"+scenario("{start: 2026-01-01T00:00:00Z}"))

	hourAgo := metav1.NewTime(epoch.Add(-time.Hour))
	type facts struct {
		Name, Provider, UID, CPU, Pods, Arch, OS, Host string
		Created                                        metav1.Time
		Ready                                          corev1.ConditionStatus
	}
	var got []facts
	for _, n := range c.Nodes {
		f := facts{
			Name: n.Name, Provider: n.Spec.ProviderID, UID: string(n.UID), CPU: n.Status.Allocatable.Cpu().String(), Pods: n.Status.Allocatable.Pods().String(),
			Arch: n.Labels["kubernetes.io/arch"], OS: n.Labels["kubernetes.io/os"], Host: n.Labels["kubernetes.io/hostname"], Created: n.CreationTimestamp,
		}
		for _, condition := range n.Status.Conditions {
			if condition.Type == corev1.NodeReady {
				f.Ready = condition.Status
			}
		}
		got = append(got, f)
	}
	want := []facts{
		{"own", "simulated:///workers/own", "Node/-/own", "2", "5", "amd64", "linux", "own", hourAgo, "True"},
		{"selected", "aws:///x", "Node/-/selected", "1", "110", "arm64", "linux", "h", metav1.NewTime(time.Date(2025, 12, 1, 0, 0, 0, 0, time.UTC)), "False"},
		{"loose", "", "Node/-/loose", "0", "0", "amd64", "linux", "loose", hourAgo, "True"},
		{"workers-0", "simulated:///workers/workers-0", "Node/-/workers-0", "4", "110", "amd64", "linux", "workers-0", hourAgo, "True"},
		{"workers-1", "simulated:///workers/workers-1", "Node/-/workers-1", "4", "110", "amd64", "linux", "workers-1", hourAgo, "True"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}

	workers, arm := c.Groups[0], c.Groups[1]
	if diff := cmp.Diff([]string{"own", "workers-0", "workers-1"}, names(workers.Existing)); diff != "" || workers.Target != 3 {
		t.Errorf("workers: target %d, nodes (-want +got):\n%s", workers.Target, diff)
	}
	if diff := cmp.Diff([]string{"selected"}, names(arm.Existing)); diff != "" || arm.Target != 1 {
		t.Errorf("arm: target %d, nodes (-want +got):\n%s", arm.Target, diff)
	}
	copied := arm.Templates[0]
	wantLabels := map[string]string{"pool": "arm", "kubernetes.io/arch": "arm64", "kubernetes.io/os": "linux", "topology.kubernetes.io/zone": "z2"}
	if diff := cmp.Diff(wantLabels, copied.Node.Labels); diff != "" || copied.Key != "z2" || copied.Node.Name != "" || copied.Node.Spec.ProviderID != "" || copied.Node.Spec.Unschedulable {
		t.Errorf("the copied template %q has labels (-want +got):\n%s\n%+v", copied.Key, diff, copied.Node)
	}
	if len(copied.Node.Spec.Taints) != 1 || copied.Node.Spec.Taints[0].Key != "a" || copied.Node.Status.Conditions[0].Status != corev1.ConditionTrue {
		t.Errorf("the copied template keeps what passes: %+v", copied.Node)
	}
	if copied.CSINode == nil || copied.CSINode.Spec.Drivers[0].Name != "d" || copied.CSINode.Name != "" {
		t.Errorf("the copied template has the CSINode %+v", copied.CSINode)
	}
}

func TestTheVariantsOfAGroupTakeTurnsAndHaveKeysOfTheirOwn(t *testing.T) {
	look := func(labels string) string {
		return "{template: {metadata: {labels: {" + labels + "}}, status: {capacity: {cpu: 1}}}, weight: 2}"
	}
	zone, kind := "topology.kubernetes.io/zone: ", "node.kubernetes.io/instance-type: "
	c := mustResolve(t, documents(group("g", "{maxSize: 9, targetSize: 7, nodes: 5, nodeSelector: {p: q}, variants: ["+strings.Join([]string{
		look(zone + "z1"), look(zone + "z1, " + kind + "m"), look(zone + "z1, " + kind + "m"), look(""),
	}, ", ")+"]}"), "apiVersion: v1\nkind: Node\nmetadata: {name: m1, labels: {p: q, "+zone+"z1, "+kind+"x}}\n", "apiVersion: v1\nkind: Node\nmetadata: {name: m2, labels: {p: q, "+zone+"z9}}\n"))
	var keys, zones []string
	for _, v := range c.Groups[0].Templates {
		keys = append(keys, v.Key)
		if v.Weight != 2 {
			t.Errorf("weight %d", v.Weight)
		}
	}
	for _, n := range c.Nodes {
		zones = append(zones, n.Name+" "+n.Labels["node.kubernetes.io/instance-type"])
	}
	if diff := cmp.Diff([]string{"z1", "z1/m", "z1/m#2", "default"}, keys); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"m1 x", "m2 ", "g-0 ", "g-1 m", "g-2 m", "g-3 ", "g-4 "}, zones); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"z1", "z1", "z1", "z1/m", "z1/m", "default", "z1"}, c.Groups[0].ExistingVariants); diff != "" {
		t.Errorf("variants of the nodes (-want +got):\n%s", diff)
	}
	if c.Groups[0].Target != 7 {
		t.Errorf("target %d", c.Groups[0].Target)
	}
}

func TestAGroupThatSaysNothingOfItsMachinesCopiesOnePerZone(t *testing.T) {
	zoned := func(name, zone string) string {
		return "apiVersion: v1\nkind: Node\nmetadata: {name: " + name + ", labels: {pool: a, topology.kubernetes.io/zone: " + zone + "}}\nstatus: {capacity: {cpu: 1}}\n"
	}
	c := mustResolve(t, documents(group("g", "{maxSize: 9, nodeSelector: {pool: a}}"), zoned("n3", "z1"), zoned("n2", "z2"), zoned("n1", "z1"), group("blind", "{maxSize: 1, withoutTemplate: true}")))
	var keys []string
	for _, v := range c.Groups[0].Templates {
		keys = append(keys, v.Key)
	}
	if diff := cmp.Diff([]string{"z1", "z2"}, keys); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	if blind := c.Groups[1].Templates; len(blind) != 1 || blind[0].Node.Status.Allocatable.Pods().Value() != 110 {
		t.Errorf("the group without template or nodes: %+v", blind)
	}
}

func TestPodsComeFromTheirDocumentWithOwner(t *testing.T) {
	type facts struct{ Name, Node, Phase, Owner, CPU string }
	for name, test := range map[string]struct {
		spec  string
		want  []facts
		owner string
	}{
		"a ReplicaSet unless said otherwise": {"{count: 2}", []facts{{"web-0", "", "Pending", "apps/v1 ReplicaSet web", "500m"}, {"web-1", "", "Pending", "apps/v1 ReplicaSet web", "500m"}}, "ReplicaSet"},
		"one pod unless said otherwise":      {"{owner: StatefulSet}", []facts{{"web-0", "", "Pending", "apps/v1 StatefulSet web", "500m"}}, "StatefulSet"},
		"round robin over nodes": {"{count: 3, owner: Job, onNodes: [g-1, g-0]}", []facts{
			{"web-0", "g-1", "Running", "batch/v1 Job web", "500m"}, {"web-1", "g-0", "Running", "batch/v1 Job web", "500m"}, {"web-2", "g-1", "Running", "batch/v1 Job web", "500m"},
		}, "Job"},
		"a DaemonSet has as many as nodes": {"{owner: DaemonSet, onNodes: [g-0, g-1]}", []facts{{"web-0", "g-0", "Running", "apps/v1 DaemonSet web", "500m"}, {"web-1", "g-1", "Running", "apps/v1 DaemonSet web", "500m"}}, "DaemonSet"},
		"a DaemonSet without nodes":        {"{owner: DaemonSet}", nil, "DaemonSet"},
		"no owner":                         {"{owner: None}", []facts{{"web-0", "", "Pending", "", "500m"}}, ""},
		"an owner of one's own kind":       {"{owner: Rollout}", []facts{{"web-0", "", "Pending", "scenario.cluster-autoscaler/v1 Rollout web", "500m"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			template := ", template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, resources: {limits: {cpu: 500m}}}]}}}"
			c := mustResolve(t, documents(
				group("g", "{maxSize: 9, nodes: 2, "+capacity+"}"),
				ours("Pods", "web", strings.TrimSuffix(test.spec, "}")+template),
			))
			var got []facts
			for _, p := range c.Pods {
				f := facts{p.Name, p.Spec.NodeName, string(p.Status.Phase), "", p.Spec.Containers[0].Resources.Requests.Cpu().String()}
				for _, o := range p.OwnerReferences {
					f.Owner = strings.Join([]string{o.APIVersion, o.Kind, o.Name}, " ")
					if !*o.Controller || o.UID == "" {
						t.Errorf("owner %+v", o)
					}
				}
				got = append(got, f)
				if want := epoch.Add(-10 * time.Minute); !p.CreationTimestamp.Time.Equal(want) || p.Labels["app"] != "web" || p.UID == "" || *p.Spec.Priority != 0 || len(p.Spec.Tolerations) < 2 {
					t.Errorf("pod %+v", p)
				}
				if running := p.Spec.NodeName != ""; running != (len(p.Status.Conditions) == 2 && p.Status.Conditions[1].Status == corev1.ConditionTrue) {
					t.Errorf("conditions of %s: %+v", p.Name, p.Status.Conditions)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("pods (-want +got):\n%s", diff)
			}
			owner := ""
			for kind, have := range map[string][]string{
				"ReplicaSet": names(c.ReplicaSets), "StatefulSet": names(c.StatefulSets), "Job": names(c.Jobs), "DaemonSet": names(c.DaemonSets),
			} {
				if slices.Equal(have, []string{"web"}) {
					owner += kind
				}
			}
			if owner != test.owner || (c.PodSets[0].Owner == nil) != (test.owner == "") {
				t.Errorf("owner %q, want %q", owner, test.owner)
			}
			if next := c.PodSets[0].Next(epoch, ""); next.Name != "web-"+string(rune('0'+len(test.want))) || next.CreationTimestamp.Time != epoch || next.Status.Phase != corev1.PodPending {
				t.Errorf("the next pod is %s, created %s", next.Name, next.CreationTimestamp)
			}
		})
	}
}

func TestDaemonSetPodsTolerateWhatTheirControllerLetsThem(t *testing.T) {
	c := mustResolve(t, documents(group("g", "{maxSize: 9, nodes: 1, "+capacity+"}"), ours("Pods", "agent", "{owner: DaemonSet, onNodes: [g-0]}")))
	tolerates := func(p *corev1.Pod, key string) bool {
		return slices.ContainsFunc(p.Spec.Tolerations, func(t corev1.Toleration) bool { return t.Key == key && t.TolerationSeconds == nil })
	}
	for _, p := range []*corev1.Pod{c.Pods[0], c.PodSets[0].Next(epoch, "g-0")} {
		if !tolerates(p, corev1.TaintNodeNotReady) || !tolerates(p, corev1.TaintNodeUnschedulable) {
			t.Errorf("%s tolerates %+v", p.Name, p.Spec.Tolerations)
		}
	}
}

func TestAWorkloadOfTheInputMakesPods(t *testing.T) {
	c := mustResolve(t, documents(
		"apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 7\npreemptionPolicy: Never\n",
		"apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: rs, uid: u1}\nspec: {template: {metadata: {labels: {a: b}}, spec: {priorityClassName: high}}}\n",
		"apiVersion: v1\nkind: ReplicationController\nmetadata: {name: rc}\nspec: {template: {metadata: {labels: {a: b}}}}\n",
		"apiVersion: v1\nkind: ReplicationController\nmetadata: {name: empty}\n",
	))
	priorities := defaults.NewPriorities(c.PriorityClasses)
	set, ok := document.PodSetOf(c.ReplicaSets[0], priorities, 5)
	if !ok {
		t.Fatal("a ReplicaSet makes no pods")
	}
	pod := set.Next(epoch, "")
	if pod.Name != "rs-5" || pod.OwnerReferences[0].UID != "u1" || *pod.Spec.Priority != 7 || *pod.Spec.PreemptionPolicy != corev1.PreemptNever || pod.Labels["a"] != "b" {
		t.Errorf("pod %+v", pod)
	}
	if set, ok := document.PodSetOf(c.ReplicationControllers[0], priorities, 0); !ok || set.Next(epoch, "").OwnerReferences[0].APIVersion != "v1" {
		t.Error("a ReplicationController makes no pods")
	}
	if _, ok := document.PodSetOf(c.ReplicationControllers[1], priorities, 0); ok {
		t.Error("a ReplicationController without a template makes pods")
	}
	if _, ok := document.PodSetOf(c.PriorityClasses[0], priorities, 0); ok {
		t.Error("a PriorityClass makes pods")
	}
}

func TestThePlayStartsWhereTheObjectsEnd(t *testing.T) {
	dated := "apiVersion: v1\nkind: Node\nmetadata: {name: n1, creationTimestamp: 2026-03-01T00:00:00Z}\n"
	for name, test := range map[string]struct {
		file string
		want string
	}{
		"the usual start":                 {node("n1"), "2026-01-01T00:00:00Z"},
		"the start of the document":       {documents(dated, scenario("{start: 2026-02-01T02:00:00+02:00}")), "2026-02-01T00:00:00Z"},
		"the newest creation":             {dated, "2026-03-01T00:00:00Z"},
		"the newest heartbeat":            {dated + "status: {conditions: [{type: Ready, lastHeartbeatTime: 2026-03-02T00:00:00Z, lastTransitionTime: 2026-03-01T00:00:00Z}]}\n", "2026-03-02T00:00:00Z"},
		"the start of a deletion":         {"apiVersion: v1\nkind: Pod\nmetadata: {name: p, deletionTimestamp: 2026-03-03T00:01:00Z, deletionGracePeriodSeconds: 60}\n", "2026-03-03T00:00:00Z"},
		"the start of a container":        {"apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nstatus: {startTime: 2026-03-03T00:00:00Z, containerStatuses: [{state: {running: {startedAt: 2026-03-04T00:00:00Z}}}]}\n", "2026-03-04T00:00:00Z"},
		"the end of an init container":    {"apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nstatus: {initContainerStatuses: [{state: {terminated: {finishedAt: 2026-03-05T00:00:00Z}}}]}\n", "2026-03-05T00:00:00Z"},
		"a condition of a pod":            {"apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nstatus: {conditions: [{type: Ready, lastTransitionTime: 2026-03-06T00:00:00Z}]}\n", "2026-03-06T00:00:00Z"},
		"what comes later doesn't matter": {documents(dated, scenario("{timeline: [{at: 1m, apply: [{apiVersion: v1, kind: Node, metadata: {name: n2, creationTimestamp: 2027-01-01T00:00:00Z}}]}]}")), "2026-03-01T00:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := mustResolve(t, test.file).Start.Format(time.RFC3339); got != test.want {
				t.Errorf("starts at %s, want %s", got, test.want)
			}
		})
	}
}

func TestObjectsAreCompletedFromOneAnother(t *testing.T) {
	c := mustResolve(t, documents(
		"apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: team, ownerReferences: [{kind: ReplicaSet, name: rs}, {kind: Rollout, name: r}, {kind: ReplicaSet, name: rs, uid: own}]}\nspec: {priorityClassName: high, nodeName: n1}\n",
		"apiVersion: v1\nkind: Pod\nmetadata: {name: q}\n", node("n1"),
		"apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: rs, namespace: team}\n",
		"apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 7\n",
		"apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: usual}\nvalue: 3\nglobalDefault: true\n",
		"apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: fast, annotations: {storageclass.kubernetes.io/is-default-class: 'true'}}\nprovisioner: x\n",
		"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: c, namespace: team}\nspec: {volumeName: v}\n",
		"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: d, namespace: team}\n",
		"apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: v}\n",
		"apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: w}\nspec: {claimRef: {namespace: team, name: d}}\n",
	))
	p, q := c.Pods[0], c.Pods[1]
	if *p.Spec.Priority != 7 || *q.Spec.Priority != 3 || q.Spec.PriorityClassName != "usual" {
		t.Errorf("priorities: %d and %d of %s", *p.Spec.Priority, *q.Spec.Priority, q.Spec.PriorityClassName)
	}
	if p.Status.Phase != corev1.PodRunning || len(p.Status.Conditions) != 2 || q.Status.Phase != corev1.PodPending {
		t.Errorf("phases: %s and %s", p.Status.Phase, q.Status.Phase)
	}
	ids := []string{string(p.OwnerReferences[0].UID), string(p.OwnerReferences[1].UID), string(p.OwnerReferences[2].UID)}
	if diff := cmp.Diff([]string{string(c.ReplicaSets[0].UID), "Rollout/team/r", "own"}, ids); diff != "" {
		t.Errorf("owners (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"default", "kube-system", "team"}, slices.Sorted(slices.Values(names(c.Namespaces)))); diff != "" {
		t.Errorf("namespaces (-want +got):\n%s", diff)
	}
	for i, volume := range c.PersistentVolumes {
		claim := c.PersistentVolumeClaims[i]
		if claim.Status.Phase != corev1.ClaimBound || claim.Spec.VolumeName != volume.Name || claim.Annotations["pv.kubernetes.io/bind-completed"] == "" ||
			volume.Status.Phase != corev1.VolumeBound || volume.Spec.ClaimRef.Name != claim.Name || volume.Spec.ClaimRef.UID != claim.UID || *claim.Spec.StorageClassName != "fast" {
			t.Errorf("claim %+v\nvolume %+v", claim, volume)
		}
	}
}

func TestWhatATimelineAppliesIsFinishedAnewEachTime(t *testing.T) {
	c := mustResolve(t, documents(plainGroup("g"), "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 7\n", scenario(`{timeline: [{at: 5m, apply: [
  {apiVersion: v1, kind: Node, metadata: {name: n1, annotations: {scenario.cluster-autoscaler/node-group: g}}, status: {capacity: {cpu: 1}}},
  {apiVersion: v1, kind: Pod, metadata: {name: p, namespace: new}, spec: {priorityClassName: high}},
  {apiVersion: scenario.cluster-autoscaler/v1, kind: Pods, metadata: {name: fresh}, spec: {count: 2, onNodes: [n1]}},
  {apiVersion: scenario.cluster-autoscaler/v1, kind: Pods, metadata: {name: aged}, spec: {age: 4m}},
  {kind: List, apiVersion: v1, items: [{apiVersion: scenario.cluster-autoscaler/v1, kind: NodeGroup, metadata: {name: h}, spec: {maxSize: 2, nodes: 1, `+capacity+`}}]}]}]}`)))
	now := c.Start.Add(5 * time.Minute)
	around := document.Surroundings{At: now, NodeGroups: c.NodeGroups, PriorityClasses: c.PriorityClasses}
	first, err := document.Finish(c.Scenario.Timeline[0].Apply, around)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range first.Pods {
		p.Labels = map[string]string{"changed": "yes"}
	}
	first.Nodes[0].Labels["changed"] = "yes"
	again, err := document.Finish(c.Scenario.Timeline[0].Apply, around)
	if err != nil {
		t.Fatal(err)
	}
	var ages []string
	for _, p := range again.Pods {
		ages = append(ages, p.Name+" "+now.Sub(p.CreationTimestamp.Time).String())
	}
	if diff := cmp.Diff([]string{"p 0s", "fresh-0 0s", "fresh-1 0s", "aged-0 4m0s"}, ages); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	if *again.Pods[0].Spec.Priority != 7 {
		t.Errorf("priority %d", *again.Pods[0].Spec.Priority)
	}
	n := again.Nodes[0]
	if n.Spec.ProviderID != "simulated:///g/n1" || !n.CreationTimestamp.Time.Equal(now) || n.Labels["changed"] != "" {
		t.Errorf("node %+v", n)
	}
	if diff := cmp.Diff([]string{"n1", "h-0"}, names(again.Nodes)); diff != "" || len(again.Groups) != 1 || again.Groups[0].Target != 1 {
		t.Errorf("groups %+v, nodes (-want +got):\n%s", again.Groups, diff)
	}
	if diff := cmp.Diff([]string{"new", "default"}, names(again.Namespaces)); diff != "" {
		t.Errorf("namespaces (-want +got):\n%s", diff)
	}
	if _, err := document.Finish(&document.Objects{PriorityClasses: []*schedulingv1.PriorityClass{{}}, NodeGroups: []*document.NodeGroup{{Metadata: document.Metadata{Name: "x"}}}}, around); err == nil ||
		err.Error() != "timeline: NodeGroup x.spec.template: is required: the group has no node to copy it from" {
		t.Errorf("got %v", err)
	}
}

func TestAnEntryHappensAtItsTimes(t *testing.T) {
	for name, test := range map[string]struct {
		entry document.Entry
		want  []time.Duration
	}{
		"once":                  {document.Entry{At: time.Minute, Until: -1}, []time.Duration{time.Minute}},
		"after the end":         {document.Entry{At: 11 * time.Minute, Until: -1}, nil},
		"again and again":       {document.Entry{At: time.Minute, Every: 4 * time.Minute, Until: -1}, []time.Duration{time.Minute, 5 * time.Minute, 9 * time.Minute}},
		"up to a time":          {document.Entry{At: time.Minute, Every: 4 * time.Minute, Until: 5 * time.Minute}, []time.Duration{time.Minute, 5 * time.Minute}},
		"as far as time counts": {document.Entry{At: time.Minute, Every: 1<<63 - 1, Until: 1<<63 - 1}, []time.Duration{time.Minute}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, test.entry.Times(10*time.Minute)); diff != "" {
				t.Errorf("times (-want +got):\n%s", diff)
			}
		})
	}
}

func TestKindsThatNobodyReadsArePassedOverWithOneWarningEach(t *testing.T) {
	_, warnings, err := read(documents("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n", "apiVersion: v1\nkind: Secret\nmetadata: {name: b}\n",
		"apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: a}\n", "apiVersion: example.com/v1\nkind: Widget\n", "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []document.Warning{
		{File: "a.yaml", Document: 1, Message: "objects of kind Secret (v1) are ignored"},
		{File: "a.yaml", Document: 4, Message: "objects of kind Widget (example.com/v1) are ignored"},
		{File: "a.yaml", Document: 5, Message: "objects of kind PodDisruptionBudget (policy/v1beta1) are ignored"},
	}
	if diff := cmp.Diff(want, warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestAnEmptyListIsAnEmptyClusterAndNothingHappens(t *testing.T) {
	c := mustResolve(t, `{"apiVersion":"v1","items":[],"kind":"List"}`)
	if c.Scenario.Name != "scenario" || c.Scenario.Duration != 30*time.Minute || len(c.Nodes) != 0 || !c.Start.Equal(epoch) {
		t.Errorf("got %+v", c)
	}
	if c, err := document.Resolve(document.Input{}); err != nil || len(c.Namespaces) != 2 {
		t.Errorf("the zero input: %v", err)
	}
}

func TestWhatAGroupDoesNotSayHasTheDefaultsOfTheFormat(t *testing.T) {
	spec := mustRead(t, plainGroup("g")).NodeGroups[0].Spec
	got := []time.Duration{spec.ProvisionTime.Duration, spec.DeletionTime.Duration, spec.FailAfter.Duration}
	if diff := cmp.Diff([]time.Duration{time.Minute, 5 * time.Second, 5 * time.Second}, got); diff != "" || spec.Stock != nil || spec.TargetSize != nil {
		t.Errorf("times (-want +got):\n%s", diff)
	}
	zero := mustRead(t, group("g", "{maxSize: 1, provisionTime: 0, deletionTime: '0', "+capacity+"}")).NodeGroups[0].Spec
	if zero.ProvisionTime.Duration != 0 || zero.DeletionTime.Duration != 0 {
		t.Errorf("plain zeros: %s and %s", zero.ProvisionTime, zero.DeletionTime)
	}
}
