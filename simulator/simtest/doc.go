// Package simtest builds nodes, pods, snapshots and schedulers for tests: sane defaults, and only what matters is named.
//
// For tests only. Deterministic: UIDs follow from names, times are fixed.
package simtest
