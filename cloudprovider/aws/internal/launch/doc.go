// Package launch answers: which machines can an Auto Scaling group start, and what do they offer?
//
// Here: launch templates and configurations, images and instance types as plain values, and the cache in front of AWS. The cache goes by
// content, not by group: what cannot change (a numbered version, a launch configuration) is kept for good, failures are remembered for a
// while. Not here: the SDK (the sources are interfaces), nodes (package template). Imports packages asg, faults and instancetypes.
// Spec page: aws §3.7, §7.2 and §8.
package launch
