package status

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// stateKey is the key in the ConfigMap's data under which lies what outlives the process. It is in data and not in binaryData: tools that copy
	// or restore ConfigMaps know data.
	stateKey = "state"
	// seenAnnotation says when the process that wrote the state last saw the cluster. It stands beside the state, which stays the same from
	// iteration to iteration as long as nothing happens.
	seenAnnotation = "cluster-autoscaler.kubernetes.io/state-seen"
)

// objectLimit is how many bytes the API server lets a ConfigMap's data have, and reserve what is left for the growth of the status from one write to the
// next and for other keys.
const (
	objectLimit = 1 << 20
	reserve     = 64 << 10
)

// Kept is what the object keeps for the next process.
type Kept struct {
	// State is text that only core/saved understands; empty: nothing is kept.
	State string
	// Seen is when the process that wrote it last saw the cluster; zero: unknown.
	Seen time.Time
}

// Read returns what an earlier process left; the zero value if there is nothing or no object. A time that cannot be read is unknown.
func (c *ConfigMap) Read(ctx context.Context) (Kept, error) {
	object, err := c.client.ConfigMaps(c.namespace).Get(ctx, c.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return Kept{}, nil
	}
	if err != nil {
		return Kept{}, fmt.Errorf("reading the status ConfigMap %s/%s: %w", c.namespace, c.name, err)
	}
	kept := Kept{State: object.Data[stateKey]}
	if seen, err := time.Parse(time.RFC3339Nano, object.Annotations[seenAnnotation]); err == nil {
		kept.Seen = seen
	}
	return kept, nil
}

// WriteKeeping is Write that also puts the state into the object, in the same update; the zero value takes away what is there.
func (c *ConfigMap) WriteKeeping(ctx context.Context, doc Document, kept Kept) (*corev1.ConfigMap, error) {
	return c.put(ctx, doc, &kept)
}

// Room is how many bytes of state fit beside the status.
func (c *ConfigMap) Room() int { return max(0, objectLimit-reserve-c.written) }

// String names the object.
func (c *ConfigMap) String() string { return c.namespace + "/" + c.name }

func (k Kept) fill(object *corev1.ConfigMap) {
	if k.State == "" {
		delete(object.Data, stateKey)
		delete(object.Annotations, seenAnnotation)
		return
	}
	object.Data[stateKey] = k.State
	object.Annotations[seenAnnotation] = k.Seen.UTC().Format(time.RFC3339Nano)
}
