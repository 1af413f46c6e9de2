package e2e

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"example.com/cluster-autoscaler/hack/playground/cloud"
	"example.com/cluster-autoscaler/hack/playground/cluster"
)

// Environment variables that name the built programs.
const (
	playgroundVariable = "PLAYGROUND_BINARY"
	autoscalerVariable = "AUTOSCALER_BINARY"
)

// shared is the cluster of all stories. They get it through newStory.
var shared *cluster.Cluster

// delays are short, but long enough that "running", "registered" and "Ready" are moments apart.
var delays = cloud.Delays{Register: 500 * time.Millisecond, Ready: 500 * time.Millisecond, Remove: 500 * time.Millisecond}

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// run plays all stories in one cluster. When one fails, the cluster's folder with the logs stays.
func run(m *testing.M) (int, error) {
	binary := os.Getenv(playgroundVariable)
	if binary == "" {
		return 0, fmt.Errorf("%s must name the built playground program; run `make e2e`", playgroundVariable)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	began := time.Now()
	c, err := cluster.Start(ctx, cluster.Options{Binary: binary, Delays: delays})
	if err != nil {
		return 0, err
	}
	shared = c
	fmt.Printf("The cluster was ready after %.1f s; its folder is %s\n", time.Since(began).Seconds(), c.Folder())
	finished := context.AfterFunc(ctx, func() {
		c.Stop() //nolint:errcheck // interrupted: nobody is left to tell
		os.Exit(130)
	})
	code := m.Run()
	finished()
	if code != 0 {
		c.KeepFolder()
		fmt.Printf("The logs stay in %s\n", c.Folder())
	}
	return code, c.Stop()
}
