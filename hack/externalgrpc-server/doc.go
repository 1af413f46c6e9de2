// Command externalgrpc-server drives an imaginary cloud for an autoscaler in another process. It is where a server for a cloud of your own begins: put
// your provider in the place of package simulated, and leave the rest.
//
//	go run ./hack/externalgrpc-server --cloud-config=hack/externalgrpc-server/groups.yaml --address=127.0.0.1:8086
//
// and the autoscaler beside it with --cloud-provider=externalgrpc and a --cloud-config file that says
//
//	address: 127.0.0.1:8086
//
// Machines of the imaginary cloud come and go by the clock; nobody makes nodes of them. Here: flags, certificates, listening, and the description of
// the imaginary groups. Not here: the protocol (package serving). Spec page: extension-protocols A9.
package main
