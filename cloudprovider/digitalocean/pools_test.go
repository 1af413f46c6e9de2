package digitalocean_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/digitalocean"
	"example.com/cluster-autoscaler/cloudprovider/digitalocean/dotest"
)

func TestPoolsWithManagedAutoscalingAreGroupsByName(t *testing.T) {
	b, a, c := on("b", 0, 5, 2), on("a", 1, 4, 1), on("c", 0, 3, 0)
	b.Name, a.Name, c.Name = "beta", "gamma", "alpha"
	r := newRig(t, b, a, c, dotest.Pool{ID: "fixed", Count: 3})
	r.refresh()
	if diff := cmp.Diff([]string{"c", "b", "a"}, r.ids()); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	s := r.state("b")
	if s.Min != 0 || s.Max != 5 || s.Target != 2 || len(s.Instances) != 2 || !strings.HasPrefix(s.Debug, "cluster ID: b (min:0 max:5)") || !strings.Contains(s.Debug, "beta") {
		t.Errorf("state %+v", s)
	}
}

func TestAPoolIsSwitchedOnAndOffWhileRunning(t *testing.T) {
	r := newRig(t, on("web", 1, 5, 2), dotest.Pool{ID: "late", Count: 1})
	r.refresh()
	late := registered(r.node("late", 0))
	if exists, known := r.provider.InstanceExists(late); !exists || !known {
		t.Errorf("a Droplet of a pool that is no group: %t, %t; want true, true", exists, known)
	}
	if id, _ := r.provider.GroupOf(late); id != "" {
		t.Errorf("group %q of a node of a pool that is none", id)
	}
	web := r.group("web")
	must(t, r.server.SwitchAutoScale("web", false, 0, 0))
	must(t, r.server.SwitchAutoScale("late", true, 0, 3))
	// Nothing is written to a pool that was switched off, even before the next refresh shows it.
	granted, err := web.IncreaseSize(r.ctx(), 1)
	if granted != 0 || kind(err) != "Gone" {
		t.Errorf("IncreaseSize = %d, %v; want 0 and a GoneError", granted, err)
	}
	if _, err := web.DecreaseTargetSize(r.ctx(), 1); kind(err) != "Gone" {
		t.Errorf("DecreaseTargetSize: %v, want a GoneError", err)
	}
	if got := outcomes(web.DeleteNodes(r.ctx(), refs(r.node("web", 0)))); got != "refused: Gone" {
		t.Errorf("DeleteNodes: %s, want refused: Gone", got)
	}
	if len(r.server.Writes()) != 0 {
		t.Errorf("writes %q, want none", r.writes())
	}
	select {
	case <-r.provider.Changed():
	default:
		t.Error("the loop was not woken")
	}
	r.after(10 * time.Second)
	if diff := cmp.Diff([]string{"late"}, r.ids()); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	if s := r.state("late"); s.Max != 3 || s.Target != 1 {
		t.Errorf("late has max %d and target %d, want 3 and 1", s.Max, s.Target)
	}
	if got := r.notices(); len(got) != 1 || !strings.Contains(got[0], "switched off") {
		t.Errorf("notices %q, want one about the pool that was switched off", got)
	}
	must(t, r.server.SwitchAutoScale("web", true, 1, 5))
	r.after(10 * time.Second)
	if diff := cmp.Diff([]string{"late", "web"}, r.ids()); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestPoolsCanBeSelectedWithoutManagedAutoscaling(t *testing.T) {
	tagged := dotest.Pool{ID: "tagged", Count: 1, Tags: []string{"k8s-cluster-autoscaler-enabled:true", "k8s-cluster-autoscaler-max:7"}}
	server := newRigOf(t, dotest.Config{}, digitalocean.Options{
		Nodes: []string{"2:9:named"}, AutoDiscovery: []string{"doks:tag=team:ml,gpu,min=0,max=4"},
	}, dotest.Pool{ID: "1", Name: "named", Count: 1}, tagged, dotest.Pool{ID: "both", Tags: []string{"gpu", "team:ml"}},
		dotest.Pool{ID: "half", Tags: []string{"gpu"}}, dotest.Pool{ID: "plain"})
	server.refresh()
	got := map[string]string{}
	for _, id := range server.ids() {
		got[id] = fmt.Sprintf("%d:%d", server.state(id).Min, server.state(id).Max)
	}
	if diff := cmp.Diff(map[string]string{"1": "2:9", "tagged": "1:7", "both": "0:4"}, got); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
}

func TestASelectedPoolWithManagedAutoscalingKeepsTheBoundsOfTheAPIAndWarnsOnce(t *testing.T) {
	r := newRigOf(t, dotest.Config{}, digitalocean.Options{Nodes: []string{"2:9:web"}}, on("web", 1, 5, 1))
	r.refresh()
	r.after(10 * time.Second)
	if s := r.state("web"); s.Min != 1 || s.Max != 5 {
		t.Errorf("bounds %d:%d, want 1:5", s.Min, s.Max)
	}
	if got := r.notices(); len(got) != 1 || !strings.Contains(got[0], "two autoscalers") {
		t.Errorf("notices %q, want one about two autoscalers", got)
	}
}

func TestEveryStateOfANodeIsAnInstanceOfItsOwn(t *testing.T) {
	r := newRig(t, on("web", 0, 9, 8), on("api", 0, 9, 2))
	edit := func(number int, f func(n *dotest.Node)) { must(t, r.server.UpdateNode(r.node("web", number).ID, f)) }
	edit(1, func(n *dotest.Node) { n.State = dotest.Provisioning })
	edit(2, func(n *dotest.Node) { n.State, n.DropletID = dotest.Provisioning, "" })
	edit(3, func(n *dotest.Node) { n.State = dotest.Draining })
	edit(4, func(n *dotest.Node) { n.State = dotest.Deleting })
	edit(5, func(n *dotest.Node) { n.NoStatus, n.DropletID = true, "" })
	edit(6, func(n *dotest.Node) { n.NoStatus = true })
	edit(7, func(n *dotest.Node) { n.State, n.Message, n.DropletID = "failed", "droplet limit exceeded", "" })
	must(t, r.server.UpdateNode(r.node("api", 0).ID, func(n *dotest.Node) { n.State, n.DropletID = dotest.Provisioning, "" }))
	must(t, r.server.UpdateNode(r.node("api", 1).ID, func(n *dotest.Node) { n.State, n.DropletID = "", "" }))
	r.refresh()
	// Two nodes end, so that two places are open.
	want := "running creating creating* deleting deleting creating* running creating*!DROPLET_LIMIT creating* creating*"
	if got := shape(r.state("web")); got != want {
		t.Errorf("instances %s, want %s", got, want)
	}
	ids := map[string]bool{}
	for _, id := range []string{"web", "api"} {
		for _, i := range r.state(id).Instances {
			if ids[i.ID] || !strings.HasPrefix(i.ID, "digitalocean://") {
				t.Errorf("the id %q is there twice or has another form", i.ID)
			}
			ids[i.ID] = true
		}
	}
	if got := r.state("web").Instances[7].Error; got.Class != cloudprovider.ErrorClassOutOfResources || got.Message != "droplet limit exceeded" {
		t.Errorf("error %+v", *got)
	}
}

func TestTheMessagesOfFailedNodesTellWhatKindOfFailureItIs(t *testing.T) {
	for message, want := range map[string]string{
		"Droplet limit reached": "OutOfResource DROPLET_LIMIT", "quota exceeded": "OutOfResource DROPLET_LIMIT",
		"not enough capacity": "OutOfResource CAPACITY", "size is currently unavailable": "OutOfResource CAPACITY", "sold out": "OutOfResource CAPACITY",
		"cloud-init failed": "Other NODE_FAILED", "": "",
	} {
		t.Run(message, func(t *testing.T) {
			r := newRig(t, on("web", 0, 9, 1))
			must(t, r.server.UpdateNode(r.node("web", 0).ID, func(n *dotest.Node) { n.State, n.Message, n.DropletID = "failed", message, "" }))
			r.refresh()
			i, got := r.state("web").Instances[0], ""
			if i.Error != nil {
				got = i.Error.Class.String() + " " + i.Error.Code
			}
			if got != want || i.State != cloudprovider.InstanceCreating {
				t.Errorf("%s %q, want creating %q", i.State, got, want)
			}
		})
	}
}

func TestAnUnknownStateOfANodeThatWorkedIsNoFailureAndToldOnce(t *testing.T) {
	for name, prepare := range map[string]func(r *rig){
		"seen running": func(r *rig) { r.refresh() },
		"registered": func(r *rig) {
			must(r.t, r.server.UpdateNode(r.node("web", 0).ID, func(n *dotest.Node) { n.State = "rebooting" }))
			r.refresh()
			if _, err := r.provider.GroupOf(registered(r.node("web", 0))); err != nil {
				r.t.Fatal(err)
			}
		},
		"old": func(r *rig) { r.clock.Step(3 * time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, on("web", 0, 9, 1))
			prepare(r)
			must(t, r.server.UpdateNode(r.node("web", 0).ID, func(n *dotest.Node) { n.State, n.Message = "paused", "not enough sleep" }))
			r.after(10 * time.Second)
			r.after(10 * time.Second)
			if got := shape(r.state("web")); got != "running" {
				t.Errorf("instance %s, want running", got)
			}
			got := slices.DeleteFunc(r.notices(), func(n string) bool { return !strings.Contains(n, "paused") })
			if len(got) != 1 {
				t.Errorf("notices %q, want one", got)
			}
		})
	}
}

