package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/hack/playground/cluster"
)

// No other story runs at the same time: a dump is of the whole cluster, and its kinds are listed one after the other.
func TestTheFirstDecisionsInASimulatedDumpAreTheLiveOnes(t *testing.T) {
	s := newStory(t)
	groups := s.dumpedCluster()
	flags := append(s.hasty(), "--scale-down-unneeded-time=10m")

	played := s.simulate("yaml", groups, flags)
	want := played.firstScaleUp(t)
	helpless := played.pods("NoScaleUp", want.At)
	if len(want.Pods) == 0 || len(helpless) != 1 {
		t.Errorf("the first decision in the simulation is for %v and leaves out %v, want some pods and one of stuck", want.Pods, helpless)
	}
	account := s.install()
	a := s.autoscaler("ca", account, flags...)
	s.eventually("something is bought", func(context.Context) (bool, string, error) {
		return s.firstPurchase() != nil, "nothing yet", nil
	})
	got := s.firstPurchase()
	if diff := cmp.Diff(want.purchase(), *got); diff != "" {
		t.Errorf("first purchase (-simulated +live):\n%s", diff)
	}
	s.waitTriggered(want)
	for _, pod := range helpless {
		s.waitEvent("Pod", strings.TrimPrefix(pod, s.namespace+"/"), "NotTriggerScaleUp", "Insufficient cpu")
	}

	s.waitRunning("burst", 6)
	s.waitRunning("spread", 4)
	s.waitRunning("heavy", 1)
	s.endGracefully(a)
	s.scale("burst", 0)
	s.scale("heavy", 0)
	s.waitPods("burst", 0)
	s.waitPods("heavy", 0)

	unneeded := s.simulate("json", groups, flags).unneeded()
	if marked := s.candidates(t.Context()); len(unneeded) == 0 || slices.Equal(unneeded, marked) {
		t.Errorf("in the simulation %v are unneeded, and before that %v were; want some more", unneeded, marked)
	}
	s.autoscaler("again", account, flags...)
	s.waitCandidates(unneeded)
	s.always(3*time.Second, "no other node is unneeded", func(ctx context.Context) (bool, string, error) {
		marked := s.candidates(ctx)
		return slices.Equal(unneeded, marked), fmt.Sprint(marked), nil
	})
}

// candidateTaint is on a node that is unneeded.
const candidateTaint = "DeletionCandidateOfClusterAutoscaler"

// dumpedCluster makes three groups that differ in size, zones and taints, workloads that run on them, and some for which there is no room. It
// returns the names of the groups.
func (s *story) dumpedCluster() []string {
	s.t.Helper()
	zones := []string{cluster.Region + "a", cluster.Region + "b"}
	groups := []string{
		s.group(cluster.NodeGroup{Name: "workers", Type: "m5.large", Min: 1, Max: 10, Desired: 2, Zones: zones, Timing: slow}),
		s.group(cluster.NodeGroup{Name: "large", Type: "m5.4xlarge", Max: 2, Zones: zones, Timing: slow}),
		s.group(cluster.NodeGroup{
			Name: "batch", Type: "c5.2xlarge", Max: 3, Desired: 1, Timing: slow, Labels: map[string]string{"dedicated": "batch"},
			Taints: []corev1.Taint{{Key: "dedicated", Value: "batch", Effect: corev1.TaintEffectNoSchedule}},
		}),
	}
	s.waitNodes(3)
	s.apply("testdata/dumped-running.yaml")
	for app, pods := range map[string]int{"agent": 3, "web": 2, "db": 1, "sums": 1} {
		s.waitRunning(app, pods)
	}
	s.eventually("the Job is complete", func(ctx context.Context) (bool, string, error) {
		job, err := s.cluster.Client.BatchV1().Jobs(s.namespace).Get(ctx, "once", metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		return job.Status.CompletionTime != nil, fmt.Sprintf("%+v", job.Status), nil
	})
	s.apply("testdata/dumped-pending.yaml")
	for app, pods := range map[string]int{"burst": 6, "spread": 2, "heavy": 1, "stuck": 1} {
		s.waitUnschedulable(app, pods)
	}
	s.waitRunning("spread", 2)
	return groups
}

// apply applies a file of manifests in which STORY stands for the story's namespace.
func (s *story) apply(path string) {
	s.t.Helper()
	if err := s.cluster.Apply(s.t.Context(), []byte(strings.ReplaceAll(read(s.t, path), "STORY", s.namespace))); err != nil {
		s.t.Fatalf("%s: %v", path, err)
	}
}

// line is a line of what a simulation prints.
type line struct {
	At        float64  `json:"at"`
	Type      string   `json:"type"`
	NodeGroup string   `json:"nodeGroup"`
	From      int      `json:"from"`
	To        int      `json:"to"`
	Pods      []string `json:"pods"`
	Pod       string   `json:"pod"`
	Node      string   `json:"node"`
}

// purchase is a request to make a group larger.
type purchase struct {
	Group    string
	From, To int
}

func (l line) purchase() purchase { return purchase{Group: l.NodeGroup, From: l.From, To: l.To} }

// play is what a simulation has printed.
type play []line

// simulate dumps the cluster with the playground's own command and plays a minute of the dump with the flags of an autoscaler.
func (s *story) simulate(format string, groups, flags []string) play {
	s.t.Helper()
	folder := s.t.TempDir()
	dumped, groupFile := filepath.Join(folder, "dump."+format), filepath.Join(folder, "groups.yaml")
	text := s.run(os.Getenv(playgroundVariable), "dump", "--kubeconfig="+s.cluster.Kubeconfig(), "-o", format)
	documents, err := s.cluster.NodeGroupDocuments(s.t.Context(), groups...)
	if err != nil {
		s.t.Fatal(err)
	}
	for path, text := range map[string][]byte{dumped: text, groupFile: documents} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
	out := s.run(autoscalerBinary(s.t), append([]string{"simulate", "-f", dumped, "-f", groupFile, "-o", "json", "--duration=1m"}, flags...)...)
	var lines play
	for text := range bytes.Lines(out) {
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			s.t.Fatalf("line %q of the simulation: %v", text, err)
		}
		lines = append(lines, l)
	}
	s.t.Logf("The simulation says:\n%s", out)
	return lines
}

