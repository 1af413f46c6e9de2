package scenario

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/core/saved"
	"example.com/cluster-autoscaler/core/scenario/document"
	"example.com/cluster-autoscaler/processors/status"
)

// pinboard stands for the status ConfigMap: it keeps the state, as the text that the ConfigMap would hold, and nothing of the status.
type pinboard struct{ kept status.Kept }

// Read returns what the last process has left.
func (p *pinboard) Read(context.Context) (status.Kept, error) { return p.kept, nil }

// Write leaves the state as it is.
func (p *pinboard) Write(context.Context, status.Document) (*corev1.ConfigMap, error) {
	return &corev1.ConfigMap{}, nil
}

// WriteKeeping replaces the state.
func (p *pinboard) WriteKeeping(_ context.Context, _ status.Document, kept status.Kept) (*corev1.ConfigMap, error) {
	p.kept = kept
	return &corev1.ConfigMap{}, nil
}

// Delete takes everything away.
func (p *pinboard) Delete(context.Context) error {
	p.kept = status.Kept{}
	return nil
}

// Room is what the state may have at most.
func (p *pinboard) Room() int { return saved.Limit }

// String names it in logs.
func (p *pinboard) String() string { return "the status ConfigMap" }

// restarts tells whether the autoscaler's process ends before the play does.
func restarts(timeline []document.Entry) bool {
	for i := range timeline {
		if timeline[i].Restart != nil {
			return true
		}
	}
	return false
}
