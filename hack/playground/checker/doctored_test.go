package checker

// The rules, for short.
const (
	isComplete           = "the record is complete and agrees with itself"
	endsAsPredicted      = "the cluster ended as predicted"
	endsNothingUndrained = "no machine was ended while it held a pod that had to move"
	cutsNothingOff       = "no desired size was lowered below the machines that existed or were on their way"
	staysWithinBounds    = "no group left its bounds"
	buysOnce             = "every machine was bought once, and for pods that then ran on it"
	keepsBudgets         = "no disruption budget was overdrawn"
	leavesNothingBehind  = "no taint and no cordon stayed behind"
	actsAlone            = "the autoscaler did it all, by evicting pods and through the cloud"
	tellsWhy             = "a pod that fits nowhere was told why"
)

// wantFaults are the faults that the doctored logs have to show, by log and rule.
func wantFaults() map[string]map[string][]string {
	return map[string]map[string][]string{
		"a-budget-that-was-overdrawn": {
			keepsBudgets: {
				"app ledger has 0 healthy pods, its budget ledger demands 1",
			},
		},
		"a-cordon-that-stayed": {
			leavesNothingBehind: {
				"node ip-10-0-0-11.eu-west-1.compute.internal is still cordoned",
			},
		},
		"a-cut-below-what-exists": {
			cutsNothingOff: {
				"request 18 (TerminateInstanceInAutoScalingGroup) lowered group general to 5, with 6 machines left and 0 on their way",
			},
		},
		"a-drain-that-did-not-wait": {
			endsNothingUndrained: {
				"machine i-49a7cbe17674c37b8 (node ip-10-0-0-10.eu-west-1.compute.internal) was ended with default/web-654b7c46c5-s748v on it",
			},
		},
		"a-group-above-its-maximum": {
			staysWithinBounds: {
				"group general was set to 7, above its maximum of 6",
			},
		},
		"a-group-below-its-minimum": {
			staysWithinBounds: {
				"group general was lowered to 1, below its minimum of 2",
			},
		},
		"a-group-that-is-too-large": {
			endsAsPredicted: {
				"group general has desired size 2 and 1 machines in service, want 1",
			},
		},
		"a-job-that-was-cut-off": {
			endsNothingUndrained: {
				"machine i-7f16fc1c8003fa051 (node ip-10-0-0-12.eu-west-1.compute.internal) was ended with default/report-kq8pg on it",
			},
		},
		"a-machine-that-was-bought-twice": {
			buysOnce: {
				"group large: 2 machines ordered and 2 launched, want 1",
				"group large: no pod ever ran on machine i-0123456789abcdef0",
			},
		},
		"a-machine-that-was-not-empty": {
			endsNothingUndrained: {
				"machine i-9233fc34c4a550f0c (node ip-10-0-0-6.eu-west-1.compute.internal) was ended with default/web-654b7c46c5-d5s2g on it",
			},
		},
		"a-mark-that-stayed": {
			leavesNothingBehind: {
				"node ip-10-0-0-11.eu-west-1.compute.internal still has the taint DeletionCandidateOfClusterAutoscaler",
			},
		},
		"a-node-that-is-not-ready": {
			endsAsPredicted: {
				"node ip-10-0-0-11.eu-west-1.compute.internal isn't Ready",
			},
		},
		"a-node-that-the-autoscaler-deleted": {
			actsAlone: {
				"system:serviceaccount:kube-system:cluster-autoscaler removed node ip-10-0-0-6.eu-west-1.compute.internal; its machine's end does that",
			},
		},
		"a-pod-that-is-not-healthy": {
			endsAsPredicted: {
				"pod default/ledger-6c864f5687-8glqm is neither well nor waiting for room at the end (Running)",
				"app ledger has 1 pods running, 0 finished and 0 waiting; want 2, 0 and 0",
			},
		},
		"a-pod-that-no-watch-saw": {
			isComplete: {
				"the audit log has a pods/binding of pod default/web-654b7c46c5-scj2v, which no watch saw",
			},
		},
		"a-pod-that-the-autoscaler-deleted": {
			actsAlone: {
				"the autoscaler did a delete on pod default/web-654b7c46c5-scj2v; it may only evict",
			},
		},
		"a-pod-that-was-told-nothing": {
			tellsWhy: {
				"pod default/giant-68fcc78b7c-j9vlk waits and was told nothing",
			},
		},
		"a-request-that-is-missing": {
			isComplete: {
				"DesiredChanged in group general comes from request 31, which isn't in the log",
				"Ending in group general comes from request 31, which isn't in the log",
			},
		},
		"a-size-that-somebody-else-changed": {
			actsAlone: {
				"DesiredChanged in group batch without a request (Foreign)",
			},
			isComplete: {
				"request 14 (SetDesiredCapacity) changed group batch, but nothing happened there",
			},
		},
		"a-taint-that-stayed": {
			leavesNothingBehind: {
				"node ip-10-0-0-11.eu-west-1.compute.internal still has the taint ToBeDeletedByClusterAutoscaler",
			},
		},
		"a-victim-of-the-services-choice": {
			cutsNothingOff: {
				"nobody named machine i-49a7cbe17674c37b8 of group general, and it was ended (ScaleIn)",
			},
		},
		"an-eviction-by-somebody-else": {
			actsAlone: {
				"playground:admin evicted pod default/web-654b7c46c5-s748v",
			},
		},
		"not-played-to-the-end": {
			isComplete: {
				"the story was not played to its end",
			},
		},
	}
}
