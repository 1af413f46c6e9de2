// Package cloudprovider is the contract between the autoscaler and a cloud: what a cloud must answer, what it may
// be asked to change, and which errors it reports with which expected reaction.
//
// Here: the CloudProvider and NodeGroup interfaces, the optional abilities, the value types that cross the border, the
// error types, the registry of builders. Not here: any cloud, any decision, any cache. Imports nothing of this module.
//
// Behaviour: extension-protocols, part D; structure: one immutable view per refresh, a context on whatever may block,
// optional abilities as interfaces of their own.
package cloudprovider
