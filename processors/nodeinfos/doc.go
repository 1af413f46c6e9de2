// Package nodeinfos answers what a fresh node of each node group would look like.
//
// Here: the choice between live nodes, learnt templates and those of the cloud, variant by variant; the resources that only the cloud
// knows; the pods of DaemonSets. Not here: what of an example is passing (simulator), which pods fit on it (core/scaleup). A plan: values in,
// values out; it keeps nothing, what was learnt is handed back.
//
// Behaviour: loop-and-scale-up 3.
package nodeinfos
