//go:build !aws && (digitalocean || externalgrpc)

package main

// linkAWS links nothing: this binary is built for other clouds.
func linkAWS(map[string]provider) {}
