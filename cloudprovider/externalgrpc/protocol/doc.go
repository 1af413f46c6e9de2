// Package protocol holds the messages, the client and the server stub of the protocol by which a cloud provider in another process is
// driven.
//
// Here: what protoc-gen-go and protoc-gen-go-grpc make of externalgrpc.proto, and nothing else. Not here: when to ask and what to make of
// the answers (package externalgrpc), and how to answer (package serving).
//
// Protocol: extension-protocols A3 to A5.
package protocol

//go:generate go -C ../../../hack/protogen run . ../.. cloudprovider/externalgrpc/protocol/externalgrpc.proto
