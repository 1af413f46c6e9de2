// Package checker answers: did a recorded story end where it had to, and was nothing done to the cluster on the way that must never be done?
//
// Here: the format of a recorded log (JSON lines), the rules that judge it, and the figures that are read from it. All are pure functions
// of the log. What they go by is what the API server and the cloud recorded: pods, nodes, writes, machines. What the autoscaler says of
// itself proves nothing, except in the rule that asks whether it told a pod why it has to wait. Not here: playing and recording a story
// (demo). Must not import anything of the program that is judged, nor clients. Spec page: the invariants of the design.
package checker
