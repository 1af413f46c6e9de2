// Package scenario answers: what would the autoscaler do in this cluster, and when?
//
// Here: Play, which takes a cluster with a timeline and plays it in virtual time through the real loop; the world around the loop (API state,
// machines that come and go, controllers, scheduler, evictions); the lines in which it tells what happened, and the expectations about them.
// Not here: reading files (document), deciding anything (core and below), the command line (cmd).
// Must not read clocks, start goroutines or let the order of a map reach a line: the same input gives the same lines, byte for byte.
//
// Behaviour: scenario-format, "The simulated world", "JSON lines" and "Scenario".
package scenario
