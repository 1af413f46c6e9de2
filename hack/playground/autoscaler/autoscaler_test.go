package autoscaler

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/clientcmd"
)

// partVariable makes this test binary play an autoscaler instead of running tests.
const partVariable = "AUTOSCALER_TEST_PART"

func TestMain(m *testing.M) {
	switch os.Getenv(partVariable) {
	case "":
		os.Exit(m.Run())
	case "refuse":
		fmt.Println("unknown flag: --wings")
		os.Exit(2)
	case "serve":
		pretend()
	}
}

// pretend serves the endpoints at the address that the flag names; it is healthy from the third question on. The metrics page shows
// the command line and the environment.
func pretend() {
	var address string
	for _, arg := range os.Args {
		if value, ok := strings.CutPrefix(arg, "--address="); ok {
			address = value
		}
	}
	questions := 0
	http.HandleFunc("/health-check", func(w http.ResponseWriter, _ *http.Request) {
		if questions++; questions < 3 {
			http.Error(w, "starting", http.StatusServiceUnavailable)
		}
	})
	http.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, strings.Join(os.Args[1:], " "))
		fmt.Fprintln(w, strings.Join(os.Environ(), " "))
	})
	fmt.Println(http.ListenAndServe(address, nil))
}

func program(t *testing.T, part string) Program {
	return Program{
		Binary: os.Args[0], Kubeconfig: "/k", Folder: t.TempDir(), Flags: []string{"--expander=random"},
		Env: []string{"AWS_REGION=eu-west-1", partVariable + "=" + part},
	}
}

func TestAStartedProgramHasItsFlagsAndNoEnvironmentButItsOwn(t *testing.T) {
	t.Setenv("AWS_PROFILE", "private")
	p := program(t, "serve")
	a, err := p.Start("first")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Kill() //nolint:errcheck // the test is over
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := a.WaitHealthy(ctx); err != nil {
		t.Fatal(err)
	}
	page, err := a.Metrics(ctx)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("--kubeconfig=/k --address=%s --expander=random\nHOME=%[2]s TMPDIR=%[2]s AWS_REGION=eu-west-1 %s=serve",
		a.address, p.Folder, partVariable)
	if diff := cmp.Diff(want, page); diff != "" {
		t.Error(diff)
	}
}

func TestWaitingForHealthTellsWhyTheProgramEnded(t *testing.T) {
	a, err := program(t, "refuse").Start("broken")
	if err != nil {
		t.Fatal(err)
	}
	err = a.WaitHealthy(t.Context())
	if err == nil || !strings.Contains(err.Error(), "exit status 2") || !strings.Contains(err.Error(), "--wings") {
		t.Errorf("error %v, want exit code and log", err)
	}
}

func TestTheKubeconfigCarriesATokenOfTheServiceAccount(t *testing.T) {
	client := fake.NewClientset()
	client.PrependReactor("create", "serviceaccounts", func(action kubetesting.Action) (bool, runtime.Object, error) {
		create := action.(kubetesting.CreateActionImpl)
		return true, &authenticationv1.TokenRequest{Status: authenticationv1.TokenRequestStatus{
			Token: create.Subresource + " of " + create.Namespace + "/" + create.Name,
		}}, nil
	})
	account := types.NamespacedName{Namespace: "kube-system", Name: "cluster-autoscaler"}
	authority := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(authority, []byte("certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	path, err := WriteKubeconfig(t.Context(), client, Server{URL: "https://127.0.0.1:1", Authority: authority}, account, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	got := []string{config.Host, config.CAFile, config.BearerToken, string(config.CertData)}
	if diff := cmp.Diff([]string{"https://127.0.0.1:1", authority, "token of kube-system/cluster-autoscaler", ""}, got); diff != "" {
		t.Error(diff)
	}
}
