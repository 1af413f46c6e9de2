// Package template answers: what will a fresh node of an Auto Scaling group look like?
//
// Here: labels, taints, capacity and allocatable from the instance type, the launch template and the tags; one variant per zone and
// instance type. Pure: values in, nodes out. Not here: asking AWS (package launch), learning from live nodes (core), what EKS knows about
// its managed node groups beyond their tags. Imports cloudprovider, and packages launch and nodetags. Spec page: aws §7.
package template
