//go:build !digitalocean && (aws || externalgrpc)

package main

// linkDigitalOcean links nothing: this binary is built for other clouds.
func linkDigitalOcean(map[string]provider) {}
