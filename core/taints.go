package core

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/simulator/taints"
)

// Kinds of taints in metrics, besides the keys that stand for themselves (operator-surface 2.3).
const (
	kindStartup = "startup-taint"
	kindStatus  = "status-taint"
	kindOther   = "other"
)

// TaintRules are the taints that the operator declared as passing.
func TaintRules(from config.Templates) taints.Rules {
	return taints.Rules{StartupKeys: from.StartupTaints, StartupPrefixes: from.StartupTaintPrefixes, StatusKeys: from.StatusTaints}
}

// countTaints counts the taints of all nodes by kind.
func countTaints(nodes []*corev1.Node, rules taints.Rules) map[string]int {
	counts := map[string]int{}
	for _, node := range nodes {
		for _, taint := range node.Spec.Taints {
			counts[kindOf(taint.Key, rules)]++
		}
	}
	return counts
}

func kindOf(key string, rules taints.Rules) string {
	switch rules.Classify(key) {
	case taints.KindDeletion, taints.KindCondition:
		return key
	case taints.KindStartup:
		if strings.HasPrefix(key, taints.IgnorePrefix) {
			return taints.IgnorePrefix
		}
		return kindStartup
	case taints.KindStatus:
		return kindStatus
	case taints.KindUnset, taints.KindLasting:
		return kindOther
	default:
		return kindOther
	}
}
