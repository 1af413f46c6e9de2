package main

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"example.com/cluster-autoscaler/core/config"
)

// tokenFile is where Kubernetes mounts the token of a pod's service account.
const tokenFile = "/var/run/secrets/kubernetes.io/serviceaccount/token"

// startTimeout bounds the one request that proves at start that the API server answers.
const startTimeout = 30 * time.Second

// restConfig says how the API server is reached: --kubeconfig wins over --kubernetes; without both, the configuration of the pod.
func restConfig(api config.API) (*rest.Config, error) {
	cfg, err := baseConfig(api)
	if err != nil {
		return nil, err
	}
	cfg.QPS, cfg.Burst = float32(api.QPS), api.Burst
	cfg.ContentType = api.ContentType
	if api.ContentType != runtime.ContentTypeJSON {
		cfg.AcceptContentTypes = api.ContentType + "," + runtime.ContentTypeJSON
	}
	return cfg, nil
}

func baseConfig(api config.API) (*rest.Config, error) {
	if api.Kubeconfig != "" {
		cfg, err := clientcmd.BuildConfigFromFlags("", api.Kubeconfig)
		if err != nil {
			return nil, fmt.Errorf("--kubeconfig=%q: want a readable kubeconfig file: %w", api.Kubeconfig, err)
		}
		return cfg, nil
	}
	cfg, err := urlConfig(api.URL)
	if err != nil {
		return nil, err
	}
	if api.URL.Server != "" {
		cfg.Host = api.URL.Server
	}
	if api.URL.UseServiceAccount {
		cfg.BearerToken, cfg.BearerTokenFile = "", tokenFile
	}
	return cfg, nil
}

func urlConfig(url config.KubernetesURL) (*rest.Config, error) {
	switch {
	case url.InCluster:
		cfg, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("reading the configuration of the pod: %w; outside a cluster give --kubeconfig", err)
		}
		return cfg, nil
	case url.Kubeconfig != "":
		cfg, err := clientcmd.BuildConfigFromFlags("", url.Kubeconfig)
		if err != nil {
			return nil, fmt.Errorf("--kubernetes: option auth=%q: want a readable kubeconfig file: %w", url.Kubeconfig, err)
		}
		return cfg, nil
	default:
		return &rest.Config{}, nil
	}
}

// clients are the clients of the API server. Each has a rate limit of its own (--kube-client-qps), so that a drain does not slow the
// election down, nor a burst of events a drain.
type clients struct {
	reading  kubernetes.Interface // lists and watches
	acting   kubernetes.Interface // nodes and evictions
	electing kubernetes.Interface // the Lease
	status   kubernetes.Interface // the status ConfigMap
	telling  kubernetes.Interface // events
}

func newClients(cfg *rest.Config) (clients, error) {
	var c clients
	for _, client := range []*kubernetes.Interface{&c.reading, &c.acting, &c.electing, &c.status, &c.telling} {
		made, err := kubernetes.NewForConfig(cfg)
		if err != nil {
			return clients{}, fmt.Errorf("making a client of the API server %s: %w", cfg.Host, err)
		}
		*client = made
	}
	return c, nil
}

// proveAccess makes one request, so that an API server that cannot be reached or that refuses us ends the start with one clear line.
func proveAccess(ctx context.Context, client kubernetes.Interface, host string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if _, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{Limit: 1}); err != nil {
		return fmt.Errorf("listing nodes at the API server %s: %w; check that it can be reached and that the service account may list nodes",
			host, err)
	}
	return nil
}
