package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"example.com/cluster-autoscaler/cloudprovider/simulated"
	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/core/scenario"
	"example.com/cluster-autoscaler/core/scenario/document"
)

// The exit codes of simulate (scenario-format, "Command line").
const (
	exitPlayed   = 0 // and all expectations are met
	exitFailed   = 1 // an expectation is not
	exitUnusable = 2 // the input cannot be played
)

// The values of --output.
const (
	outputText = "text"
	outputJSON = "json"
)

const simulateUsage = `Plays scenarios and dumps of clusters in virtual time through the real autoscaler, without a cluster and without a cloud.

Usage:
  cluster-autoscaler simulate -f FILE [-f FILE ...] [controller flags]

Flags:
  -f, --filename FILE       what to play: YAML or JSON, several files are read as one stream; - is standard input
  -o, --output text|json    a timeline to read (default), or one JSON object a line
      --duration DURATION   how long to play (default: as the scenario says, else 30m)
      --explain             also show which nodes could go and why others are kept
  -h, --help                this text

All flags of the controller are taken too (cluster-autoscaler --help); they come behind those in the scenario and win. Those that have no
meaning without a cluster are accepted. --cloud-provider=aws or digitalocean takes from that cloud the label for accelerators, and the labels in
which similar groups may differ.

Exit status: 0 played and all expectations met, 1 an expectation was not met, 2 the input cannot be used.

How to write scenarios: docs/simulate.md, examples: docs/examples.
`

// simulation is what a command line of simulate says.
type simulation struct {
	files      []string
	output     string
	duration   time.Duration
	explain    bool
	help       bool
	controller []string // the flags of the controller
}

// simulateFlag is a flag of simulate itself.
type simulateFlag struct {
	value bool // whether it takes one
	set   func(s *simulation, value string) error
}

func simulateFlags() map[string]simulateFlag {
	file := simulateFlag{value: true, set: func(s *simulation, value string) error {
		if value == "" {
			return errors.New("-f: want the name of a file behind it")
		}
		s.files = append(s.files, value)
		return nil
	}}
	output := simulateFlag{value: true, set: func(s *simulation, value string) error {
		if value != outputText && value != outputJSON {
			return fmt.Errorf("--output=%q: want %s or %s", value, outputText, outputJSON)
		}
		s.output = value
		return nil
	}}
	help := simulateFlag{set: func(s *simulation, _ string) error { s.help = true; return nil }}
	return map[string]simulateFlag{
		"-f": file, "--filename": file, "-o": output, "--output": output, "-h": help, "--help": help,
		"--explain": {set: func(s *simulation, value string) error {
			if value != "" && value != "true" && value != "false" {
				return fmt.Errorf("--explain=%q: want true or false", value)
			}
			s.explain = value != "false"
			return nil
		}},
		"--duration": {value: true, set: func(s *simulation, value string) error {
			duration, err := time.ParseDuration(value)
			if err != nil || duration <= 0 {
				return fmt.Errorf("--duration=%q: want a duration above 0, such as 30m", value)
			}
			s.duration = duration
			return nil
		}},
	}
}

// parseSimulation tells the flags of simulate from those of the controller.
func parseSimulation(args []string) (simulation, error) {
	s := simulation{output: outputText}
	own := simulateFlags()
	valueOf := "" // a flag of the controller whose value may be the next word
	for len(args) > 0 {
		name, value, joined := cutFlag(args[0])
		flag, known := own[name]
		if !known {
			if valueOf == "" && !strings.HasPrefix(name, "-") {
				return s, fmt.Errorf("%q: want a flag, and -f before the name of each file", args[0])
			}
			s.controller = append(s.controller, args[0])
			valueOf = ""
			if !joined && strings.HasPrefix(name, "-") {
				valueOf = name
			}
			args = args[1:]
			continue
		}
		args, valueOf = args[1:], ""
		if flag.value && !joined {
			if len(args) == 0 {
				return s, fmt.Errorf("%s: want a value behind it", name)
			}
			value, args = args[0], args[1:]
		}
		if err := flag.set(&s, value); err != nil {
			return s, err
		}
	}
	if len(s.files) == 0 && !s.help {
		return s, errors.New("nothing to play: want -f FILE")
	}
	return s, nil
}

// cutFlag splits --name=value, and -fvalue as kubectl takes it.
func cutFlag(word string) (name, value string, joined bool) {
	for _, short := range []string{"-f", "-o"} {
		if rest, ok := strings.CutPrefix(word, short); ok && rest != "" {
			return short, strings.TrimPrefix(rest, "="), true
		}
	}
	return strings.Cut(word, "=")
}

// standard are the standard streams.
type standard struct {
	in       io.Reader
	out, err io.Writer
}

