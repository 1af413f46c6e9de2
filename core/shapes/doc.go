// Package shapes measures the loop on clusters of published shapes.
//
// Here: benchmarks only, each of which asserts the decision and every verdict, and the tests that keep them honest at small sizes; the
// world they run in: an API server in memory that copies nothing, real informers with the production transform, the simulated cloud. Not
// here: stories over time (core) and the measuring of single packages (beside their code).
//
// docs/performance.md says how it is measured, with which commands, and what the figures are.
package shapes