func TestNodesFindTheirGroupByDropletOrLabel(t *testing.T) {
	r := newRig(t, on("web", 0, 9, 2), on("api", 0, 9, 1))
	r.refresh()
	gone := registered(r.node("web", 1))
	must(t, r.server.LoseNode(r.node("web", 1).ID))
	r.after(10 * time.Second)
	bare := &corev1.Node{}
	bare.Labels = map[string]string{"doks.digitalocean.com/node-pool-id": "api"}
	foreign := bare.DeepCopy()
	foreign.Spec.ProviderID = "aws:///eu-west-1a/i-1"
	for name, test := range map[string]struct {
		node *corev1.Node
		want cloudprovider.GroupID
	}{
		"a node": {node: registered(r.node("web", 0)), want: "web"}, "one that left the list": {node: gone, want: "web"},
		"one without a provider id": {node: bare, want: "api"}, "one of another cloud": {node: foreign, want: ""},
	} {
		if got, err := r.provider.GroupOf(test.node); got != test.want || err != nil {
			t.Errorf("%s: group %q, %v; want %q and no error", name, got, err, test.want)
		}
	}
	if exists, known := r.provider.InstanceExists(gone); exists || !known {
		t.Errorf("a Droplet that is gone: %t, %t; want false, true", exists, known)
	}
	young := registered(dotest.Node{ID: "n", Pool: "web", DropletID: "77", CreatedAt: r.clock.Now()})
	if _, known := r.provider.InstanceExists(young); known {
		t.Error("a Droplet that is younger than the view is known")
	}
	r.server.Inject(dotest.Fault{Operation: dotest.ListNodePools, Status: 503, Count: dotest.Always})
	r.clock.Step(3 * time.Minute)
	_ = r.provider.Refresh(r.ctx())
	if _, known := r.provider.InstanceExists(gone); known {
		t.Error("an old view still tells what doesn't exist")
	}
}

