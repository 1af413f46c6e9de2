// Package defaults answers: what does an API server make of an object that says only part of what it means?
//
// Here: the defaulting of the API versions that this program knows and the admission steps that matter to scheduling (priority from
// classes, default tolerations), for objects that come from files. Not here: what a kubelet, a controller or a cloud would add; validation.
// Must not import anything of ours.
//
// Behaviour: scenario-format, "Documents".
package defaults
