package cloudconfig

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
)

// DefaultURL is where the API is if the file doesn't say.
const DefaultURL = "https://api.digitalocean.com"

// DefaultGPULabel is the label by which DOKS tells what accelerator a node has.
const DefaultGPULabel = "doks.digitalocean.com/gpu-model"

// Config is what the file says, checked.
type Config struct {
	ClusterID string
	Token     string // literal; empty: TokenFile
	TokenFile string // path; empty: Token
	URL       string // scheme://host[:port], without a path
	// SkipDrain deletes nodes without having DOKS drain them once more.
	SkipDrain bool
	// GPULabel is the key of the label whose value is the type of a node's accelerator.
	GPULabel string
	// UseAutoscaling takes the cluster's own autoscaler configuration for the options of all pools.
	UseAutoscaling bool
	// BudgetPercent is the share of the hourly limit on requests that may be used, 1 to 100.
	BudgetPercent int
	// Warnings are what is odd about the file, one sentence each.
	Warnings []string
}

// file is the JSON. The first four keys are those that upstream knows.
type file struct {
	ClusterID      string `json:"cluster_id"`
	Token          string `json:"token"`
	TokenFile      string `json:"token_file"`
	URL            string `json:"url"`
	SkipDrain      bool   `json:"skip_drain_on_delete"`
	GPULabel       string `json:"gpu_label"`
	UseAutoscaling bool   `json:"use_cluster_autoscaler_configuration"`
	BudgetPercent  *int   `json:"api_budget_percent"`
	TokenFromEnv   bool   `json:"token_from_environment"`
}

// The variables that other tools of DigitalOcean read the token from.
const (
	envToken       = "DIGITALOCEAN_TOKEN"
	envAccessToken = "DIGITALOCEAN_ACCESS_TOKEN"
)

// Parse reads the content of the file; nil: none was given. The first check that fails is the error. getenv is asked only if the file says so; nil:
// the environment is empty.
func Parse(content []byte, getenv func(string) string) (Config, error) {
	var f file
	var warnings []string
	if content != nil {
		if err := json.Unmarshal(content, &f); err != nil {
			return Config{}, fmt.Errorf("--cloud-config: want one JSON object with the keys cluster_id, token or token_file, and url: %w", err)
		}
		warnings = unknownKeys(content)
	}
	f.Token = strings.TrimSpace(f.Token)
	if f.Token == "" && f.TokenFile == "" && f.TokenFromEnv && getenv != nil {
		f.Token = strings.TrimSpace(getenv(envToken))
		if f.Token == "" {
			f.Token = strings.TrimSpace(getenv(envAccessToken))
		}
	}
	switch {
	case f.Token == "" && f.TokenFile == "":
		return Config{}, errors.New("--cloud-config: no access token was given: want the key token or the key token_file")
	case f.Token != "" && f.TokenFile != "":
		return Config{}, fmt.Errorf("--cloud-config: a literal token and token_file %q exclude each other: want one of them", f.TokenFile)
	case f.ClusterID == "":
		return Config{}, errors.New("--cloud-config: the cluster ID is missing: want the UUID of the DOKS cluster under the key cluster_id")
	}
	config := Config{
		ClusterID: f.ClusterID, Token: f.Token, TokenFile: f.TokenFile, SkipDrain: f.SkipDrain, GPULabel: f.GPULabel, UseAutoscaling: f.UseAutoscaling,
		BudgetPercent: 50, Warnings: warnings, URL: f.URL,
	}
	if config.GPULabel == "" {
		config.GPULabel = DefaultGPULabel
	}
	if f.BudgetPercent != nil {
		config.BudgetPercent = *f.BudgetPercent
	}
	return config, nil
}

// Check judges what comes after the token file has been read, and puts the address into its form.
func (c Config) Check() (Config, error) {
	var err error
	if c.URL, err = normalise(c.URL); err != nil {
		return Config{}, err
	}
	if c.BudgetPercent < 1 || c.BudgetPercent > 100 {
		return Config{}, fmt.Errorf("--cloud-config: api_budget_percent %d: want 1 to 100", c.BudgetPercent)
	}
	if strings.ContainsAny(c.ClusterID, "/?#% ") || c.ClusterID == "." || c.ClusterID == ".." {
		return Config{}, fmt.Errorf("--cloud-config: cluster_id %q: want the UUID of the DOKS cluster", c.ClusterID)
	}
	return c, nil
}

// normalise brings the address of the API into the form scheme://host. The client library resolves its paths against the address in two ways that
// differ as soon as the address has a path of its own.
func normalise(text string) (string, error) {
	if text == "" {
		return DefaultURL, nil
	}
	u, err := url.Parse(text)
	if err != nil {
		return "", fmt.Errorf("--cloud-config: the client could not be initialised: url %q: %w", text, err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("--cloud-config: the client could not be initialised: url %q: want the form https://HOST", text)
	}
	path := strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/v2")
	if path != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return "", fmt.Errorf("--cloud-config: the client could not be initialised: url %q: want the form https://HOST, with no more path than /v2", text)
	}
	return u.Scheme + "://" + u.Host, nil
}

// unknownKeys lists the keys that nothing reads, letter case aside as JSON is decoded. The content is known to be valid.
func unknownKeys(content []byte) []string {
	var keys map[string]json.RawMessage
	if json.Unmarshal(content, &keys) != nil {
		return nil
	}
	known := map[string]bool{}
	for field := range reflect.TypeFor[file]().Fields() {
		known[field.Tag.Get("json")] = true
	}
	var warnings []string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if !known[strings.ToLower(key)] {
			warnings = append(warnings, fmt.Sprintf("--cloud-config: the key %q is not known and ignored", key))
		}
	}
	return warnings
}
