package controlplane

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

func TestEachIdentityReachesTheServerUnderItsOwnName(t *testing.T) {
	type caller struct {
		User   string
		Groups []string
	}
	folder := t.TempDir()
	var seen []caller
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		subject := r.TLS.PeerCertificates[0].Subject
		seen = append(seen, caller{User: subject.CommonName, Groups: subject.Organization})
	}))
	if err := writeCredentials(folder, "https://"+server.Listener.Addr().String(), time.Now()); err != nil {
		t.Fatal(err)
	}
	serving, err := tls.LoadX509KeyPair(filepath.Join(folder, servingCertFile), filepath.Join(folder, servingKeyFile))
	if err != nil {
		t.Fatal(err)
	}
	authority, err := os.ReadFile(filepath.Join(folder, authorityFile))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{serving}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}
	server.StartTLS()
	defer server.Close()

	for _, name := range []string{"admin", SchedulerRole} {
		config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(folder, kubeconfigName(name)))
		if err != nil {
			t.Fatal(err)
		}
		client, err := rest.HTTPClientFor(config)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Get(config.Host)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
	}
	want := []caller{{User: "playground:admin", Groups: []string{"system:masters"}}, {User: "system:kube-scheduler"}}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
}
