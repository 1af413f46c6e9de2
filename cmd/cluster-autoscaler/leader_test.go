package main

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"

	"example.com/cluster-autoscaler/core/config"
)

// candidate takes part in an election of a cluster in memory, with the default timings.
func candidate(client *fake.Clientset, identity string) election {
	return election{
		options: config.LeaderElection{
			Enabled: true, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second, LeaseName: "cluster-autoscaler",
		},
		namespace: "kube-system", identity: identity, client: client, recorder: &record.FakeRecorder{},
	}
}

func holderOf(t *testing.T, client *fake.Clientset) string {
	t.Helper()
	lease, err := client.CoordinationV1().Leases("kube-system").Get(context.WithoutCancel(t.Context()), "cluster-autoscaler", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	return *lease.Spec.HolderIdentity
}

func TestALeaderWorksAndReleasesTheLeaseOnlyAfterItsWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		ctx, cancel := context.WithCancel(t.Context())
		began, ended := make(chan struct{}), make(chan error, 1)
		go func() {
			ended <- lead(ctx, candidate(client, "one"), func(ctx context.Context) error {
				close(began)
				<-ctx.Done()
				time.Sleep(20 * time.Second) // it puts things in order, for longer than a Lease lasts
				if holder := holderOf(t, client); holder != "one" {
					t.Errorf("%q holds the Lease while the work ends, want one", holder)
				}
				return nil
			})
		}()
		<-began
		time.Sleep(time.Minute)
		if holder := holderOf(t, client); holder != "one" {
			t.Errorf("%q holds the Lease, want one", holder)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("error %v, want none", err)
		}
		if holder := holderOf(t, client); holder != "" {
			t.Errorf("%q holds the Lease after the end", holder)
		}
	})
}

func TestAStandbyTakesOverSoonAfterTheLeaderHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		first, endFirst := context.WithCancel(t.Context())
		second, endSecond := context.WithCancel(t.Context())
		defer endSecond()
		leading := make(chan string, 2)
		ended := make(chan error, 2)
		start := func(ctx context.Context, identity string) {
			ended <- lead(ctx, candidate(client, identity), func(ctx context.Context) error {
				leading <- identity
				<-ctx.Done()
				return nil
			})
		}
		go start(first, "one")
		if got := <-leading; got != "one" {
			t.Fatalf("%s leads, want one", got)
		}
		go start(second, "two")
		time.Sleep(2 * time.Minute)
		select {
		case got := <-leading:
			t.Fatalf("%s leads beside one", got)
		default:
		}
		endFirst()
		if err := <-ended; err != nil {
			t.Errorf("error %v, want none", err)
		}
		released := time.Now()
		if got := <-leading; got != "two" {
			t.Fatalf("%s leads, want two", got)
		}
		if took := time.Since(released); took > 5*time.Second {
			t.Errorf("taking over took %s, want two retries at most", took)
		}
		endSecond()
		if err := <-ended; err != nil {
			t.Errorf("error %v, want none", err)
		}
	})
}

func TestAStandbyThatIsToldToEndLeavesTheLeaseAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(foreignLease("other", time.Now()))
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		err := lead(ctx, candidate(client, "one"), func(context.Context) error {
			t.Error("it works without the Lease")
			return nil
		})
		if err != nil {
			t.Errorf("error %v, want none", err)
		}
		if holder := holderOf(t, client); holder != "other" {
			t.Errorf("%q holds the Lease, want other", holder)
		}
	})
}

func TestALeaderThatLosesItsLeaseStopsItsWorkAndSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		var taken atomic.Bool
		client.PrependReactor("update", "leases", func(kubetesting.Action) (bool, runtime.Object, error) {
			conflict := apierrors.NewConflict(schema.GroupResource{Resource: "leases"}, "cluster-autoscaler", errors.New("it has changed"))
			return taken.Load(), nil, conflict
		})
		began, stopped := make(chan struct{}), make(chan struct{})
		ended := make(chan error, 1)
		go func() {
			ended <- lead(t.Context(), candidate(client, "one"), func(ctx context.Context) error {
				close(began)
				<-ctx.Done()
				close(stopped)
				return nil
			})
		}()
		<-began
		synctest.Wait() // the first renewal is done: one that came in between would take the Lease back, as the cluster in memory knows no conflicts
		if _, err := client.CoordinationV1().Leases("kube-system").Update(t.Context(), foreignLease("other", time.Now()), metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		taken.Store(true)
		if err := <-ended; !errors.Is(err, errLeaseLost) {
			t.Errorf("error %v, want that the Lease was lost", err)
		}
		<-stopped
		if holder := holderOf(t, client); holder != "other" {
			t.Errorf("%q holds the Lease, want other", holder)
		}
	})
}

func TestAnErrorOfTheWorkEndsLeadingAndReleasesTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		broken := errors.New("no such expander")
		err := lead(t.Context(), candidate(client, "one"), func(context.Context) error { return broken })
		if !errors.Is(err, broken) {
			t.Errorf("error %v, want that of the work", err)
		}
		if holder := holderOf(t, client); holder != "" {
			t.Errorf("%q holds the Lease after the end", holder)
		}
	})
}

func TestWithoutElectionTheWorkBeginsAtOnceAndNoLeaseIsTouched(t *testing.T) {
	client := fake.NewClientset()
	e := candidate(client, "one")
	e.options.Enabled = false
	worked := false
	if err := lead(t.Context(), e, func(context.Context) error { worked = true; return nil }); err != nil || !worked {
		t.Errorf("worked: %v, error %v", worked, err)
	}
	if actions := client.Actions(); len(actions) > 0 {
		t.Errorf("requests %v, want none", actions)
	}
}

// foreignLease is held by another process that renewed it at a time.
func foreignLease(holder string, at time.Time) *coordinationv1.Lease {
	stamp := metav1.NewMicroTime(at)
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "cluster-autoscaler"},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &holder, LeaseDurationSeconds: new(int32(15)), AcquireTime: &stamp, RenewTime: &stamp, LeaseTransitions: new(int32(1)),
		},
	}
}
