package status_test

import (
	"errors"
	"maps"
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

const (
	namespace = "autoscaling"
	name      = "my-status"
)

var initial = status.Initializing(clock("06:00:00"), "")

func stored(t *testing.T, client *fake.Clientset) *corev1.ConfigMap {
	t.Helper()
	object, err := client.CoreV1().ConfigMaps(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	object.TypeMeta, object.ResourceVersion, object.ManagedFields = metav1.TypeMeta{}, "", nil // made by the fake server
	return object
}

func want(t *testing.T, doc status.Document, data, annotations map[string]string) *corev1.ConfigMap {
	t.Helper()
	object := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, Annotations: map[string]string{"cluster-autoscaler.kubernetes.io/last-updated": doc.Time},
		},
		Data: map[string]string{"status": text(t, doc)},
	}
	maps.Copy(object.Data, data)
	maps.Copy(object.Annotations, annotations)
	return object
}

func TestTheStatusIsCreated(t *testing.T) {
	client := fake.NewClientset()
	written, err := status.NewConfigMap(client.CoreV1(), namespace, name).Write(t.Context(), initial)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want(t, initial, nil, nil), stored(t, client)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	written.UID = "42"
	reference := &corev1.ObjectReference{Kind: "ConfigMap", APIVersion: "v1", Namespace: namespace, Name: name, UID: "42"}
	if diff := cmp.Diff(reference, status.Reference(written)); diff != "" {
		t.Errorf("reference (-want +got):\n%s", diff)
	}
}

func TestWhatElseIsOnTheStatusObjectStays(t *testing.T) {
	client := fake.NewClientset(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{"vendor/a": "b"}},
		Data:       map[string]string{"status": "old", "state": "kept"},
	})
	if _, err := status.NewConfigMap(client.CoreV1(), namespace, name).Write(t.Context(), initial); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want(t, initial, map[string]string{"state": "kept"}, map[string]string{"vendor/a": "b"}), stored(t, client)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// racing makes the next n writes of the verb fail as if somebody else had written, and does what somebody else did.
func racing(client *fake.Clientset, verb string, n int, err error, meanwhile func()) {
	client.PrependReactor(verb, "configmaps", func(k8stesting.Action) (bool, runtime.Object, error) {
		if n == 0 {
			return false, nil, nil
		}
		n--
		if meanwhile != nil {
			meanwhile()
			meanwhile = nil
		}
		return true, nil, err
	})
}

func TestAWriteThatMeetsAnotherIsRepeated(t *testing.T) {
	resource := schema.GroupResource{Resource: "configmaps"}
	conflict := apierrors.NewConflict(resource, name, errors.New("changed"))
	foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string]string{"state": "new"}}

	t.Run("an update, on what is there then", func(t *testing.T) {
		client := fake.NewClientset(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
		racing(client, "update", 1, conflict, func() {
			if err := client.Tracker().Update(corev1.SchemeGroupVersion.WithResource("configmaps"), foreign, namespace); err != nil {
				t.Error(err)
			}
		})
		if _, err := status.NewConfigMap(client.CoreV1(), namespace, name).Write(t.Context(), initial); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want(t, initial, map[string]string{"state": "new"}, nil), stored(t, client)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
	t.Run("a creation, as an update", func(t *testing.T) {
		client := fake.NewClientset()
		racing(client, "create", 1, apierrors.NewAlreadyExists(resource, name), func() {
			if err := client.Tracker().Add(foreign); err != nil {
				t.Error(err)
			}
		})
		if _, err := status.NewConfigMap(client.CoreV1(), namespace, name).Write(t.Context(), initial); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want(t, initial, map[string]string{"state": "new"}, nil), stored(t, client)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
	t.Run("but not for ever", func(t *testing.T) {
		client := fake.NewClientset(foreign)
		racing(client, "update", 100, conflict, nil)
		if _, err := status.NewConfigMap(client.CoreV1(), namespace, name).Write(t.Context(), initial); !apierrors.IsConflict(err) {
			t.Errorf("error %v, want the conflict", err)
		}
	})
}

func TestAStatusThatCannotBeWrittenIsAnError(t *testing.T) {
	denied := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, name, errors.New("no"))
	for _, verb := range []string{"get", "create", "update", "delete"} {
		t.Run(verb, func(t *testing.T) {
			var objects []runtime.Object
			if verb != "create" {
				objects = append(objects, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
			}
			client := fake.NewClientset(objects...)
			calls := 0
			client.PrependReactor(verb, "configmaps", func(k8stesting.Action) (bool, runtime.Object, error) {
				calls++
				return true, nil, denied
			})
			object := status.NewConfigMap(client.CoreV1(), namespace, name)
			var err error
			if verb == "delete" {
				err = object.Delete(t.Context())
			} else {
				_, err = object.Write(t.Context(), initial)
			}
			if !apierrors.IsForbidden(err) || calls != 1 {
				t.Errorf("error %v after %d calls, want the refusal after one", err, calls)
			}
		})
	}
}

func TestTheStatusIsDeleted(t *testing.T) {
	client := fake.NewClientset()
	object := status.NewConfigMap(client.CoreV1(), namespace, name)
	if _, err := object.Write(t.Context(), initial); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a second time there is nothing to delete, which is no error
		if err := object.Delete(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if _, err := client.CoreV1().ConfigMaps(namespace).Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("error %v, want it gone", err)
	}
}
