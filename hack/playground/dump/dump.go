package dump

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/pager"
	"sigs.k8s.io/yaml"
)

// Format is how a dump is written.
type Format string

// The formats. JSON is read much faster than YAML.
const (
	JSON Format = "json"
	YAML Format = "yaml"
)

// Resources are the ones in a dump, in their order: those of the kubectl command in docs/simulate.md, in the version that kubectl prefers.
func Resources() []schema.GroupVersionResource {
	core, apps := schema.GroupVersion{Version: "v1"}, schema.GroupVersion{Group: "apps", Version: "v1"}
	storage := schema.GroupVersion{Group: "storage.k8s.io", Version: "v1"}
	return []schema.GroupVersionResource{
		core.WithResource("nodes"),
		core.WithResource("pods"),
		core.WithResource("namespaces"),
		core.WithResource("services"),
		{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"},
		apps.WithResource("replicasets"),
		apps.WithResource("deployments"),
		apps.WithResource("statefulsets"),
		apps.WithResource("daemonsets"),
		{Group: "batch", Version: "v1", Resource: "jobs"},
		core.WithResource("replicationcontrollers"),
		core.WithResource("persistentvolumes"),
		core.WithResource("persistentvolumeclaims"),
		storage.WithResource("storageclasses"),
		storage.WithResource("csinodes"),
		storage.WithResource("csidrivers"),
		{Group: "scheduling.k8s.io", Version: "v1", Resource: "priorityclasses"},
		{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"},
		core.WithResource("configmaps"),
	}
}

// Write writes all objects of Resources in all namespaces as one List, as kubectl does. It holds all of them in memory. The kinds are listed one
// after the other, so a cluster that changes meanwhile may give a dump whose parts don't match.
func Write(ctx context.Context, client dynamic.Interface, w io.Writer, format Format) error {
	items := []any{}
	for _, resource := range Resources() {
		list := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return client.Resource(resource).List(ctx, options)
		})
		err := list.EachListItem(ctx, metav1.ListOptions{}, func(object runtime.Object) error {
			item, ok := object.(*unstructured.Unstructured)
			if !ok {
				return fmt.Errorf("got a %T", object)
			}
			item = item.DeepCopy()
			item.SetManagedFields(nil) // kubectl hides them
			items = append(items, item.Object)
			return nil
		})
		if err != nil {
			return fmt.Errorf("listing %s: %w", resource.Resource, err)
		}
	}
	text, err := encode(map[string]any{"apiVersion": "v1", "kind": "List", "metadata": map[string]any{"resourceVersion": ""}, "items": items}, format)
	if err != nil {
		return fmt.Errorf("encoding the dump: %w", err)
	}
	if _, err := w.Write(text); err != nil {
		return fmt.Errorf("writing the dump: %w", err)
	}
	return nil
}

func encode(list any, format Format) ([]byte, error) {
	switch format {
	case YAML:
		return yaml.Marshal(list)
	case JSON:
		text, err := json.MarshalIndent(list, "", "    ")
		return append(text, '\n'), err
	default:
		return nil, fmt.Errorf("format %q: want %s or %s", format, JSON, YAML)
	}
}
