// Package grpcplugin holds the messages, the client and the server stub of the protocol by which an expander in another process is asked.
//
// Here: what protoc-gen-go and protoc-gen-go-grpc make of expander.proto, and nothing else. Not here: when to ask and what to make of
// the answer (expander).
//
// Protocol: extension-protocols B.
package grpcplugin

//go:generate go -C ../../hack/protogen run . ../.. expander/grpcplugin/expander.proto
