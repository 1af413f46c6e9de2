// Package eksapi answers what the AWS provider asks of EKS: what is a managed node group like?
//
// Here: time limits, translation between the SDK's types and package managed, errors of package faults. Not here: caching, deciding. The only
// package that imports the SDK's eks service. Spec page: aws §7.8 and §15.4.
package eksapi
