package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// simulateWith is one run of the subcommand.
func simulateWith(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = simulate(args, standard{in: strings.NewReader(stdin), out: &out, err: &errs})
	return code, out.String(), errs.String()
}

const maxSize = "../../docs/examples/max-size.yaml"

func TestSimulateTellsByItsExitCodeHowAPlayEnded(t *testing.T) {
	text, err := os.ReadFile(maxSize)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		args   []string
		stdin  string
		want   int
		stdout string // part of it
		stderr string // part of it; empty: nothing is written there
	}{
		"all expectations met": {args: []string{"-f", maxSize}, want: 0, stdout: "NODE GROUP"},
		"from standard input":  {args: []string{"-f", "-"}, stdin: string(text), want: 0, stdout: "workers     1    8    5       5"},
		"an expectation is not met": {
			args: []string{"-f", maxSize, "--duration=10m"}, want: 1, stdout: `ExpectationFailed  expected {"by":"20m","pendingPods":0}, got pendingPods 4`,
		},
		"a flag on the command line goes before the scenario's": {
			args: []string{"-f", "-", "--scan-interval=50s"}, stdin: strings.Replace(string(text), "duration: 30m", `flags: ["--scan-interval=1s"]`, 1), want: 0,
			stdout: " 40 iterations",
		},
		"no file given":                  {args: nil, want: 2, stderr: "nothing to play: want -f FILE"},
		"a file is missing":              {args: []string{"-f", "nowhere.yaml"}, want: 2, stderr: "nowhere.yaml: no such file"},
		"an unknown field":               {args: []string{"-f", "-"}, stdin: "apiVersion: scenario.cluster-autoscaler/v1\nkind: NodeGroup\nmetadata: {name: g}\nspec: {maxSiez: 3}", want: 2, stderr: "-: document 1: spec.maxSiez"},
		"an unknown flag":                {args: []string{"-f", maxSize, "--no-such-flag"}, want: 2, stderr: "no-such-flag"},
		"a value that is wrong":          {args: []string{"-f", maxSize, "--duration", "soon"}, want: 2, stderr: `--duration="soon": want a duration above 0`},
		"an empty file":                  {args: []string{"-f", "/dev/null"}, want: 2, stderr: "/dev/null: there is nothing in it"},
		"a directory":                    {args: []string{"-f", ".."}, want: 2, stderr: "..: it is a directory, want a file"},
		"a file without a name":          {args: []string{"-f", ""}, want: 2, stderr: "-f: want the name of a file behind it"},
		"files as a shell expands them":  {args: []string{"-f", maxSize, maxSize}, want: 2, stderr: `max-size.yaml": want a flag, and -f before the name of each file`},
		"a word behind a flag's value":   {args: []string{"-f", maxSize, "--expander", "random", "most-pods"}, want: 2, stderr: `"most-pods": want a flag`},
		"values of flags behind a blank": {args: []string{"-f" + maxSize, "-ojson", "--expander", "most-pods", "--scan-interval", "10s"}, want: 0, stdout: `"type":"Summary"`},
		"a flag of a scenario is unknown": {
			args: []string{"-f", "-"}, stdin: strings.Replace(string(text), "duration: 30m", `flags: ["--no-such-flag"]`, 1), want: 2,
			stderr: `-: document 3: spec.flags: unknown flag "--no-such-flag"`,
		},
		"a value of a scenario's flag is wrong": {
			args: []string{"-f", "-"}, stdin: strings.Replace(string(text), "duration: 30m", `flags: ["--expander=zzz"]`, 1), want: 2,
			stderr: `-: document 3: spec.flags: --expander="zzz": want`,
		},
		"help among a scenario's flags": {
			args: []string{"-f", "-"}, stdin: strings.Replace(string(text), "duration: 30m", `flags: ["--help"]`, 1), want: 2,
			stderr: "-: document 3: spec.flags: --help is no flag for a scenario\n",
		},
		"an unknown output":    {args: []string{"-f", maxSize, "-o", "xml"}, want: 2, stderr: `--output="xml": want text or json`},
		"an unknown cloud":     {args: []string{"-f", maxSize, "--cloud-provider=nimbus"}, want: 2, stderr: "want one of: aws, digitalocean, externalgrpc, simulated"},
		"a flag without value": {args: []string{"-f"}, want: 2, stderr: "-f: want a value behind it"},
		"help":                 {args: []string{"--help"}, want: 0, stdout: "simulate -f FILE"},
		"an expander that is asked elsewhere": {
			args: []string{"-f", maxSize, "--expander=grpc,least-waste", "--grpc-expander-url=choose:7000", "--grpc-expander-cert=/nowhere"}, want: 0, stdout: "NODE GROUP",
			stderr: "warning: --expander: grpc is left out in a simulation, whose outcome no other process decides\n" +
				"warning: these flags have no meaning in a simulation: --grpc-expander-cert, --grpc-expander-url\n",
		},
		"prices of another cloud than the simulated one": {
			args: []string{"-f", maxSize, "--expander=price", "--cloud-provider=aws"}, want: 0, stdout: "NODE GROUP",
			stderr: "warning: --expander: with --cloud-provider=aws the controller goes by the prices of the cloud; here they are those of the scenario\n",
		},
		"flags without a meaning": {
			args: []string{"-f", maxSize, "--kubeconfig=/k", "--leader-elect=false", "--cloud-provider=aws"}, want: 0,
			stdout: "NODE GROUP", stderr: "warning: these flags have no meaning in a simulation: --kubeconfig, --leader-elect\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := simulateWith(t, test.stdin, test.args...)
			if code != test.want || !strings.Contains(stdout, test.stdout) || !strings.Contains(stderr, test.stderr) || test.stderr == "" && stderr != "" {
				t.Errorf("exit code %d, want %d\nstandard output:\n%s\nstandard error:\n%s", code, test.want, stdout, stderr)
			}
			if lines := strings.Count(stderr, "\n"); code == 2 && lines != 1 {
				t.Errorf("%d lines on standard error, want one:\n%s", lines, stderr)
			}
			if code == 2 && stdout != "" {
				t.Errorf("an input that cannot be used was played:\n%s", stdout)
			}
		})
	}
}

