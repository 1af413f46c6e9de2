// Package digitalocean is the cloud provider for node pools of DigitalOcean Kubernetes (DOKS).
//
// Here: which pools are node groups, what is in them, and how they grow and shrink. A book per pool holds what was read last and the writes that the
// API may not show yet; Refresh and the writes change the books, and Refresh puts an immutable view in place, from which all getters answer. Every
// write reads the pool anew right before; nothing lowers a count below the nodes that are listed, because DOKS would choose which of them go.
// Not here: any decision to scale, Kubernetes clients, metrics.
//
// The parts below internal know one thing each; only internal/doapi speaks to DigitalOcean. Imports cloudprovider and nothing else of ours.
// Spec page: digitalocean; where it marks a part [B], that part is what is built.
package digitalocean
