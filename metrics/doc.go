// Package metrics holds all Prometheus instruments of the autoscaler.
//
// Here: names, labels, help texts, buckets, and one method per fact to record. Not here: deciding what to record (core renders its
// Report) and serving it (cmd). Nothing is global: New makes one set for one registry. Only core and cmd may import it.
//
// Behaviour: operator-surface 2. Names and labels known from upstream are pinned by a golden file.
package metrics
