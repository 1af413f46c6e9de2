// Package health answers whether the process is alive, from when the loop last started and last succeeded.
//
// Here: the clockwork and its HTTP handler. Not here: running the loop (core) and the server (cmd).
//
// Behaviour: operator-surface 6.2, except that a start that never ends fails after --max-startup-time.
package health
