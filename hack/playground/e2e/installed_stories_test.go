package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// The one story with the manifest just as users apply it, in kube-system. The Deployment's command line is run beside the cluster.
func TestTheManifestsRightsAreAllThatAGrowingAndShrinkingAutoscalerNeeds(t *testing.T) {
	s := newStory(t)
	group := s.group(workers(0, 5, 0))
	text, err := os.ReadFile(manifestAWS)
	if err != nil {
		t.Fatal(err)
	}
	// The manifest's own pod asks for no node of the story. Bound to one of them it would keep it for good, so none is made.
	image := strings.NewReplacer("replicas: 1", "replicas: 0", "CLUSTER_AUTOSCALER_IMAGE", "example.com/cluster-autoscaler", "CLUSTER_NAME", s.namespace, "AWS_REGION_NAME", "eu-west-1")
	text = []byte(image.Replace(string(text)))
	if err := s.cluster.Apply(t.Context(), text); err != nil {
		t.Fatal(err)
	}
	account := types.NamespacedName{Namespace: metav1.NamespaceSystem, Name: accountName}
	t.Cleanup(func() { s.uninstall(account.Name) })

	a := s.autoscaler("ca", account, append(commandLine(t, text), "--v=4", "--scan-interval=1s", "--scale-down-delay-after-add=1s",
		"--scale-down-unneeded-time=2s", "--node-delete-delay-after-taint=1s")...)
	s.deployment("web", 2, "1200m", "1Gi")
	s.waitRunning("web", 2)
	s.scale("web", 1)
	s.waitNodes(1)
	if s.desired(group) != 1 {
		t.Errorf("desired is %d, want 1", s.desired(group))
	}
	s.endGracefully(a)
	if refused := refusals(logOf(t, a)); len(refused) > 0 {
		t.Errorf("the API server refused requests:\n%s", strings.Join(refused, "\n"))
	}
	if strings.Contains(logOf(t, a), `"Cannot list a resource"`) {
		t.Error("a kind of object couldn't be listed")
	}
}

// uninstall takes the Deployment and what an autoscaler keeps in kube-system away.
func (s *story) uninstall(name string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience) // the test's own context has ended
	defer cancel()
	client := s.cluster.Client
	for what, err := range map[string]error{
		"Deployment": client.AppsV1().Deployments(metav1.NamespaceSystem).Delete(ctx, name, metav1.DeleteOptions{}),
		"Lease":      client.CoordinationV1().Leases(metav1.NamespaceSystem).Delete(ctx, leaseName, metav1.DeleteOptions{}),
		"status":     client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Delete(ctx, "cluster-autoscaler-status", metav1.DeleteOptions{}),
	} {
		if ignoreNotFound(err) != nil {
			s.t.Errorf("deleting the %s: %v", what, err)
		}
	}
}

// commandLine is the flags of the manifest's Deployment.
func commandLine(t *testing.T, manifest []byte) []string {
	t.Helper()
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), 4096)
	for {
		var deployment appsv1.Deployment
		if err := documents.Decode(&deployment); err != nil {
			t.Fatalf("looking for the Deployment: %v", err)
		}
		if deployment.Kind == "Deployment" {
			return deployment.Spec.Template.Spec.Containers[0].Command[1:]
		}
	}
}

// refusals are the lines of a log that tell of missing rights.
func refusals(log string) []string {
	var lines []string
	for line := range strings.Lines(log) {
		if strings.Contains(line, "forbidden") || strings.Contains(line, "Forbidden") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

func TestWithoutTheRightToReadAnOptionalKindTheAutoscalerWorksAndSaysSo(t *testing.T) {
	s := parallelStory(t)
	s.group(workers(0, 5, 0))
	a := s.autoscaler("ca", s.install(without("persistentvolumeclaims")), append(s.hasty(), "--scale-down-unneeded-time=10m")...)
	s.deployment("web", 1, "1200m", "1Gi")
	s.waitRunning("web", 1)

	if log := logOf(t, a); !strings.Contains(log, `"Cannot list a resource"`) || !strings.Contains(log, `resource="persistentvolumeclaims"`) {
		t.Errorf("the log doesn't name persistentvolumeclaims: %s", strings.Join(refusals(log), "\n"))
	}
	document, err := s.status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, off, _ := strings.Cut(document, "featuresOff:"); !strings.Contains(off, "persistentvolumeclaims") {
		t.Errorf("the status doesn't name persistentvolumeclaims: %s", document)
	}
	page, err := a.Metrics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`cluster_autoscaler_feature_available{feature="persistentvolumeclaims"} 0`, `cluster_autoscaler_feature_available{feature="services"} 1`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the metrics don't contain %s", want)
		}
	}
}

func TestWithoutTheRightToListPodsHealthFailsAfterTheStartupTime(t *testing.T) {
	s := parallelStory(t)
	s.group(workers(0, 5, 0))
	a := s.autoscaler("ca", s.install(without("pods")), append(s.hasty(), "--max-startup-time=15s", "--max-inactivity=5s", "--max-failing-time=5s")...)
	s.eventually("the log names pods", func(context.Context) (bool, string, error) {
		log := logOf(t, a)
		return strings.Contains(log, `"Cannot list a resource"`) && strings.Contains(log, `resource="pods"`), tail(log), nil
	})
	status, text, err := a.Health(t.Context())
	if err != nil || status != 200 {
		t.Errorf("before the startup time is over the health check says %d %q, error %v; want 200", status, text, err)
	}
	s.eventually("health fails", func(ctx context.Context) (bool, string, error) {
		status, text, err := a.Health(ctx)
		return status == 500 && strings.Contains(text, "last activity"), fmt.Sprint(status, text), err
	})
	if !a.Running() {
		t.Errorf("it has ended; it should wait for the rights: %v", a.Err())
	}
}
