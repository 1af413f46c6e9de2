// Package asg is what is known about an Auto Scaling group, as plain values, and the arithmetic on it: how many machines are there,
// how many are missing, and to which size the group may be cut without harm.
//
// Here: groups, instances and their lifecycle, weights, scaling activities and what their texts mean, the safe cut. Not here: the SDK,
// clocks, locks, anything that lasts longer than one look. Imports cloudprovider only. Spec page: aws §1.5, §5.1, §5.5 and §6.2.
package asg
