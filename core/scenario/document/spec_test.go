package document_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/core/scenario/document"
)

// everything has every field of the format.
const everything = `
apiVersion: scenario.cluster-autoscaler/v1
kind: NodeGroup
metadata: {name: workers}
spec:
  minSize: 0
  maxSize: 10
  targetSize: 3
  nodeSelector: {pool: workers}
  provisionTime: 61s
  deletionTime: 6s
  stock: 3
  failAfter: 7s
  lateTaints: [{key: vendor/agent-not-ready, effect: NoSchedule, for: 40s}]
  lateResources: [{name: nvidia.com/gpu, quantity: "1", after: 2m}]
  priceHour: 0.096
  template:
    metadata: {labels: {topology.kubernetes.io/zone: z1}}
    spec: {taints: [{key: dedicated, value: x, effect: NoSchedule}]}
    status: {capacity: {cpu: "4", memory: 16Gi, pods: "110"}}
  variants: []
  options: {scaleDownUnneededTime: 3m, scaleDownUtilizationThreshold: 0.4, scaleDownGpuUtilizationThreshold: 0.3, scaleDownUnreadyTime: 4m,
    maxNodeProvisionTime: 5m, maxNodeStartupTime: 6m, ignoreDaemonsetsUtilization: true, zeroOrMaxNodeScaling: false, allowNonAtomicScaleUpToMax: true}
  withoutTemplate: false
  nodes: 2
---
apiVersion: scenario.cluster-autoscaler/v1
kind: Pods
metadata: {name: web, namespace: default}
spec:
  count: 3
  owner: ReplicaSet
  onNodes: [workers-0, workers-1]
  age: 20m
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, resources: {requests: {cpu: 500m}}}]}}
---
apiVersion: scenario.cluster-autoscaler/v1
kind: Scenario
metadata: {name: burst-from-zero}
spec:
  description: one sentence
  flags: ["--expander=least-waste", "--scale-down-unneeded-time=2m"]
  start: "2026-02-01T00:00:00Z"
  duration: 40m
  timeline:
    - at: 3m
      apply:
        - {apiVersion: v1, kind: Namespace, metadata: {name: late}}
        - {apiVersion: scenario.cluster-autoscaler/v1, kind: Pods, metadata: {name: more, namespace: late}, spec: {count: 2}}
      delete: [{kind: Pods, namespace: default, name: web}]
    - at: 4m
      scale: {kind: Pods, namespace: late, name: more, count: 80}
      cloud: {nodeGroup: workers, outOfResources: true, stuck: true, increaseError: a, deleteError: b, refreshError: c, templateError: d,
        sizeError: e, nodesError: f, targetSize: 5, minSize: 1, maxSize: 6}
      nodes: {names: [workers-0], ready: false, cordoned: true}
      restart: {downtime: 20s, graceful: true}
    - at: 5m
      nodes: {names: [workers-7], gone: true}
      restart: {}
    - repeat: {at: 8h, every: 24h, until: 48h}
      scale: {kind: Pods, namespace: late, name: more, count: 1}
  expect:
    - {by: 2m, orAlready: true, nodeGroup: workers, targetSize: 4}
    - {at: 20m, nodeGroup: workers, minTargetSize: 1, maxTargetSize: 2}
    - {always: true, nodeGroup: workers, maxTargetSize: 4}
    - {at: 5m, pendingPods: 0}
    - {never: true, removed: [workers-0]}
    - {by: 1m, event: NoScaleUp, pod: default/web-0, nodeGroup: workers, reason: InsufficientResource}
    - {by: 15m, event: NodeKept, node: workers-0, reason: BlockedByPod}
    - {total: true, nodeGroup: workers, increases: 2, deletes: 1, evictions: 3}
    - {always: true, undrainedEnded: 0}
`

// read reads texts as files named a.yaml, b.yaml and so on.
func read(texts ...string) (document.Input, []document.Warning, error) {
	sources := make([]document.Source, len(texts))
	for i, text := range texts {
		sources[i] = document.Source{Name: string(rune('a'+i)) + ".yaml", Reader: strings.NewReader(text)}
	}
	return document.Read(sources)
}

func mustRead(t *testing.T, texts ...string) document.Input {
	t.Helper()
	in, warnings, err := read(texts...)
	if err != nil {
		t.Fatal(err)
	}
	if len(warnings) > 0 {
		t.Fatalf("warnings: %v", warnings)
	}
	return in
}

