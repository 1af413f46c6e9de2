// Package prices answers: what do Droplets cost, and what is the share of one worth that a pod would fill?
//
// Here: reckoning with the catalogue of sizes. Pure. Not here: asking the API, which node is of which size. Imports package doapi.
// Spec page: digitalocean §17.
package prices
