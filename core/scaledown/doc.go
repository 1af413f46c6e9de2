// Package scaledown answers: which nodes could go, which of them may go now, and why does every other one stay?
//
// Here: the Planner with its two parts, simulation (which nodes are unneeded, and since when) and selection (which of these go
// now); the cool-downs, the budgets, the marks that unneeded nodes get. The Planner is one of the two homes of what outlives an
// iteration: unneeded timers, recheck entries, placement hints. It changes only by being shown an Observation. Not here: doing
// it (act), and which pods may be moved (simulator/drain).
//
// Must not import clients, clouds, metrics, loggers or clocks.
//
// Behaviour: scale-down 1, 3, 4 and 5.2, as amended by the differences page.
package scaledown
