package scenario_test

import (
	"strings"
	"testing"

	"example.com/cluster-autoscaler/core/scenario"
)

// workers is a group of machines with 4 CPUs, of which some run; the text in the place of the first verb is added to its specification.
const workers = `
apiVersion: scenario.cluster-autoscaler/v1
kind: NodeGroup
metadata: {name: workers}
spec: {minSize: 0, maxSize: 10, template: {status: {capacity: {cpu: "4", memory: 16Gi, pods: "110"}}}, ADD}
---
`

// spare is a group like it with larger machines.
const spare = `
apiVersion: scenario.cluster-autoscaler/v1
kind: NodeGroup
metadata: {name: spare}
spec: {minSize: 0, maxSize: 10, template: {status: {capacity: {cpu: "8", memory: 32Gi, pods: "110"}}}}
---
`

// web are pods of 2 CPUs, two to a machine of workers.
const web = `
apiVersion: scenario.cluster-autoscaler/v1
kind: Pods
metadata: {name: web}
spec: {count: COUNT, onNodes: [NODES], template: {metadata: {labels: {app: web}}, spec: {terminationGracePeriodSeconds: 5, containers: [{name: c, resources: {requests: {cpu: "2"}}}]}}}
---
`

const head = `
apiVersion: scenario.cluster-autoscaler/v1
kind: Scenario
metadata: {name: story}
spec:
`

// group is workers with an addition.
func group(add string) string { return strings.Replace(workers, ", ADD", add, 1) }

// pods are so many of web on the nodes.
func pods(count, nodes string) string {
	return strings.NewReplacer("COUNT", count, "NODES", nodes).Replace(web)
}

