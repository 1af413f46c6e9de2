// Package template answers: what will the Node of a pool's next machine look like?
//
// Here: labels, taints, capacity and allocatable from what the API says about the pool. Pure: values in, a node out. Not here: asking the API,
// learning from live nodes (core). Imports cloudprovider and package doapi. Spec page: digitalocean §11 to §13.
package template
