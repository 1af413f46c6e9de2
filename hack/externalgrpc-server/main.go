package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/externalgrpc/protocol"
	"example.com/cluster-autoscaler/cloudprovider/externalgrpc/serving"
	"example.com/cluster-autoscaler/cloudprovider/simulated"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct{ address, key, cert, ca, config string }

func parse(args []string, out io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("externalgrpc-server", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.StringVar(&o.address, "address", ":8086", "host:port to listen on")
	flags.StringVar(&o.key, "key-cert", "", "PEM file with the server's private key; with --cert and --ca-cert: clients have to show a certificate")
	flags.StringVar(&o.cert, "cert", "", "PEM file with the server's certificate")
	flags.StringVar(&o.ca, "ca-cert", "", "PEM file with the certificates that clients' certificates are signed with")
	flags.StringVar(&o.config, "cloud-config", "", "YAML file that describes the imaginary node groups (required)")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if flags.NArg() > 0 {
		return options{}, fmt.Errorf("%q: want flags only", flags.Arg(0))
	}
	if given := countGiven(o.key, o.cert, o.ca); given != 0 && given != 3 {
		return options{}, fmt.Errorf("--key-cert=%q, --cert=%q, --ca-cert=%q: want all three or none", o.key, o.cert, o.ca)
	}
	return o, nil
}

func countGiven(values ...string) int {
	count := 0
	for _, value := range values {
		if value != "" {
			count++
		}
	}
	return count
}

// run serves until ctx ends.
func run(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args, out)
	if err != nil {
		return err
	}
	cloud, err := imagine(ctx, o.config)
	if err != nil {
		return err
	}
	transport, err := o.credentials()
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.address)
	if err != nil {
		return fmt.Errorf("--address=%q: %w", o.address, err)
	}
	server := grpc.NewServer(grpc.Creds(transport),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Minute, PermitWithoutStream: true}))
	protocol.RegisterCloudProviderServer(server, serving.New(cloud))
	context.AfterFunc(ctx, server.GracefulStop)
	_, _ = fmt.Fprintf(out, "serving %d node groups on %s\n", len(cloud.NodeGroups()), listener.Addr())
	if err := server.Serve(listener); err != nil {
		return fmt.Errorf("serving: %w", err)
	}
	return nil
}

// credentials are plain text unless the three files are given.
func (o options) credentials() (credentials.TransportCredentials, error) {
	if o.cert == "" {
		return insecure.NewCredentials(), nil
	}
	pair, err := tls.LoadX509KeyPair(o.cert, o.key)
	if err != nil {
		return nil, fmt.Errorf("--cert=%q, --key-cert=%q: want the PEM files of one certificate: %w", o.cert, o.key, err)
	}
	bundle, err := os.ReadFile(o.ca)
	if err != nil {
		return nil, fmt.Errorf("--ca-cert=%q: want a readable file: %w", o.ca, err)
	}
	clients := x509.NewCertPool()
	if !clients.AppendCertsFromPEM(bundle) {
		return nil, fmt.Errorf("--ca-cert=%q: there is no PEM certificate in the file", o.ca)
	}
	return credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, ClientCAs: clients, ClientAuth: tls.RequireAndVerifyClientCert,
	}), nil
}

// description is the file behind --cloud-config.
type description struct {
	NodeGroups []group `json:"nodeGroups"`
}

type group struct {
	ID            string              `json:"id"`
	MinSize       int                 `json:"minSize"`
	MaxSize       int                 `json:"maxSize"`
	TargetSize    int                 `json:"targetSize"`
	CPU           resource.Quantity   `json:"cpu"`
	Memory        resource.Quantity   `json:"memory"`
	Resources     corev1.ResourceList `json:"resources"`
	Labels        map[string]string   `json:"labels"`
	Taints        []corev1.Taint      `json:"taints"`
	LaunchSeconds int                 `json:"launchSeconds"`
	PricePerHour  float64             `json:"pricePerHour"`
}

// podsPerNode is what kubelets allow unless they are told otherwise.
const podsPerNode = 110

// imagine makes the cloud that the file describes.
func imagine(ctx context.Context, path string) (*simulated.Cloud, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--cloud-config=%q: want a readable YAML file with nodeGroups: %w", path, err)
	}
	var d description
	if err := yaml.UnmarshalStrict(text, &d); err != nil {
		return nil, fmt.Errorf("--cloud-config=%q: %w", path, err)
	}
	groups := make([]simulated.Group, 0, len(d.NodeGroups))
	for _, g := range d.NodeGroups {
		groups = append(groups, g.simulated())
	}
	cloud, err := simulated.New(clock.RealClock{}, groups...)
	if err != nil {
		return nil, fmt.Errorf("--cloud-config=%q: %w", path, err)
	}
	return cloud, cloud.Refresh(ctx)
}

func (g group) simulated() simulated.Group {
	capacity := corev1.ResourceList{
		corev1.ResourceCPU: g.CPU, corev1.ResourceMemory: g.Memory, corev1.ResourcePods: *resource.NewQuantity(podsPerNode, resource.DecimalSI),
	}
	maps.Copy(capacity, g.Resources)
	launch := time.Duration(g.LaunchSeconds) * time.Second
	return simulated.Group{
		ID: cloudprovider.GroupID(g.ID), Min: g.MinSize, Max: g.MaxSize, Target: g.TargetSize, PricePerHour: g.PricePerHour,
		LaunchDelay: launch, DeleteDelay: launch,
		Templates: []cloudprovider.TemplateVariant{{Node: &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Labels: g.Labels}, Spec: corev1.NodeSpec{Taints: g.Taints}, Status: corev1.NodeStatus{Capacity: capacity},
		}}},
	}
}
