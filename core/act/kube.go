package act

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// listPage is how many objects one answer of the API server holds at most.
const listPage = 500

// Client is the Kube of a real cluster. Safe for concurrent use.
type Client struct{ client kubernetes.Interface }

// NewClient returns a Kube on the client. It does no I/O.
func NewClient(client kubernetes.Interface) *Client { return &Client{client: client} }

// Node reads the node.
func (c *Client) Node(ctx context.Context, name string) (*corev1.Node, error) {
	return c.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
}

// UpdateNode replaces the node; a conflict means that it changed since it was read.
func (c *Client) UpdateNode(ctx context.Context, node *corev1.Node) (*corev1.Node, error) {
	return c.client.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{})
}

// Nodes lists all nodes as they are now.
func (c *Client) Nodes(ctx context.Context) ([]*corev1.Node, error) {
	var nodes []*corev1.Node
	options := metav1.ListOptions{Limit: listPage}
	for {
		page, err := c.client.CoreV1().Nodes().List(ctx, options)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			nodes = append(nodes, &page.Items[i])
		}
		if page.Continue == "" {
			return nodes, nil
		}
		options.Continue = page.Continue
	}
}

// Evict asks for the eviction of exactly this pod, with a grace period in seconds. It makes one attempt: the API server asks to come
// back later while it works on a budget, and a client that then waits for it would hold all other evictions up.
func (c *Client) Evict(ctx context.Context, pod *corev1.Pod, graceSeconds int64) error {
	eviction := &policyv1.Eviction{
		TypeMeta:   metav1.TypeMeta{APIVersion: policyv1.SchemeGroupVersion.String(), Kind: "Eviction"},
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &metav1.DeleteOptions{
			GracePeriodSeconds: &graceSeconds,
			Preconditions:      metav1.NewUIDPreconditions(string(pod.UID)),
		},
	}
	direct, ok := c.client.CoreV1().RESTClient().(*rest.RESTClient)
	if !ok || direct == nil { // a client without a server behind it
		return c.client.PolicyV1().Evictions(pod.Namespace).Evict(ctx, eviction)
	}
	return direct.Post().Namespace(pod.Namespace).Resource("pods").Name(pod.Name).SubResource("eviction").
		Body(eviction).MaxRetries(0).Do(ctx).Error()
}

// Pod reads the pod.
func (c *Client) Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	return c.client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
}

// PodsOn lists the pods of the node as they are now.
func (c *Client) PodsOn(ctx context.Context, node string) ([]*corev1.Pod, error) {
	var pods []*corev1.Pod
	options := metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.nodeName", node).String(),
		Limit:         listPage,
	}
	for {
		page, err := c.client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, options)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			pods = append(pods, &page.Items[i])
		}
		if page.Continue == "" {
			return pods, nil
		}
		options.Continue = page.Continue
	}
}