// simulate is the subcommand. It returns the exit code.
func simulate(args []string, std standard) int {
	s, err := parseSimulation(args)
	if s.help {
		_, _ = fmt.Fprint(std.out, simulateUsage)
		return exitPlayed
	}
	if err != nil {
		_, _ = fmt.Fprintf(std.err, "%v (simulate --help lists the flags)\n", err)
		return exitUnusable
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	failed, err := s.run(ctx, std)
	switch {
	case err != nil:
		_, _ = fmt.Fprintln(std.err, err)
		return exitUnusable
	case failed > 0:
		return exitFailed
	default:
		return exitPlayed
	}
}

// run plays and returns how many expectations were not met.
func (s simulation) run(ctx context.Context, std standard) (failed int, err error) {
	cluster, err := s.read(std)
	if err != nil {
		return 0, err
	}
	parsed, err := config.Parse(slices.Concat(cluster.Scenario.Flags, s.controller))
	if err != nil {
		return 0, flagError(cluster.Scenario, err)
	}
	options := scenario.Options{Controller: parsed.Options, Duration: s.duration}
	like, err := simulatedProvider(parsed.Options.Cloud.Provider)
	if err != nil {
		return 0, err
	}
	options.GPULabel, options.BookkeepingLabels = like.gpuLabel, like.bookkeepingLabels
	warn(std.err, parsed)
	if ctx, err = simulationLogger(ctx, parsed.Options); err != nil {
		return 0, err
	}
	defer klog.Flush()

	out := bufio.NewWriter(std.out)
	show := teller(scenario.NewText(out, s.explain))
	if s.output == outputJSON {
		show = scenario.NewJSON(out)
	}
	result, err := scenario.Play(ctx, cluster, options, show.Tell)
	return result.Failed, errors.Join(err, show.Close(), out.Flush())
}

// flagError says of what is wrong with flags where it stands, if that is in the scenario.
func flagError(played document.Scenario, err error) error {
	_, own := config.Parse(played.Flags)
	if own == nil {
		return err
	}
	var errs document.Errors
	for line := range strings.Lines(own.Error()) {
		if errors.Is(own, config.ErrHelp) {
			line = "--help is no flag for a scenario"
		}
		errs = append(errs, document.Error{File: played.File, Document: played.Document, Field: "spec.flags", Message: strings.TrimSpace(line)})
	}
	return errs
}

// teller shows the lines of a play.
type teller interface {
	Tell(line scenario.Line)
	Close() error
}

// read reads the files as one stream.
func (s simulation) read(std standard) (document.Cluster, error) {
	var sources []document.Source
	for _, name := range s.files {
		if name == "-" {
			sources = append(sources, document.Source{Name: name, Reader: std.in})
			continue
		}
		file, err := os.Open(name)
		if err != nil {
			return document.Cluster{}, fmt.Errorf("%s: %w", name, errors.Unwrap(err))
		}
		defer func() { _ = file.Close() }() // it was only read
		if about, err := file.Stat(); err == nil && about.IsDir() {
			return document.Cluster{}, fmt.Errorf("%s: it is a directory, want a file", name)
		}
		sources = append(sources, document.Source{Name: name, Reader: file})
	}
	input, warnings, err := document.Read(sources)
	if err != nil {
		return document.Cluster{}, err
	}
	for _, warning := range warnings {
		_, _ = fmt.Fprintf(std.err, "warning: %s: document %d: %s\n", warning.File, warning.Document, warning.Message)
	}
	return document.Resolve(input)
}

// simulatedProvider is the cloud of that name as a simulation needs it; an empty name is that of the simulated cloud.
func simulatedProvider(name string) (provider, error) {
	known := linkedProviders()
	known[simulated.Name] = provider{}
	if name == "" {
		return known[simulated.Name], nil
	}
	_, err := chosenProvider(name, known)
	return known[name], err
}

// simulationLogger is silent unless the command line asks for logs: what the lines of a play tell should not be told twice. It also sets the
// feature gates, which the scheduler's plug-ins read and which logging needs.
func simulationLogger(ctx context.Context, options config.Options) (context.Context, error) {
	logs := options.Logging.Verbosity > 0 || len(options.Logging.VModule) > 0
	if logs || len(options.FeatureGates) > 0 {
		if err := setGates(options.FeatureGates); err != nil {
			return ctx, err
		}
	}
	if !logs {
		return klog.NewContext(ctx, logr.Discard()), nil
	}
	if err := setUpLogging(options.Logging); err != nil {
		return ctx, err
	}
	return klog.NewContext(ctx, klog.Background()), nil
}

// warn tells which flags do nothing: those that never do, and in one line those that have no meaning here.
func warn(out io.Writer, parsed config.Parsed) {
	for _, warning := range parsed.Warnings {
		_, _ = fmt.Fprintf(out, "warning: %s\n", warning)
	}
	groups := map[string]config.Group{}
	for _, flag := range config.Table() {
		groups[flag.Name] = flag.Group
	}
	var idle []string
	for _, setting := range parsed.Settings {
		if setting.Given && meaningless(setting.Name, groups[setting.Name]) {
			idle = append(idle, "--"+setting.Name)
		}
	}
	if slices.Contains(parsed.Options.ScaleUp.Expanders, config.ExpanderGRPC) {
		_, _ = fmt.Fprintln(out, "warning: --expander: grpc is left out in a simulation, whose outcome no other process decides")
	}
	if slices.Contains(parsed.Options.ScaleUp.Expanders, config.ExpanderPrice) && !slices.Contains([]string{"", simulated.Name}, parsed.Options.Cloud.Provider) {
		_, _ = fmt.Fprintf(out, "warning: --expander: with --cloud-provider=%s the controller goes by the prices of the cloud; here they are those of the scenario\n",
			parsed.Options.Cloud.Provider)
	}
	if len(idle) > 0 {
		_, _ = fmt.Fprintf(out, "warning: these flags have no meaning in a simulation: %s\n", strings.Join(idle, ", "))
	}
}

// meaningless tells flags about a process, an API server, a cloud and its health, of which a play has none.
func meaningless(name string, group config.Group) bool {
	switch name {
	case "cloud-provider":
		return false
	case "max-inactivity", "max-failing-time", "max-startup-time":
		return true
	case "grpc-expander-url", "grpc-expander-cert":
		return true
	}
	switch group {
	case config.GroupProcess, config.GroupCloud, config.GroupElection, config.GroupStatus:
		return true
	default:
		return false
	}
}
