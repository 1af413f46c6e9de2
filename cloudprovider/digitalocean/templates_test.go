package digitalocean_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/digitalocean"
	"example.com/cluster-autoscaler/cloudprovider/digitalocean/dotest"
)

func resources(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

// template is the one variant of a group.
func (r *rig) template(id string) cloudprovider.TemplateVariant {
	r.t.Helper()
	variants, err := r.group(id).Templates(r.ctx())
	if err != nil || len(variants) != 1 {
		r.t.Fatalf("Templates of %s: %d variants, %v; want one", id, len(variants), err)
	}
	return variants[0]
}

func TestATemplateHoldsAllThatAFreshNodeWillHave(t *testing.T) {
	web := on("web", 0, 9, 0)
	web.Name, web.Size = "front", "s-1vcpu-2gb"
	web.Labels = map[string]string{"tier": "front", "doks.digitalocean.com/node-pool": "liar"}
	web.Taints = []dotest.Taint{{Key: "dedicated", Value: "web", Effect: "NoSchedule"}, {Key: "extra", Effect: "NoExecute"}}
	web.Template = &dotest.Template{
		Slug: "s-1vcpu-2gb", Labels: map[string]string{"team": "shop"}, Taints: []string{"dedicated=web:NoSchedule", "soft:PreferNoSchedule", "old:NoSchedule-"},
		Capacity:    &dotest.Resources{CPU: 1, CPUMilliCores: 1000, Memory: "2048Mi", Pods: 110},
		Allocatable: &dotest.Resources{CPU: 1, CPUMilliCores: 390, Memory: "1024Mi", Pods: 110},
	}
	r := newRig(t, web)
	r.refresh()
	v := r.template("web")
	want := resources("cpu", "390m", "memory", "1024Mi", "pods", "110")
	disk := v.Node.Status.Allocatable[corev1.ResourceEphemeralStorage]
	if disk.Value() < 40<<30 || disk.Value() > 50<<30 {
		t.Errorf("ephemeral storage %s, want most of 50 GiB", disk.String())
	}
	delete(v.Node.Status.Allocatable, corev1.ResourceEphemeralStorage)
	if diff := cmp.Diff(want, v.Node.Status.Allocatable); diff != "" {
		t.Errorf("allocatable (-want +got):\n%s", diff)
	}
	if got := v.Node.Status.Capacity.Cpu().String(); got != "1" {
		t.Errorf("capacity of %s cores, want 1", got)
	}
	labels := map[string]string{
		"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64", "beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "amd64",
		"kubernetes.io/hostname": "front-template", "node.kubernetes.io/instance-type": "s-1vcpu-2gb", "beta.kubernetes.io/instance-type": "s-1vcpu-2gb",
		"topology.kubernetes.io/region": "fra1", "failure-domain.beta.kubernetes.io/region": "fra1", "region": "fra1", "tier": "front", "team": "shop",
		"doks.digitalocean.com/node-pool": "front", "doks.digitalocean.com/node-pool-id": "web", "doks.digitalocean.com/version": "1.33.1-do.0",
		"doks.digitalocean.com/managed": "true",
	}
	if diff := cmp.Diff(labels, v.Node.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	taints := []corev1.Taint{
		{Key: "dedicated", Value: "web", Effect: "NoSchedule"}, {Key: "soft", Effect: "PreferNoSchedule"}, {Key: "extra", Effect: "NoExecute"},
	}
	if diff := cmp.Diff(taints, v.Node.Spec.Taints); diff != "" {
		t.Errorf("taints (-want +got):\n%s", diff)
	}
	if driver := v.CSINode.Spec.Drivers[0]; driver.Name != "dobs.csi.digitalocean.com" || *driver.Allocatable.Count != 15 {
		t.Errorf("driver %+v, want 15 volumes of dobs.csi.digitalocean.com", driver)
	}
	if v.Key != "s-1vcpu-2gb" || v.Promise != cloudprovider.PromiseCertain {
		t.Errorf("key %q, promise %s", v.Key, v.Promise)
	}
}

func TestAcceleratorsAreInTheTemplateByTheirVendor(t *testing.T) {
	nvidia, amd := on("nvidia", 0, 9, 0), on("amd", 0, 9, 0)
	nvidia.Size, amd.Size = "gpu-h100x1-80gb", "gpu-mi300x8-1536gb"
	r := newRig(t, nvidia, amd)
	r.refresh()
	for id, want := range map[string]struct {
		resource corev1.ResourceName
		count    int64
		model    string
	}{"nvidia": {"nvidia.com/gpu", 1, "h100"}, "amd": {"amd.com/gpu", 8, "mi300x"}} {
		node := r.template(id).Node
		capacity, allocatable := node.Status.Capacity[want.resource], node.Status.Allocatable[want.resource]
		if capacity.Value() != want.count || allocatable.Value() != want.count {
			t.Errorf("%s: %s of %s, want %d", id, allocatable.String(), capacity.String(), want.count)
		}
		if got := node.Labels[r.provider.GPULabel()]; got != want.model || node.Labels["doks.digitalocean.com/gpu-brand"] != id {
			t.Errorf("%s: model %q of brand %q", id, got, node.Labels["doks.digitalocean.com/gpu-brand"])
		}
		if diff := cmp.Diff([]corev1.Taint{{Key: string(want.resource), Effect: "NoSchedule"}}, node.Spec.Taints); diff != "" {
			t.Errorf("%s: taints (-want +got):\n%s", id, diff)
		}
	}
	if diff := cmp.Diff([]string{"h100", "mi300x"}, r.provider.GPUTypes()); diff != "" {
		t.Errorf("types (-want +got):\n%s", diff)
	}
}

func TestTheOldLabelForAcceleratorsCanBeRestored(t *testing.T) {
	r := newRig(t)
	if got := r.provider.GPULabel(); got != "doks.digitalocean.com/gpu-model" {
		t.Errorf("label %q", got)
	}
	old := r.connect(digitalocean.Options{CloudConfig: r.with(`"gpu_label": "cloud.digitalocean.com/gpu-node"`)})
	if got := old.GPULabel(); got != "cloud.digitalocean.com/gpu-node" {
		t.Errorf("label %q, want the one of the cloud config", got)
	}
}

func TestBookkeepingLabelsAreThoseOfTheTemplateThatTellPoolsApart(t *testing.T) {
	a, b := on("a", 0, 9, 0), on("b", 0, 9, 0)
	r := newRig(t, a, b)
	r.refresh()
	left, right := r.template("a").Node.Labels, r.template("b").Node.Labels
	for _, labels := range []map[string]string{left, right} {
		delete(labels, "kubernetes.io/hostname")
		for _, key := range r.provider.BookkeepingLabels() {
			delete(labels, key)
		}
	}
	if diff := cmp.Diff(left, right); diff != "" {
		t.Errorf("labels of alike pools (-a +b):\n%s", diff)
	}
}

func TestABadTemplateSetsItsPoolAsideAloneAndIsToldOnce(t *testing.T) {
	good := dotest.Resources{CPU: 2, Memory: "4096Mi", Pods: 110}
	for name, test := range map[string]struct {
		template dotest.Template
		want     string
	}{
		"no capacity":         {template: dotest.Template{Allocatable: &good}, want: "no capacity"},
		"no allocatable":      {template: dotest.Template{Capacity: &good}, want: "no allocatable"},
		"no cores":            {template: dotest.Template{Capacity: &good, Allocatable: &dotest.Resources{Memory: "4Gi", Pods: 1}}, want: "0 milli-CPU"},
		"a bad quantity":      {template: dotest.Template{Capacity: &good, Allocatable: &dotest.Resources{CPU: 1, Memory: "1024MI", Pods: 1}}, want: "1024MI"},
		"no memory":           {template: dotest.Template{Capacity: &good, Allocatable: &dotest.Resources{CPU: 1, Pods: 1}}, want: `memory ""`},
		"no pods":             {template: dotest.Template{Capacity: &good, Allocatable: &dotest.Resources{CPU: 1, Memory: "1Gi"}}, want: "0 pods"},
		"a taint in disorder": {template: dotest.Template{Capacity: &good, Allocatable: &good, Taints: []string{"a=b"}}, want: `taint "a=b"`},
		"an unknown effect":   {template: dotest.Template{Capacity: &good, Allocatable: &good, Taints: []string{"a:Never"}}, want: `taint "a:Never"`},
	} {
		t.Run(name, func(t *testing.T) {
			bad := on("bad", 0, 9, 0)
			bad.Template = &test.template
			r := newRig(t, bad, on("web", 0, 9, 0))
			r.refresh()
			for range 3 {
				_, err := r.group("bad").Templates(r.ctx())
				if kind(err) != "Configuration" || !strings.Contains(err.Error(), test.want) {
					t.Fatalf("Templates: %v, want a ConfigurationError with %q", err, test.want)
				}
				r.template("web")
				r.after(10 * time.Second)
			}
			if got := r.notices(); len(got) != 1 || !strings.Contains(got[0], "DigitalOceanTemplateUnusable bad: pool bad") {
				t.Errorf("notices %q, want one about the pool", got)
			}
			if got := r.server.Count(dotest.GetTemplate); got != 2 {
				t.Errorf("%d calls, want one per pool", got)
			}
		})
	}
}

func TestAMissingTemplateIsAskedForEveryTenMinutesC12(t *testing.T) {
	x := on("x", 0, 3, 1)
	x.NoTemplate = true
	r := newRig(t, x, on("y", 0, 3, 0))
	r.refresh()
	for range 3 * 60 { // half an hour
		if _, err := r.group("x").Templates(r.ctx()); kind(err) != "Configuration" || !strings.Contains(err.Error(), "404") {
			t.Fatalf("Templates: %v, want a ConfigurationError that tells the 404", err)
		}
		r.template("y")
		r.after(10 * time.Second)
	}
	if got := len(r.notices()); got != 1 {
		t.Errorf("%d notices, want one", got)
	}
	calls := 0
	for _, call := range r.server.Calls() {
		if call.Operation == dotest.GetTemplate && call.Pool == "x" {
			calls++
		}
	}
	if calls != 3 {
		t.Errorf("%d calls in half an hour, want 3", calls)
	}
	must(t, r.server.UpdatePool("x", func(p *dotest.Pool) { p.NoTemplate = false }))
	r.after(10 * time.Minute)
	r.template("x")
}

func TestATemplateIsReadAnewWhenThePoolChangesAndTheLastGoodOneIsKept(t *testing.T) {
	r := newRig(t, on("web", 0, 9, 0))
	r.refresh()
	r.template("web")
	r.template("web")
	if got := r.server.Count(dotest.GetTemplate); got != 1 {
		t.Errorf("%d calls, want 1", got)
	}
	must(t, r.server.UpdatePool("web", func(p *dotest.Pool) { p.Labels = map[string]string{"tier": "front"} }))
	r.after(10 * time.Second)
	if got := r.template("web").Node.Labels["tier"]; got != "front" || r.server.Count(dotest.GetTemplate) != 2 {
		t.Errorf("label %q after %d calls, want front after 2", got, r.server.Count(dotest.GetTemplate))
	}
	r.server.Inject(dotest.Fault{Operation: dotest.GetTemplate, Status: 404, Count: dotest.Always})
	must(t, r.server.UpdatePool("web", func(p *dotest.Pool) { p.Name = "renamed" }))
	r.after(10 * time.Second)
	if got := r.template("web").Node.Labels["doks.digitalocean.com/node-pool"]; got != "renamed" {
		t.Errorf("pool label %q, want the new name on the last good template", got)
	}
	r.after(2 * time.Hour)
	r.template("web")
}

func TestTheTemplateOfAPoolWhoseNameIsAPathIsNotAskedFor(t *testing.T) {
	odd := on("odd", 0, 9, 0)
	odd.Name = "../../web"
	r := newRig(t, odd)
	r.refresh()
	if _, err := r.group("odd").Templates(r.ctx()); kind(err) != "Configuration" || !strings.Contains(err.Error(), "../../web") {
		t.Errorf("Templates: %v, want a ConfigurationError that names the pool", err)
	}
	if got := r.server.Count(dotest.GetTemplate); got != 0 {
		t.Errorf("%d calls, want none", got)
	}
}

func TestWithoutTheScopeForSizesThereAreNoPricesAndTemplatesHaveNoDisk(t *testing.T) {
	r := newRig(t, on("web", 0, 9, 1))
	r.server.AcceptToken(dotest.DefaultToken, dotest.ScopeSizesRead)
	r.refresh()
	r.after(10 * time.Second)
	if _, has := r.template("web").Node.Status.Capacity[corev1.ResourceEphemeralStorage]; has {
		t.Error("a disk although the sizes are not known")
	}
	if _, err := r.provider.NodePricePerHour(r.template("web").Node); err == nil {
		t.Error("a price although the sizes are not known")
	}
	if got := r.notices(); len(got) != 1 || !strings.Contains(got[0], "sizes:read") {
		t.Errorf("notices %q, want one that names the scope", got)
	}
	r.server.AcceptToken(dotest.DefaultToken)
	r.after(2 * time.Hour)
	if _, err := r.provider.NodePricePerHour(r.template("web").Node); err != nil {
		t.Errorf("price: %v", err)
	}
}
