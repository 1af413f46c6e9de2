// Package pricingapi answers: what does AWS's price list say that EC2 machines of a region cost on demand?
//
// Here: the client of the Pricing API, which of its few regions is asked, paging, and reading the price out of a product. Not here: which
// prices matter and when they are read. The only package that may import the SDK's pricing client. Imports packages endpoint, faults and
// prices. Spec page: aws §13 and §15.6.
package pricingapi
