package scenario

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/simulator"
)

// detail is the clause of a reason together with what decided it. The clauses alone are short, because they are made for events.
func detail(reason report.Reason) string {
	var facts []string
	switch r := reason.(type) {
	case report.GroupAtMaxSize:
		facts = append(facts, fmt.Sprintf("%d of %d", r.Target, r.Max))
	case report.Rejected:
		for _, short := range r.Rejection.Short {
			facts = append(facts, fmt.Sprintf("%s: %s asked, %s offered", short.Resource, quantity(short, short.Asked), quantity(short, short.Offered)))
		}
		if taint := r.Rejection.Taint; taint != nil {
			facts = append(facts, taint.ToString())
			if ofStartup(*taint) {
				facts = append(facts, "if it goes once the node is at work, name it in --startup-taint")
			}
		}
	}
	if len(facts) == 0 {
		return reason.String()
	}
	return fmt.Sprintf("%s (%s)", reason, strings.Join(facts, "; "))
}

// quantity writes an amount of a resource as manifests do.
func quantity(of simulator.Shortage, amount int64) string {
	switch {
	case of.Resource == corev1.ResourceCPU:
		return resource.NewMilliQuantity(amount, resource.DecimalSI).String()
	case of.Resource == corev1.ResourceMemory, of.Resource == corev1.ResourceEphemeralStorage,
		strings.HasPrefix(string(of.Resource), corev1.ResourceHugePagesPrefix):
		return resource.NewQuantity(amount, resource.BinarySI).String()
	default:
		return resource.NewQuantity(amount, resource.DecimalSI).String()
	}
}

// ofStartup tells a taint that sounds like one which agents take off when they are ready.
func ofStartup(taint corev1.Taint) bool {
	for _, word := range []string{"not-ready", "unready", "uninitialized", "startup", "starting"} {
		if strings.Contains(taint.Key, word) {
			return true
		}
	}
	return false
}
