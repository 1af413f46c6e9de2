package scenario_test

import (
	"strings"
	"testing"

	"example.com/cluster-autoscaler/core/scenario"
)

// twoZones is a group of machines in two zones; those of the second are worth WEIGHT units of its size.
const twoZones = `
apiVersion: scenario.cluster-autoscaler/v1
kind: NodeGroup
metadata: {name: mixed}
spec:
  maxSize: 10
  variants:
    - template: {metadata: {labels: {topology.kubernetes.io/zone: a}}, status: {capacity: {cpu: "4", memory: 16Gi}}}
    - template: {metadata: {labels: {topology.kubernetes.io/zone: b}}, status: {capacity: {cpu: "4", memory: 16Gi}}}
      weight: WEIGHT
---
`

// inZoneB are two nodes of that group, both in zone b.
const inZoneB = `
apiVersion: v1
kind: Node
metadata: {name: b-1, annotations: {scenario.cluster-autoscaler/node-group: mixed}, labels: {topology.kubernetes.io/zone: b}}
status: {capacity: {cpu: "4", memory: 16Gi}}
---
apiVersion: v1
kind: Node
metadata: {name: b-2, annotations: {scenario.cluster-autoscaler/node-group: mixed}, labels: {topology.kubernetes.io/zone: b}}
status: {capacity: {cpu: "4", memory: 16Gi}}
---
`

// inZoneA is a pod that must run in zone a.
const inZoneA = `
apiVersion: scenario.cluster-autoscaler/v1
kind: Pods
metadata: {name: lone}
spec: {template: {spec: {nodeSelector: {topology.kubernetes.io/zone: a}, containers: [{name: c, resources: {requests: {cpu: "1"}}}]}}}
---
`

// inZoneA2 are pods too large for one node of zone a, beside that pod.
const inZoneA2 = `
apiVersion: scenario.cluster-autoscaler/v1
kind: Pods
metadata: {name: wide}
spec: {count: 2, template: {spec: {nodeSelector: {topology.kubernetes.io/zone: a}, containers: [{name: c, resources: {requests: {cpu: "3"}}}]}}}
---
`

// indented is a document as an item of a list of a timeline entry.
func indented(document string) string {
	text := strings.ReplaceAll(strings.TrimSuffix(strings.TrimSpace(document), "\n---"), "\n", "\n          ")
	return "        - " + text + "\n"
}

