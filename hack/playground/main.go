// Command playground starts a whole Kubernetes cluster on this machine to try the autoscaler in: a real control plane, a stand-in for
// AWS, and machines that exist as Node objects only.
//
// Here: the command line. What runs is in the packages below; `playground role` is how the program starts its own parts as children.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"example.com/cluster-autoscaler/hack/playground/controlplane/roles"
)

const usage = `usage: playground COMMAND [flags]

commands:
  demo    play a story in a cluster and judge it: the autoscaler grows and shrinks it (playground demo --help)
  check   judge the record of a story again: playground check FILE
  dump    print what is in a cluster, for cluster-autoscaler simulate (playground dump --help)
  up      start a cluster, print how to reach it, and stop it on Ctrl-C (playground up --help)
`

// command is what a word of the command line runs; args are what follows it.
type command func(ctx context.Context, args []string) error

func commands() map[string]command {
	return map[string]command{
		"demo":  playDemo,
		"check": check,
		"dump":  dumpCluster,
		"up":    up,
		"role":  roles.Run, // a part of the control plane, started by the others; not for people
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if len(os.Args) < 2 || commands()[os.Args[1]] == nil {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	if err := commands()[os.Args[1]](ctx, os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "playground:", err)
		os.Exit(1)
	}
}
