// Package nodegroupset answers: which node groups are so alike that it does not matter which of them grows, and how are new nodes spread over
// such groups?
//
// Here: the comparison of templates, and the spreading. Not here: whether a group may grow at present, what it may help, limits of the cluster
// (core/scaleup). Pure: values in, values out.
//
// Behaviour: loop-and-scale-up 5.8, aws 10 for the tolerance between real nodes and descriptions by the cloud. The flags and the labels that a cloud
// names hold for every cloud (loop-and-scale-up 9.2-22).
package nodegroupset
