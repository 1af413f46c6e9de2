// Package serving lets an autoscaler in another process drive any cloud provider of this module: the other side of package externalgrpc.
//
// Here: a server of the protocol in front of a cloudprovider.CloudProvider, and which status each error of the contract becomes. Not here:
// listening, certificates, choosing a cloud (hack/externalgrpc-server shows that). Imports cloudprovider and protocol.
//
// Spec page: extension-protocols A3 to A9.
package serving
