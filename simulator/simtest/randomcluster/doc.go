// Package randomcluster answers: which cluster, pods and scheduler profile would nobody have thought of writing down? It makes them at
// random, of few enough values that everything meets everything else: labels and selectors, taints and tolerations, ports, volumes.
//
// For tests only. Every choice comes from one source, a seed or the bytes of a fuzzer, so that a case can be repeated. What it makes would
// pass the API server, but for a few things that old clusters still hold: terms that don't parse.
package randomcluster
