// Package clusterstate remembers what was asked of the cloud and judges what came of it: requests, readiness, upcoming nodes,
// failed scale-ups, back-off, groups set aside, health.
//
// Here: the Registry, one of the two homes of what outlives an iteration; it changes only by being shown an Observation or an
// outcome, and answers with a State, a value; what it knows can be saved for the next process. Not here: deciding what to do about it (repair, scaleup, scaledown) or doing it.
//
// Behaviour: loop-and-scale-up 2, as amended by the differences page.
package clusterstate
