package act

import (
	"context"
	"errors"
	"fmt"

	"example.com/cluster-autoscaler/core/scaledown"
)

// SoftTaints marks unneeded nodes for everybody to see, and takes the mark away from the others: removals first, as many changes
// as the options allow in number and time. The rest waits for the next call. A node that is being removed, or is gone, is left
// alone. The errors of single nodes are joined.
func (a *Actuator) SoftTaints(ctx context.Context, wanted scaledown.SoftTaint) error {
	started, left := a.clock.Now(), a.options.SoftTaints.MaxBulkCount
	if a.isStopped() {
		return nil
	}
	var errs []error
	each := func(names []string, change edit) {
		for _, name := range names {
			if left <= 0 || a.clock.Since(started) >= a.options.SoftTaints.MaxBulkTime {
				return
			}
			left--
			if _, err := a.editNode(ctx, name, nil, change); err != nil && !errors.Is(err, errReplaced) {
				errs = append(errs, fmt.Errorf("changing the soft taint: %w", err))
			}
		}
	}
	each(wanted.Remove, needed)
	each(wanted.Add, candidate(started))
	return errors.Join(errs...)
}
