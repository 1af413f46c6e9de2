// Package discovery answers: which Auto Scaling groups did the operator ask for, by name or by tag?
//
// Here: the grammar of --nodes and of --node-group-auto-discovery, how several rules combine, and whether a group's tags match. Not
// here: asking AWS. Imports nothing of ours. Spec page: aws §2.2 to §2.4 and §4.
package discovery
