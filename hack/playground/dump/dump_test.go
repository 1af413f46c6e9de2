package dump_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"example.com/cluster-autoscaler/hack/playground/dump"
)

// holding is a cluster that holds just these objects.
func holding(objects ...runtime.Object) *dynamicfake.FakeDynamicClient {
	return dynamicfake.NewSimpleDynamicClient(scheme.Scheme, objects...)
}

func TestADumpIsOneListOfTheObjectsOfAllNamespacesInTheOrderOfTheKinds(t *testing.T) {
	decoders := map[dump.Format]func([]byte, any) error{
		dump.JSON: json.Unmarshal,
		dump.YAML: func(text []byte, into any) error { return yaml.Unmarshal(text, into) },
	}
	client := holding(
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "somebody"}}}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "dns"}},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker", Labels: map[string]string{"pool": "a"}}},
		&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}, Provisioner: "example.com/disk"},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "password"}}, // of a kind that isn't dumped
	)
	for format, decode := range decoders {
		t.Run(string(format), func(t *testing.T) {
			var text bytes.Buffer
			if err := dump.Write(t.Context(), client, &text, format); err != nil {
				t.Fatal(err)
			}
			var list struct {
				metav1.TypeMeta `json:",inline"`

				Items []metav1.PartialObjectMetadata `json:"items"`
			}
			if err := decode(text.Bytes(), &list); err != nil {
				t.Fatal(err)
			}
			if list.APIVersion != "v1" || list.Kind != "List" {
				t.Errorf("the dump is a %s %s, want a v1 List", list.APIVersion, list.Kind)
			}
			var names []string
			for _, item := range list.Items {
				if item.ManagedFields != nil {
					t.Errorf("%s has managed fields", item.Name)
				}
				names = append(names, item.APIVersion+" "+item.Kind+" "+item.Name)
			}
			want := []string{"v1 Node worker", "v1 Pod dns", "v1 Pod web", "storage.k8s.io/v1 StorageClass fast"}
			if diff := cmp.Diff(want, names); diff != "" {
				t.Errorf("items (-want +got):\n%s", diff)
			}
		})
	}
}

func TestADumpOfAnEmptyClusterIsAnEmptyList(t *testing.T) {
	var text bytes.Buffer
	if err := dump.Write(t.Context(), holding(), &text, dump.YAML); err != nil {
		t.Fatal(err)
	}
	if want := "apiVersion: v1\nitems: []\nkind: List\nmetadata:\n  resourceVersion: \"\"\n"; text.String() != want {
		t.Errorf("dump:\n%s\nwant:\n%s", text.String(), want)
	}
}

func TestWhatCannotBeListedIsNamedAndNothingIsWritten(t *testing.T) {
	client := holding(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker"}})
	client.PrependReactor("list", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("no right")
	})
	var text bytes.Buffer
	err := dump.Write(t.Context(), client, &text, dump.JSON)
	if err == nil || err.Error() != "listing jobs: no right" {
		t.Errorf("error %v, want one that names jobs", err)
	}
	if text.Len() > 0 {
		t.Errorf("%d bytes were written", text.Len())
	}
}

func TestAnUnknownFormatIsRefused(t *testing.T) {
	err := dump.Write(t.Context(), holding(), io.Discard, "table")
	if err == nil || !strings.Contains(err.Error(), `"table"`) {
		t.Errorf("error %v, want one that names the format", err)
	}
}
