// Package expander answers which of several ways to help the waiting pods is taken.
//
// Here: the strategies, one per file, and the chain that narrows the options down until one is left. Not here: making options and
// carrying one out (core/scaleup), parsing --expander (core/config). Later strategies ask other processes, hence the context.
//
// Behaviour: loop-and-scale-up 5.6 and 5.7.
package expander
