package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"

	"example.com/cluster-autoscaler/hack/playground/autoscaler"
	"example.com/cluster-autoscaler/hack/playground/cloud"
	"example.com/cluster-autoscaler/hack/playground/cluster"
	"example.com/cluster-autoscaler/hack/playground/demo"
)

// Flags that several commands have.
const (
	defaultManifests = "deploy/aws/cluster-autoscaler.yaml"
	manifestsHelp    = "file with the autoscaler's ServiceAccount and RBAC objects; its Deployment is left out, as the binary runs beside the cluster"
	defaultAccount   = "kube-system/cluster-autoscaler"
	accountHelp      = "ServiceAccount that the autoscaler runs as, NAMESPACE/NAME"
	flagHelp         = "one more flag for the autoscaler, for example --flag=--scan-interval=5s; may be repeated"
)

// upOptions are the flags of `up`.
type upOptions struct {
	cloud      string
	autoscaler string
	install    string
	account    string
	flags      []string
	apply      []string
	keep       bool
	delays     cloud.Delays
}

func parseUp(args []string) (upOptions, error) {
	var o upOptions
	flags := pflag.NewFlagSet("playground up", pflag.ContinueOnError)
	flags.StringVar(&o.cloud, "cloud", demo.CloudAWS, "the cloud that gets node groups and that the autoscaler drives: aws or digitalocean")
	flags.StringVar(&o.autoscaler, "autoscaler", "", "run this cluster-autoscaler binary in the cluster, with the flags of the usual deployment")
	flags.StringVar(&o.install, "autoscaler-manifests", defaultManifests, manifestsHelp)
	flags.StringVar(&o.account, "service-account", defaultAccount, accountHelp)
	flags.StringArrayVar(&o.flags, "flag", nil, flagHelp)
	flags.StringSliceVar(&o.apply, "apply", nil, "apply these manifest files, too")
	flags.BoolVar(&o.keep, "keep", false, "leave the folder with logs and data behind")
	flags.DurationVar(&o.delays.Register, "register-delay", 2*time.Second, "how long a running machine takes to become a Node")
	flags.DurationVar(&o.delays.Ready, "ready-delay", 2*time.Second, "how long a new Node takes to become Ready")
	flags.DurationVar(&o.delays.Remove, "remove-delay", time.Second, "how long the Node of a machine stays that is gone")
	err := flags.Parse(args)
	switch {
	case err != nil:
	case flags.NArg() > 0:
		err = fmt.Errorf("up takes no arguments, got %q", flags.Args())
	case o.cloud != demo.CloudAWS && o.cloud != demo.CloudDigitalOcean:
		err = fmt.Errorf("--cloud=%q: want %s or %s", o.cloud, demo.CloudAWS, demo.CloudDigitalOcean)
	}
	return o, err
}

// up starts a cluster with the usual node groups and keeps it until ctx ends or a part of it fails.
func up(ctx context.Context, args []string) (err error) {
	o, err := parseUp(args)
	if errors.Is(err, pflag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = withHint(err, o.keep) }()
	binary, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	began := time.Now()
	fmt.Println("Starting etcd, kube-apiserver, kube-scheduler, controllers and KWOK …")
	c, err := cluster.Start(ctx, cluster.Options{Binary: binary, Keep: o.keep, Delays: o.delays})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	autoscalerEnded, err := furnish(ctx, c, o)
	if err != nil {
		return err
	}
	groups, err := saveNodeGroups(ctx, c)
	if err != nil {
		return err
	}
	describe(c, groups, time.Since(began))
	select {
	case <-ctx.Done():
		fmt.Println("Stopping …")
		return nil
	case <-c.Failed():
		return c.Failure()
	case err := <-autoscalerEnded:
		return err
	}
}

// withHint adds to an error what to do to see more.
func withHint(err error, keep bool) error {
	if err == nil || keep {
		return err
	}
	return fmt.Errorf("%w\nThe logs are removed; with --keep they stay", err)
}

