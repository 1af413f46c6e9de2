// Package cloudconfig answers: what does the file behind --cloud-config say?
//
// Here: a reader for the INI dialect that the AWS cloud controller uses for the same file (gcfg), and the few facts in it that matter
// here. Not here: opening the file, using the facts. Own parser, because a library would bring a dependency for four keys and is
// strict where this reader must not be: keys of a newer cloud controller are a warning, not the end. Imports nothing of ours.
// Spec page: aws §2.5.
package cloudconfig
