package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"example.com/cluster-autoscaler/hack/playground/controlplane"
	"example.com/cluster-autoscaler/hack/playground/controlplane/roles"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if os.Args[1] == "role" {
		if err := roles.Run(ctx, os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	self, _ := os.Executable()
	c, err := controlplane.Start(ctx, controlplane.Options{Binary: self, Keep: true})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("export KUBECONFIG=" + c.Kubeconfig())
	<-ctx.Done()
	fmt.Println(c.Stop())
}
