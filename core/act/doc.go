// Package act carries decisions out. It is the only place of the program that writes: calls to the cloud that change something,
// taints and cordons, evictions.
//
// Here: the Actuator with one method per kind of work; the checks of the invariants on the newest data right before each write;
// the state machines of removals, which go on between iterations; the part of the Kubernetes API that all this needs. Not here:
// choosing what to do. An act may refuse or do less than it was told, and says why; it never does more.
//
// Removals advance in Step, which never waits: it does what is due and says when it wants to be called again. Live, Run calls
// it with a real clock; a player of scenarios calls it in virtual time.
//
// Behaviour: scale-down 5 and 6.3 to 6.5, loop-and-scale-up 1.4.1, 1.5 and 5.11, as amended by the differences page.
package act
