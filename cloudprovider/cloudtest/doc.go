// Package cloudtest answers: does this cloud provider keep the promises of the contract? One test runs against every cloud.
//
// Here: the promises of package cloudprovider as checks, and the Harness through which they reach a provider and the cloud
// behind it, be that a value in memory or a stand-in server. Not here: what only one cloud does, its protocol, its cost in
// calls; that is for the provider's own tests. For tests only. Imports nothing of this module but cloudprovider.
//
// A provider's test is:
//
//	func TestTheContractHolds(t *testing.T) { cloudtest.Run(t, newHarness) }
//
// Behaviour: the docstrings of cloudprovider; extension-protocols, part D; the invariants on sizes and machines.
package cloudtest
