package externalgrpc_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/credentials"
	clocktesting "k8s.io/utils/clock/testing"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/externalgrpc"
)

// authority signs certificates.
type authority struct {
	testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(tb testing.TB) *authority {
	tb.Helper()
	a := &authority{TB: tb}
	a.cert, a.key = a.issue("authority", nil)
	return a
}

// issue makes a certificate for a host, of this authority; parent nil: its own.
func (a *authority) issue(host string, parent *authority) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		a.Fatal(err)
	}
	wanted := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, BasicConstraintsValid: true, IsCA: parent == nil,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	signer, signingKey := wanted, key
	if parent != nil {
		signer, signingKey = parent.cert, parent.key
	}
	der, err := x509.CreateCertificate(rand.Reader, wanted, signer, &key.PublicKey, signingKey)
	if err != nil {
		a.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.Fatal(err)
	}
	return cert, key
}

// server are credentials for a host that demand a client of this authority.
func (a *authority) server(host string, auth tls.ClientAuthType) credentials.TransportCredentials {
	a.Helper()
	cert, key := a.issue(host, a)
	clients := x509.NewCertPool()
	clients.AddCert(a.cert)
	return credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS12, ClientAuth: auth, ClientCAs: clients,
		Certificates: []tls.Certificate{{Certificate: [][]byte{cert.Raw}, PrivateKey: key}},
	})
}

// files writes a client's certificate and key, and the authority, into dir.
func (a *authority) files(dir string) (cert, key, ca string) {
	a.Helper()
	pair, pairKey := a.issue("client", a)
	der, err := x509.MarshalECPrivateKey(pairKey)
	if err != nil {
		a.Fatal(err)
	}
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			a.Fatal(err)
		}
		return path
	}
	return write("cert.pem", "CERTIFICATE", pair.Raw), write("key.pem", "EC PRIVATE KEY", der), write("ca.pem", "CERTIFICATE", a.cert.Raw)
}

func TestConnectionsAreEncryptedAsTheCloudConfigSays(t *testing.T) {
	ours, theirs := newAuthority(t), newAuthority(t)
	dir, foreign := t.TempDir(), t.TempDir()
	cert, key, ca := ours.files(dir)
	foreignCert, foreignKey, foreignCA := theirs.files(foreign)
	mutual := fmt.Sprintf("cert: %s\nkey: %s\ncacert: %s\n", cert, key, ca)
	tests := map[string]struct {
		config string
		creds  credentials.TransportCredentials
		part   string // of the error; empty: it works
	}{
		"plain text":                       {},
		"both sides verified":              {config: mutual, creds: ours.server("localhost", tls.RequireAndVerifyClientCert)},
		"the server verified alone":        {config: "cacert: " + ca, creds: ours.server("localhost", tls.NoClientCert)},
		"a server of another authority":    {config: mutual, creds: theirs.server("localhost", tls.NoClientCert), part: "unknown authority"},
		"a server of another name":         {config: mutual, creds: ours.server("elsewhere", tls.RequireAndVerifyClientCert), part: "not localhost"},
		"a client of another authority":    {config: fmt.Sprintf("cert: %s\nkey: %s\ncacert: %s\n", foreignCert, foreignKey, ca), creds: ours.server("localhost", tls.RequireAndVerifyClientCert), part: "connection"},
		"a client that shows nothing":      {config: "cacert: " + ca, creds: ours.server("localhost", tls.RequireAndVerifyClientCert), part: "connection"},
		"a server without encryption":      {config: "cacert: " + ca, part: "connection"},
		"encryption that was not asked of": {creds: ours.server("localhost", tls.NoClientCert), part: "connection"},
		"an authority nobody is of":        {config: "cacert: " + foreignCA, creds: ours.server("localhost", tls.NoClientCert), part: "unknown authority"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of them only wait
			address := listen(t, oneGroup("a", 0, 3, 1), test.creds)
			address = strings.Replace(address, "127.0.0.1", "localhost", 1)
			limit := "1m"
			if test.part != "" {
				limit = "3s" // the first Refresh waits for the server as long as it may
			}
			p := connect(t, "", externalgrpc.Options{CloudConfig: fmt.Appendf(nil, "address: %s\ngrpc_timeout: %s\n%s", address, limit, test.config)})
			err := p.Refresh(testContext(t))
			if test.part == "" {
				if err != nil {
					t.Errorf("Refresh: %v", err)
				}
				return
			}
			for range 20 { // a busy machine may not get as far as the handshake in time
				if err == nil || strings.Contains(err.Error(), test.part) {
					break
				}
				err = p.Refresh(testContext(t))
			}
			if err == nil || !strings.Contains(err.Error(), test.part) {
				t.Errorf("Refresh = %v, want an error with %q", err, test.part)
			}
		})
	}
}