func mustResolve(t *testing.T, texts ...string) document.Cluster {
	t.Helper()
	c, err := document.Resolve(mustRead(t, texts...))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTheExampleOfTheFormatResolves(t *testing.T) {
	c := mustResolve(t, everything)
	if len(c.Nodes) != 2 || len(c.Pods) != 3 || len(c.ReplicaSets) != 1 || len(c.Groups) != 1 || len(c.PodSets) != 1 {
		t.Errorf("got %d nodes, %d pods, %d replica sets, %d groups, %d pod sets", len(c.Nodes), len(c.Pods), len(c.ReplicaSets), len(c.Groups), len(c.PodSets))
	}
}

func TestEveryFieldOfTheFormatIsRead(t *testing.T) {
	in := mustRead(t, everything)
	s := in.Scenario
	start := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	duration := func(d time.Duration) *document.Duration { return &document.Duration{Duration: d} }
	entries := slices.Clone(s.Timeline)
	s.Timeline = nil
	want := document.Scenario{
		File: "a.yaml", Document: 3, Name: "burst-from-zero", Description: "one sentence", Flags: []string{"--expander=least-waste", "--scale-down-unneeded-time=2m"},
		Start: &start, Duration: 40 * time.Minute,
		Expect: []document.Expectation{
			{When: document.WhenBy, Time: 2 * time.Minute, OrAlready: true, NodeGroup: "workers", TargetSize: new(4), Text: `{"by":"2m","orAlready":true,"nodeGroup":"workers","targetSize":4}`},
			{When: document.WhenAt, Time: 20 * time.Minute, NodeGroup: "workers", MinTargetSize: new(1), MaxTargetSize: new(2), Text: `{"at":"20m","nodeGroup":"workers","minTargetSize":1,"maxTargetSize":2}`},
			{When: document.WhenAlways, NodeGroup: "workers", MaxTargetSize: new(4), Text: `{"always":true,"nodeGroup":"workers","maxTargetSize":4}`},
			{When: document.WhenAt, Time: 5 * time.Minute, PendingPods: new(0), Text: `{"at":"5m","pendingPods":0}`},
			{When: document.WhenNever, Removed: []string{"workers-0"}, Text: `{"never":true,"removed":["workers-0"]}`},
			{When: document.WhenBy, Time: time.Minute, NodeGroup: "workers", Event: "NoScaleUp", Pod: "default/web-0", Reason: "InsufficientResource", Text: `{"by":"1m","nodeGroup":"workers","event":"NoScaleUp","pod":"default/web-0","reason":"InsufficientResource"}`},
			{When: document.WhenBy, Time: 15 * time.Minute, Event: "NodeKept", Node: "workers-0", Reason: "BlockedByPod", Text: `{"by":"15m","event":"NodeKept","node":"workers-0","reason":"BlockedByPod"}`},
			{When: document.WhenTotal, NodeGroup: "workers", Increases: new(2), Deletes: new(1), Evictions: new(3), Text: `{"total":true,"nodeGroup":"workers","increases":2,"deletes":1,"evictions":3}`},
			{When: document.WhenAlways, UndrainedEnded: new(0), Text: `{"always":true,"undrainedEnded":0}`},
		},
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("scenario (-want +got):\n%s", diff)
	}

	applied := entries[0].Apply
	if applied == nil || len(applied.Namespaces) != 1 || len(applied.PodsDocuments) != 1 || *applied.PodsDocuments[0].Spec.Age != (document.Duration{}) {
		t.Fatalf("applied: %+v", applied)
	}
	entries[0] = document.Entry{At: entries[0].At, Until: entries[0].Until, Delete: entries[0].Delete}
	wantEntries := []document.Entry{
		{At: 3 * time.Minute, Until: -1, Delete: []document.Reference{{Kind: "Pods", Namespace: "default", Name: "web"}}},
		{
			At: 4 * time.Minute, Until: -1,
			Scale: &document.Scale{Kind: "Pods", Namespace: "late", Name: "more", Count: new(80)},
			Cloud: &document.CloudChange{
				NodeGroup: "workers", OutOfResources: new(true), Stuck: new(true), IncreaseError: new("a"), DeleteError: new("b"), RefreshError: new("c"),
				TemplateError: new("d"), SizeError: new("e"), NodesError: new("f"), TargetSize: new(5), MinSize: new(1), MaxSize: new(6),
			},
			Nodes:   &document.NodesChange{Names: []string{"workers-0"}, Ready: new(false), Cordoned: new(true)},
			Restart: &document.Restart{Downtime: duration(20 * time.Second), Graceful: true},
		},
		{
			At: 5 * time.Minute, Until: -1, Nodes: &document.NodesChange{Names: []string{"workers-7"}, Gone: new(true)},
			Restart: &document.Restart{Downtime: duration(15 * time.Second)},
		},
		{
			At: 8 * time.Hour, Every: 24 * time.Hour, Until: 48 * time.Hour,
			Scale: &document.Scale{Kind: "Pods", Namespace: "late", Name: "more", Count: new(1)},
		},
	}
	if diff := cmp.Diff(wantEntries, entries, cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".paths" }, cmp.Ignore())); diff != "" {
		t.Errorf("timeline (-want +got):\n%s", diff)
	}

	spec := in.NodeGroups[0].Spec
	wantOptions := document.GroupOptions{
		ScaleDownUtilizationThreshold: new(0.4), ScaleDownGPUUtilizationThreshold: new(0.3), ScaleDownUnneededTime: duration(3 * time.Minute),
		ScaleDownUnreadyTime: duration(4 * time.Minute), MaxNodeProvisionTime: duration(5 * time.Minute), MaxNodeStartupTime: duration(6 * time.Minute),
		IgnoreDaemonSetsUtilization: new(true), ZeroOrMaxNodeScaling: new(false), AllowNonAtomicScaleUpToMax: new(true),
	}
	if diff := cmp.Diff(wantOptions, spec.Options); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
	times := []time.Duration{spec.ProvisionTime.Duration, spec.DeletionTime.Duration, spec.FailAfter.Duration, spec.LateTaints[0].For.Duration, spec.LateResources[0].After.Duration}
	wantTimes := []time.Duration{61 * time.Second, 6 * time.Second, 7 * time.Second, 40 * time.Second, 2 * time.Minute}
	if diff := cmp.Diff(wantTimes, times); diff != "" {
		t.Errorf("times (-want +got):\n%s", diff)
	}
	if *spec.MaxSize != 10 || *spec.TargetSize != 3 || *spec.Stock != 3 || spec.PriceHour != 0.096 || spec.Nodes != 2 {
		t.Errorf("sizes: %+v", spec)
	}
}
