// Package autoscaler answers: how does the built cluster-autoscaler run beside a control plane on this machine as it would in production?
//
// Here: its credentials (a token of its ServiceAccount, so that exactly that account's rights count), flags, environment, process, log and
// endpoints. Not here: control planes, clouds, and what the program is expected to do. Must not import anything of the program itself.
package autoscaler
