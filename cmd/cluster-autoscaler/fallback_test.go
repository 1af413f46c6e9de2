//go:build aws || !(digitalocean || externalgrpc)

package main

import (
	"context"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"

	"example.com/cluster-autoscaler/cloudprovider/aws"
	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
	"example.com/cluster-autoscaler/core"
	"example.com/cluster-autoscaler/core/act"
	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/core/health"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/expander"
	"example.com/cluster-autoscaler/metrics"
	"example.com/cluster-autoscaler/simulator"
)

// fallback is the loop of the autoscaler with AWS, by a clock that the test moves.
type fallback struct {
	*testing.T
	clock  *clocktesting.FakeClock
	server *awstest.Server
	loop   *core.Autoscaler
}

func newFallback(t *testing.T, groups ...awstest.Group) *fallback {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx := context.WithoutCancel(t.Context())
	clock := clocktesting.NewFakeClock(time.Date(2026, 8, 3, 8, 0, 0, 0, time.UTC))
	server, err := awstest.New(awstest.Config{Clock: clock, Region: "eu-west-1"})
	must(err)
	must(server.Start(ctx))
	t.Cleanup(func() { must(server.Close()) })
	parsed, err := config.Parse([]string{"--cloud-provider=aws", "--expander=least-waste", "--node-group-auto-discovery=asg:tag=x", "--write-status-configmap=false"})
	must(err)
	for _, group := range groups {
		group.Tags = []awstest.Tag{{Key: "x"}}
		server.PutLaunchTemplate(awstest.LaunchTemplate{Name: group.LaunchTemplate.Name, Versions: []awstest.LaunchTemplateVersion{{InstanceType: group.LaunchTemplate.Name}}})
		must(server.AddGroup(group))
	}
	cloud, err := aws.New(ctx, aws.Options{
		AutoDiscovery: parsed.Options.Cloud.AutoDiscovery, MaxNodeProvisionTime: parsed.Options.NodeGroupDefaults.MaxNodeProvisionTime,
		Clock: clock, Rates: aws.Rates{AutoScaling: -1, EC2: -1, EKS: -1},
		SDK: []func(*awsconfig.LoadOptions) error{
			awsconfig.WithRegion("eu-west-1"), awsconfig.WithBaseEndpoint(server.URL()), awsconfig.WithRetryMaxAttempts(1),
			awsconfig.WithCredentialsProvider(credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", "")),
			awsconfig.WithSharedConfigFiles([]string{}), awsconfig.WithSharedCredentialsFiles([]string{}),
		},
	})
	must(err)
	t.Cleanup(func() { must(cloud.Cleanup(ctx)) })

	client := fake.NewClientset()
	source, err := observation.NewSource(client, cloud, clock, core.ObservationOptions(parsed.Options))
	must(err)
	source.AssumeSynced()
	scheduler, err := simulator.NewScheduler(ctx, source.Factory(), simulator.Options{Parallelism: 1})
	must(err)
	must(source.Factory().Core().V1().Namespaces().Informer().GetStore().Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}))
	must(source.Factory().Core().V1().Pods().Informer().GetStore().Add(waitingPod(clock.Now())))
	chain, err := expander.New(parsed.Options.ScaleUp.Expanders, expander.Sources{Cloud: cloud}, rand.New(rand.NewPCG(1, 2)))
	must(err)
	m, err := metrics.New(prometheus.NewRegistry(), metrics.Options{AWS: true})
	must(err)
	teller := core.StartTelling(ctx, core.Board{}, record.NewFakeRecorder(1000), m, clock.Now())
	actuator := act.New(act.Collaborators{
		Cloud: cloud, Kube: act.NewClient(client), Lister: source, Workloads: source.Workloads(), Observer: teller, Clock: clock,
	}, act.NewOptions(parsed.Options))
	loop := core.New(core.Collaborators{
		Source: source, Cloud: cloud, Scheduler: scheduler, Expander: chain, Actuator: actuator, Teller: teller,
		Health: health.New(clock, health.Limits{}), Metrics: m, Clock: clock,
	}, parsed.Options)
	return &fallback{T: t, clock: clock, server: server, loop: loop}
}

// waitingPod fits a machine of either group.
func waitingPod(now time.Time) *corev1.Pod {
	created := metav1.NewTime(now.Add(-time.Minute))
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default", UID: "p", CreationTimestamp: created},
		Spec: corev1.PodSpec{SchedulerName: corev1.DefaultSchedulerName, Containers: []corev1.Container{{
			Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}},
		}}},
		Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, LastTransitionTime: created,
		}}},
	}
}

// until plays second by second until done, at most two minutes.
func (f *fallback) until(done func() bool) {
	f.Helper()
	for range 120 {
		for len(f.server.Writes()) > 0 && !f.clock.HasWaiters() {
			runtime.Gosched() // the provider is looking at the groups
		}
		if _, _, err := f.loop.Step(f.Context()); err != nil {
			f.Fatal(err)
		}
		if done() {
			return
		}
		f.clock.Step(time.Second)
	}
	f.Fatalf("it did not come to it; writes %+v", f.server.Writes())
}

func (f *fallback) bought(group string) (at time.Time, ok bool) {
	for _, call := range f.server.Writes() {
		if call.Action == "SetDesiredCapacity" && call.Params.Get("AutoScalingGroupName") == group {
			return call.Time, true
		}
	}
	return time.Time{}, false
}

// The machine that fits best is not to be had: what AWS says about it is read, the group is left alone, and the next best one is bought.
func TestALaunchThatFailsIsMadeGoodInAnotherGroupWithinTwentySeconds(t *testing.T) {
	for _, after := range []time.Duration{time.Second, 6 * time.Second, 14 * time.Second, 31 * time.Second} {
		for name, zones := range map[string][]string{"one zone": {"eu-west-1a"}, "two zones": {"eu-west-1a", "eu-west-1b"}} {
			t.Run(name+", "+after.String()+" after the purchase", func(t *testing.T) {
				f := newFallback(t,
					awstest.Group{Name: "best", Max: 5, Zones: zones, LaunchTemplate: &awstest.LaunchTemplateRef{Name: "m5.large"}, Timing: awstest.Timing{Request: after}},
					awstest.Group{Name: "next", Max: 5, Zones: zones, LaunchTemplate: &awstest.LaunchTemplateRef{Name: "m5.4xlarge"}})
				f.server.SetStock(awstest.StockRule{Type: "m5.large", Left: 0})
				var second time.Time
				f.until(func() (ok bool) {
					second, ok = f.bought("next")
					return ok
				})
				first, ok := f.bought("best")
				if !ok {
					t.Fatal("the best group was not tried")
				}
				if took := second.Sub(first.Add(after)); took <= 0 || took > 20*time.Second {
					t.Errorf("the second purchase came %v after the failure", took)
				} else {
					t.Logf("the second purchase came %v after the failure", took)
				}
			})
		}
	}
}
