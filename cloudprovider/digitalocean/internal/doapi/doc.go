// Package doapi answers: what does the DigitalOcean API say, and if it doesn't, what kind of failure is it?
//
// Here: the calls that the provider makes, through godo; paging, deadlines, one more try for reads; the limits on requests, those of the API and our own
// share of them; errors sorted by what can be done about them; the types that the rest of the provider works with. Not here: what calls are made for.
// The only package of ours that imports godo. Imports cloudprovider for its observer, and package tokens. Spec page: digitalocean §2.5, §14, §19.
package doapi
