package scenario_test

import (
	"strings"
	"testing"
)

// priced is a group of machines with 4 CPUs at a price.
func priced(name, price, cpu string) string {
	return strings.NewReplacer("NAME", name, "PRICE", price, "CPU", cpu).Replace(`
apiVersion: scenario.cluster-autoscaler/v1
kind: NodeGroup
metadata: {name: NAME}
spec: {maxSize: 5, PRICE, template: {status: {capacity: {cpu: "CPU", memory: 16Gi, pods: "110"}}}}
---
`)
}

// priorities is the map of the expander "priority", as one document.
func priorities(text string) string {
	return strings.ReplaceAll(`
apiVersion: v1
kind: ConfigMap
metadata: {name: cluster-autoscaler-priority-expander, namespace: kube-system}
data: {priorities: 'TEXT'}
---
`, "TEXT", text)
}

// choices are plays in which somebody says what is preferred.
func choices() map[string]string {
	return map[string]string{
		"the cheaper of two alike machines is taken": priced("dear", "priceHour: 0.2", "4") + priced("cheap", "priceHour: 0.1", "4") + pods("2", "") + head + `
  duration: 5m
  flags: ["--expander=price"]
  expect:
    - {by: 10s, nodeGroup: cheap, targetSize: 1}
    - {always: true, nodeGroup: dear, maxTargetSize: 0}
`,
		"a machine whose price is not known is not taken": priced("dear", "priceHour: 0.2", "4") + priced("unknown", "minSize: 0", "4") + pods("2", "") + head + `
  duration: 5m
  flags: ["--expander=price"]
  expect:
    - {by: 10s, nodeGroup: dear, targetSize: 1}
    - {always: true, nodeGroup: unknown, maxTargetSize: 0}
`,
		"without any price the next expander decides": priced("large", "minSize: 0", "8") + priced("small", "minSize: 0", "4") + pods("2", "") + head + `
  duration: 5m
  flags: ["--expander=price,least-waste"]
  expect:
    - {by: 10s, event: Notice}
    - {by: 10s, nodeGroup: small, targetSize: 1}
    - {always: true, nodeGroup: large, maxTargetSize: 0}
`,
		"C40: quoted numbers count, and a typing error leaves the last good order in force": priced("ng-x", "minSize: 0", "4") + priced("ng-y", "minSize: 0", "4") +
			priorities(`{"10": [ng-x], "50": [ng-y]}`) + head + `
  duration: 25m
  flags: ["--expander=priority,least-waste", "--scale-down-unneeded-time=1h"]
  timeline:
    - at: 1m
      apply:
` + indented(pods("2", "")) + `
    - at: 20m
      apply:
` + indented(priorities(`{"high": [ng-x]}`)) + `
    - {at: 21m, scale: {kind: Pods, name: web, count: 3}}
  expect:
    - {by: 70s, nodeGroup: ng-y, targetSize: 1}
    - {by: 20m30s, event: Notice, reason: PriorityConfigMapInvalid}
    - {by: 22m, nodeGroup: ng-y, targetSize: 2}
    - {always: true, nodeGroup: ng-x, maxTargetSize: 0}
`,
		"C28: where the preferred group has no machines the next one helps, and it is preferred again later": priced("spot-1", "failAfter: 8s", "4") + priced("od-1", "minSize: 0", "4") +
			priorities(`{50: ["spot-.*"], 10: ["od-.*"]}`) + head + `
  duration: 25m
  flags: ["--expander=priority", "--scale-down-unneeded-time=1h"]
  timeline:
    - at: 0s
      cloud: {nodeGroup: spot-1, outOfResources: true}
      apply:
` + indented(pods("2", "")) + `
    - {at: 19m, cloud: {nodeGroup: spot-1, outOfResources: false}}
    - {at: 20m, scale: {kind: Pods, name: web, count: 3}}
  expect:
    - {by: 5s, nodeGroup: spot-1, targetSize: 1}
    - {by: 60s, nodeGroup: od-1, targetSize: 1}
    - {by: 2m, nodeGroup: spot-1, targetSize: 0}
    - {by: 21m, nodeGroup: spot-1, targetSize: 1}
    - {always: true, nodeGroup: od-1, maxTargetSize: 1}
    - {by: 22m, pendingPods: 0}
`,
		"a process that starts anew reads the map anew": priced("a", "minSize: 0", "4") + priced("b", "minSize: 0", "4") + priorities(`{50: [b], 10: [a]}`) + head + `
  duration: 5m
  flags: ["--expander=priority"]
  timeline:
    - {at: 1m, restart: {downtime: 5s, graceful: false}}
    - at: 2m
      apply:
` + indented(pods("2", "")) + `
  expect:
    - {by: 2m30s, event: Notice}
    - {by: 2m30s, nodeGroup: b, targetSize: 1}
    - {always: true, nodeGroup: a, maxTargetSize: 0}
`,
		"a chooser in another process is left out": priced("large", "minSize: 0", "8") + priced("small", "minSize: 0", "4") + pods("2", "") + head + `
  duration: 5m
  flags: ["--expander=grpc,least-waste"]
  expect:
    - {by: 10s, nodeGroup: small, targetSize: 1}
    - {always: true, nodeGroup: large, maxTargetSize: 0}
`,
	}
}

func TestChoices(t *testing.T) {
	for name, text := range choices() {
		t.Run(name, func(t *testing.T) {
			if lines, result := play(t, name, text, nil); result.Failed > 0 {
				t.Errorf("%d expectations are not met:\n%s", result.Failed, lines)
			}
		})
	}
}

func TestTheNumbersOfTheExpanderAreTold(t *testing.T) {
	text := priced("dear", "priceHour: 0.2", "4") + priced("cheap", "priceHour: 0.1", "4") + pods("2", "") + head + `
  duration: 1m
  flags: ["--expander=price"]
`
	lines, _ := play(t, "s", text, nil)
	const want = `"reason":"price prefers it to dear (score `
	if !strings.Contains(string(lines), want) {
		t.Errorf("want %s in:\n%s", want, lines)
	}
}
