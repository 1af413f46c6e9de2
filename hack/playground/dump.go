package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"example.com/cluster-autoscaler/hack/playground/dump"
)

// dumpCluster prints what is in a cluster.
func dumpCluster(ctx context.Context, args []string) error {
	var kubeconfig, format string
	flags := pflag.NewFlagSet("playground dump", pflag.ContinueOnError)
	flags.StringVar(&kubeconfig, "kubeconfig", os.Getenv(clientcmd.RecommendedConfigPathEnvVar), "credentials for the cluster; default: $KUBECONFIG")
	flags.StringVarP(&format, "output", "o", string(dump.YAML), "yaml or json")
	err := flags.Parse(args)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return nil
	case err != nil:
		return err
	case flags.NArg() > 0:
		return fmt.Errorf("dump takes no arguments, got %q", flags.Args())
	case kubeconfig == "":
		return errors.New("--kubeconfig: expected a file with credentials, here or in KUBECONFIG")
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("reading credentials: %w", err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	out := bufio.NewWriter(os.Stdout)
	return errors.Join(dump.Write(ctx, client, out, dump.Format(format)), out.Flush())
}
