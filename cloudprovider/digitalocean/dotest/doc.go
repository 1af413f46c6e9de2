// Package dotest is a stand-in for the DigitalOcean API that the real godo client talks to over HTTP.
//
// It answers the question: how would DigitalOcean Kubernetes behave if …? Here: clusters, node pools, nodes, templates and sizes over the API's own
// protocol, a model of how pools grow and shrink, the limits on requests, faults to inject, a log of all requests. Not here: anything that the product
// needs; tests and the playground import this package, product code may not. It imports nothing of ours and not godo.
// Spec page: digitalocean, §19 for the bytes, §20 for the behaviour.
//
// A test makes a Server with New, gives it pools, starts it, and points godo at URL:
//
//	server, err := dotest.New(dotest.Config{Clock: fakeClock})
//	err = server.AddPool(dotest.Pool{ID: "web", Name: "web", Size: "s-2vcpu-4gb", Count: 2, AutoScale: true, Max: 5})
//	err = server.Start(ctx)
//	defer server.Close()
//
// # Time
//
// All that happens, happens at a moment of the injected clock. Every request, every look and every change first brings the world up to the clock's
// time, event by event in the order in which they fall due, so the outcome doesn't depend on who looks when. With a real clock a goroutine also
// does that when the next event is due, so that Changed fires by itself; with any other clock, call Advance.
//
// # Nodes
//
// A pool that should have more nodes gets them one by one: listed as provisioning, then with a Droplet, then running, then registered (Node.Registered
// tells a test that plays the cluster). Lowering the count of a pool below the number of its nodes ends nodes of the pool's own choice, without asking
// whether anybody uses them. Deleting a node ends that one and lowers the count.
package dotest
