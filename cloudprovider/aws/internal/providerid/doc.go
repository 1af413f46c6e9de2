// Package providerid answers: what does the spec.providerID of a node say about a machine on AWS?
//
// Here: the grammar of the ids and the ids of placeholders. Not here: which group an instance belongs to (package aws). Changing a
// format of this package makes every node of a running cluster unknown. Imports nothing of ours. Spec page: aws §1.2 and §1.4.
package providerid
