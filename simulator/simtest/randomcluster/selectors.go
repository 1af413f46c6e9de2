package randomcluster

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func (g *Generator) selectNodes(pod *corev1.Pod) {
	if g.Chance(35) {
		pod.Spec.NodeSelector = map[string]string{Pick(g.Choices, poolLabel, corev1.LabelTopologyZone): Pick(g.Choices, "a", "z0", "b", "z1")}
		if g.Chance(50) {
			pod.Spec.NodeSelector = map[string]string{poolLabel: "a"}
		}
		if g.Chance(60) {
			return
		}
	}
	selector := &corev1.NodeSelector{}
	for range 1 + g.Of(2) {
		selector.NodeSelectorTerms = append(selector.NodeSelectorTerms, g.nodeTerm())
	}
	affinityOf(pod).NodeAffinity = &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: selector}
}

func (g *Generator) nodeTerm() corev1.NodeSelectorTerm {
	var term corev1.NodeSelectorTerm
	if g.Chance(25) {
		operator := Pick(g.Choices, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn)
		term.MatchFields = []corev1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: operator, Values: []string{g.NodeName()}}}
		if g.Chance(60) {
			return term
		}
	}
	if g.Chance(4) {
		return term // matches nothing
	}
	for range 1 + g.Of(2) {
		term.MatchExpressions = append(term.MatchExpressions, g.nodeRequirement())
	}
	return term
}

func (g *Generator) nodeRequirement() corev1.NodeSelectorRequirement {
	switch g.Of(7) {
	case 0:
		return corev1.NodeSelectorRequirement{Key: poolLabel, Operator: corev1.NodeSelectorOpIn, Values: Pick(g.Choices, []string{"a"}, []string{"a", "b"})}
	case 1:
		return corev1.NodeSelectorRequirement{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpNotIn, Values: []string{Pick(g.Choices, "z0", "z2")}}
	case 2:
		return corev1.NodeSelectorRequirement{Key: rackLabel, Operator: corev1.NodeSelectorOpExists}
	case 3:
		return corev1.NodeSelectorRequirement{Key: Pick(g.Choices, poolLabel, rackLabel), Operator: corev1.NodeSelectorOpDoesNotExist}
	case 4:
		return corev1.NodeSelectorRequirement{Key: sizeLabel, Operator: corev1.NodeSelectorOpGt, Values: []string{Pick(g.Choices, "1", "3", "no number")}}
	case 5:
		return corev1.NodeSelectorRequirement{Key: sizeLabel, Operator: corev1.NodeSelectorOpLt, Values: []string{Pick(g.Choices, "5", "8")}}
	default:
		return corev1.NodeSelectorRequirement{Key: corev1.LabelHostname, Operator: Pick(g.Choices, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn), Values: []string{g.NodeName(), g.NodeName()}}
	}
}

// nearPods adds affinity or anti-affinity, or both.
func (g *Generator) nearPods(pod *corev1.Pod) {
	kinds := g.Of(5)
	if kinds <= 2 {
		affinityOf(pod).PodAntiAffinity = &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: g.podTerms(pod)}
	}
	if kinds >= 2 {
		affinityOf(pod).PodAffinity = &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: g.podTerms(pod)}
	}
	if g.Chance(10) { // has no say
		affinityOf(pod).PodAffinity = &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
			{Weight: 1, PodAffinityTerm: g.podTerm(pod)},
		}}
	}
}

func (g *Generator) podTerms(pod *corev1.Pod) []corev1.PodAffinityTerm {
	terms := []corev1.PodAffinityTerm{g.podTerm(pod)}
	if g.Chance(30) {
		terms = append(terms, g.podTerm(pod))
	}
	return terms
}

func (g *Generator) podTerm(pod *corev1.Pod) corev1.PodAffinityTerm {
	term := corev1.PodAffinityTerm{TopologyKey: g.topologyKey(), LabelSelector: g.labelSelector(pod)}
	if g.Chance(25) {
		term.Namespaces = Pick(g.Choices, []string{"ns-a"}, []string{metav1.NamespaceDefault, "ns-b"}, []string{"ns-unknown"})
	}
	if g.Chance(25) {
		term.NamespaceSelector = Pick(g.Choices,
			&metav1.LabelSelector{}, &metav1.LabelSelector{MatchLabels: map[string]string{"team": "red"}},
			&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "team", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"red"}}}})
	}
	if g.Chance(20) && term.LabelSelector != nil {
		g.mergeLabelKeys(pod, &term)
	}
	return term
}

