package externalgrpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

const (
	defaultTimeout = 5 * time.Second
	// defaultWriteTimeout is for the calls that change something: a slow cloud must not look like one that refused.
	defaultWriteTimeout = time.Minute
)

// Config is what the file behind --cloud-config says.
type Config struct {
	// Address is host:port of the server.
	Address string
	// Host is the host in Address, which the server's certificate must carry.
	Host string
	// Cert, Key and CACert are paths of PEM files; all empty: plain text. With CACert alone the server is verified and the client is not.
	Cert, Key, CACert string
	// Timeout is for calls that read, WriteTimeout for those that change something. Both are positive.
	Timeout, WriteTimeout time.Duration
	// Warnings are for the operator: what is odd about the file and what was made of it.
	Warnings []string
}

// file is the configuration as it is written. Keys are matched whatever their case.
type file struct {
	Address      string  `json:"address"`
	Key          string  `json:"key"`
	Cert         string  `json:"cert"`
	CACert       string  `json:"cacert"`
	Timeout      *string `json:"grpc_timeout"`
	WriteTimeout *string `json:"grpc_mutation_timeout"`
}

func keys() []string {
	return []string{"address", "cacert", "cert", "grpc_mutation_timeout", "grpc_timeout", "key"}
}

// ParseConfig reads the content of the file behind --cloud-config, YAML or JSON. The error joins all that is wrong with it, one line each.
func ParseConfig(content []byte) (Config, error) {
	if len(content) == 0 {
		return Config{}, errors.New(`--cloud-config: want a YAML file with at least "address: HOST:PORT"; there is none, or it is empty`)
	}
	text, err := yaml.YAMLToJSONStrict(content)
	if err != nil {
		return Config{}, fmt.Errorf("--cloud-config: want YAML: %w", err)
	}
	var f file
	if err := json.Unmarshal(text, &f); err != nil {
		return Config{}, fmt.Errorf("--cloud-config: want YAML with texts as values (grpc_timeout as 5s, not as a number): %w", err)
	}
	c := Config{Address: f.Address, Cert: f.Cert, Key: f.Key, CACert: f.CACert}
	var faults [3]error
	c.Host, faults[0] = hostOf(f.Address)
	c.Timeout, faults[1] = timeoutOf("grpc_timeout", f.Timeout, defaultTimeout)
	c.WriteTimeout, faults[2] = timeoutOf("grpc_mutation_timeout", f.WriteTimeout, max(defaultWriteTimeout, c.Timeout))
	if err := errors.Join(append(faults[:], c.checkFiles())...); err != nil {
		return Config{}, err
	}
	c.Warnings = append(unknownKeys(text), c.plainText()...)
	return c, nil
}

func hostOf(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil || host == "" || port == "" || strings.Contains(address, "/") {
		return "", fmt.Errorf("--cloud-config: address %q: want HOST:PORT of the server, as in cloud.example.com:8086 or [::1]:8086", address)
	}
	host, _, _ = strings.Cut(host, "%") // the zone of an IPv6 address means nothing to a certificate
	return host, nil
}

func timeoutOf(key string, text *string, otherwise time.Duration) (time.Duration, error) {
	if text == nil {
		return otherwise, nil
	}
	d, err := time.ParseDuration(*text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("--cloud-config: %s %q: want a duration above zero, as in 5s", key, *text)
	}
	return d, nil
}

// checkFiles finds certificates that lack their other half.
func (c Config) checkFiles() error {
	if c.Cert == "" {
		return nil
	}
	var missing []string
	if c.Key == "" {
		missing = append(missing, "key")
	}
	if c.CACert == "" {
		missing = append(missing, "cacert")
	}
	if len(missing) > 0 {
		return fmt.Errorf("--cloud-config: cert %q: want %s besides it, the path of a PEM file each", c.Cert, strings.Join(missing, " and "))
	}
	return nil
}

// plainText warns of connections that anybody on the way can read and change.
func (c Config) plainText() []string {
	var warnings []string
	if c.Cert == "" && c.Key != "" {
		warnings = append(warnings, fmt.Sprintf("key %q is not used, because there is no cert", c.Key))
	}
	if c.Cert == "" && c.CACert == "" && !loopback(c.Host) {
		warnings = append(warnings, fmt.Sprintf("the connection to %s is neither encrypted nor authenticated: give cert, key and cacert, or cacert alone", c.Address))
	}
	return warnings
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}

// unknownKeys warns of keys that mean nothing here; upstream passes over them, too.
func unknownKeys(text []byte) []string {
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		return nil // a file whose top is no mapping has been refused before
	}
	var warnings []string
	for key := range all {
		if !slices.Contains(keys(), strings.ToLower(key)) {
			warnings = append(warnings, fmt.Sprintf("key %q is not known; known are %s", key, strings.Join(keys(), ", ")))
		}
	}
	slices.Sort(warnings)
	return warnings
}
