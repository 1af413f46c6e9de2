package core_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/simulated"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/simulator/simtest"
)

// C27: a group whose size is counted in units, of which a machine takes one or two.
func TestMachinesThatCountSeveralUnitsAreNeitherAwaitedNorCleanedUp(t *testing.T) {
	for name, variant := range map[string]string{"the small machine comes": "c.2xl", "the large machine comes": "c.4xl"} {
		t.Run(name, func(t *testing.T) {
			g := group("w", 2, 10, 4)
			machine := func(kind, cpu string, weight int) cloudprovider.TemplateVariant {
				variant := template(simtest.Node("t").CPU(cpu).Label(corev1.LabelInstanceTypeStable, kind), "w")
				variant.Key, variant.Weight = kind, weight
				return variant
			}
			g.Templates = []cloudprovider.TemplateVariant{machine("c.2xl", "8", 1), machine("c.4xl", "16", 2)}
			g.Existing = []simulated.Existing{
				{NodeName: "w-old-1", Variant: "c.4xl"}, {NodeName: "w-old-2", Variant: "c.2xl"}, {NodeName: "w-old-3", Variant: "c.2xl"},
			}
			w := newWorld(t, nil, g)
			w.fill("w")
			w.must(w.cloud.Next("w", simulated.Fate{Variant: variant}))
			w.to(5 * time.Second)
			if upcoming := w.last.Groups[0].Upcoming; upcoming != 0 {
				t.Errorf("%d machines are upcoming, want none", upcoming)
			}
			w.arrive(pod("p", "6"))
			w.to(40 * time.Minute)
			if diff := cmp.Diff([]string{"10 IncreaseSize w 4->5"}, w.writes()); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
			if got := len(w.cloud.Nodes("w")); got != 4 || len(w.waiting()) > 0 {
				t.Errorf("%d nodes, %v wait; want 4 and nobody", got, w.waiting())
			}
			if w.last.Groups[0].Backoff != nil || w.last.ScaleUp.Result != report.ScaleUpNotNeeded {
				t.Errorf("back-off %+v, scale-up %s; want none and NotNeeded", w.last.Groups[0].Backoff, w.last.ScaleUp.Result)
			}
		})
	}
}
