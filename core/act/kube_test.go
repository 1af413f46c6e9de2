package act_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"example.com/cluster-autoscaler/core/act"
)

// apiServer answers requests by "METHOD path?query" and keeps the bodies that it got.
type apiServer struct {
	answers map[string]any
	asked   []string
	body    map[string]any
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := r.Method + " " + r.URL.String()
	s.asked = append(s.asked, key)
	if body, _ := io.ReadAll(r.Body); len(body) > 0 {
		s.body = map[string]any{}
		_ = json.Unmarshal(body, &s.body)
	}
	answer, ok := s.answers[key]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		answer = metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: metav1.StatusReasonNotFound, Code: 404}
	}
	if status, ok := answer.(metav1.Status); ok && status.Code > 0 {
		if status.Code == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "1")
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(int(status.Code))
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

func newClient(t *testing.T, server *apiServer) *act.Client {
	t.Helper()
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: web.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
	if err != nil {
		t.Fatal(err)
	}
	return act.NewClient(client)
}

func TestAnEvictionNamesExactlyOnePodAndItsGrace(t *testing.T) {
	server := &apiServer{answers: map[string]any{
		"POST /api/v1/namespaces/default/pods/p/eviction": metav1.Status{Status: "Success"},
	}}
	client := newClient(t, server)
	if err := client.Evict(t.Context(), pod("p", "n").Build(), 42); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"apiVersion": "policy/v1", "kind": "Eviction", "metadata": map[string]any{"name": "p", "namespace": "default"},
		"deleteOptions": map[string]any{"gracePeriodSeconds": 42.0, "preconditions": map[string]any{"uid": "pod-default-p"}},
	}
	if diff := cmp.Diff(want, server.body); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}

func TestARefusedEvictionKeepsItsStatus(t *testing.T) {
	server := &apiServer{answers: map[string]any{
		"POST /api/v1/namespaces/default/pods/p/eviction": metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: metav1.StatusReasonTooManyRequests, Code: 429,
		},
	}}
	if err := newClient(t, server).Evict(t.Context(), pod("p", "n").Build(), 42); !apierrors.IsTooManyRequests(err) {
		t.Errorf("got %v, want a 429 that can be told", err)
	}
	if len(server.asked) != 1 {
		t.Errorf("asked %v, want one attempt: the caller retries", server.asked)
	}
}

func TestNodesAndPodsAreReadLive(t *testing.T) {
	first, second := pod("p1", "n").Build(), pod("p2", "n").Build()
	server := &apiServer{answers: map[string]any{
		"GET /api/v1/nodes/n": node("n").Build(),
		"PUT /api/v1/nodes/n": node("n").Cordoned().Build(),
		"GET /api/v1/pods?fieldSelector=spec.nodeName%3Dn&limit=500":               corev1.PodList{ListMeta: metav1.ListMeta{Continue: "more"}, Items: []corev1.Pod{*first}},
		"GET /api/v1/pods?continue=more&fieldSelector=spec.nodeName%3Dn&limit=500": corev1.PodList{Items: []corev1.Pod{*second}},
		"GET /api/v1/nodes?limit=500":                                              corev1.NodeList{ListMeta: metav1.ListMeta{Continue: "more"}, Items: []corev1.Node{*node("a").Build()}},
		"GET /api/v1/nodes?continue=more&limit=500":                                corev1.NodeList{Items: []corev1.Node{*node("b").Build()}},
		"GET /api/v1/namespaces/default/pods/p1":                                   first,
	}}
	client := newClient(t, server)
	got, err := client.Node(t.Context(), "n")
	if err != nil || got.Name != "n" {
		t.Errorf("node: %v, %v", got, err)
	}
	if got, err = client.UpdateNode(t.Context(), got); err != nil || !got.Spec.Unschedulable {
		t.Errorf("update: %v, %v", got, err)
	}
	pods, err := client.PodsOn(t.Context(), "n")
	if err != nil || len(pods) != 2 || pods[0].Name != "p1" || pods[1].Name != "p2" {
		t.Errorf("pods of the node: %v, %v; want both pages", pods, err)
	}
	nodes, err := client.Nodes(t.Context())
	if err != nil || len(nodes) != 2 {
		t.Errorf("nodes: %v, %v; want both pages", nodes, err)
	}
	one, err := client.Pod(t.Context(), "default", "p1")
	if err != nil || one.Name != "p1" {
		t.Errorf("pod: %v, %v", one, err)
	}
	if _, err := client.Pod(t.Context(), "default", "p9"); !apierrors.IsNotFound(err) {
		t.Errorf("got %v, want not found", err)
	}
}
