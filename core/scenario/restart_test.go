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
