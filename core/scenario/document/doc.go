// Package document answers: what do these files say about a cluster, its clouds and what is to happen?
//
// Here: the documents of a scenario and the API objects around them, read from streams of YAML and JSON into typed values (Read); all
// that can be wrong with them, each with file, document and field; finished objects made of them, as an API server, a kubelet and a cloud
// would have (Resolve, Finish, Expand). Not here: playing them (core/scenario), the API server's own defaulting (simulator/defaults).
// Must not read clocks or files: readers are handed in, and times follow from the documents.
//
// Behaviour: scenario-format, "Documents".
package document
