package externalgrpc_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider/externalgrpc"
)

func TestTheCloudConfigIsReadOrRefusedWithOneClearLine(t *testing.T) {
	plain := externalgrpc.Config{Address: "127.0.0.1:8086", Host: "127.0.0.1", Timeout: 5 * time.Second, WriteTimeout: time.Minute}
	with := func(change func(*externalgrpc.Config)) externalgrpc.Config {
		c := plain
		change(&c)
		return c
	}
	tests := map[string]struct {
		content string
		want    externalgrpc.Config
		err     string // part of it; empty: none
	}{
		"no file":                        {content: "", err: `want a YAML file with at least "address: HOST:PORT"`},
		"no YAML":                        {content: "address: [", err: "want YAML"},
		"a list":                         {content: "- address", err: "want YAML with texts as values"},
		"a key twice":                    {content: "address: a:1\naddress: b:1", err: "address"},
		"an address":                     {content: "address: 127.0.0.1:8086", want: plain},
		"JSON":                           {content: `{"address": "127.0.0.1:8086"}`, want: plain},
		"keys in any case":               {content: "Address: 127.0.0.1:8086\nGRPC_Timeout: 7s", want: with(func(c *externalgrpc.Config) { c.Timeout = 7 * time.Second })},
		"no address":                     {content: "grpc_timeout: 5s", err: `address "": want HOST:PORT`},
		"an address without port":        {content: "address: cloud.example.com", err: `address "cloud.example.com": want HOST:PORT`},
		"an address with an empty port":  {content: "address: 'cloud.example.com:'", err: "want HOST:PORT"},
		"an address with a scheme":       {content: "address: http://cloud.example.com:80", err: "want HOST:PORT"},
		"a long timeout":                 {content: "address: 127.0.0.1:8086\ngrpc_timeout: 2m", want: with(func(c *externalgrpc.Config) { c.Timeout, c.WriteTimeout = 2*time.Minute, 2*time.Minute })},
		"a timeout for writes":           {content: "address: 127.0.0.1:8086\ngrpc_mutation_timeout: 3m", want: with(func(c *externalgrpc.Config) { c.WriteTimeout = 3 * time.Minute })},
		"a number as timeout":            {content: "address: 127.0.0.1:8086\ngrpc_timeout: 10", err: "grpc_timeout as 5s, not as a number"},
		"no time at all":                 {content: "address: 127.0.0.1:8086\ngrpc_timeout: 0s", err: `grpc_timeout "0s": want a duration above zero`},
		"less than no time":              {content: "address: 127.0.0.1:8086\ngrpc_mutation_timeout: -5s", err: `grpc_mutation_timeout "-5s": want a duration above zero`},
		"no duration":                    {content: "address: 127.0.0.1:8086\ngrpc_timeout: soon", err: `grpc_timeout "soon": want a duration above zero`},
		"a certificate without the rest": {content: "address: 127.0.0.1:8086\ncert: c.pem", err: `cert "c.pem": want key and cacert besides it`},
		"a certificate without its key":  {content: "address: 127.0.0.1:8086\ncert: c.pem\ncacert: ca.pem", err: `cert "c.pem": want key besides it`},
		"a server that is verified alone": {
			content: "address: cloud.example.com:8086\ncacert: ca.pem",
			want: with(func(c *externalgrpc.Config) {
				c.Address, c.Host, c.CACert = "cloud.example.com:8086", "cloud.example.com", "ca.pem"
			}),
		},
		"all certificates": {
			content: "address: '[fe80::1%eth0]:8086'\ncert: c.pem\nkey: k.pem\ncacert: ca.pem",
			want: with(func(c *externalgrpc.Config) {
				c.Address, c.Host, c.Cert, c.Key, c.CACert = "[fe80::1%eth0]:8086", "fe80::1", "c.pem", "k.pem", "ca.pem"
			}),
		},
		"plain text over a network": {
			content: "address: cloud.example.com:8086\nkey: k.pem\nserver: typo",
			want: with(func(c *externalgrpc.Config) {
				c.Address, c.Host, c.Key = "cloud.example.com:8086", "cloud.example.com", "k.pem"
				c.Warnings = []string{
					`key "server" is not known; known are address, cacert, cert, grpc_mutation_timeout, grpc_timeout, key`,
					`key "k.pem" is not used, because there is no cert`,
					"the connection to cloud.example.com:8086 is neither encrypted nor authenticated: give cert, key and cacert, or cacert alone",
				}
			}),
		},
		"several mistakes": {content: "address: x\ngrpc_timeout: 0s\ncert: c.pem", err: "grpc_timeout"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := externalgrpc.ParseConfig([]byte(test.content))
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Fatalf("error %v, want one with %q", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("config (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAllMistakesOfTheCloudConfigAreToldAtOnce(t *testing.T) {
	_, err := externalgrpc.ParseConfig([]byte("address: x\ngrpc_timeout: 0s\ncert: c.pem"))
	for _, part := range []string{`address "x"`, `grpc_timeout "0s"`, `cert "c.pem"`} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error %v, want it to tell of %s, too", err, part)
		}
	}
}
