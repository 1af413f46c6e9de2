// Package gpu answers which accelerator a node has, promises, or lacks, and whether a pod asks for one.
//
// Here: extended resources that are known to be accelerators. Not here: devices of dynamic resource allocation.
// Imports nothing of this module.
//
// Behaviour: loop-and-scale-up 1.4.2, scale-down 1.7.
package gpu
