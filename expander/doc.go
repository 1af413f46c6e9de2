// Package expander answers which of several ways to help the waiting pods is taken.
//
// Here: the strategies, one per file, and the chain that narrows the options down until one is left; the connection to a server that chooses. Not
// here: making options and carrying one out (core/scaleup), parsing --expander (core/config), telling the world of what went wrong: a choice carries
// notices. Strategies may ask another process, hence the context.
//
// Behaviour: loop-and-scale-up 5.6 and 5.7, extension-protocols B.
package expander
