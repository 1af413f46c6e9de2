// Package config answers: what did the operator ask for, and is it something that we can do?
//
// Here: the one table of flags (name, type, default, unit, range, help text, state), the parser that turns a command line into
// typed Options, their validation, the help text, and the list of warnings. Not here: reading the environment or files, choosing
// a cloud provider, applying log settings or feature gates, and exiting; all of that is done by cmd with the values made here.
//
// Parse is a pure function: every call has a flag set of its own and nothing global is read or written, so that a scenario or a
// test may parse as many command lines as it likes, also at once. This package lies below every step and must not import any of
// them, nor clients, clouds, metrics or loggers.
//
// Follows operator-surface §1 (flags), §5.3 (taints), §7 (exit codes) and §9 (what the Helm chart passes); loop-and-scale-up §0.2
// and §5.7; scale-down §0.3, §0.4 and §5.7.1.
package config
