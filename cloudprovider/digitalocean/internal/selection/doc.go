// Package selection answers: which node pools are node groups, between which bounds, and with which options of their own?
//
// Here: pools with managed autoscaling, --nodes, --node-group-auto-discovery, and the tags of pools. Pure. Not here: reading pools.
// Imports cloudprovider and package doapi. Spec page: digitalocean §5, §18.
package selection
