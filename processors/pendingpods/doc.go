// Package pendingpods answers which of the waiting pods may cause growth, and what becomes of the others.
//
// Here: the steps from all waiting pods to those that fit on nothing that exists or is on its way. Not here: classifying pods
// (core/observation), whether the loop grows at all, and which group helps (core/scaleup). A plan: values in, values out; it leaves
// upcoming nodes and placed pods in the snapshot, which growing and shrinking both read.
//
// Behaviour: loop-and-scale-up 4 and 1.4.5, as amended by the differences page.
package pendingpods
