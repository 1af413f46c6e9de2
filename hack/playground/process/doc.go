// Package process answers: how is a program started beside this one so that it certainly ends with it?
//
// Here: starting a child in a process group of its own with its output in a file, hearing from it that it is ready, stopping it,
// describing why it ended, and the half of that agreement that the child plays. Not here: what the children do (roles) and in
// which order they start (controlplane). Imports nothing but the standard library, so that every child can use it.
package process
