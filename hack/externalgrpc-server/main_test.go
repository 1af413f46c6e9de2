package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"example.com/cluster-autoscaler/cloudprovider/externalgrpc"
)

func TestTheImaginaryCloudIsDrivenFromAnotherProcess(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String() // free a moment ago
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- run(ctx, []string{"--cloud-config=groups.yaml", "--address=" + address}, io.Discard) }()
	p, err := externalgrpc.New(ctx, externalgrpc.Options{
		CloudConfig: fmt.Appendf(nil, "address: %s\ngrpc_timeout: 1m\n", address), Clock: clocktesting.NewFakePassiveClock(time.Unix(0, 0)),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Refresh(ctx); err != nil {
		t.Fatal(err)
	}
	groups := p.NodeGroups()
	if len(groups) != 2 || groups[0].ID() != "small" || groups[0].State().Target != 1 {
		t.Fatalf("groups %v, want small of size 1 and gpu", groups)
	}
	if granted, err := groups[1].IncreaseSize(ctx, 2); granted != 2 || err != nil {
		t.Errorf("IncreaseSize(2) = %d, %v", granted, err)
	}
	variants, err := groups[1].Templates(ctx)
	if err != nil || variants[0].Node.Status.Allocatable.Name("nvidia.com/gpu", "").Value() != 1 {
		t.Errorf("template %v (%v), want one with a GPU", variants, err)
	}
	if err := p.Cleanup(ctx); err != nil {
		t.Error(err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestFlagsAndFilesThatCannotBeUsedAreToldInOneLine(t *testing.T) {
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "groups.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	tests := map[string]struct {
		args []string
		part string
	}{
		"no description":       {part: `--cloud-config="": want a readable YAML file`},
		"an unknown key":       {args: []string{"--cloud-config=" + write("nodegroup: []")}, part: "unknown field"},
		"bounds upside down":   {args: []string{"--cloud-config=" + write("nodeGroups: [{id: a, minSize: 3, maxSize: 1, cpu: 1, memory: 1Gi}]")}, part: "a"},
		"a part of the files":  {args: []string{"--cert=c.pem"}, part: "want all three or none"},
		"certificates of none": {args: []string{"--cloud-config=groups.yaml", "--cert=c", "--key-cert=k", "--ca-cert=a"}, part: "want the PEM files of one certificate"},
		"an argument":          {args: []string{"serve"}, part: "want flags only"},
		"no such address":      {args: []string{"--cloud-config=groups.yaml", "--address=nowhere"}, part: `--address="nowhere"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := run(t.Context(), test.args, io.Discard)
			if err == nil || !strings.Contains(err.Error(), test.part) {
				t.Errorf("error %v, want one with %q", err, test.part)
			}
		})
	}
}
