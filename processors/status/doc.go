// Package status renders a Report for the world: Kubernetes events and the status ConfigMap.
//
// Here: the pure renderings, the recorder that keeps repeated events apart from new ones, the writer of the ConfigMap. Not here:
// recomputing anything that the Report says. Users parse both outputs; golden files pin them.
//
// Behaviour: operator-surface 3 and 4, loop-and-scale-up 2.9 and 5.14.
package status
