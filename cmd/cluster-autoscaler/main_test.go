package main

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"example.com/cluster-autoscaler/cloudprovider/aws"
	"example.com/cluster-autoscaler/core/config"
)

func TestACommandLineThatIsNotCarriedOutIsAnsweredOnTheRightStream(t *testing.T) {
	tests := map[string]struct {
		args           []string
		code           int
		stdout, stderr string // what they must contain; empty: they must be empty
		lines          int    // on standard error
	}{
		"version":                       {args: []string{"version"}, stdout: versionText() + "\n"},
		"version with more words":       {args: []string{"version", "--wings"}, stdout: versionText() + "\n"},
		"help":                          {args: []string{"--help"}, stdout: "--node-group-auto-discovery"},
		"short help":                    {args: []string{"-h"}, stdout: "cluster-autoscaler [flags]"},
		"an unknown flag":               {args: []string{"--wings"}, code: config.ExitUsage, stderr: `unknown flag "--wings"`, lines: 3},
		"a value that can't be read":    {args: []string{"--scan-interval=soon"}, code: config.ExitUsage, stderr: `--scan-interval="soon": want`, lines: 3},
		"a value that is refused":       {args: []string{"--expander=luck", "--cloud-provider=aws"}, code: config.ExitInvalid, stderr: `--expander="luck": want`, lines: 1},
		"two values that are refused":   {args: []string{"--expander=luck", "--scan-interval=-1s"}, code: config.ExitInvalid, stderr: `--scan-interval="-1s": want`, lines: 2},
		"lease timings that contradict": {args: []string{"--leader-elect-lease-duration=1s"}, code: config.ExitUsage, stderr: "--leader-elect-", lines: -1},
		"no provider":                   {code: config.ExitInvalid, stderr: `--cloud-provider="": want one of: aws`, lines: 1},
		"an unknown provider":           {args: []string{"--cloud-provider=nimbus"}, code: config.ExitInvalid, stderr: `--cloud-provider="nimbus": want one of: aws`, lines: 1},
		"a certificate that can't be read": {
			args: []string{"--cloud-provider=aws", "--expander=grpc", "--grpc-expander-url=choose:7000", "--grpc-expander-cert=/nowhere/ca.pem"},
			code: config.ExitSetup, stderr: `--grpc-expander-cert="/nowhere/ca.pem": want a file`, lines: 1,
		},
		"no certificate": {
			args: []string{"--cloud-provider=aws", "--expander=least-nodes,grpc", "--grpc-expander-url=choose:7000"},
			code: config.ExitSetup, stderr: `--grpc-expander-cert="": want a file`, lines: 1,
		},
		"a certificate that isn't one": {
			args: []string{"--cloud-provider=aws", "--expander=grpc", "--grpc-expander-url=choose:7000", "--grpc-expander-cert=main_test.go"},
			code: config.ExitSetup, stderr: "--grpc-expander-cert: there is no PEM certificate", lines: 1,
		},
		"a URL in place of an address": {
			args: []string{"--cloud-provider=aws", "--expander=grpc", "--grpc-expander-url=https://choose:7000", "--grpc-expander-cert=main_test.go"},
			code: config.ExitSetup, stderr: `--grpc-expander-url="https://choose:7000": want host:port`, lines: 1,
		},
		"an unknown gate": {
			args: []string{"--cloud-provider=aws", "--feature-gates=NoSuchGate=true"}, code: config.ExitUsage, stderr: "--feature-gates", lines: -1,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if code := run(test.args, &stdout, &stderr); code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			for stream, texts := range map[string][2]string{"output": {stdout.String(), test.stdout}, "error": {stderr.String(), test.stderr}} {
				if got, want := texts[0], texts[1]; !strings.Contains(got, want) || want == "" && got != "" {
					t.Errorf("standard %s is %q, want it to contain %q, and nothing for nothing", stream, got, want)
				}
			}
			if lines := strings.Count(stderr.String(), "\n"); test.lines >= 0 && lines != test.lines {
				t.Errorf("%d lines on standard error, want %d: %s", lines, test.lines, stderr.String())
			}
		})
	}
}

func TestHelpTellsOfEveryFlagAndOfTheSubcommand(t *testing.T) {
	text := usage()
	for _, want := range []string{"cluster-autoscaler version", "--kubeconfig", "--scale-down-unneeded-time", "--leader-elect-resource-name", "--vmodule"} {
		if !strings.Contains(text, want) {
			t.Errorf("the help doesn't contain %q", want)
		}
	}
}

func TestTheLinkedProvidersAreNamedInOrder(t *testing.T) {
	known := map[string]provider{"zeta": {}, aws.Name: {}, "mu": {}}
	_, err := chosenProvider("nimbus", known)
	if want := `--cloud-provider="nimbus": want one of: aws, mu, zeta`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if name, err := chosenProvider("mu", known); name != "mu" || err != nil {
		t.Errorf("a known provider: %q, %v", name, err)
	}
	if _, err := chosenProvider("", known); err == nil {
		t.Error("one of several clouds is guessed")
	}
	if name, err := chosenProvider("", map[string]provider{"mu": {}}); name != "mu" || err != nil {
		t.Errorf("the only cloud there is: %q, %v", name, err)
	}
	if got := slices.Sorted(maps.Keys(linkedProviders())); !slices.Equal(got, []string{"aws", "digitalocean", "externalgrpc"}) {
		t.Errorf("without build tags %v are linked, want all", got)
	}
}

func TestACloudConfigThatCannotBeReadIsNamed(t *testing.T) {
	options := config.Options{Cloud: config.Cloud{Provider: "aws", ConfigFile: "/nowhere/cloud.conf"}}
	_, err := newAWS(t.Context(), options, nil)
	if err == nil || !strings.HasPrefix(err.Error(), `--cloud-config="/nowhere/cloud.conf": want a readable file: `) {
		t.Errorf("error %v, want it to name flag and file", err)
	}
}
