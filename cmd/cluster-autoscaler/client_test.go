package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"

	"example.com/cluster-autoscaler/core/config"
)

// kubeconfig writes a kubeconfig file with a token for a server.
func kubeconfig(t *testing.T, server string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := `apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "` + server + `"}}]
users: [{name: u, user: {token: secret}}]
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTheAPIServerIsReachedAsTheFlagsSay(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "") // not in a cluster, wherever the test runs
	file := kubeconfig(t, "https://one.example.com")
	type reached struct{ Host, Token, TokenFile string }
	tests := map[string]struct {
		api     config.API
		want    reached
		wantErr string // contained
	}{
		"by a kubeconfig": {api: config.API{Kubeconfig: file}, want: reached{Host: "https://one.example.com", Token: "secret"}},
		"a kubeconfig wins over --kubernetes": {
			api:  config.API{Kubeconfig: file, URL: config.KubernetesURL{Server: "https://two.example.com"}},
			want: reached{Host: "https://one.example.com", Token: "secret"},
		},
		"by a URL alone": {
			api: config.API{URL: config.KubernetesURL{Server: "https://two.example.com"}}, want: reached{Host: "https://two.example.com"},
		},
		"by a URL with the credentials of a kubeconfig": {
			api:  config.API{URL: config.KubernetesURL{Server: "https://two.example.com", Kubeconfig: file}},
			want: reached{Host: "https://two.example.com", Token: "secret"},
		},
		"by a URL with the pod's service account": {
			api:  config.API{URL: config.KubernetesURL{Server: "https://two.example.com", Kubeconfig: file, UseServiceAccount: true}},
			want: reached{Host: "https://two.example.com", TokenFile: tokenFile},
		},
		"a kubeconfig that isn't there": {
			api: config.API{Kubeconfig: "/nowhere/config"}, wantErr: `--kubeconfig="/nowhere/config": want a readable kubeconfig file: `,
		},
		"a kubeconfig of a URL that isn't there": {
			api:     config.API{URL: config.KubernetesURL{Kubeconfig: "/nowhere/config"}},
			wantErr: `--kubernetes: option auth="/nowhere/config": want a readable kubeconfig file: `,
		},
		"outside a cluster without a kubeconfig": {
			api: config.API{URL: config.KubernetesURL{InCluster: true}}, wantErr: "outside a cluster give --kubeconfig",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cfg, err := restConfig(test.api)
			if test.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), test.wantErr) {
					t.Fatalf("error %v, want it to contain %q", err, test.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, reached{cfg.Host, cfg.BearerToken, cfg.BearerTokenFile}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLimitsAndContentTypeReachTheClient(t *testing.T) {
	file := kubeconfig(t, "https://one.example.com")
	cfg, err := restConfig(config.API{Kubeconfig: file, QPS: 7.5, Burst: 11, ContentType: "application/vnd.kubernetes.protobuf"})
	if err != nil {
		t.Fatal(err)
	}
	if cfg.QPS != 7.5 || cfg.Burst != 11 || cfg.ContentType != "application/vnd.kubernetes.protobuf" ||
		cfg.AcceptContentTypes != "application/vnd.kubernetes.protobuf,application/json" {
		t.Errorf("QPS %v, burst %d, content type %q, accepted %q", cfg.QPS, cfg.Burst, cfg.ContentType, cfg.AcceptContentTypes)
	}
	cfg, err = restConfig(config.API{Kubeconfig: file, ContentType: runtime.ContentTypeJSON})
	if err != nil {
		t.Fatal(err)
	}
	if cfg.AcceptContentTypes != "" {
		t.Errorf("JSON accepts %q, want the default", cfg.AcceptContentTypes)
	}
}

func TestEachClientHasALimitOfItsOwn(t *testing.T) {
	cfg, err := restConfig(config.API{Kubeconfig: kubeconfig(t, "https://one.example.com"), QPS: 5, Burst: 10, ContentType: runtime.ContentTypeJSON})
	if err != nil {
		t.Fatal(err)
	}
	c, err := newClients(cfg)
	if err != nil {
		t.Fatal(err)
	}
	limits := map[any]bool{}
	for _, limit := range []any{
		c.reading.CoreV1().RESTClient().GetRateLimiter(), c.acting.CoreV1().RESTClient().GetRateLimiter(),
		c.electing.CoreV1().RESTClient().GetRateLimiter(), c.status.CoreV1().RESTClient().GetRateLimiter(),
		c.telling.CoreV1().RESTClient().GetRateLimiter(),
	} {
		limits[limit] = true
	}
	if len(limits) != 5 {
		t.Errorf("five clients share %d limits, want one each", len(limits))
	}
}

func TestAnAPIServerThatRefusesUsIsNamed(t *testing.T) {
	client := fake.NewClientset()
	if err := proveAccess(t.Context(), client, "https://one.example.com"); err != nil {
		t.Errorf("error %v, want none", err)
	}
	client.PrependReactor("list", "nodes", func(kubetesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "", nil)
	})
	err := proveAccess(t.Context(), client, "https://one.example.com")
	for _, want := range []string{"listing nodes at the API server https://one.example.com", "forbidden", "may list nodes"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want it to contain %q", err, want)
		}
	}
}
