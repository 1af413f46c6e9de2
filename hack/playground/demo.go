package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"example.com/cluster-autoscaler/hack/playground/checker"
	"example.com/cluster-autoscaler/hack/playground/demo"
)

// playDemo plays the demo's story in a cluster of its own.
func playDemo(ctx context.Context, args []string) error {
	var o demo.Options
	var account string
	flags := pflag.NewFlagSet("playground demo", pflag.ContinueOnError)
	flags.StringVar(&o.Autoscaler, "autoscaler", "", "the built cluster-autoscaler (required)")
	flags.StringVar(&o.Cloud, "cloud", demo.CloudAWS, "the cloud to play in: aws or digitalocean")
	flags.StringVar(&o.Manifests, "autoscaler-manifests", defaultManifests, manifestsHelp)
	flags.StringVar(&account, "service-account", defaultAccount, accountHelp)
	flags.StringArrayVar(&o.Flags, "flag", nil, flagHelp)
	flags.StringVar(&o.Record, "record", "", "save the record of the story in this file, for playground check")
	flags.BoolVar(&o.Keep, "keep", false, "leave the folder with logs and data behind")
	err := flags.Parse(args)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return nil
	case err != nil:
		return err
	case flags.NArg() > 0:
		return fmt.Errorf("demo takes no arguments, got %q", flags.Args())
	case o.Autoscaler == "":
		return errors.New("--autoscaler: expected the path of a built cluster-autoscaler")
	}
	if o.Account, err = parseAccount(account); err != nil {
		return err
	}
	if o.Playground, err = os.Executable(); err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	err = demo.Run(ctx, os.Stdout, o)
	if ctx.Err() != nil {
		return err // who stops it doesn't look for a cause
	}
	return withHint(err, o.Keep)
}

// check judges a saved record once more.
func check(_ context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("check takes one argument, a file that playground demo --record has saved")
	}
	file, err := os.Open(args[0])
	if err != nil {
		return fmt.Errorf("reading the record: %w", err)
	}
	defer file.Close()
	log, err := checker.Read(file)
	if err != nil {
		return fmt.Errorf("reading the record %s: %w", args[0], err)
	}
	verdicts := checker.Check(log)
	fmt.Print(demo.Summary(checker.Measure(log)), "\n")
	for _, verdict := range verdicts {
		fmt.Println(verdict)
	}
	if !checker.Passed(verdicts) {
		return demo.ErrJudgement
	}
	return nil
}