func TestMachinesInCreationCountEvenWithoutADropletC06(t *testing.T) {
	r := newRig(t, on("small", 1, 10, 2))
	r.refresh()
	if granted, err := r.group("small").IncreaseSize(r.ctx(), 2); granted != 2 || err != nil {
		t.Fatalf("IncreaseSize = %d, %v", granted, err)
	}
	for range 2 {
		r.after(10 * time.Second)
		s := r.state("small")
		if got := shape(s); s.Target != 4 || got != "running running creating* creating*" {
			t.Errorf("target %d, instances %s; want 4 and two in creation", s.Target, got)
		}
		if s.Instances[2].ID == s.Instances[3].ID {
			t.Errorf("both are called %q", s.Instances[2].ID)
		}
	}
	r.settle()
	r.after(10 * time.Second)
	if got := shape(r.state("small")); got != "running running running running" {
		t.Errorf("instances %s, want four that run", got)
	}
	if diff := cmp.Diff([]string{`PUT small {"count":4}`}, r.writes()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

func TestAPoolWithMinimumZeroIsAGroupLikeOthersC14(t *testing.T) {
	r := newRig(t, on("zero", 0, 3, 0), on("base", 1, 5, 1))
	r.refresh()
	if s := r.state("zero"); s.Min != 0 || s.Max != 3 || s.Target != 0 || len(s.Instances) != 0 {
		t.Errorf("state %+v", s)
	}
	if _, err := r.group("zero").Templates(r.ctx()); err != nil {
		t.Errorf("Templates: %v", err)
	}
	if granted, err := r.group("base").IncreaseSize(r.ctx(), 1); granted != 1 || err != nil {
		t.Errorf("raising base: %d, %v", granted, err)
	}
	if granted, err := r.group("zero").IncreaseSize(r.ctx(), 1); granted != 1 || err != nil {
		t.Errorf("raising zero: %d, %v", granted, err)
	}
	r.settle()
	r.after(10 * time.Second)
	if got := outcomes(r.group("zero").DeleteNodes(r.ctx(), refs(r.node("zero", 0)))); got != "ok" {
		t.Errorf("deleting the last node of zero: %s", got)
	}
	if got := r.server.Pool("zero").Count; got != 0 {
		t.Errorf("count %d, want 0", got)
	}
}

func TestAnUpgradeOfTheClusterHoldsTheNodesOfAllPools(t *testing.T) {
	r := newRig(t, on("web", 0, 9, 1))
	r.refresh()
	r.server.SetClusterStatus("upgrading")
	checker := r.group("web").(cloudprovider.ShrinkChecker)
	if got := checker.CheckShrink(r.ctx()); got != "" {
		t.Errorf("held: %q by what was read just now, want nothing", got)
	}
	r.clock.Step(time.Minute)
	if got := checker.CheckShrink(r.ctx()); !strings.Contains(got, "upgraded") {
		t.Errorf("held: %q a minute later, want the upgrade", got)
	}
	r.refresh()
	if got := r.state("web").Held; !strings.Contains(got, "upgraded") {
		t.Errorf("held: %q, want the upgrade", got)
	}
	r.server.SetClusterStatus("running")
	r.after(6 * time.Minute)
	if got := r.state("web").Held; got != "" {
		t.Errorf("held: %q, want nothing", got)
	}
}

func TestPagesAreReadUntilAShortOneOrARepetition(t *testing.T) {
	for name, paged := range map[string]bool{"pages": true, "all at once": false} {
		t.Run(name, func(t *testing.T) {
			r := newRigOf(t, dotest.Config{Paged: paged}, digitalocean.Options{})
			for i := range 201 {
				r.add(dotest.Pool{ID: fmt.Sprintf("p-%03d", i), AutoScale: true, Max: 1})
			}
			r.refresh()
			if got := len(r.ids()); got != 201 {
				t.Errorf("%d groups, want 201", got)
			}
			if got := r.server.Count(dotest.ListNodePools); got != 2 {
				t.Errorf("%d listings, want 2", got)
			}
		})
	}
}

func TestAPoolThatAListingLacksIsAskedForBeforeItIsGone(t *testing.T) {
	r := newRig(t, on("web", 0, 9, 1), on("zoo", 0, 9, 2))
	r.refresh()
	one := 1
	r.server.Inject(dotest.Fault{Operation: dotest.ListNodePools, Items: &one})
	r.after(10 * time.Second)
	if diff := cmp.Diff([]string{"web", "zoo"}, r.ids()); diff != "" || len(r.errs()) != 0 {
		t.Errorf("groups (-want +got):\n%s errors %q", diff, r.errs())
	}
	must(t, r.server.RemovePool("zoo"))
	r.after(10 * time.Second)
	if diff := cmp.Diff([]string{"web"}, r.ids()); diff != "" || len(r.errs()) != 0 {
		t.Errorf("groups (-want +got):\n%s errors %q", diff, r.errs())
	}
	if got := r.notices(); len(got) != 1 || !strings.Contains(got[0], "does not exist any more") {
		t.Errorf("notices %q, want one", got)
	}
}

func TestOptionsOfAPoolComeFromItsTagsItsSizeAndTheCluster(t *testing.T) {
	half, unneeded := 0.5, "1m0s"
	web, gpu := on("web", 0, 9, 0), on("gpu", 0, 9, 0)
	web.Tags = []string{
		"k8s-cluster-autoscaler-opt:scaledownutilizationthreshold:65", "k8s-cluster-autoscaler-opt:maxnodeprovisiontime:20m",
		"k8s-cluster-autoscaler-opt:ignoredaemonsetsutilization:true", "k8s-cluster-autoscaler-opt:scaledownunreadytime:soon",
		"k8s-cluster-autoscaler-opt:speed:9",
	}
	gpu.Size = "gpu-h100x1-80gb"
	r := newRig(t, web, gpu)
	r.server.SetAutoscaling(dotest.Autoscaling{UtilizationThreshold: &half, UnneededTime: &unneeded})
	r.provider = r.connect(digitalocean.Options{CloudConfig: r.with(`"use_cluster_autoscaler_configuration": true`)})
	r.refresh()
	r.after(10 * time.Second)
	o := r.state("web").Options
	if *o.ScaleDownUtilizationThreshold != 0.65 || *o.ScaleDownGPUUtilizationThreshold != 0.5 || *o.ScaleDownUnneededTime != time.Minute ||
		*o.MaxNodeProvisionTime != 20*time.Minute || !*o.IgnoreDaemonSetsUtilization || o.ScaleDownUnreadyTime != nil {
		t.Errorf("options %+v", o)
	}
	if got := r.state("gpu").Options.MaxNodeProvisionTime; *got != time.Hour {
		t.Errorf("machines with accelerators may take %s, want 1h", *got)
	}
	if got := r.notices(); len(got) != 1 || !strings.Contains(got[0], "scaledownunreadytime:soon") || !strings.Contains(got[0], "speed") {
		t.Errorf("notices %q, want one about two tags", got)
	}
}

func TestPricesAreThoseOfTheSizes(t *testing.T) {
	r := newRig(t, on("web", 0, 9, 1))
	node := registered(r.node("web", 0))
	if _, err := r.provider.NodePricePerHour(node); err == nil {
		t.Error("a price before the first refresh")
	}
	r.refresh()
	price := func(n *corev1.Node) float64 {
		t.Helper()
		got, err := r.provider.NodePricePerHour(n)
		if err != nil {
			t.Error(err)
		}
		return got
	}
	if got := price(node); got != 0.03571 { // by its pool
		t.Errorf("price %g, want 0.03571", got)
	}
	node.Labels[corev1.LabelInstanceTypeStable] = "c-4"
	if got := price(node); got != 0.125 {
		t.Errorf("price %g, want 0.125", got)
	}
	node.Labels[corev1.LabelInstanceTypeStable] = "x-9"
	if _, err := r.provider.NodePricePerHour(node); err == nil || !strings.Contains(err.Error(), "x-9") {
		t.Errorf("price of an unknown size: %v, want an error that names it", err)
	}
	for name, test := range map[string]struct {
		requests corev1.ResourceList
		want     float64
	}{
		"nothing":      {},
		"a core":       {requests: resources("cpu", "1"), want: 0.017855},
		"memory only":  {requests: resources("memory", "2Gi"), want: 0.017855},
		"eight cores":  {requests: resources("cpu", "8"), want: 0.14286},
		"too large":    {requests: resources("cpu", "16"), want: 0.28568},
		"accelerators": {requests: resources("nvidia.com/gpu", "1"), want: 3.39},
	} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: test.requests}}}}}
		got, err := r.provider.PodPricePerHour(pod)
		if err != nil || fmt.Sprintf("%.6f", got) != fmt.Sprintf("%.6f", test.want) {
			t.Errorf("%s: %g, %v; want %g", name, got, err, test.want)
		}
	}
}
