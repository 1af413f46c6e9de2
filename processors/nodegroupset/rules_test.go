package nodegroupset_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/processors/nodegroupset"
	"example.com/cluster-autoscaler/processors/nodeinfos"
	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/simtest"
)

// variant is one shape of a fresh node, with the pods that are there from the start.
type variant struct {
	node   simtest.NodeBuilder
	pods   []simtest.PodBuilder
	source nodeinfos.Source
}

// machine has 4 cores and 16 GiB; its builder methods set capacity and allocatable alike.
func machine() simtest.NodeBuilder { return simtest.Node("n").CPU("4").Memory("16Gi") }

func live(node simtest.NodeBuilder, pods ...simtest.PodBuilder) []variant {
	return []variant{{node, pods, nodeinfos.LiveNode}}
}

func described(node simtest.NodeBuilder, pods ...simtest.PodBuilder) []variant {
	return []variant{{node, pods, nodeinfos.Cloud}}
}

func template(variants []variant) nodeinfos.Template {
	var out nodeinfos.Template
	for _, v := range variants {
		fresh := simulator.NodeTemplate{Node: v.node.Build()}
		for _, p := range v.pods {
			fresh.Pods = append(fresh.Pods, p.Build())
		}
		out.Variants = append(out.Variants, nodeinfos.Variant{NodeTemplate: fresh, Weight: 1, Source: v.source})
	}
	return out
}

func capacity(name corev1.ResourceName, quantity string) simtest.NodeBuilder {
	return machine().With(func(n *corev1.Node) { n.Status.Capacity[name] = resource.MustParse(quantity) })
}

func allocatable(name corev1.ResourceName, quantity string) simtest.NodeBuilder {
	return machine().With(func(n *corev1.Node) { n.Status.Allocatable[name] = resource.MustParse(quantity) })
}

func daemon(cpu string) simtest.PodBuilder { return simtest.Pod("d").Requests(cpu, "").DaemonSet("d") }

const device = corev1.ResourceName("example.com/device")

