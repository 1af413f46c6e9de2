package main

import (
	"crypto/x509"
	"os"
	"os/exec"
	"testing"
)

// askRoots makes the test binary print whether it knows any root certificates.
const askRoots = "CLUSTER_AUTOSCALER_TEST_ROOTS"

func TestAnImageWithoutCAFilesStillTrustsPublicRoots(t *testing.T) {
	if os.Getenv(askRoots) != "" {
		pool, err := x509.SystemCertPool()
		if err != nil || pool.Equal(x509.NewCertPool()) {
			t.Fatalf("no root certificates (%v)", err)
		}
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), self, "-test.run=^"+t.Name()+"$")
	child.Env = []string{askRoots + "=1", "SSL_CERT_FILE=/nonexistent", "SSL_CERT_DIR=/nonexistent"}
	if out, err := child.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
