//go:build !externalgrpc && (aws || digitalocean)

package main

// linkExternalGRPC links nothing: this binary is built for other clouds.
func linkExternalGRPC(map[string]provider) {}
