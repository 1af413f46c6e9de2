// Package endpoint answers: how does a client of the SDK reach a service at an address that an operator gave?
//
// Here: the endpoint with its signature, for the EndpointResolverV2 of each service. Not here: reading the cloud config (package
// cloudconfig) and the SDK's own ways, environment and profile, which need nothing. Spec page: aws §2.5 and §2.8.
package endpoint
