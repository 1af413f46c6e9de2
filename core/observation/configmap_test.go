package observation_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	k8stesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"

	"example.com/cluster-autoscaler/core/observation"
)

func configMap(version, text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "settings", ResourceVersion: version}, Data: map[string]string{"k": text},
	}
}

// follow runs a watch of kube-system/settings until the test ends.
func follow(t *testing.T, s *server) *observation.ConfigMapWatch {
	t.Helper()
	w, err := observation.NewConfigMapWatch(s, "kube-system", "settings", clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-done
	})
	w.WaitForRead(t.Context(), time.Minute)
	return w
}

func TestAConfigMapIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(configMap("1", "old"))
		w := follow(t, s)
		text := func() string {
			object, err := w.ConfigMap()
			if err != nil {
				return err.Error()
			}
			if object == nil {
				return "none"
			}
			return object.Data["k"]
		}
		synctest.Wait()
		if got := text(); got != "old" {
			t.Errorf("read %q, want what is there at the beginning", got)
		}
		s.mu.Lock()
		watcher := s.watches["configmaps"][0]
		s.mu.Unlock()
		watcher.Modify(configMap("2", "new"))
		synctest.Wait()
		if got := text(); got != "new" {
			t.Errorf("read %q, want what it was changed to", got)
		}
		watcher.Delete(configMap("3", "new"))
		synctest.Wait()
		if got := text(); got != "none" {
			t.Errorf("read %q, want that it is gone", got)
		}
		for _, action := range s.Actions() {
			var selector string
			switch a := action.(type) {
			case k8stesting.ListActionImpl:
				selector = a.ListOptions.FieldSelector
			case k8stesting.WatchActionImpl:
				selector = a.ListOptions.FieldSelector
			}
			if selector != "metadata.name=settings" || action.GetNamespace() != "kube-system" {
				t.Errorf("%s in %q selects %q, want only the one object, because a Role may allow no more", action.GetVerb(), action.GetNamespace(), selector)
			}
		}
	})
}

func TestAConfigMapThatMayNotBeReadHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(configMap("1", "text"))
		s.refuse("configmaps", apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "settings", nil))
		start := time.Now()
		w := follow(t, s)
		if waited := time.Since(start); waited > 5*time.Second {
			t.Errorf("waited %s although the answer came at once", waited)
		}
		if _, err := w.ConfigMap(); err == nil || !strings.Contains(err.Error(), "forbidden") {
			t.Errorf("got the error %v, want why it cannot be read", err)
		}
		s.refuse("configmaps", nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		if object, err := w.ConfigMap(); err != nil || object == nil {
			t.Errorf("got %v, %v, want the object now that it may be read", object, err)
		}
	})
}

func TestWaitingForAConfigMapHasAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, err := observation.NewConfigMapWatch(newServer(), "kube-system", "settings", clock.RealClock{}) // and nobody runs it
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		w.WaitForRead(t.Context(), 10*time.Second)
		if waited := time.Since(start); waited != 10*time.Second {
			t.Errorf("waited %s, want the limit", waited)
		}
		if _, err := w.ConfigMap(); err == nil {
			t.Error("nothing was read, want an error that says so")
		}
	})
}