// furnish puts the node groups, what the user wants applied, and the autoscaler into a new cluster. The channel tells why the autoscaler
// ended, if it does; it is nil without one.
func furnish(ctx context.Context, c *cluster.Cluster, o upOptions) (<-chan error, error) {
	if err := addGroups(c, o.cloud); err != nil {
		return nil, err
	}
	for _, path := range o.apply {
		if err := c.ApplyFile(ctx, path); err != nil {
			return nil, err
		}
	}
	if o.autoscaler == "" {
		return nil, nil //nolint:nilnil // documented: no autoscaler, no channel
	}
	a, err := startAutoscaler(ctx, c, o)
	if err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() {
		<-a.Done()
		ended <- a.Err()
	}()
	return ended, nil
}

// addGroups gives a cloud its usual node groups.
func addGroups(c *cluster.Cluster, name string) error {
	if name == demo.CloudDigitalOcean {
		for _, pool := range cluster.DefaultNodePools() {
			if err := c.AddNodePool(pool); err != nil {
				return err
			}
		}
		return nil
	}
	for _, group := range cluster.DefaultNodeGroups() {
		if err := c.AddNodeGroup(group); err != nil {
			return err
		}
	}
	return nil
}

// flagsOf are those of the usual deployment on a cloud.
func flagsOf(c *cluster.Cluster, name string) []string {
	if name == demo.CloudDigitalOcean {
		return autoscaler.ProductionFlagsDOKS(c.DOKSConfig())
	}
	return autoscaler.ProductionFlags(cluster.Name)
}

// startAutoscaler starts the autoscaler with the rights and the flags of the usual deployment and waits until it is healthy.
func startAutoscaler(ctx context.Context, c *cluster.Cluster, o upOptions) (*autoscaler.Autoscaler, error) {
	account, err := parseAccount(o.account)
	if err != nil {
		return nil, err
	}
	a, err := c.InstallAutoscaler(ctx, o.install, cluster.Autoscaler{
		Binary:  o.autoscaler,
		Account: account,
		Flags:   append(flagsOf(c, o.cloud), o.flags...),
	})
	if err != nil {
		return nil, err
	}
	fmt.Printf("Autoscaler:  %s\n", a.MetricsURL())
	return a, nil
}

// parseAccount reads the value of --service-account.
func parseAccount(value string) (types.NamespacedName, error) {
	namespace, name, ok := strings.Cut(value, "/")
	if !ok {
		return types.NamespacedName{}, fmt.Errorf("--service-account: expected NAMESPACE/NAME, got %q", value)
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}

// saveNodeGroups writes documents of the node groups, for simulations, into a file of the cluster's folder, and returns its path.
func saveNodeGroups(ctx context.Context, c *cluster.Cluster) (string, error) {
	documents, err := c.NodeGroupDocuments(ctx)
	if err != nil {
		return "", err
	}
	path := filepath.Join(c.Folder(), "nodegroups.yaml")
	if err := os.WriteFile(path, documents, 0o600); err != nil {
		return "", fmt.Errorf("saving the node groups: %w", err)
	}
	return path, nil
}

// describe tells how to use the cluster. groups is the file with documents of the node groups.
func describe(c *cluster.Cluster, groups string, took time.Duration) {
	fmt.Printf("Logs:        %s/*.log\n", c.Folder())
	fmt.Printf("AWS:         %s\n", strings.Join(c.AWS.Environ(), " "))
	for _, group := range c.AWS.Groups() {
		fmt.Printf("Node group:  %s, %d to %d machines\n", group.Name, group.Min, group.Max)
	}
	fmt.Printf("DigitalOcean: %s, --cloud-config=%s\n", c.DOKS.URL(), c.DOKSConfig())
	for _, pool := range c.DOKS.Pools() {
		fmt.Printf("Node pool:   %s, %d to %d machines\n", pool.Name, pool.Min, pool.Max)
	}
	fmt.Printf("Simulation:  playground dump > dump.yaml; cluster-autoscaler simulate -f dump.yaml -f %s\n", groups)
	fmt.Printf("Ready after %.1f s. Stop with Ctrl-C. To use the cluster:\n\nexport KUBECONFIG=%s\n", took.Seconds(), c.Kubeconfig())
}