// features are plays of what a node group can say.
func features() map[string]string {
	mixed := strings.ReplaceAll(twoZones, "WEIGHT", "1")
	heavy := strings.ReplaceAll(twoZones, "WEIGHT", "2")
	b1, b2, _ := strings.Cut(inZoneB, "---")
	return map[string]string{
		"the nodes of a group with variants count for the variant that they look like": mixed + inZoneB + inZoneA + head + `
  duration: 5m
  flags: ["--scale-down-enabled=false"]
  expect:
    - {by: 10s, nodeGroup: mixed, targetSize: 3}
    - {by: 2m, pendingPods: 0}
`,
		"so do nodes that join a group later": mixed + inZoneA + head + `
  duration: 5m
  flags: ["--scale-down-enabled=false"]
  timeline:
    - at: 0s
      apply:
` + indented(b1) + indented(b2) + `
  expect:
    - {by: 20s, nodeGroup: mixed, targetSize: 3}
    - {by: 2m, pendingPods: 0}
`,
		"a machine counts as many units as its variant weighs": heavy + inZoneB + head + `
  flags: ["--scale-down-unneeded-time=2m"]
  duration: 10m
  expect:
    - {at: 1s, nodeGroup: mixed, targetSize: 4}
    - {by: 3m, nodeGroup: mixed, targetSize: 0}
    - {by: 5m, removed: [b-1, b-2]}
`,
		"made nodes take the variants in turn": strings.Replace(heavy, "maxSize: 10", "maxSize: 10\n  nodes: 3", 1) + inZoneA + inZoneA2 + head + `
  duration: 1m
  expect:
    - {always: true, nodeGroup: mixed, targetSize: 4}
    - {at: 5s, pendingPods: 0}
`,
		"nodes that join by their labels belong to the group": `
apiVersion: scenario.cluster-autoscaler/v1
kind: NodeGroup
metadata: {name: pool}
spec: {maxSize: 4, nodeSelector: {pool: p}, template: {metadata: {labels: {pool: p}}, status: {capacity: {cpu: "4", memory: 16Gi}}}}
---
` + head + `
  flags: ["--scale-down-unneeded-time=2m"]
  duration: 10m
  timeline:
    - at: 1m
      apply:
        - {apiVersion: v1, kind: Node, metadata: {name: late, labels: {pool: p}}, status: {capacity: {cpu: "4", memory: 16Gi}}}
  expect:
    - {by: 70s, nodeGroup: pool, targetSize: 1}
    - {by: 5m, event: ScaleDown, node: late, nodeGroup: pool}
    - {by: 6m, removed: [late]}
`,
		"a cloud that does not describe new nodes learns from one that came": group(", withoutTemplate: true") + pods("4", "") + head + `
  duration: 10m
  timeline:
    - {at: 2m, cloud: {nodeGroup: workers, targetSize: 1}}
  expect:
    - {by: 1m, event: NoScaleUp, nodeGroup: workers, reason: NoTemplate}
    - {at: 119s, nodeGroup: workers, targetSize: 0}
    - {by: 4m, nodeGroup: workers, targetSize: 2}
    - {by: 5m, pendingPods: 0}
`,
		"a group that scales from zero to its maximum comes and goes as a whole": strings.Replace(group(", options: {zeroOrMaxNodeScaling: true}"), "maxSize: 10", "maxSize: 3", 1) + pods("4", "") + head + `
  duration: 35m
  timeline:
    - {at: 5m, scale: {kind: Pods, name: web, count: 1}}
    - {at: 20m, scale: {kind: Pods, name: web, count: 0}}
  expect:
    - {by: 10s, nodeGroup: workers, targetSize: 3}
    - {by: 18m, event: NodeKept, reason: AtomicScaleDownFailed}
    - {at: 20m, nodeGroup: workers, targetSize: 3}
    - {by: 35m, nodeGroup: workers, targetSize: 0}
    - {total: true, increases: 1}
`,
		"options of a group change what counts as unneeded": group(", nodes: 1, options: {scaleDownUtilizationThreshold: 0.9}") + spare + pods("1", "workers-0") + head + `
  flags: ["--scale-down-utilization-threshold=0.1"]
  duration: 5m
  expect:
    - {never: true, event: NodeKept, node: workers-0, reason: NotUnderutilized}
    - {by: 1m, event: NodeKept, node: workers-0, reason: NoPlaceToMovePods}
`,
		"options of a group change how long its machines may take": group(", options: {maxNodeProvisionTime: 2m}, provisionTime: 4m") + pods("1", "") + head + `
  duration: 5m
  expect:
    - {by: 140s, event: ScaleUpFailed, nodeGroup: workers, reason: Timeout}
`,
		"a size that was never read sets the group aside, and the others go on": group(", nodes: 1") + spare + pods("4", "") + head + `
  duration: 4m
  timeline:
    - {at: 0s, cloud: {nodeGroup: workers, sizeError: "no size today"}}
  expect:
    - {by: 10s, event: GroupSetAside, nodeGroup: workers, reason: 'reading the size of node group "workers": no size today'}
    - {by: 10s, nodeGroup: spare, targetSize: 1}
    - {always: true, nodeGroup: workers, targetSize: 1}
    - {at: 2m, pendingPods: 0}
`,
		"instances that can no longer be listed set the group aside, and it comes back": group(", nodes: 1") + spare + pods("2", "workers-0") + head + `
  duration: 12m
  timeline:
    - {at: 1m, cloud: {nodeGroup: workers, nodesError: "no list today"}}
    - {at: 2m, scale: {kind: Pods, name: web, count: 4}}
    - {at: 5m, cloud: {nodeGroup: workers, nodesError: "", maxSize: 2}}
    - {at: 6m, scale: {kind: Pods, name: web, count: 8}}
    - {at: 6m, cloud: {nodeGroup: spare, maxSize: 1}}
  expect:
    - {by: 70s, event: GroupSetAside, nodeGroup: workers, reason: 'listing the instances of node group "workers": no list today'}
    - {by: 3m, nodeGroup: spare, targetSize: 1}
    - {at: 6m, nodeGroup: workers, targetSize: 1}
    - {by: 7m, nodeGroup: workers, targetSize: 2}
    - {at: 10m, pendingPods: 0}
`,
		"trouble of all groups can end for one of them": group("") + spare + pods("2", "") + head + `
  duration: 4m
  timeline:
    - {at: 0s, cloud: {increaseError: "on strike"}}
    - {at: 30s, cloud: {nodeGroup: spare, increaseError: ""}}
  expect:
    - {by: 10s, event: ScaleUpFailed, nodeGroup: workers}
    - {by: 10s, event: ScaleUpFailed, nodeGroup: spare}
`,
		"trouble of one group ends when all is said to be well": group(", nodes: 1") + head + `
  duration: 6m
  flags: ["--scale-down-unneeded-time=1m"]
  timeline:
    - {at: 0s, cloud: {nodeGroup: workers, deleteError: "not today"}}
    - {at: 2m, cloud: {deleteError: ""}}
  expect:
    - {by: 2m, event: ScaleDownFailed, node: workers-0}
    - {by: 6m, removed: [workers-0]}
`,
		"a group of a dump that is applied anew keeps its looks": `
apiVersion: scenario.cluster-autoscaler/v1
kind: NodeGroup
metadata: {name: pool}
spec: {maxSize: 1, nodeSelector: {pool: p}}
---
apiVersion: v1
kind: Node
metadata: {name: first, labels: {pool: p}}
status: {capacity: {cpu: "4", memory: 16Gi}}
---
` + pods("4", "") + head + `
  duration: 6m
  timeline:
    - at: 2m
      apply:
        - {apiVersion: scenario.cluster-autoscaler/v1, kind: NodeGroup, metadata: {name: pool}, spec: {maxSize: 2, nodeSelector: {pool: p}}}
        - {apiVersion: v1, kind: Node, metadata: {name: first, labels: {pool: p, other: label}}, status: {capacity: {cpu: "4", memory: 16Gi}}}
  expect:
    - {at: 119s, nodeGroup: pool, targetSize: 1}
    - {by: 3m, nodeGroup: pool, targetSize: 2}
    - {at: 5m, pendingPods: 0}
    - {always: true, nodeGroup: pool, maxTargetSize: 2}
`,
		"a small pod is placed beside a large one of its owner that fits nowhere": group(", nodes: 1") + `
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: rs, namespace: default, uid: rs}
spec: {replicas: 2, selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}, spec: {containers: [{name: c, resources: {requests: {cpu: "1"}}}]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: large, namespace: default, labels: {app: a}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: rs, uid: rs, controller: true}]}
spec: {containers: [{name: c, resources: {requests: {cpu: "99"}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: small, namespace: default, labels: {app: a}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: rs, uid: rs, controller: true}]}
spec: {containers: [{name: c, resources: {requests: {cpu: "1"}}}]}
---
` + head + `
  duration: 2m
  expect:
    - {at: 1m, pendingPods: 1}
`,
		"an iteration that fails is an event": group("") + head + `
  duration: 3m
  timeline:
    - {at: 1m, cloud: {refreshError: "no route to cloud"}}
  expect:
    - {by: 2m, event: IterationFailed}
`,
		"of a stock all is bought, and more when there is more": group(", stock: 1") + pods("4", "") + head + `
  duration: 20m
  timeline:
    - {at: 10m, apply: [{apiVersion: scenario.cluster-autoscaler/v1, kind: NodeGroup, metadata: {name: workers}, spec: {maxSize: 10, template: {status: {capacity: {cpu: "4", memory: 16Gi, pods: "110"}}}}}]}
  expect:
    - {by: 1m, event: ScaleUpFailed, nodeGroup: workers, reason: OutOfResource}
    - {at: 9m, pendingPods: 2}
    - {at: 9m, nodeGroup: workers, targetSize: 1}
    - {by: 20m, nodeGroup: workers, targetSize: 2}
    - {at: 20m, pendingPods: 0}
`,
		"late taints go one by one, those of old nodes never come": group(`, nodes: 1, lateTaints: [{key: vendor/a, effect: NoSchedule, for: 20s}, {key: vendor/b, value: x, effect: NoExecute, for: 50s}]`) + pods("2", "workers-0") + head + `
  duration: 4m
  flags: ["--startup-taint=vendor/a", "--startup-taint=vendor/b"]
  timeline:
    - {at: 10s, scale: {kind: Pods, name: web, count: 4}}
  expect:
    - {by: 20s, nodeGroup: workers, targetSize: 2}
    - {by: 71s, event: NodeReady, node: workers-1}
    - {at: 120s, pendingPods: 2}
    - {at: 122s, pendingPods: 0}
    - {total: true, increases: 1}
`,
		"a restart does not delete twice what is being deleted": group(", nodes: 2, deletionTime: 90s") + pods("1", "workers-0") + head + `
  duration: 12m
  flags: ["--scale-down-unneeded-time=2m", "--scale-down-utilization-threshold=0.3"]
  timeline:
    - {at: 150s, restart: {downtime: 15s, graceful: false}}
  expect:
    - {by: 140s, event: ScaleDown, node: workers-1}
    - {by: 3m, event: Restarted}
    - {by: 4m, removed: [workers-1]}
    - {total: true, deletes: 1, evictions: 0}
    - {always: true, nodeGroup: workers, minTargetSize: 1}
`,
		"a restart during a drain starts over and loses nothing": group(", nodes: 2") + strings.ReplaceAll(strings.ReplaceAll(pods("2", "workers-0, workers-1"), `"2"`, `"1"`), "terminationGracePeriodSeconds: 5", "terminationGracePeriodSeconds: 60") + head + `
  duration: 12m
  flags: ["--scale-down-unneeded-time=2m"]
  timeline:
    - {at: 150s, restart: {downtime: 15s, graceful: true}}
  expect:
    - {by: 140s, event: ScaleDown, node: workers-0}
    - {by: 151s, event: ScaleDownFailed, node: workers-0}
    - {by: 10m, removed: [workers-0]}
    - {at: 12m, pendingPods: 0}
    - {total: true, deletes: 1, evictions: 1}
`,
	}
}

func TestFeaturesOfNodeGroups(t *testing.T) {
	for name, text := range features() {
		t.Run(name, func(t *testing.T) {
			lines, result := play(t, name, text, nil)
			if result.Failed > 0 {
				t.Errorf("%d expectations are not met:\n%s", result.Failed, lines)
			}
			all, _ := play(t, name, text, func(o *scenario.Options) { o.EverySecond = true })
			if string(all) != string(lines) {
				t.Errorf("skipping seconds changes the play; every second:\n%s\nskipped:\n%s", all, lines)
			}
		})
	}
}
