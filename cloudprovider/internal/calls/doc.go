// Package calls answers: which calls to a cloud are under way, and how are they ended when the provider is cleaned up?
//
// Here: a context for each call, and the end of all of them. Not here: what is called. Imports nothing of ours. Contract: CloudProvider.Cleanup.
package calls
