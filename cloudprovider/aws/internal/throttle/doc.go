// Package throttle answers: may this request go out now?
//
// AWS throttles per account and region, and clusters, consoles and scripts share what it allows. So each API has one bucket of tokens here, which all
// callers share: reads wait for a token, writes go before them, and the pace falls while AWS complains and comes back by itself. Here: the buckets,
// the middleware of the SDK that asks them, and which error codes mean throttling. Not here: retries, which are the SDK's, and what an error means
// (package faults). Imports nothing of ours. Spec page: aws §2.10 and §3.3.
package throttle
