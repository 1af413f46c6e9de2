// Package placeholders answers: which of the machines that a group asked for are still to come, and which have failed?
//
// AWS lists only instances that exist. For each missing one a place is kept here, with a number that is never used again, so that what
// others remember about a place (when it was first seen, that it failed) stays true. Here: opening, using up, condemning and
// withdrawing places. Not here: ids (package providerid), asking AWS, locks; a Ledger belongs to whoever locks it. Imports cloudprovider
// and package asg. Spec page: aws §1.4, §5.5 and §6.2.
package placeholders
