package status

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

const (
	// statusKey is the key in the ConfigMap's data.
	statusKey = "status"
	// updatedAnnotation says when the document was written.
	updatedAnnotation = "cluster-autoscaler.kubernetes.io/last-updated"
)

// ConfigMap is the status object in one namespace. It is not safe for concurrent use.
type ConfigMap struct {
	client    typedcorev1.ConfigMapsGetter
	namespace string
	name      string
	// written is the length of the last status, in bytes.
	written int
}

// NewConfigMap names the object; it reads and writes nothing yet.
func NewConfigMap(client typedcorev1.ConfigMapsGetter, namespace, name string) *ConfigMap {
	return &ConfigMap{client: client, namespace: namespace, name: name}
}

// writeAttempts is how often a write is tried when somebody else changes the object at the same time.
const writeAttempts = 3

// Write puts the document into the object, which it creates if need be. Other keys and annotations of the object are kept, also those that
// somebody else writes at the same time.
func (c *ConfigMap) Write(ctx context.Context, doc Document) (*corev1.ConfigMap, error) {
	return c.put(ctx, doc, nil)
}

// put writes the document, and what is to be kept; nil: what is there stays.
func (c *ConfigMap) put(ctx context.Context, doc Document, kept *Kept) (*corev1.ConfigMap, error) {
	text, err := doc.YAML()
	if err != nil {
		return nil, err
	}
	c.written = len(text)
	change := func(object *corev1.ConfigMap) {
		fill(object, text, doc.Time)
		if kept != nil {
			kept.fill(object)
		}
	}
	for attempt := 1; ; attempt++ {
		object, err := c.write(ctx, change)
		if raced := apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err); !raced || attempt == writeAttempts {
			return object, err
		}
	}
}

func (c *ConfigMap) write(ctx context.Context, change func(*corev1.ConfigMap)) (*corev1.ConfigMap, error) {
	maps := c.client.ConfigMaps(c.namespace)
	object, err := maps.Get(ctx, c.name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		object = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: c.name}}
		change(object)
		if object, err = maps.Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return nil, fmt.Errorf("creating the status ConfigMap %s/%s: %w", c.namespace, c.name, err)
		}
		return object, nil
	case err != nil:
		return nil, fmt.Errorf("reading the status ConfigMap %s/%s: %w", c.namespace, c.name, err)
	}
	change(object)
	if object, err = maps.Update(ctx, object, metav1.UpdateOptions{}); err != nil {
		return nil, fmt.Errorf("updating the status ConfigMap %s/%s: %w", c.namespace, c.name, err)
	}
	return object, nil
}

// Reference names the object in events.
func Reference(object *corev1.ConfigMap) *corev1.ObjectReference {
	return &corev1.ObjectReference{Kind: "ConfigMap", APIVersion: "v1", Namespace: object.Namespace, Name: object.Name, UID: object.UID}
}

func fill(object *corev1.ConfigMap, text, at string) {
	if object.Data == nil {
		object.Data = map[string]string{}
	}
	object.Data[statusKey] = text
	if object.Annotations == nil {
		object.Annotations = map[string]string{}
	}
	object.Annotations[updatedAnnotation] = at
}

// Delete removes the object; it is no error if there is none.
func (c *ConfigMap) Delete(ctx context.Context) error {
	err := c.client.ConfigMaps(c.namespace).Delete(ctx, c.name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting the status ConfigMap %s/%s: %w", c.namespace, c.name, err)
	}
	return nil
}
