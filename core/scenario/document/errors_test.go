package document_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/core/scenario/document"
)

// ours starts a document of our own group.
func ours(kind, name, spec string) string {
	return fmt.Sprintf("apiVersion: scenario.cluster-autoscaler/v1\nkind: %s\nmetadata: {name: %s}\nspec: %s\n", kind, name, spec)
}

func group(name, spec string) string { return ours("NodeGroup", name, spec) }

func scenario(spec string) string { return ours("Scenario", "s", spec) }

// capacity is a template.
const capacity = "template: {status: {capacity: {cpu: 4, memory: 8Gi}}}"

func plainGroup(name string) string {
	return group(name, "{maxSize: 3, nodes: 1, "+capacity+"}")
}

func node(name string) string {
	return "apiVersion: v1\nkind: Node\nmetadata: {name: " + name + "}\n"
}

func documents(texts ...string) string { return strings.Join(texts, "---\n") }

// all is everything that is wrong with the files, by Read or, if that finds nothing, by Resolve.
func all(files ...string) []string {
	in, _, err := read(files...)
	if err == nil {
		_, err = document.Resolve(in)
	}
	if err == nil {
		return nil
	}
	return strings.Split(err.Error(), "\n")
}

func TestWhatIsWrongWithTheInputIsSaidLineByLine(t *testing.T) {
	for name, test := range map[string]struct {
		files []string
		want  []string
	}{
		"unknown fields of our kinds, wherever they are": {
			files: []string{documents(
				group("g", "{maxSise: 1, maxSize: 3, template: {spec: {taint: []}, status: {capacity: {cpu: 1}}}}"),
				ours("Pods", "p", "{template: {spec: {containers: [{resourses: {}}]}}}"),
				scenario("{timeline: [{at: 1m, restart: {gentle: true}}], expect: [{by: 1m, targetsize: 3}]}"),
			)},
			want: []string{
				"a.yaml: document 1: spec.maxSise: there is no such field",
				"a.yaml: document 1: spec.template.spec.taint: there is no such field",
				"a.yaml: document 2: spec.template.spec.containers[0].resourses: there is no such field",
				"a.yaml: document 3: spec.expect[0].targetsize: there is no such field",
				"a.yaml: document 3: spec.timeline[0].restart.gentle: there is no such field",
			},
		},
		"unknown fields of objects of the API are those of another version": {
			files: []string{"apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {newFeature: true, containers: []}\nfancy: 1\n"},
		},
		"wrong types in objects of the API": {
			files: []string{
				"apiVersion: v1\nkind: Pod\nmetadata: {name: p, labels: {a: 1}}\nspec: {hostNetwork: maybe, containers: {}, priority: 1.5, nodeSelector: [], volumes: [x]}\n",
			},
			want: []string{
				"a.yaml: document 1: metadata.labels[a]: want a string, got the number 1",
				"a.yaml: document 1: spec.containers: want a list, got an object",
				`a.yaml: document 1: spec.hostNetwork: want true or false, got the string "maybe"`,
				"a.yaml: document 1: spec.nodeSelector: want an object, got a list",
				"a.yaml: document 1: spec.priority: 1.5 does not fit: want a whole number of 32 bits",
				`a.yaml: document 1: spec.volumes[0]: want an object, got the string "x"`,
			},
		},
		"the same name twice, over files": {
			files: []string{documents(node("n1"), node("m"), plainGroup("g")), documents(node("m"), "kind: List\napiVersion: v1\nitems:\n- "+
				strings.ReplaceAll(node("k"), "\n", "\n  ")+"\n- "+strings.ReplaceAll(node("k"), "\n", "\n  ")+"\n", plainGroup("g"))},
			want: []string{
				"b.yaml: document 1: metadata.name: Node m is defined already: a.yaml, document 2",
				"b.yaml: document 2: items[1].metadata.name: Node k is defined already: b.yaml, document 2, items[0]",
				"b.yaml: document 3: metadata.name: NodeGroup g is defined already: a.yaml, document 3",
			},
		},
		"names that the shorthands would make twice": {
			files: []string{documents(
				plainGroup("g"), node("g-0"), ours("Pods", "web", "{count: 2}"),
				"apiVersion: v1\nkind: Pod\nmetadata: {name: web-1}\n", "apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: web}\n",
			)},
			want: []string{
				"a.yaml: document 1: metadata.name: makes Node g-0, which is defined already",
				"a.yaml: document 3: metadata.name: makes ReplicaSet default/web, which is defined already",
				"a.yaml: document 3: metadata.name: makes Pod default/web-1, which is defined already",
			},
		},
		"pods on nodes that don't exist, unless they have ended": {
			files: []string{documents(
				"apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {nodeName: gone}\n",
				"apiVersion: v1\nkind: Pod\nmetadata: {name: q}\nspec: {nodeName: gone}\nstatus: {phase: Succeeded}\n",
				ours("Pods", "web", "{onNodes: [gone]}"),
			)},
			want: []string{
				`a.yaml: document 1: spec.nodeName: there is no node "gone"`,
				`a.yaml: document 3: spec.onNodes[0]: there is no node "gone"`,
			},
		},
		"groups without a template": {
			files: []string{documents(
				group("bare", "{maxSize: 3}"), group("blind", "{maxSize: 3, withoutTemplate: true}"), group("copies", "{maxSize: 3, nodeSelector: {pool: a}}"),
				"apiVersion: v1\nkind: Node\nmetadata: {name: n1, labels: {pool: a}}\nstatus: {capacity: {cpu: 1}}\n", group("shorthand", "{maxSize: 3, nodes: 1, withoutTemplate: true}"),
			)},
			want: []string{"a.yaml: document 5: spec.nodes: nodes are made from a template, and there is none"},
		},
		"a group without a template and without nodes": {
			files: []string{group("bare", "{maxSize: 3}")},
			want:  []string{"a.yaml: document 1: spec.template: is required: the group has no node to copy it from"},
		},
		"templates that aren't any": {
			files: []string{documents(
				group("both", "{maxSize: 3, "+capacity+", variants: [{"+capacity+"}]}"),
				group("empty", "{maxSize: 3, template: {}}"),
				group("variants", "{maxSize: 3, variants: [{weight: -1}]}"),
				group("taints", "{maxSize: 3, template: {spec: {taints: [{effect: Never}, {key: a}]}, status: {capacity: {cpu: -1}}}}"),
			)},
			want: []string{
				"a.yaml: document 1: spec.variants: stand in place of a template, this group has both",
				"a.yaml: document 2: spec.template.status.capacity: is required",
				"a.yaml: document 3: spec.variants[0].weight: is -1, want at least 0",
				"a.yaml: document 3: spec.variants[0].template: is required",
				"a.yaml: document 4: spec.template.status.capacity[cpu]: is -1, want at least 0",
				"a.yaml: document 4: spec.template.spec.taints[0].key: is required",
				`a.yaml: document 4: spec.template.spec.taints[0].effect: is "Never", want NoSchedule, PreferNoSchedule or NoExecute`,
				"a.yaml: document 4: spec.template.spec.taints[1].effect: is required",
			},
		},
		"quantities that don't parse, all of them": {
			files: []string{documents(
				"apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {capacity: {cpu: four, memory: 1GiB, pods: 3}}\n",
				group("g", "{maxSize: 3, template: {status: {capacity: {cpu: 4x}}}, lateResources: [{name: gpu, quantity: {}, after: 0}]}"),
			)},
			want: []string{
				`a.yaml: document 1: status.capacity[cpu]: "four" is not a quantity: want one as "500m", 4 or "16Gi"`,
				`a.yaml: document 1: status.capacity[memory]: "1GiB" is not a quantity: want one as "500m", 4 or "16Gi"`,
				`a.yaml: document 2: spec.lateResources[0].quantity: {} is not a quantity: want one as "500m", 4 or "16Gi"`,
				`a.yaml: document 2: spec.template.status.capacity[cpu]: "4x" is not a quantity: want one as "500m", 4 or "16Gi"`,
			},
		},
		"owners in a circle": {
			files: []string{documents(
				"apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: a, ownerReferences: [{kind: Deployment, name: b}]}\n",
				"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: b, ownerReferences: [{kind: ReplicaSet, name: a}]}\n",
				"apiVersion: v1\nkind: Pod\nmetadata: {name: p, ownerReferences: [{kind: Pod, name: p}]}\n",
				"apiVersion: v1\nkind: Pod\nmetadata: {name: q, ownerReferences: [{kind: ReplicaSet, name: a}]}\n",
			)},
			want: []string{
				"a.yaml: document 3: metadata.ownerReferences: the owners form a cycle: Pod default/p -> Pod default/p",
				"a.yaml: document 1: metadata.ownerReferences: the owners form a cycle: ReplicaSet default/a -> Deployment default/b -> ReplicaSet default/a",
			},
		},
		"truncated JSON": {
			files: []string{`{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}} {"apiVersion":"v1","items":[{"kind":"No`},
			want:  []string{"a.yaml: document 2: the file ends within the document"},
		},
		"truncated YAML": {
			files: []string{"apiVersion: v1\nkind: Node\nmetadata: {name: 'n"},
			want:  []string{"a.yaml: document 1: line 3: found unexpected end of stream"},
		},
		"broken YAML, and the document behind it": {
			files: []string{documents(node("n1"), "a: b: c\n", node("m"), "kind: Pod\n")},
			want: []string{
				"a.yaml: document 2: line 5: mapping values are not allowed in this context",
				"a.yaml: document 4: apiVersion: is required",
			},
		},
		"a key that stands twice": {
			files: []string{documents("apiVersion: v1\nkind: Node\nkind: Pod\nmetadata: {name: n1}\n"), `{"apiVersion":"scenario.cluster-autoscaler/v1","kind":"NodeGroup","metadata":{"name":"g"},"spec":{"maxSize":1,"maxSize":2,"template":{"status":{"capacity":{"cpu":1}}}}}`},
			want: []string{
				`a.yaml: document 1: line 3: key "kind" already set in map`,
				"b.yaml: document 1: spec.maxSize: stands twice",
			},
		},
		"binary input": {
			files: []string{"\x1f\x8b\x08\x00\x00\x00", node("n1") + "---\n\xff\xfe\x00a\n", "{\x01"},
			want: []string{
				"a.yaml: document 1: the file is not text: want YAML or JSON in UTF-8",
				"b.yaml: document 2: the file is not text: want YAML or JSON in UTF-8",
				"c.yaml: document 1: the file is not text: want YAML or JSON in UTF-8",
			},
		},
		"documents that are no objects": {
			files: []string{documents("- a\n", "just text\n", "3\n", "apiVersion: 1\nkind: [Pod]\n", "\n [{}]\n"), `{"a":1 "b":2}`, `{"kind":"List","apiVersion":"v1","items":[3,{"kind":"Node","apiVersion":"v1"}]}`, `{"kind":"Node","apiVersion":"v1","items":[]}`},
			want: []string{
				"a.yaml: document 1: want an object with apiVersion and kind",
				"a.yaml: document 2: want an object with apiVersion and kind",
				"a.yaml: document 3: want an object with apiVersion and kind",
				"a.yaml: document 4: apiVersion: want a string, got the number 1",
				"a.yaml: document 4: kind: want a string, got a list",
				"a.yaml: document 5: want an object with apiVersion and kind, got a list; the file is not read on",
				`b.yaml: document 1: invalid JSON: '"' stands where one of ",}" is expected`,
				"c.yaml: document 1: items[0]: want an object with apiVersion and kind, got the number 3",
				"c.yaml: document 1: items[1].metadata.name: is required",
				`d.yaml: document 1: items: only a list has items, this is a "Node"`,
			},
		},
		"unknown kinds and versions of our group": {
			files: []string{documents(ours("Podz", "p", "{}"), "apiVersion: scenario.cluster-autoscaler/v2\nkind: Pods\nmetadata: {name: p}\n")},
			want: []string{
				`a.yaml: document 1: kind: there is no kind "Podz" in scenario.cluster-autoscaler/v1: want NodeGroup, Pods or Scenario`,
				`a.yaml: document 2: apiVersion: there is no version "scenario.cluster-autoscaler/v2" of the scenario format: want "scenario.cluster-autoscaler/v1"`,
			},
		},
		"names that are none": {
			files: []string{documents(
				ours("Pods", "Web_1", "{}"), ours("NodeGroup", "''", "{maxSize: 1}"), "apiVersion: v1\nkind: Pod\nmetadata: {name: a/b}\n",
				"apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: ..}\n", "apiVersion: scenario.cluster-autoscaler/v1\nkind: NodeGroup\nmetadata: {name: g, namespace: x}\nspec: {maxSize: 1}\n",
			)},
			want: []string{
				`a.yaml: document 1: metadata.name: "Web_1" is not a name: want lower case letters, digits, '-' and '.'`,
				"a.yaml: document 2: metadata.name: is required",
				`a.yaml: document 3: metadata.name: "a/b" is not a name: it may not contain '/'`,
				`a.yaml: document 4: metadata.namespace: ".." is not a name: it may not be '..'`,
				"a.yaml: document 5: metadata.namespace: a NodeGroup is in no namespace",
			},
		},
		"negative numbers and durations of a group": {
			files: []string{group("g", `{minSize: -1, targetSize: -2, stock: -3, priceHour: -0.5, nodes: -4, provisionTime: -1s, deletionTime: -2s, failAfter: -3s,
  options: {scaleDownUnneededTime: -1m, scaleDownUnreadyTime: -2m, maxNodeProvisionTime: -3m, maxNodeStartupTime: -4m, scaleDownUtilizationThreshold: 1.5, scaleDownGpuUtilizationThreshold: -1},
  lateTaints: [{for: -1s}], lateResources: [{quantity: -1, after: -1s}], `+capacity+"}")},
			want: []string{
				"a.yaml: document 1: spec.minSize: is -1, want at least 0",
				"a.yaml: document 1: spec.maxSize: is required",
				"a.yaml: document 1: spec.targetSize: is -2, want at least 0",
				"a.yaml: document 1: spec.stock: is -3, want at least 0",
				"a.yaml: document 1: spec.priceHour: is -0.5, want at least 0",
				"a.yaml: document 1: spec.nodes: is -4, want at least 0",
				"a.yaml: document 1: spec.options.scaleDownUtilizationThreshold: is 1.5, want 0 to 1",
				"a.yaml: document 1: spec.options.scaleDownGpuUtilizationThreshold: is -1, want 0 to 1",
				"a.yaml: document 1: spec.provisionTime: is -1s, want at least 0",
				"a.yaml: document 1: spec.deletionTime: is -2s, want at least 0",
				"a.yaml: document 1: spec.failAfter: is -3s, want at least 0",
				"a.yaml: document 1: spec.options.scaleDownUnneededTime: is -1m0s, want at least 0",
				"a.yaml: document 1: spec.options.scaleDownUnreadyTime: is -2m0s, want at least 0",
				"a.yaml: document 1: spec.options.maxNodeProvisionTime: is -3m0s, want at least 0",
				"a.yaml: document 1: spec.options.maxNodeStartupTime: is -4m0s, want at least 0",
				"a.yaml: document 1: spec.lateTaints[0].key: is required",
				"a.yaml: document 1: spec.lateTaints[0].effect: is required",
				"a.yaml: document 1: spec.lateTaints[0].for: is -1s, want at least 0",
				"a.yaml: document 1: spec.lateResources[0].name: is required",
				"a.yaml: document 1: spec.lateResources[0].quantity: is -1, want at least 0",
				"a.yaml: document 1: spec.lateResources[0].after: is -1s, want at least 0",
			},
		},
		"sizes out of bounds": {
			files: []string{documents(group("g", "{minSize: 4, maxSize: 3, nodes: 100001, "+capacity+"}"), group("h", "{maxSize: -1, "+capacity+"}"), ours("Pods", "p", "{count: 1000001}"))},
			want: []string{
				"a.yaml: document 1: spec.maxSize: is 3, want at least minSize, which is 4",
				"a.yaml: document 1: spec.nodes: is 100001, want at most 100000",
				"a.yaml: document 2: spec.maxSize: is -1, want at least 0",
				"a.yaml: document 3: spec.count: is 1000001, want at most 1000000",
			},
		},
		"wrong Pods": {
			files: []string{documents(
				ours("Pods", "p", "{count: -1, age: -1m, owner: replica set, onNodes: [''], template: {spec: {nodeName: n1, containers: [{resources: {requests: {cpu: -1, memory: -1}, limits: {cpu: -2}}}]}}}"),
				ours("Pods", "q", "{count: many, age: 5 minutes, template: {spec: {priorityClassName: high}}}"),
				ours("Pods", "r", "{template: {spec: {priorityClassName: high}}}"),
				"apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {priorityClassName: high, initContainers: [{resources: {requests: {cpu: 1}}}]}\n",
			)},
			want: []string{
				"a.yaml: document 1: spec.count: is -1, want at least 0",
				"a.yaml: document 1: spec.age: is -1m0s, want at least 0",
				"a.yaml: document 1: spec.template.spec.containers[0].resources.requests[cpu]: is -1, want at least 0",
				"a.yaml: document 1: spec.template.spec.containers[0].resources.requests[memory]: is -1, want at least 0",
				"a.yaml: document 1: spec.template.spec.containers[0].resources.limits[cpu]: is -2, want at least 0",
				`a.yaml: document 1: spec.owner: "replica set" is not a kind: want ReplicaSet, StatefulSet, Job, DaemonSet, None or a kind of your own`,
				"a.yaml: document 1: spec.onNodes[0]: is required",
				"a.yaml: document 1: spec.template.spec.nodeName: onNodes says where the pods run",
				`a.yaml: document 2: spec.age: "5 minutes" is not a duration: want one as "90s" or "1h30m", or 0`,
				`a.yaml: document 2: spec.count: want a whole number, got the string "many"`,
				`a.yaml: document 4: spec.priorityClassName: there is no PriorityClass "high"`,
				`a.yaml: document 3: spec.template.spec.priorityClassName: there is no PriorityClass "high"`,
			},
		},
		"negative numbers of API objects": {
			files: []string{documents(
				"apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: a}\nspec: {replicas: -1}\n", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replicas: -1}\n",
				"apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: a}\nspec: {replicas: -1, template: {spec: {overhead: {cpu: -1}}}}\n",
				"apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {parallelism: -1, completions: -2}\n", "apiVersion: v1\nkind: ReplicationController\nmetadata: {name: a}\nspec: {replicas: -1}\n",
				"apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: a}\nspec: {template: {spec: {resources: {requests: {cpu: -1}}}}}\n",
				"apiVersion: v1\nkind: Node\nmetadata: {name: a}\nstatus: {allocatable: {cpu: -1}}\n",
			)},
			want: []string{
				"a.yaml: document 1: spec.replicas: is -1, want at least 0",
				"a.yaml: document 2: spec.replicas: is -1, want at least 0",
				"a.yaml: document 3: spec.replicas: is -1, want at least 0",
				"a.yaml: document 3: spec.template.spec.overhead[cpu]: is -1, want at least 0",
				"a.yaml: document 4: spec.parallelism: is -1, want at least 0",
				"a.yaml: document 4: spec.completions: is -2, want at least 0",
				"a.yaml: document 5: spec.replicas: is -1, want at least 0",
				"a.yaml: document 6: spec.template.spec.resources.requests[cpu]: is -1, want at least 0",
				"a.yaml: document 7: status.allocatable[cpu]: is -1, want at least 0",
			},
		},
		"bad times": {
			files: []string{documents(scenario("{start: yesterday, duration: -1s}"), "apiVersion: v1\nkind: Node\nmetadata: {name: n1, creationTimestamp: 2026-13-01}\n"), scenario("{}")},
			want: []string{
				`a.yaml: document 1: spec.start: "yesterday" is not a time: want one as "2026-01-01T00:00:00Z"`,
				`a.yaml: document 2: metadata.creationTimestamp: "2026-13-01" is not a time: want one as "2026-01-01T00:00:00Z"`,
				"b.yaml: document 1: there is one Scenario already: a.yaml, document 1",
			},
		},
		"a scenario that is negative, too early, and tells time in numbers": {
			files: []string{scenario(`{start: "0001-01-01T00:00:00Z", duration: -1s}`), ours("Pods", "p", "{age: 5}")},
			want: []string{
				"a.yaml: document 1: spec.start: is in the year 1, want 1970 to 9999",
				"a.yaml: document 1: spec.duration: is -1s, want at least 0",
				`b.yaml: document 1: spec.age: 5 is not a duration: want one as "90s" or "1h30m", or 0`,
			},
		},
		"flags that are no strings": {
			files: []string{scenario("{flags: [--a, 3, true, {--b: c}]}")},
			want: []string{
				"a.yaml: document 1: spec.flags[1]: want a string, got the number 3",
				"a.yaml: document 1: spec.flags[2]: want a string, got true",
				"a.yaml: document 1: spec.flags[3]: want a string, got an object",
			},
		},
		"timelines that say badly when": {
			files: []string{scenario(`{timeline: [
  {restart: {}}, {at: 1m, repeat: {at: 1m, every: 1m}, restart: {}}, {at: -1m, restart: {downtime: -1s}}, {repeat: {at: 1m}, restart: {}}, {repeat: {every: 1ms, until: -1s}, restart: {}},
  {repeat: {at: 5m, every: 1m, until: 1m}, restart: {}}, {at: 1m}]}`)},
			want: []string{
				"a.yaml: document 1: spec.timeline[0]: has neither at nor repeat: want one of them",
				"a.yaml: document 1: spec.timeline[1]: has both at and repeat: want one of them",
				"a.yaml: document 1: spec.timeline[2].at: is -1m0s, want at least 0",
				"a.yaml: document 1: spec.timeline[2].restart.downtime: is -1s, want at least 0",
				"a.yaml: document 1: spec.timeline[3].repeat.every: is required",
				"a.yaml: document 1: spec.timeline[4].repeat.at: is required",
				"a.yaml: document 1: spec.timeline[4].repeat.every: is 1ms, want at least 1s",
				"a.yaml: document 1: spec.timeline[4].repeat.until: is -1s, want at least 0",
				"a.yaml: document 1: spec.timeline[5].repeat.until: is 1m0s, want at least at, which is 5m0s",
				"a.yaml: document 1: spec.timeline[6]: nothing happens: want apply, delete, scale, cloud, nodes or restart",
			},
		},
		"actions that are none": {
			files: []string{scenario(`{timeline: [
  {at: 1m, delete: [{}, {kind: Foo, name: x}, {kind: Node, namespace: a, name: x}]}, {at: 1m, scale: {}}, {at: 1m, scale: {kind: Deployment, name: d, count: -1}},
  {at: 1m, cloud: {}}, {at: 1m, cloud: {targetSize: -1}}, {at: 1m, cloud: {nodeGroup: g, minSize: 3, maxSize: 2}}, {at: 1m, nodes: {}}, {at: 1m, nodes: {names: [a], gone: false}},
  {at: 1m, nodes: {names: [a], gone: true, ready: true}}, {at: 1m, apply: [{kind: Pod}, 3, {apiVersion: scenario.cluster-autoscaler/v1, kind: Scenario, metadata: {name: x}}]}]}`)},
			want: []string{
				"a.yaml: document 1: spec.timeline[0].delete[0].kind: is required",
				"a.yaml: document 1: spec.timeline[0].delete[0].name: is required",
				`a.yaml: document 1: spec.timeline[0].delete[1].kind: there is no kind "Foo" that could be deleted`,
				"a.yaml: document 1: spec.timeline[0].delete[2].namespace: a Node is in no namespace",
				"a.yaml: document 1: spec.timeline[1].scale.kind: is required",
				"a.yaml: document 1: spec.timeline[1].scale.name: is required",
				"a.yaml: document 1: spec.timeline[1].scale.count: is required",
				`a.yaml: document 1: spec.timeline[2].scale.kind: is "Deployment", want Pods, ReplicaSet, StatefulSet or Job`,
				"a.yaml: document 1: spec.timeline[2].scale.count: is -1, want at least 0",
				"a.yaml: document 1: spec.timeline[3].cloud: nothing changes: want outOfResources, stuck, an error or a size",
				"a.yaml: document 1: spec.timeline[4].cloud.targetSize: is -1, want at least 0",
				"a.yaml: document 1: spec.timeline[4].cloud.nodeGroup: is required with targetSize",
				"a.yaml: document 1: spec.timeline[5].cloud.maxSize: is 2, want at least minSize, which is 3",
				"a.yaml: document 1: spec.timeline[6].nodes.names: want at least one",
				"a.yaml: document 1: spec.timeline[6].nodes: nothing changes: want ready, cordoned or gone",
				"a.yaml: document 1: spec.timeline[7].nodes.gone: machines don't come back: want true",
				"a.yaml: document 1: spec.timeline[8].nodes.gone: nodes that are gone are neither ready nor cordoned",
				"a.yaml: document 1: spec.timeline[9].apply[0].apiVersion: is required",
				"a.yaml: document 1: spec.timeline[9].apply[1]: want an object with apiVersion and kind, got the number 3",
				"a.yaml: document 1: spec.timeline[9].apply[2].kind: a Scenario can't be applied",
			},
		},
		"timelines that name what is not there at that time": {
			files: []string{documents(plainGroup("workers"), ours("Pods", "web", "{count: 2}"), scenario(`{timeline: [
  {at: 5m, scale: {kind: Pods, name: late, count: 2}, cloud: {nodeGroup: second, stuck: true}},
  {at: 1m, scale: {kind: Pods, name: late, count: 2}, cloud: {nodeGroup: second, stuck: true}, nodes: {names: [workers-0, workers-9, second-0, other], ready: false}},
  {at: 2m, apply: [{apiVersion: scenario.cluster-autoscaler/v1, kind: Pods, metadata: {name: late}}, {apiVersion: scenario.cluster-autoscaler/v1, kind: NodeGroup, metadata: {name: second}, spec: {maxSize: 1, `+capacity+`}}]},
  {at: 6m, delete: [{kind: Pods, name: web}, {kind: Pod, name: late-7}, {kind: Pod, name: other-7}, {kind: NodeGroup, name: third}, {kind: ReplicaSet, name: late}]},
  {at: 7m, delete: [{kind: Pods, name: web}, {kind: Pod, name: web-0}], scale: {kind: ReplicaSet, name: web, count: 1}, nodes: {names: [second-3], gone: true}},
  {at: 8m, apply: [{apiVersion: scenario.cluster-autoscaler/v1, kind: Pods, metadata: {name: ons}, spec: {onNodes: [workers-5, nowhere], template: {spec: {priorityClassName: none}}}},
    {apiVersion: scenario.cluster-autoscaler/v1, kind: NodeGroup, metadata: {name: bare}, spec: {maxSize: 1}}, {apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {nodeName: nowhere}}]}]}`))},
			want: []string{
				"a.yaml: document 3: spec.timeline[1].scale: there is no Pods default/late at that time",
				`a.yaml: document 3: spec.timeline[1].cloud.nodeGroup: there is no node group "second" at that time`,
				`a.yaml: document 3: spec.timeline[1].nodes.names[2]: there is no node "second-0" at that time`,
				`a.yaml: document 3: spec.timeline[1].nodes.names[3]: there is no node "other" at that time`,
				"a.yaml: document 3: spec.timeline[3].delete[2]: there is no Pod default/other-7 at that time",
				"a.yaml: document 3: spec.timeline[3].delete[3]: there is no NodeGroup third at that time",
				"a.yaml: document 3: spec.timeline[4].delete[0]: there is no Pods default/web at that time",
				"a.yaml: document 3: spec.timeline[4].scale: there is no ReplicaSet default/web at that time",
				"a.yaml: document 3: spec.timeline[5].apply[1].spec.template: is required: the group has no node to copy it from",
				`a.yaml: document 3: spec.timeline[5].apply[2].spec.nodeName: there is no node "nowhere"`,
				`a.yaml: document 3: spec.timeline[5].apply[0].spec.onNodes[1]: there is no node "nowhere"`,
				`a.yaml: document 3: spec.timeline[5].apply[0].spec.template.spec.priorityClassName: there is no PriorityClass "none"`,
			},
		},
		"one name twice in an entry": {
			files: []string{scenario(`{timeline: [{at: 1m, apply: [{apiVersion: v1, kind: Node, metadata: {name: n1}}, {apiVersion: v1, kind: Node, metadata: {name: n1}}]}]}`)},
			want:  []string{"a.yaml: document 1: spec.timeline[0].apply[1].metadata.name: Node n1 is defined already: spec.timeline[0].apply[0]"},
		},
		"expectations that say badly when": {
			files: []string{scenario(`{expect: [{pendingPods: 0}, {by: 1m, at: 2m, pendingPods: 0}, {always: false, pendingPods: 0}, {by: -1s, pendingPods: 0}, {at: 1m, orAlready: true, pendingPods: 0},
  {always: true, never: true, total: true, increases: 1}]}`)},
			want: []string{
				"a.yaml: document 1: spec.expect[0]: says not when: want one of by, at, always, never and total",
				"a.yaml: document 1: spec.expect[1]: has by and at: want one of by, at, always, never and total",
				"a.yaml: document 1: spec.expect[2].always: is false: want true, or leave it out",
				"a.yaml: document 1: spec.expect[3].by: is -1s, want at least 0",
				"a.yaml: document 1: spec.expect[4].orAlready: goes with by only",
				"a.yaml: document 1: spec.expect[5]: has always and never and total: want one of by, at, always, never and total",
			},
		},
		"expectations that don't go together": {
			files: []string{scenario(`{expect: [{by: 1m}, {by: 1m, pendingPods: 0, event: ScaleUp}, {by: 1m, increases: 1}, {total: true, pendingPods: -1}, {by: 1m, targetSize: 1}, {by: 1m, nodeGroup: g, pendingPods: 1},
  {always: true, removed: [a]}, {by: 1m, pendingPods: 1, pod: a/b, node: c, reason: d}, {by: 1m, event: Bang}, {at: 1m, event: ScaleUp, pod: web}]}`)},
			want: []string{
				"a.yaml: document 1: spec.expect[0]: expects nothing: want sizes, pendingPods, removed, undrainedEnded, an event or totals",
				"a.yaml: document 1: spec.expect[1]: mixes conditions, events and totals: want an expectation for each",
				"a.yaml: document 1: spec.expect[2]: increases, deletes and evictions go with total only",
				"a.yaml: document 1: spec.expect[3].pendingPods: is -1, want at least 0",
				"a.yaml: document 1: spec.expect[3].total: goes with increases, deletes and evictions only",
				"a.yaml: document 1: spec.expect[4].nodeGroup: is required with a target size",
				"a.yaml: document 1: spec.expect[5].nodeGroup: goes with a target size, an event or totals",
				"a.yaml: document 1: spec.expect[6].removed: can't hold always: want by, at or never",
				"a.yaml: document 1: spec.expect[7].pod: goes with an event only",
				"a.yaml: document 1: spec.expect[7].node: goes with an event only",
				"a.yaml: document 1: spec.expect[7].reason: goes with an event only",
				`a.yaml: document 1: spec.expect[8].event: there is no event "Bang": want one of GroupBackedOff, GroupSetAside, IterationFailed, NoScaleUp, NodeKept, NodeNeeded, NodeReady, NodeRemoved, NodeUnneeded, Notice, Restarted, ScaleDown, ScaleDownFailed, ScaleUp, ScaleUpFailed`,
				"a.yaml: document 1: spec.expect[9].event: happens once: want by or never",
				`a.yaml: document 1: spec.expect[9].pod: is "web", want namespace/name`,
			},
		},
		"expectations of what never is there": {
			files: []string{documents(plainGroup("g"), scenario(`{timeline: [{at: 1m, apply: [{apiVersion: scenario.cluster-autoscaler/v1, kind: NodeGroup, metadata: {name: late}, spec: {maxSize: 1, `+capacity+`}}]}],
  expect: [{by: 1m, nodeGroup: late, targetSize: 1}, {by: 1m, nodeGroup: h, targetSize: 1}, {by: 1m, removed: [g-0, g-5, late-1, x]}, {by: 1m, event: NodeKept, node: y1}]}`))},
			want: []string{
				`a.yaml: document 2: spec.expect[1].nodeGroup: there is no node group "h"`,
				`a.yaml: document 2: spec.expect[2].removed[3]: there is no node "x"`,
				`a.yaml: document 2: spec.expect[3].node: there is no node "y1"`,
			},
		},
		"nodes that belong nowhere, to two groups, or to one machine": {
			files: []string{documents(
				"apiVersion: v1\nkind: Node\nmetadata: {name: a, annotations: {scenario.cluster-autoscaler/node-group: other}}\nspec: {providerID: x}\n",
				"apiVersion: v1\nkind: Node\nmetadata: {name: b, labels: {p: q, r: s}}\nspec: {providerID: x}\n",
				group("g", "{maxSize: 1, nodeSelector: {p: q}, "+capacity+"}"), group("h", "{maxSize: 1, nodeSelector: {r: s}, "+capacity+"}"),
			)},
			want: []string{
				`a.yaml: document 1: metadata.annotations[scenario.cluster-autoscaler/node-group]: there is no node group "other"`,
				`a.yaml: document 2: metadata.labels: the nodeSelectors of two node groups match, those of "g" and "h"`,
				`a.yaml: document 2: spec.providerID: "x" is that of node a already`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, all(test.files...)); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

func TestErrorsAreBounded(t *testing.T) {
	got := all(strings.Repeat("---\nkind: Pod\n", 200))
	if len(got) != 51 || got[50] != "a.yaml: document 51: there are more errors than these 50" {
		t.Errorf("got %d errors, the last: %s", len(got), got[len(got)-1])
	}
}

func TestAFileThatCannotBeReadIsAnError(t *testing.T) {
	_, _, err := document.Read([]document.Source{{Name: "-", Reader: iotest.ErrReader(errors.New("the disk is on fire"))}})
	if err == nil || err.Error() != "-: reading: the disk is on fire" {
		t.Errorf("got %v", err)
	}
	faults, ok := errors.AsType[document.Errors](err)
	if !ok || len(faults) != 1 || faults[0].File != "-" || faults[0].Document != 0 {
		t.Errorf("got %#v", faults)
	}
}