// pairs are groups that are compared by the flags' defaults.
func pairs() map[string]struct {
	a, b  []variant
	unto  func(*nodegroupset.In) // what is different from the defaults; nil: nothing
	wants string                 // the difference; empty: similar
} {
	type pair = struct {
		a, b  []variant
		unto  func(*nodegroupset.In)
		wants string
	}
	devices := machine().Resource(device, "2")
	asks := simtest.Pod("d").Requests("1", "").Request(device, "1").DaemonSet("d")
	ignoring := func(keys ...string) func(*nodegroupset.In) {
		return func(in *nodegroupset.In) { in.Options.IgnoreLabels = keys }
	}
	only := func(keys ...string) func(*nodegroupset.In) {
		return func(in *nodegroupset.In) { in.Options.Labels = keys }
	}
	bookkeeping := func(keys ...string) func(*nodegroupset.In) {
		return func(in *nodegroupset.In) { in.Bookkeeping = keys }
	}
	type1 := func(name, cpu string) variant {
		return variant{machine().CPU(cpu).Label(corev1.LabelInstanceTypeStable, name), nil, nodeinfos.LiveNode}
	}
	return map[string]pair{
		"equal ones": {live(machine()), live(machine()), nil, ""},
		"B01: capacity of memory within the ratio": {
			live(capacity("memory", "16000000Ki")), live(capacity("memory", "15800000Ki")), nil, "",
		},
		"B01: beyond it": {live(capacity("memory", "16000000Ki")), live(capacity("memory", "15700000Ki")), nil, "capacity of memory"},
		"the ratio of memory is a flag": {
			live(capacity("memory", "16000000Ki")), live(capacity("memory", "15700000Ki")),
			func(in *nodegroupset.In) { in.Options.MemoryDifferenceRatio = 0.02 }, "",
		},
		"B02: allocatable within the ratio": {live(allocatable("cpu", "3920m")), live(allocatable("cpu", "3730m")), nil, ""},
		"B02: beyond it":                    {live(allocatable("cpu", "3920m")), live(allocatable("cpu", "3700m")), nil, "allocatable cpu"},
		"the ratio of allocatable is a flag": {
			live(allocatable("cpu", "3920m")), live(allocatable("cpu", "3800m")),
			func(in *nodegroupset.In) { in.Options.MaxAllocatableDifferenceRatio = 0.01 }, "allocatable cpu",
		},
		"B03: capacity of CPU is equal or not":   {live(capacity("cpu", "4")), live(capacity("cpu", "4001m")), nil, "capacity of cpu"},
		"a resource that only one real node has": {live(devices), live(machine()), nil, "capacity of example.com/device"},
		"one that is only allocatable on one": {
			live(allocatable(device, "2")), live(machine()), nil, "allocatable example.com/device",
		},
		"B04: zones, regions and host names do not count": {
			live(machine().Zone("a").Label(corev1.LabelTopologyRegion, "x").Label(corev1.LabelHostname, "n1").
				Label(corev1.LabelFailureDomainBetaZone, "a").Label(corev1.LabelFailureDomainBetaRegion, "x")),
			live(machine().Zone("b").Label(corev1.LabelTopologyRegion, "y").Label(corev1.LabelHostname, "n2").
				Label("kops.k8s.io/instancegroup", "g").Label("beta.kubernetes.io/fluentd-ds-ready", "true")),
			nil, "",
		},
		"B05: a label that only one has":        {live(machine().Label("team", "x")), live(machine()), nil, "label team"},
		"B05: unless it is ignored":             {live(machine().Label("team", "x")), live(machine()), ignoring("team"), ""},
		"B17, replaced: whatever the cloud":     {live(machine().Label("team", "x")), live(machine()), ignoring("other", "team"), ""},
		"a label with another value":            {live(machine().Label("team", "x")), live(machine().Label("team", "y")), nil, "label team"},
		"labels that the cloud ignores":         {live(machine().Label("pool-id", "x")), live(machine().Label("pool-id", "y")), bookkeeping("pool-id"), ""},
		"families of labels that it ignores":    {live(machine().Label("aws:x", "x")), live(machine().Label("aws:y", "y")), bookkeeping("aws:*"), ""},
		"but not those that only look like one": {live(machine().Label("my-aws:x", "x")), live(machine()), bookkeeping("aws:*"), "label my-aws:x"},
		"types of machines count": {
			live(machine().Label(corev1.LabelInstanceTypeStable, "m5.xlarge")), live(machine().Label(corev1.LabelInstanceTypeStable, "m6i.xlarge")),
			nil, "label node.kubernetes.io/instance-type",
		},
		"B06: one label decides alone": {
			live(machine().Label("pool", "x")), live(machine().CPU("64").Label("pool", "x").Label("team", "t")), only("pool"), "",
		},
		"B06: if both have it":            {live(machine().Label("pool", "x")), live(machine()), only("pool"), "label pool"},
		"of several deciding labels all":  {live(machine().Label("p", "x").Label("q", "1")), live(machine().Label("p", "x").Label("q", "2")), only("p", "q"), "label q"},
		"the deciding label wins":         {live(machine().Zone("a")), live(machine().Zone("b")), only(corev1.LabelTopologyZone), "label topology.kubernetes.io/zone"},
		"free within the ratio":           {live(machine(), daemon("1")), live(machine(), daemon("1100m")), nil, ""},
		"beyond it":                       {live(machine(), daemon("1")), live(machine(), daemon("1200m")), nil, "free cpu"},
		"the ratio of what is free":       {live(machine(), daemon("1")), live(machine(), daemon("1200m")), func(in *nodegroupset.In) { in.Options.MaxFreeDifferenceRatio = 0.1 }, ""},
		"B18: the number of pods is none": {live(machine().MaxPods("10"), daemon("0")), live(machine().MaxPods("10"), daemon("0"), daemon("0"), daemon("0"), daemon("0"), daemon("0")), nil, ""},
		"B19: overcommitted nodes are like no other": {
			live(machine(), daemon("5")), live(machine(), daemon("5")), nil, "free cpu",
		},
		"B19: full ones are alike":            {live(machine(), daemon("4")), live(machine(), daemon("4")), nil, ""},
		"B20: a device that one's pods use":   {live(devices, asks), live(devices, daemon("1")), nil, "free example.com/device"},
		"B20: or that both's do":              {live(devices, asks), live(devices, asks), nil, ""},
		"what a description lacks and nobody": {live(devices), described(machine()), nil, ""},
		"nor counts the disk of a description": {
			live(machine().Resource(corev1.ResourceEphemeralStorage, "80Gi")), described(machine().With(func(n *corev1.Node) {
				delete(n.Status.Capacity, corev1.ResourceEphemeralStorage)
				delete(n.Status.Allocatable, corev1.ResourceEphemeralStorage)
			})), nil, "",
		},
		"what it lacks and somebody asks for": {
			live(devices), described(machine()), func(in *nodegroupset.In) { in.Asked = map[corev1.ResourceName]bool{device: true} },
			"capacity of example.com/device",
		},
		"of which there is none anyway": {
			live(machine().Resource(device, "0")), described(machine()),
			func(in *nodegroupset.In) { in.Asked = map[corev1.ResourceName]bool{device: true} }, "",
		},
		"a description is compared where it speaks": {live(machine()), described(machine().CPU("8")), nil, "capacity of cpu"},
		"what both lack is no difference":           {described(devices, asks), described(devices, daemon("1")), nil, ""},
		"taints": {
			live(machine().Taint("dedicated", "x", corev1.TaintEffectNoSchedule)), live(machine()), nil, "taints",
		},
		"the order of taints does not count": {
			live(machine().Taint("x", "", corev1.TaintEffectNoSchedule).Taint("y", "", corev1.TaintEffectNoExecute)),
			live(machine().Taint("y", "", corev1.TaintEffectNoExecute).Taint("x", "", corev1.TaintEffectNoSchedule)), nil, "",
		},
		"several shapes, one for each zone": {
			slices.Concat(live(machine().Zone("a")), live(machine().Zone("b"))), live(machine().Zone("c")), nil, "",
		},
		"the same types in another order": {
			[]variant{type1("m5", "4"), type1("m6i", "4")}, []variant{type1("m6i", "4"), type1("m5", "4")}, nil, "",
		},
		"more types than the other": {
			[]variant{type1("m5", "4"), type1("m6i", "4")}, []variant{type1("m5", "4")}, nil, "label node.kubernetes.io/instance-type",
		},
		"the least that a type offers is what counts": {
			[]variant{type1("m5", "4"), type1("m6i", "8")}, []variant{type1("m5", "4"), type1("m6i", "16")}, nil, "",
		},
		"nothing is like what nobody knows": {live(machine()), nil, nil, "nothing is known of the nodes of one"},
	}
}

func TestSimilar(t *testing.T) {
	for name, tc := range pairs() {
		t.Run(name, func(t *testing.T) {
			in := nodegroupset.In{Options: config.Defaults().Balancing}
			if tc.unto != nil {
				tc.unto(&in)
			}
			rules := nodegroupset.NewRules(in)
			a, b := rules.Profile(template(tc.a)), rules.Profile(template(tc.b))
			if got := rules.Difference(a, b); got != tc.wants {
				t.Errorf("the difference is %q, want %q", got, tc.wants)
			}
			if got := rules.Difference(b, a); (got == "") != (tc.wants == "") {
				t.Errorf("the other way round the difference is %q", got)
			}
			if rules.Similar(a, b) != (tc.wants == "") {
				t.Error("similar is not the same as without difference")
			}
		})
	}
}
