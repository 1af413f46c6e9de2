// Package cloudconfig answers: what does the file behind --cloud-config say about DigitalOcean, and is it usable?
//
// Here: reading the JSON, the checks in the order in which operators know them, the form of the API's address. Not here: reading the token file
// (package tokens), any request. Imports nothing of ours. Spec page: digitalocean §2.
package cloudconfig
