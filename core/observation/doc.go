// Package observation holds what one iteration sees: nodes, pods, workloads, node groups, instances, time.
//
// Here: the Observation and how it is read from client-go's informers and the cloud's view. Not here: any judgement about
// what is seen beyond sorting it into kinds. Lies below every step and imports only cloudprovider and simulator.
//
// Behaviour: loop-and-scale-up 1.4 (steps 3 to 13), 2.1, 4.1; operator-surface 8.1.
package observation
