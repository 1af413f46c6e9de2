package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	_ "golang.org/x/crypto/x509roots/fallback" // an image without CA files can talk to the cloud too
	"k8s.io/klog/v2"

	"example.com/cluster-autoscaler/core/config"
)

// version is set by the linker; a plain go build takes it from the module instead.
var version = ""

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is the whole program but for the end of the process. It returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == "version" {
		_, _ = fmt.Fprintln(stdout, versionText()) // a closed standard output cannot be reported anywhere
		return config.ExitOK
	}
	if len(args) > 0 && args[0] == "simulate" {
		return simulate(args[1:], standard{in: os.Stdin, out: stdout, err: stderr})
	}
	parsed, err := config.Parse(args)
	if err != nil {
		return refuse(err, stdout, stderr)
	}
	options := parsed.Options
	providers := linkedProviders()
	if options.Cloud.Provider, err = chosenProvider(options.Cloud.Provider, providers); err != nil {
		_, _ = fmt.Fprintln(stderr, err)
		return config.ExitInvalid
	}
	server, err := dialExpander(options.ScaleUp)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, err)
		return config.ExitSetup
	}
	if server != nil {
		defer func() { _ = server.Close() }() // the process ends anyway
	}
	if err := setGates(options.FeatureGates); err != nil {
		_, _ = fmt.Fprintln(stderr, err)
		return config.ExitUsage
	}
	if err := setUpLogging(options.Logging); err != nil {
		_, _ = fmt.Fprintln(stderr, err)
		return config.ExitInvalid
	}
	defer klog.Flush()

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT)
	defer stop()
	logger := klog.Background()
	ctx = klog.NewContext(ctx, logger)
	tellStart(logger, parsed)
	if err := serveAndLead(ctx, options, providers, server); err != nil {
		logger.Error(err, "Ending")
		return config.ExitInvalid
	}
	logger.Info("Ended as asked")
	return config.ExitOK
}

// refuse answers a command line that is not carried out.
func refuse(err error, stdout, stderr io.Writer) int {
	if errors.Is(err, config.ErrHelp) {
		_, _ = fmt.Fprint(stdout, usage())
		return config.ExitOK
	}
	_, _ = fmt.Fprintln(stderr, err)
	if config.ExitCode(err) == config.ExitUsage {
		_, _ = fmt.Fprintln(stderr, "\nAll flags: cluster-autoscaler --help")
	}
	return config.ExitCode(err)
}

func usage() string {
	return `Grows and shrinks the node groups of a Kubernetes cluster to what its pods need.

Usage:
  cluster-autoscaler [flags]                    run the controller
  cluster-autoscaler simulate -f FILE [flags]   play a scenario in virtual time (simulate --help)
  cluster-autoscaler version                    print the version

` + config.Usage()
}

// tellStart writes what an operator wants to know about this start: the version, flags that do nothing, and at verbosity 2 all of them.
func tellStart(logger klog.Logger, parsed config.Parsed) {
	logger.V(1).Info("Cluster Autoscaler", "version", versionText())
	for _, warning := range parsed.Warnings {
		logger.Info("Flag has no or another effect", "flag", "--"+warning.Flag, "reason", warning.Text)
	}
	if verbose := logger.V(2); verbose.Enabled() {
		for _, setting := range parsed.Settings {
			verbose.Info("Flag", "name", "--"+setting.Name, "value", setting.Value, "given", setting.Given)
		}
	}
}

func versionText() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
