// Package saved is what outlives the process: the form in which the registry and the planner lay down what they remember, and the text that
// stands for it in the status ConfigMap.
//
// Here: the document, its encoding within a limit, its decoding from whatever somebody may have put there. Not here: what of it is still to be
// believed (core/clusterstate and core/scaledown judge that against what they see), reading and writing the object (processors/status).
// Lies below clusterstate and scaledown; imports neither clients nor clocks.
//
// Behaviour: state over restarts, the migration page.
package saved