// stories are plays that must meet their own expectations.
func stories() map[string]string {
	return map[string]string{
		"a machine appears after its provision time": group(", provisionTime: 90s") + pods("1", "") + head + `
  expect:
    - {by: 10s, nodeGroup: workers, targetSize: 1}
    - {at: 89s, pendingPods: 1}
    - {at: 91s, pendingPods: 0}
`,
		"an empty node goes after its unneeded time": group(", nodes: 1, deletionTime: 20s") + head + `
  flags: ["--scale-down-unneeded-time=2m", "--scale-down-delay-after-add=0s"]
  expect:
    - {at: 2m, nodeGroup: workers, targetSize: 1}
    - {by: 3m, nodeGroup: workers, targetSize: 0}
    - {by: 3m, removed: [workers-0]}
    - {total: true, nodeGroup: workers, deletes: 1, increases: 0, evictions: 0}
`,
		"options of a group go before the flags": group(", nodes: 1, options: {scaleDownUnneededTime: 1m}") + head + `
  flags: ["--scale-down-unneeded-time=20m"]
  expect:
    - {by: 2m, removed: [workers-0]}
`,
		"a pod that is evicted comes back elsewhere": group(", nodes: 2") + `
apiVersion: scenario.cluster-autoscaler/v1
kind: Pods
metadata: {name: small}
spec: {count: 2, onNodes: [workers-0, workers-1], template: {metadata: {labels: {app: small}}, spec: {terminationGracePeriodSeconds: 7, containers: [{name: c, resources: {requests: {cpu: "1"}}}]}}}
---
` + head + `
  expect:
    - {by: 20m, nodeGroup: workers, targetSize: 1}
    - {total: true, evictions: 1, deletes: 1}
    - {at: 20m, pendingPods: 0}
`,
		"a PodDisruptionBudget that allows nothing keeps the node": group(", nodes: 2") + `
apiVersion: scenario.cluster-autoscaler/v1
kind: Pods
metadata: {name: small}
spec: {count: 2, onNodes: [workers-0, workers-1], template: {metadata: {labels: {app: small}}, spec: {containers: [{name: c, resources: {requests: {cpu: "1"}}}]}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: small, namespace: default}
spec: {maxUnavailable: 0, selector: {matchLabels: {app: small}}}
---
` + head + `
  expect:
    - {never: true, removed: [workers-0, workers-1]}
    - {by: 5m, event: NodeKept, node: workers-0, reason: BlockedByPod}
    - {total: true, evictions: 0}
`,
		"a machine that is out of stock fails, and the other group helps": group(", stock: 0, priceHour: 0.1, failAfter: 10s") + spare + pods("2", "") + head + `
  flags: ["--expander=least-waste"]
  expect:
    - {by: 10s, nodeGroup: workers, targetSize: 1}
    - {by: 1m, event: ScaleUpFailed, nodeGroup: workers, reason: OutOfResource}
    - {by: 1m, event: GroupBackedOff, nodeGroup: workers}
    - {by: 1m, nodeGroup: spare, targetSize: 1}
    - {by: 2m, nodeGroup: workers, targetSize: 0}
    - {by: 3m, pendingPods: 0}
`,
		"machines that never become nodes are given up": group("") + spare + pods("2", "") + head + `
  flags: ["--max-node-provision-time=3m"]
  duration: 10m
  timeline:
    - {at: 0s, cloud: {nodeGroup: workers, stuck: true}}
  expect:
    - {by: 10s, nodeGroup: workers, targetSize: 1}
    - {by: 4m, event: ScaleUpFailed, nodeGroup: workers, reason: Timeout}
    - {by: 6m, nodeGroup: spare, targetSize: 1}
    - {by: 8m, pendingPods: 0}
`,
		"a call that fails is told, and works again when the cloud does": group("") + pods("2", "") + head + `
  timeline:
    - {at: 0s, cloud: {nodeGroup: workers, increaseError: "the cloud is on strike"}}
    - {at: 2m, cloud: {nodeGroup: workers, increaseError: ""}}
  expect:
    - {by: 10s, event: ScaleUpFailed, nodeGroup: workers, reason: Other}
    - {at: 119s, nodeGroup: workers, targetSize: 0}
    - {by: 15m, nodeGroup: workers, targetSize: 1}
`,
		"a cloud that cannot be asked stops everything until it can": group("") + pods("2", "") + head + `
  timeline:
    - {at: 0s, cloud: {refreshError: "no route to cloud"}}
    - {at: 2m, cloud: {refreshError: ""}}
  expect:
    - {at: 119s, nodeGroup: workers, targetSize: 0}
    - {by: 150s, nodeGroup: workers, targetSize: 1}
`,
		"a group whose template, size or instances cannot be read is set aside": group("") + spare + pods("2", "") + head + `
  flags: ["--expander=least-nodes"]
  duration: 8m
  timeline:
    - {at: 0s, cloud: {nodeGroup: workers, templateError: "no template today"}}
    - {at: 2m, cloud: {nodeGroup: workers, templateError: "", sizeError: "no size today"}}
    - {at: 4m, cloud: {nodeGroup: workers, sizeError: "", nodesError: "no list today"}}
  expect:
    - {by: 1m, event: GroupSetAside, nodeGroup: workers}
    - {by: 1m, nodeGroup: spare, targetSize: 1}
    - {always: true, nodeGroup: workers, maxTargetSize: 0}
`,
		"a deletion that fails puts the node back to work": group(", nodes: 1") + head + `
  flags: ["--scale-down-unneeded-time=1m"]
  timeline:
    - {at: 0s, cloud: {nodeGroup: workers, deleteError: "not today"}}
  expect:
    - {by: 5m, event: ScaleDownFailed, node: workers-0, nodeGroup: workers}
    - {never: true, removed: [workers-0]}
    - {always: true, nodeGroup: workers, minTargetSize: 1}
`,
		"somebody else changes sizes": group(", nodes: 2") + pods("4", "workers-0, workers-1") + head + `
  timeline:
    - {at: 1m, cloud: {nodeGroup: workers, targetSize: 3}}
    - {at: 5m, cloud: {nodeGroup: workers, maxSize: 3}}
    - {at: 6m, scale: {kind: Pods, name: web, count: 10}}
  expect:
    - {by: 1m, nodeGroup: workers, targetSize: 3}
    - {by: 3m, event: NodeReady, node: workers-2}
    - {by: 8m, event: NoScaleUp, nodeGroup: workers, reason: GroupAtMaxSize}
    - {always: true, nodeGroup: workers, maxTargetSize: 3}
`,
		"lowering a size ends the oldest machines, drained or not, and that is not held against us": group(", nodes: 2") + pods("2", "workers-0, workers-1") + head + `
  timeline:
    - {at: 1m, cloud: {nodeGroup: workers, targetSize: 1}}
  expect:
    - {by: 2m, removed: [workers-0]}
    - {at: 5m, pendingPods: 0}
`,
		"a machine that vanishes is replaced by its group": group(", nodes: 2, provisionTime: 2m") + pods("4", "workers-0, workers-1") + head + `
  duration: 10m
  timeline:
    - {at: 1m, nodes: {names: [workers-0], gone: true}}
  expect:
    - {by: 70s, removed: [workers-0]}
    - {by: 4m, event: NodeReady, node: workers-2}
    - {by: 4m, pendingPods: 0}
    - {always: true, nodeGroup: workers, targetSize: 2}
    - {total: true, increases: 0, deletes: 0}
`,
		"pods leave a node that is not ready after five minutes": group(", nodes: 1") + pods("1", "workers-0") + head + `
  duration: 12m
  flags: ["--scale-down-enabled=false"]
  timeline:
    - {at: 1m, nodes: {names: [workers-0], ready: false}}
    - {at: 11m, nodes: {names: [workers-0], ready: true}}
  expect:
    - {at: 359s, nodeGroup: workers, targetSize: 1}
    - {at: 361s, pendingPods: 1}
    - {by: 8m, nodeGroup: workers, targetSize: 2}
    - {by: 12m, event: NodeReady, node: workers-0}
    - {total: true, evictions: 0, increases: 1}
`,
		"a cordoned node takes no pods": group(", nodes: 1") + head + `
  timeline:
    - {at: 0s, nodes: {names: [workers-0], cordoned: true}}
    - at: 1m
      apply:
        - apiVersion: scenario.cluster-autoscaler/v1
          kind: Pods
          metadata: {name: late}
          spec: {count: 1, template: {spec: {containers: [{name: c, resources: {requests: {cpu: "1"}}}]}}}
    - {at: 5m, nodes: {names: [workers-0], cordoned: false}}
  expect:
    - {by: 90s, nodeGroup: workers, targetSize: 2}
`,
		"late taints and resources hold pods back": group(`, lateTaints: [{key: vendor/agent-not-ready, effect: NoSchedule, for: 40s}]`) + pods("1", "") + head + `
  flags: ["--startup-taint=vendor/agent-not-ready"]
  expect:
    - {by: 10s, nodeGroup: workers, targetSize: 1}
    - {by: 61s, event: NodeReady, node: workers-0}
    - {at: 99s, pendingPods: 1}
    - {by: 102s, pendingPods: 0}
    - {total: true, increases: 1}
`,
		"a device that comes late is not bought twice": `
apiVersion: scenario.cluster-autoscaler/v1
kind: NodeGroup
metadata: {name: gpu}
spec:
  maxSize: 5
  lateResources: [{name: nvidia.com/gpu, quantity: "1", after: 2m}]
  template: {metadata: {labels: {simulated.cluster-autoscaler/accelerator: t4}}, status: {capacity: {cpu: "4", memory: 16Gi, pods: "110", nvidia.com/gpu: "1"}}}
---
apiVersion: scenario.cluster-autoscaler/v1
kind: Pods
metadata: {name: train}
spec: {count: 1, template: {spec: {containers: [{name: c, resources: {limits: {nvidia.com/gpu: "1"}}}]}}}
---
` + head + `
  duration: 10m
  expect:
    - {by: 1m, nodeGroup: gpu, targetSize: 1}
    - {by: 5m, pendingPods: 0}
    - {always: true, nodeGroup: gpu, maxTargetSize: 1}
`,
		"DaemonSet pods come with each new node and take their room": group("") + `
apiVersion: scenario.cluster-autoscaler/v1
kind: Pods
metadata: {name: agent}
spec: {owner: DaemonSet, template: {spec: {containers: [{name: c, resources: {requests: {cpu: "1"}}}]}}}
---
` + pods("2", "") + head + `
  duration: 5m
  timeline:
    - {at: 3m, scale: {kind: Pods, name: web, count: 3}}
  expect:
    - {by: 10s, nodeGroup: workers, targetSize: 2}
    - {at: 179s, pendingPods: 0}
    - {at: 179s, nodeGroup: workers, targetSize: 2}
    - {by: 4m, nodeGroup: workers, targetSize: 3}
`,
		"a pod of higher priority takes the place of a lower one, which gets a new node": group(", nodes: 1") + `
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: vip}
value: 1000
---
` + pods("2", "workers-0") + head + `
  duration: 10m
  timeline:
    - at: 1m
      apply:
        - apiVersion: scenario.cluster-autoscaler/v1
          kind: Pods
          metadata: {name: vip}
          spec: {count: 1, template: {spec: {priorityClassName: vip, containers: [{name: c, resources: {requests: {cpu: "2"}}}]}}}
  expect:
    - {by: 2m, nodeGroup: workers, targetSize: 2}
    - {at: 70s, pendingPods: 1}
    - {by: 2m, event: ScaleUp, pod: default/web-2}
    - {never: true, event: ScaleUp, pod: default/vip-0}
    - {by: 4m, pendingPods: 0}
`,
		"soft taints steer pods away from nodes that are to go": group(", nodes: 3") + pods("1", "workers-0") + head + `
  duration: 12m
  flags: ["--scale-down-utilization-threshold=0.3"]
  timeline:
    - at: 5m
      apply:
        - apiVersion: scenario.cluster-autoscaler/v1
          kind: Pods
          metadata: {name: late}
          spec: {count: 1, template: {spec: {containers: [{name: c, resources: {requests: {cpu: 100m}}}]}}}
  expect:
    - {by: 12m, removed: [workers-1, workers-2]}
    - {total: true, evictions: 0}
`,
		"load is spread over nodes that are not to go": group(", nodes: 2") + pods("2", "") + head + `
  duration: 5m
  expect:
    - {by: 1m, event: NodeKept, node: workers-1, reason: NotUnderutilized}
    - {by: 1m, event: NodeKept, node: workers-0, reason: NotUnderutilized}
  flags: ["--scale-down-utilization-threshold=0.4"]
`,
		"a restart buys nothing twice and goes on": group("") + pods("4", "") + head + `
  timeline:
    - {at: 20s, restart: {downtime: 15s, graceful: false}}
    - {at: 5m, restart: {downtime: 10s, graceful: true}}
    - {at: 6m, scale: {kind: Pods, name: web, count: 6}}
  expect:
    - {by: 36s, event: Restarted}
    - {at: 5m, nodeGroup: workers, targetSize: 2}
    - {by: 8m, nodeGroup: workers, targetSize: 3}
    - {total: true, increases: 2}
`,
		"objects are applied and deleted": group(", nodes: 1") + head + `
  flags: ["--scale-down-enabled=false"]
  timeline:
    - at: 1m
      apply:
        - apiVersion: apps/v1
          kind: Deployment
          metadata: {name: api, namespace: default}
          spec:
            replicas: 4
            selector: {matchLabels: {app: api}}
            template: {metadata: {labels: {app: api}}, spec: {containers: [{name: c, resources: {requests: {cpu: "2"}}}]}}
        - apiVersion: scenario.cluster-autoscaler/v1
          kind: NodeGroup
          metadata: {name: late}
          spec: {maxSize: 1, nodes: 1, template: {status: {capacity: {cpu: "1", memory: 4Gi, pods: "10"}}}}
    - at: 5m
      delete: [{kind: Deployment, name: api}, {kind: NodeGroup, name: late}]
  expect:
    - {by: 2m, nodeGroup: workers, targetSize: 2}
    - {at: 4m, pendingPods: 0}
    - {by: 6m, removed: [late-0]}
    - {at: 8m, pendingPods: 0}
`,
		"a timeline repeats": group(", nodes: 1") + pods("1", "workers-0") + head + `
  duration: 70m
  timeline:
    - repeat: {at: 10m, every: 20m, until: 50m}
      scale: {kind: Pods, name: web, count: 2}
    - repeat: {at: 20m, every: 20m, until: 60m}
      scale: {kind: Pods, name: web, count: 4}
  expect:
    - {at: 25m, nodeGroup: workers, targetSize: 2}
    - {at: 45m, nodeGroup: workers, targetSize: 2}
    - {total: true, increases: 1}
`,
		"a dump of nodes joins its group by labels": `
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {name: ip-10-0-0-1, labels: {pool: w}, creationTimestamp: "2025-06-01T00:00:00Z"}
    spec: {providerID: "cloud:///a/i-1"}
    status:
      capacity: {cpu: "4", memory: 16Gi, pods: "110"}
      allocatable: {cpu: "4", memory: 16Gi, pods: "110"}
      conditions: [{type: Ready, status: "True"}]
  - apiVersion: v1
    kind: Node
    metadata: {name: control, creationTimestamp: "2025-06-01T00:00:00Z"}
    status: {capacity: {cpu: "2", memory: 4Gi, pods: "110"}}
  - apiVersion: v1
    kind: Pod
    metadata: {name: lone, namespace: default, uid: "1", creationTimestamp: "2025-06-02T00:00:00Z"}
    spec: {nodeName: ip-10-0-0-1, containers: [{name: c, image: i, resources: {requests: {cpu: "3"}}}]}
    status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
  - apiVersion: v1
    kind: Pod
    metadata: {name: waiting, namespace: default, uid: "2", creationTimestamp: "2025-06-02T00:00:00Z"}
    spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "3"}}}]}
---
apiVersion: scenario.cluster-autoscaler/v1
kind: NodeGroup
metadata: {name: pool}
spec: {maxSize: 4, nodeSelector: {pool: w}}
---
` + head + `
  duration: 5m
  expect:
    - {by: 30s, nodeGroup: pool, targetSize: 2}
    - {by: 2m, event: NodeReady, node: pool-0}
    - {at: 3m, pendingPods: 0}
    - {never: true, removed: [control]}
`,
	}
}

