// Package template answers: what will a fresh node of an Auto Scaling group look like?
//
// Here: labels, taints, capacity and allocatable from the instance type, the launch template and the tags; one variant per zone and
// instance type, and what EKS says about its managed node groups. Pure: values in, nodes out. Not here: asking AWS (packages launch and
// managed), learning from live nodes (core). Imports cloudprovider, and packages launch, managed, nodetags and userdata. Spec page: aws §7.
package template
