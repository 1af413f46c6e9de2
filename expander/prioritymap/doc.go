// Package prioritymap answers which priority a node group has by the map that the operator keeps in a ConfigMap.
//
// Here: reading the map and matching ids of groups. Not here: finding the ConfigMap (the caller), choosing between groups and telling
// of mistakes (expander). Imports nothing of this module.
//
// Format: operator-surface 10.1.
package prioritymap
