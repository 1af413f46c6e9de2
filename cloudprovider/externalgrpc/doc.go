// Package externalgrpc is the cloud of whoever answers: it drives node groups through a server in another process, which the operator runs.
//
// Here: the client of the protocol, its configuration, the view made of the server's answers, and what the server's errors mean. Not here:
// the messages (package protocol) and the serving side (package serving). Imports cloudprovider and protocol.
//
// Spec pages: extension-protocols A, operator-surface 10.3.
package externalgrpc