func TestSimulateWritesNothingButJSONLinesToStandardOutput(t *testing.T) {
	code, stdout, _ := simulateWith(t, "", "-f", maxSize, "-o", "json", "--kubeconfig=/k")
	if code != 0 {
		t.Fatalf("exit code %d", code)
	}
	last := ""
	for line := range strings.Lines(stdout) {
		var told struct {
			At   *float64
			Type string
		}
		if err := json.Unmarshal([]byte(line), &told); err != nil || told.At == nil || told.Type == "" {
			t.Fatalf("line %s: %v", line, err)
		}
		last = told.Type
	}
	if last != "Summary" {
		t.Errorf("the last line is a %s", last)
	}
}

func TestSimulateReadsSeveralFilesAsOneStream(t *testing.T) {
	text, err := os.ReadFile(maxSize)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var args []string
	for i, part := range strings.SplitAfterN(string(text), "---\n", 2) {
		path := filepath.Join(dir, string(rune('a'+i))+".yaml")
		if err := os.WriteFile(path, []byte(part), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "-f", path)
	}
	_, whole, _ := simulateWith(t, "", "-f", maxSize, "-o=json")
	if code, parts, stderr := simulateWith(t, "", append(args, "--output", "json")...); code != 0 || parts != whole {
		t.Errorf("exit code %d, the lines differ: %t\n%s", code, parts != whole, stderr)
	}
}

func TestExplainTellsWhyNodesAreKept(t *testing.T) {
	_, plain, _ := simulateWith(t, "", "-f", maxSize)
	_, explained, _ := simulateWith(t, "", "-f", maxSize, "--explain")
	if strings.Contains(plain, "NodeKept") || !strings.Contains(explained, "workers: workers-0: NotUnderutilized: cpu utilisation") {
		t.Errorf("without --explain:\n%s\nwith:\n%s", plain, explained)
	}
}

func TestTheCloudDecidesWhichLabelMarksAccelerators(t *testing.T) {
	for provider, want := range map[string]string{
		"": "", "simulated": "", "externalgrpc": "", "aws": "k8s.amazonaws.com/accelerator", "digitalocean": "doks.digitalocean.com/gpu-model",
	} {
		if got, err := simulatedProvider(provider); err != nil || got.gpuLabel != want {
			t.Errorf("%q: %q, %v, want %q", provider, got.gpuLabel, err, want)
		}
	}
}

func TestSimulateIsASubcommand(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := run([]string{"simulate", "-f", maxSize}, &stdout, &stderr); code != 0 || !strings.Contains(stdout.String(), "NODE GROUP") {
		t.Errorf("exit code %d\n%s%s", code, stdout.String(), stderr.String())
	}
}
