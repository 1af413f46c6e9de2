package main

import (
	"context"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/clock"

	"example.com/cluster-autoscaler/core/config"
)

func TestTheServerOfTheExpanderIsPreparedForWhoAsksIt(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	options := config.ScaleUp{GRPCExpanderURL: "choose:7000", GRPCExpanderCert: file, Expanders: []config.Expander{config.ExpanderLeastWaste}}
	if conn, err := dialExpander(options); conn != nil || err != nil {
		t.Errorf("without the expander: %v, %v, want nothing", conn, err)
	}
	options.Expanders = append(options.Expanders, config.ExpanderGRPC)
	conn, err := dialExpander(options)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if conn.Target() != "choose:7000" {
		t.Errorf("the server is %s", conn.Target())
	}
	p := process{options: config.Options{ScaleUp: options}, expander: conn, clock: clock.RealClock{}}
	asked, err := p.expanders(refusing{})
	if err != nil || asked.sources.Server == nil || asked.sources.Cloud == nil || asked.sources.Priorities != nil {
		t.Errorf("got %+v, %v, want a server, a cloud, and no map of priorities", asked, err)
	}
}

func TestTheMapOfPrioritiesIsReadInTheNamespaceOfTheProcess(t *testing.T) {
	object := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "autoscaling", Name: config.PriorityConfigMap}, Data: map[string]string{"priorities": "10: [a]"},
	}
	p := process{
		options: config.Options{Process: config.Process{Namespace: "autoscaling"}, ScaleUp: config.ScaleUp{Expanders: []config.Expander{config.ExpanderPriority}}},
		clients: clients{reading: fake.NewClientset(object)}, clock: clock.RealClock{},
	}
	asked, err := p.expanders(refusing{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		asked.run(ctx)
	}()
	asked.wait(ctx)
	got, err := asked.sources.Priorities()
	if err != nil || got == nil || got.Data["priorities"] != "10: [a]" {
		t.Errorf("read %v, %v", got, err)
	}
	stop()
	<-done
}
