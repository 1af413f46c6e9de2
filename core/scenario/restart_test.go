package scenario_test

import (
	"testing"

	"example.com/cluster-autoscaler/core/scenario"
)

func TestTheRestartExampleNeedsTheState(t *testing.T) {
	text := examples(t)["restart"]
	_, result := play(t, "restart", text, func(o *scenario.Options) { o.Controller.Process.PersistState = false })
	if result.Failed < 2 {
		t.Errorf("without state %d expectations are not met, want those about the back-off and the timer", result.Failed)
	}
	if _, result = play(t, "restart", text, func(o *scenario.Options) { o.Controller.Status.WriteConfigMap = false }); result.Failed < 2 {
		t.Errorf("without status %d expectations are not met", result.Failed)
	}
}

// C23: what was learnt of a group whose nodes are all gone is known after a restart, too. The cloud knows nothing of the label.
const learnt = `
apiVersion: scenario.cluster-autoscaler/v1
kind: NodeGroup
metadata: {name: sp}
spec: {minSize: 0, maxSize: 3, withoutTemplate: true, nodes: 1, template: {metadata: {labels: {pool: special}}, status: {capacity: {cpu: "4", memory: 16Gi, pods: "110"}}}}
---
apiVersion: scenario.cluster-autoscaler/v1
kind: Scenario
metadata: {name: learnt}
spec:
  flags: ["--scale-down-unneeded-time=1m"]
  duration: 2h10m
  timeline:
    - {at: 1h59m, restart: {downtime: 30s, graceful: false}}
    - at: 2h
      apply:
        - apiVersion: scenario.cluster-autoscaler/v1
          kind: Pods
          metadata: {name: late}
          spec: {count: 1, age: 0s, template: {spec: {nodeSelector: {pool: special}, containers: [{name: c, resources: {requests: {cpu: "1"}}}]}}}
  expect:
    - {at: 1h, nodeGroup: sp, targetSize: 0}
    - {at: 1h59m59s, nodeGroup: sp, targetSize: 0}
    - {by: 2h1m, nodeGroup: sp, targetSize: 1}
    - {by: 2h5m, pendingPods: 0}
`

func TestWhatWasLearntIsKnownAfterARestart(t *testing.T) {
	if lines, result := play(t, "learnt", learnt, nil); result.Failed > 0 {
		t.Errorf("%d expectations are not met:\n%s", result.Failed, lines)
	}
	if _, result := play(t, "learnt", learnt, func(o *scenario.Options) { o.Controller.Process.PersistState = false }); result.Failed == 0 {
		t.Error("without state all expectations are met, too")
	}
}

// C07: the process is killed in the middle of a drain. The node is put back into service or goes; a pod that comes meanwhile gets a machine.
const midDrain = `
apiVersion: scenario.cluster-autoscaler/v1
kind: NodeGroup
metadata: {name: web}
spec: {minSize: 1, maxSize: 6, nodes: 3, template: {status: {capacity: {cpu: "4", memory: 16Gi, pods: "110"}}}}
---
apiVersion: scenario.cluster-autoscaler/v1
kind: Pods
metadata: {name: busy}
spec: {count: 2, onNodes: [web-0, web-2], template: {spec: {containers: [{name: c, resources: {requests: {cpu: 2500m}}}]}}}
---
apiVersion: scenario.cluster-autoscaler/v1
kind: Pods
metadata: {name: a}
spec: {count: 1, onNodes: [web-1], template: {spec: {terminationGracePeriodSeconds: 300, containers: [{name: c, resources: {requests: {cpu: 500m}}}]}}}
---
apiVersion: scenario.cluster-autoscaler/v1
kind: Scenario
metadata: {name: mid-drain}
spec:
  flags: ["--scale-down-unneeded-time=2m"]
  duration: 20m
  timeline:
    - {at: 140s, restart: {downtime: 15s, graceful: false}}
    - at: 160s
      apply:
        - apiVersion: scenario.cluster-autoscaler/v1
          kind: Pods
          metadata: {name: big}
          spec: {count: 1, age: 0s, template: {spec: {containers: [{name: c, resources: {requests: {cpu: 3900m}}}]}}}
  expect:
    - {by: 139s, event: ScaleDown, node: web-1}
    - {by: 3m, nodeGroup: web, targetSize: 4}
    - {by: 5m, pendingPods: 0}
    - {always: true, nodeGroup: web, maxTargetSize: 4}
    - {always: true, undrainedEnded: 0}
`

func TestAKillInTheMiddleOfADrainHoldsNothingUp(t *testing.T) {
	if lines, result := play(t, "mid-drain", midDrain, nil); result.Failed > 0 {
		t.Errorf("%d expectations are not met:\n%s", result.Failed, lines)
	}
}
