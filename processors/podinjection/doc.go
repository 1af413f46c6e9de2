// Package podinjection answers which pods controllers have yet to create, so that room can be made for them before they are there.
//
// Here: how many pods a controller wants, copies that stand for those that are missing, what becomes of the copies, and for how long a controller is
// left out whose copies nobody could help. Not here: finding room (pendingpods) and buying it (core/scaleup). A plan: values in, values out. No copy
// leaves the iteration that it was made in: nobody is told about a pod that does not exist.
//
// Behaviour: loop-and-scale-up 6.1, with the remedy of 9.2-24.
package podinjection
