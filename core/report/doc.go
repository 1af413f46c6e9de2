// Package report holds what one iteration decided, as data: every verdict with a reason from a closed set and the numbers behind it.
//
// Here: the Report, the values that plans, acts and outcomes consist of, the reasons. Not here: deciding, doing, or telling the
// world; events, status, metrics, logs and pages are renderings of a Report and recompute nothing. Lies below every step and
// imports only cloudprovider and simulator.
//
// Behaviour: loop-and-scale-up 5.14, scale-down 1.9, operator-surface 3 and 4.
package report
