// Package offerings answers: which machines is AWS known to have none of at the moment?
//
// A failed launch of one group says something about all groups that ask for the same instance type in the same zone and market. Here: a table of
// such shortages with their ends, fed by the failures of all groups. Not here: reading activities, and any decision; a shortage never rules a group
// out that has other possibilities. Imports package asg. Spec page: aws §6.3.
package offerings
