package scenario

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/simulator"
)

func TestDetailsTellWhatDecided(t *testing.T) {
	taint := func(key string) report.Reason {
		return report.Rejected{Rejection: simulator.Rejection{
			Filter: simulator.TaintNotTolerated, Reasons: []string{"untolerated"}, Taint: &corev1.Taint{Key: key, Value: "ml", Effect: corev1.TaintEffectNoSchedule},
		}}
	}
	for want, reason := range map[string]report.Reason{
		"max node group size reached (3 of 4)":  report.GroupAtMaxSize{Target: 3, Max: 4},
		"untolerated (dedicated=ml:NoSchedule)": taint("dedicated"),
		"untolerated (vendor/agent-not-ready=ml:NoSchedule; if it goes once the node is at work, name it in --startup-taint)": taint("vendor/agent-not-ready"),
		"short (cpu: 6 asked, 3900m offered; memory: 2Gi asked, 512Mi offered; vendor/card: 2 asked, 1 offered)": report.Rejected{Rejection: simulator.Rejection{
			Reasons: []string{"short"}, Short: []simulator.Shortage{
				{Resource: corev1.ResourceCPU, Asked: 6000, Offered: 3900}, {Resource: corev1.ResourceMemory, Asked: 2 << 30, Offered: 512 << 20},
				{Resource: "vendor/card", Asked: 2, Offered: 1},
			},
		}},
		"set aside until the next refresh says otherwise: broken": report.GroupSetAside{Error: "broken"},
	} {
		if got := detail(reason); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