func TestPodsOfLostNodesComeBackAsTheirOwnersWish(t *testing.T) {
	for owner, want := range map[string]string{"ReplicaSet": "2", "StatefulSet": "2", "Job": "2", "None": "0", "Spread": "0"} {
		t.Run(owner, func(t *testing.T) {
			text := group(", nodes: 1") + strings.Replace(pods("2", "workers-0"), "spec: {", "spec: {owner: "+owner+", ", 1) + head + `
  duration: 70s
  timeline:
    - {at: 1m, nodes: {names: [workers-0], gone: true}}
  expect:
    - {at: 64s, pendingPods: 0}
    - {at: 66s, pendingPods: ` + want + `}
`
			if lines, result := play(t, owner, text, nil); result.Failed > 0 {
				t.Errorf("%d expectations are not met:\n%s", result.Failed, lines)
			}
		})
	}
}

func TestScaleMakesAndEndsPodsWithoutAController(t *testing.T) {
	text := group(", nodes: 2") + strings.Replace(pods("2", "workers-0"), "spec: {", "spec: {owner: None, ", 1) + head + `
  duration: 5m
  timeline:
    - {at: 1m, scale: {kind: Pods, name: web, count: 5}}
    - {at: 3m, scale: {kind: Pods, name: web, count: 4}}
    - {at: 4m, delete: [{kind: Pods, name: web}]}
  expect:
    - {by: 2m, event: ScaleUp, pod: default/web-4}
    - {at: 250s, pendingPods: 0}
    - {by: 5m, event: NodeUnneeded, node: workers-0}
`
	if lines, result := play(t, "scale", text, nil); result.Failed > 0 {
		t.Errorf("%d expectations are not met:\n%s", result.Failed, lines)
	}
}

func TestStories(t *testing.T) {
	for name, text := range stories() {
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
