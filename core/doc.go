// Package core is the loop: it observes the cluster, lets the rounds repair, grow and shrink it, and tells the world what was decided.
//
// Here: Autoscaler with Run, the rhythm of the iterations, and RunOnce, their table of contents; the renderings of a Report into
// metrics and logs. Not here: how anything is decided (the packages below) and how the process is put together (cmd).
//
// Behaviour: loop-and-scale-up 1, structure: three rounds, each plan, act, outcome.
package core
