package simulated

import (
	"errors"
	"slices"

	"example.com/cluster-autoscaler/cloudprovider"
)

// Operation is a request to the cloud. Faults are injected into it, and the observer of calls sees it under this name.
type Operation string

// The operations. ReadSize and ListInstances belong to Refresh: their faults put one group aside.
const (
	Refresh                Operation = "Refresh"
	ReadSize               Operation = "ReadSize"
	ListInstances          Operation = "ListInstances"
	ReadTemplates          Operation = "ReadTemplates"
	CreateGroup            Operation = "CreateGroup"
	IncreaseSize           Operation = "IncreaseSize"
	IncreaseSizeAtomically Operation = "IncreaseSizeAtomically"
	DecreaseTargetSize     Operation = "DecreaseTargetSize"
	DeleteNodes            Operation = "DeleteNodes"
	ForceDeleteNodes       Operation = "ForceDeleteNodes"
	Cleanup                Operation = "Cleanup"
)

// Fault makes an operation fail.
type Fault struct {
	// On is the operation; the empty one stands for all.
	On Operation
	// Group is the group concerned; empty: every group, and what concerns none.
	Group cloudprovider.GroupID
	// Node, for DeleteNodes and ForceDeleteNodes, is the name or provider id of the one node that fails; the others of the call
	// don't. Empty: the whole call fails.
	Node string
	// Err is what the caller gets; nil: a TransientError, as of a cloud that throttles.
	Err error
	// Lost carries the write out and loses the answer: the caller gets a TransientError with OutcomeUnknown about Err. A write
	// that the cloud refuses is refused as always; an operation that only reads fails with a TransientError.
	Lost bool
	// Count is how many requests fail, for Node how many attempts on that node; zero: all until Clear.
	Count int
}

// errThrottled is what a fault without an error of its own says.
var errThrottled = errors.New("rate exceeded")

// Inject adds faults. Where several match a request, the earliest is used.
func (c *Cloud) Inject(faults ...Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range faults {
		if f.Err == nil {
			f.Err = &cloudprovider.TransientError{Err: errThrottled}
		}
		c.faults = append(c.faults, &f)
	}
}

// Clear ends the faults that were injected for exactly this operation and group.
func (c *Cloud) Clear(on Operation, group cloudprovider.GroupID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = slices.DeleteFunc(c.faults, func(f *Fault) bool { return f.On == on && f.Group == group })
}

// fault uses up and returns the fault of a request; nil: there is none. The lock must be held.
func (c *Cloud) fault(on Operation, group cloudprovider.GroupID) *Fault {
	return c.useFault(func(f *Fault) bool {
		return f.Node == "" && (f.On == "" || f.On == on) && (f.Group == "" || f.Group == group)
	})
}

// nodeFault is the fault of one node within a request; nil: there is none. The lock must be held.
func (c *Cloud) nodeFault(on Operation, m *machine) *Fault {
	return c.useFault(func(f *Fault) bool {
		return f.Node != "" && (f.Node == m.name || f.Node == m.id) &&
			(f.On == "" || f.On == on) && (f.Group == "" || f.Group == m.group)
	})
}

// useFault finds the first match and counts it down.
func (c *Cloud) useFault(matches func(*Fault) bool) *Fault {
	i := slices.IndexFunc(c.faults, matches)
	if i < 0 {
		return nil
	}
	f := *c.faults[i]
	if c.faults[i].Count == 1 {
		c.faults = slices.Delete(c.faults, i, i+1)
	} else if c.faults[i].Count > 1 {
		c.faults[i].Count--
	}
	return &f
}

// readFault is the error of a request that reads; a lost answer can't be told from none. The lock must be held.
func (c *Cloud) readFault(on Operation, group cloudprovider.GroupID) error {
	f := c.fault(on, group)
	switch {
	case f == nil:
		return nil
	case f.Lost:
		return &cloudprovider.TransientError{Err: f.Err}
	default:
		return f.Err
	}
}

// codeOf is the word for an error in Call.Code.
func codeOf(err error) string {
	if err == nil {
		return "success"
	}
	if _, ok := errors.AsType[*cloudprovider.TransientError](err); ok {
		return "Transient"
	}
	if _, ok := errors.AsType[*cloudprovider.GoneError](err); ok {
		return "NotFound"
	}
	if _, ok := errors.AsType[*cloudprovider.StaleBoundsError](err); ok {
		return "OutOfBounds"
	}
	if _, ok := errors.AsType[*cloudprovider.ConfigurationError](err); ok {
		return "Refused"
	}
	if quota, ok := errors.AsType[*cloudprovider.QuotaError](err); ok && quota.Code != "" {
		return quota.Code
	}
	if short, ok := errors.AsType[*cloudprovider.OutOfResourcesError](err); ok && short.Code != "" {
		return short.Code
	}
	return "error"
}
