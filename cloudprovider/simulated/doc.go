// Package simulated answers: how would a cloud with these node groups behave, now and over time? It is the in-memory cloud
// that the core is tested against and that a scenario player shows its clusters.
//
// Here: Cloud, which implements the whole contract of cloudprovider with all optional abilities; the lifecycle of its
// machines, a function of the clock alone (no goroutine, no timer, no randomness); the controls of whoever plays the rest of
// the world: stock, failures, lost answers, spot losses, foreign resizes; the log of writes. Not here: Kubernetes. Nodes are
// made for the caller, who puts them where they belong and judges whether an ended one was drained.
//
// Behaviour: extension-protocols, parts C and D; scenario-format, "NodeGroup" and "The simulated world".
package simulated
