package status_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"example.com/cluster-autoscaler/processors/status"
)

const seenKey = "cluster-autoscaler.kubernetes.io/state-seen"

func TestTheStateLiesBesideTheStatusUntilItIsTakenAway(t *testing.T) {
	client := fake.NewClientset(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{"vendor/a": "b"}},
		Data:       map[string]string{"vendor": "c"},
	})
	object := status.NewConfigMap(client.CoreV1(), namespace, name)
	kept := status.Kept{State: "H4s=", Seen: clock("06:00:01")}
	if _, err := object.WriteKeeping(t.Context(), initial, kept); err != nil {
		t.Fatal(err)
	}
	data, annotations := map[string]string{"vendor": "c", "state": "H4s="}, map[string]string{"vendor/a": "b", seenKey: "2031-04-05T06:00:01Z"}
	if diff := cmp.Diff(want(t, initial, data, annotations), stored(t, client)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if _, err := object.Write(t.Context(), initial); err != nil { // leaves it
		t.Fatal(err)
	}
	got, err := object.Read(t.Context())
	if diff := cmp.Diff(kept, got); diff != "" || err != nil {
		t.Errorf("read back, error %v (-want +got):\n%s", err, diff)
	}
	if _, err := object.WriteKeeping(t.Context(), initial, status.Kept{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want(t, initial, map[string]string{"vendor": "c"}, map[string]string{"vendor/a": "b"}), stored(t, client)); diff != "" {
		t.Errorf("without state (-want +got):\n%s", diff)
	}
}

func TestWhatIsNotThereOrCannotBeReadIsNothing(t *testing.T) {
	client := fake.NewClientset()
	object := status.NewConfigMap(client.CoreV1(), namespace, name)
	if got, err := object.Read(t.Context()); err != nil || got != (status.Kept{}) {
		t.Errorf("no object: %+v, error %v", got, err)
	}
	odd := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{seenKey: "yesterday"}}, Data: map[string]string{"state": "x"},
	}
	if err := client.Tracker().Add(odd); err != nil {
		t.Fatal(err)
	}
	if got, err := object.Read(t.Context()); err != nil || got != (status.Kept{State: "x"}) {
		t.Errorf("odd time: %+v, error %v", got, err)
	}
	denied := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, name, errors.New("no"))
	client.PrependReactor("get", "configmaps", func(k8stesting.Action) (bool, runtime.Object, error) { return true, nil, denied })
	if _, err := object.Read(t.Context()); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), namespace+"/"+name) {
		t.Errorf("error %v, want the refusal with the name of the object", err)
	}
}

func TestALongStatusLeavesLessRoomForTheState(t *testing.T) {
	object := status.NewConfigMap(fake.NewClientset().CoreV1(), namespace, name)
	empty := object.Room()
	if _, err := object.Write(t.Context(), initial); err != nil {
		t.Fatal(err)
	}
	if got, want := object.Room(), empty-len(text(t, initial)); got != want || empty > 1<<20 {
		t.Errorf("room for %d of %d bytes, want %d", got, empty, want)
	}
	long := initial
	long.Message = strings.Repeat("x", 2<<20)
	if _, err := object.Write(t.Context(), long); err != nil {
		t.Fatal(err)
	}
	if got := object.Room(); got != 0 {
		t.Errorf("room for %d bytes beside a status that is too long itself", got)
	}
}