// run runs a program to its end and returns what it prints. It must exit with 0 and have read all kinds of objects.
func (s *story) run(path string, args ...string) []byte {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	var out, complaints bytes.Buffer
	command := exec.CommandContext(ctx, path, args...)
	command.Stdout, command.Stderr = &out, &complaints
	if err := command.Run(); err != nil {
		s.t.Fatalf("%s %s: %v; it says: %s", filepath.Base(path), args[0], err, tail(complaints.String()))
	}
	for complaint := range strings.Lines(complaints.String()) {
		if strings.Contains(complaint, "are ignored") {
			s.t.Errorf("%s %s: %s", filepath.Base(path), args[0], complaint)
		}
	}
	return out.Bytes()
}

// firstScaleUp is the first line that tells of a purchase.
func (p play) firstScaleUp(t *testing.T) line {
	t.Helper()
	at := slices.IndexFunc(p, func(l line) bool { return l.Type == "ScaleUp" })
	if at < 0 {
		t.Fatal("nothing is bought in the simulation")
	}
	return p[at]
}

// pods are those that lines of a type at a time are about.
func (p play) pods(kind string, at float64) []string {
	var names []string
	for _, l := range p {
		if l.Type == kind && l.At == at {
			names = append(names, l.Pod)
		}
	}
	return names
}

// unneeded are the nodes that could go at the end of the play, by name.
func (p play) unneeded() []string {
	nodes := map[string]bool{}
	for _, l := range p {
		switch l.Type {
		case "NodeUnneeded":
			nodes[l.Node] = true
		case "NodeNeeded":
			delete(nodes, l.Node)
		}
	}
	return slices.Sorted(maps.Keys(nodes))
}

// firstPurchase is the first one of the story; nil: there was none.
func (s *story) firstPurchase() *purchase {
	for _, call := range s.calls("SetDesiredCapacity") {
		if c := call.Change; c != nil && strings.HasPrefix(c.Group, s.namespace+"-") {
			return &purchase{Group: c.Group, From: c.DesiredFrom, To: c.DesiredTo}
		}
	}
	return nil
}

// waitTriggered waits until just the pods that a purchase was made for in a simulation have an event about such a purchase.
func (s *story) waitTriggered(l line) {
	s.t.Helper()
	text := fmt.Sprintf("{%s %d->%d (max: ", l.NodeGroup, l.From, l.To)
	s.eventually("the pods of the simulation have triggered "+text, func(ctx context.Context) (bool, string, error) {
		events, err := s.cluster.Client.CoreV1().Events(s.namespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=TriggeredScaleUp"})
		if err != nil {
			return false, "", err
		}
		pods := map[string]bool{}
		for _, event := range events.Items {
			if strings.Contains(event.Message, text) {
				pods[s.namespace+"/"+event.InvolvedObject.Name] = true
			}
		}
		diff := cmp.Diff(l.Pods, slices.Sorted(maps.Keys(pods)))
		return diff == "", "pods (-simulated +live): " + diff, nil
	})
}

// waitPods waits until an app has so many pods.
func (s *story) waitPods(app string, want int) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("%s has %d pods", app, want), func(ctx context.Context) (bool, string, error) {
		pods, err := s.pods(ctx, app)
		return len(pods) == want, fmt.Sprint(len(pods)), err
	})
}

// waitCandidates waits until just these nodes, sorted, are marked as unneeded.
func (s *story) waitCandidates(want []string) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("the unneeded nodes are %v", want), func(ctx context.Context) (bool, string, error) {
		marked := s.candidates(ctx)
		return slices.Equal(want, marked), fmt.Sprint(marked), nil
	})
}

// candidates are the nodes that are marked as unneeded, by name.
func (s *story) candidates(ctx context.Context) []string {
	s.t.Helper()
	nodes, err := s.nodes(ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	return tainted(nodes, candidateTaint)
}