func TestFilesThatCannotBeUsedStopTheStart(t *testing.T) {
	ours, theirs := newAuthority(t), newAuthority(t)
	cert, key, ca := ours.files(t.TempDir())
	_, otherKey, _ := theirs.files(t.TempDir())
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct{ config, part string }{
		"no authority":                        {config: "cacert: /does/not/exist", part: `cacert "/does/not/exist": want a readable file`},
		"an authority of nothing":             {config: "cacert: " + empty, part: "no PEM certificate"},
		"no key":                              {config: fmt.Sprintf("cacert: %s\ncert: %s\nkey: /does/not/exist", ca, cert), part: "/does/not/exist"},
		"somebody else's key":                 {config: fmt.Sprintf("cacert: %s\ncert: %s\nkey: %s", ca, cert, otherKey), part: "want the two PEM files of one certificate"},
		"a key in the place of a certificate": {config: fmt.Sprintf("cacert: %s\ncert: %s\nkey: %s", ca, key, key), part: "want the two PEM files"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := externalgrpc.New(testContext(t), externalgrpc.Options{
				CloudConfig: []byte("address: localhost:1\n" + test.config), Clock: clocktesting.NewFakePassiveClock(eight),
			})
			if err == nil || !strings.Contains(err.Error(), test.part) {
				t.Errorf("New = %v, want an error with %q", err, test.part)
			}
		})
	}
}

func TestRenewedCertificatesAreUsedFromTheNextConnectionOn(t *testing.T) {
	before, after := newAuthority(t), newAuthority(t)
	dir := t.TempDir()
	cert, key, ca := before.files(dir)
	s := oneGroup("a", 0, 3, 1)
	first := serve(t, "127.0.0.1:0", s, before.server("localhost", tls.RequireAndVerifyClientCert))
	address := strings.Replace(first.address, "127.0.0.1", "localhost", 1)
	p := connect(t, "", externalgrpc.Options{CloudConfig: fmt.Appendf(nil, "address: %s\ngrpc_timeout: 1m\ncert: %s\nkey: %s\ncacert: %s\n", address, cert, key, ca)})
	if err := p.Refresh(testContext(t)); err != nil {
		t.Fatal(err)
	}
	first.stop()
	after.files(dir)
	serve(t, first.address, s, after.server("localhost", tls.RequireAndVerifyClientCert))
	for p.Refresh(testContext(t)) != nil { // until gRPC dials again
		if t.Context().Err() != nil {
			t.Fatal("the renewed certificates are not used")
		}
	}
}

func TestEveryCallIsObserved(t *testing.T) {
	var mu sync.Mutex
	codes := map[string]string{}
	observer := cloudprovider.ObserverFunc(func(call cloudprovider.Call) {
		mu.Lock()
		defer mu.Unlock()
		codes[call.Operation] = call.Code
		if call.Provider != "externalgrpc" {
			t.Errorf("provider %q, want externalgrpc", call.Provider)
		}
	})
	p := connect(t, listen(t, oneGroup("a", 0, 3, 1), nil), externalgrpc.Options{Observer: observer})
	if err := p.Refresh(testContext(t)); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	for call, code := range map[string]string{"Refresh": "success", "NodeGroupNodes": "success", "NodeGroupGetOptions": "Unimplemented"} {
		if codes[call] != code {
			t.Errorf("%s was observed as %q, want %q", call, codes[call], code)
		}
	}
}
