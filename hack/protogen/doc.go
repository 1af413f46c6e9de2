// Command protogen makes Go code of a .proto file without protoc: it compiles the file itself and hands the result to protoc-gen-go and
// protoc-gen-go-grpc, whose versions go.mod pins.
//
// Usage: protogen ROOT FILE, where FILE is relative to ROOT and so is what is written: beside FILE.
package main