// mergeLabelKeys does what the API server does with matchLabelKeys and mismatchLabelKeys: it adds them to the selector.
func (g *Generator) mergeLabelKeys(pod *corev1.Pod, term *corev1.PodAffinityTerm) {
	key, operator := Pick(g.Choices, "pod-template-hash", "tier"), metav1.LabelSelectorOpIn
	if g.Chance(40) {
		operator = metav1.LabelSelectorOpNotIn
		term.MismatchLabelKeys = []string{key}
	} else {
		term.MatchLabelKeys = []string{key}
	}
	if value, ok := pod.Labels[key]; ok {
		term.LabelSelector.MatchExpressions = append(term.LabelSelector.MatchExpressions,
			metav1.LabelSelectorRequirement{Key: key, Operator: operator, Values: []string{value}})
	}
}

func (g *Generator) topologyKey() string {
	return Pick(g.Choices, corev1.LabelHostname, corev1.LabelTopologyZone, corev1.LabelHostname, corev1.LabelTopologyZone, corev1.LabelHostname,
		corev1.LabelTopologyZone, corev1.LabelHostname, rackLabel, rackLabel, idLabel, "example.com/nowhere")
}

// labelSelector often selects the pod itself.
func (g *Generator) labelSelector(pod *corev1.Pod) *metav1.LabelSelector {
	app := pod.Labels["app"]
	if app == "" || g.Chance(40) {
		app = Pick(g.Choices, "a0", "a1", "a2")
	}
	switch g.Of(13) {
	case 6:
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app, "tier": Pick(g.Choices, "t0", "t1")}}
	case 7:
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{app, "a2"}},
		}}
	case 8:
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "tier", Operator: Pick(g.Choices, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist)},
		}}
	case 9:
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "app", Operator: metav1.LabelSelectorOpNotIn, Values: []string{app}},
		}}
	case 10, 12:
		if id := pod.Labels["id"]; id != "" {
			return &metav1.LabelSelector{MatchLabels: map[string]string{"id": id}}
		}
		return &metav1.LabelSelector{} // everything
	case 11:
		if g.Chance(12) { // doesn't parse
			return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Near"}}}
		}
		return Pick(g.Choices, nil, &metav1.LabelSelector{}) // nothing; everything
	default:
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	}
}

func (g *Generator) spread(pod *corev1.Pod) {
	for range 1 + g.Of(2) {
		constraint := corev1.TopologySpreadConstraint{
			MaxSkew: Pick[int32](g.Choices, 1, 1, 2), TopologyKey: g.topologyKey(), LabelSelector: g.labelSelector(pod),
			WhenUnsatisfiable: Pick(g.Choices, corev1.DoNotSchedule, corev1.DoNotSchedule, corev1.DoNotSchedule, corev1.ScheduleAnyway),
		}
		if constraint.WhenUnsatisfiable == corev1.DoNotSchedule && g.Chance(25) {
			constraint.MinDomains = new(Pick[int32](g.Choices, 2, 3, 5))
		}
		if g.Chance(40) {
			constraint.NodeTaintsPolicy = new(Pick(g.Choices, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore))
		}
		if g.Chance(40) {
			constraint.NodeAffinityPolicy = new(Pick(g.Choices, corev1.NodeInclusionPolicyIgnore, corev1.NodeInclusionPolicyHonor))
		}
		if constraint.LabelSelector != nil && g.Chance(20) {
			constraint.MatchLabelKeys = []string{Pick(g.Choices, "pod-template-hash", "tier")}
		}
		pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, constraint)
	}
}

// affinityOf is the pod's own, to be filled.
func affinityOf(pod *corev1.Pod) *corev1.Affinity {
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &corev1.Affinity{}
	}
	return pod.Spec.Affinity
}
