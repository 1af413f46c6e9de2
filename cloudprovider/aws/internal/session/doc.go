// Package session answers: as whom, in which region and at which addresses does the provider talk to AWS?
//
// Here: the SDK's default chain with the region's further sources behind it, the role of the cloud config, the service overrides. Not here:
// clients of the services that the provider works with. The only network I/O is the question for the region to the metadata service, and
// that only when nothing else tells it. Imports packages cloudconfig, endpoint and faults. Spec page: aws §2.6 to §2.9.
package session
