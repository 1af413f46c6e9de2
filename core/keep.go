package core

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/core/saved"
	"example.com/cluster-autoscaler/core/scaleup"
	"example.com/cluster-autoscaler/processors/status"
)

// intentTime is how long a purchase may be held up to lay down that it is about to be made. An API server that takes longer must not keep pods
// waiting: what is lost is little, because the cloud itself tells the next process what it is about to deliver.
const intentTime = 5 * time.Second

// timerGap is how much longer than two scan intervals nobody may have looked at a node for its timer to go on: the time that a new process needs to
// start and to be elected.
const timerGap = time.Minute

// statusObject is where the status and the state lie. *status.ConfigMap is one.
type statusObject interface {
	Read(ctx context.Context) (status.Kept, error)
	Write(ctx context.Context, doc status.Document) (*corev1.ConfigMap, error)
	WriteKeeping(ctx context.Context, doc status.Document, kept status.Kept) (*corev1.ConfigMap, error)
	Delete(ctx context.Context) error
	Room() int
	String() string
}

// Board is where a Teller puts the status, and what it keeps there. The zero value keeps neither status nor state.
type Board struct {
	// Object is nil if no status is kept.
	Object statusObject
	// KeepState: what the process remembers lies beside the status, and both outlive it.
	KeepState bool
}

// Memory is what a process remembers.
type Memory struct {
	State saved.State
	// Seen is when it last saw the cluster.
	Seen time.Time
}

// keeps tells whether a memory would be stored at all.
func (t *Teller) keeps() bool { return t.board.Object != nil && t.board.KeepState }

// first writes the first status.
func (t *Teller) first(ctx context.Context) (*corev1.ConfigMap, error) {
	if t.board.KeepState {
		return t.board.Object.Write(ctx, t.document)
	}
	return t.board.Object.WriteKeeping(ctx, t.document, status.Kept{})
}

// recall returns what an earlier process has left; ok is false if there is nothing that can be used. Why not is logged once, here or when the
// status could not be written.
func (t *Teller) recall(ctx context.Context) (memory Memory, ok bool) {
	if !t.keeps() {
		return Memory{}, false
	}
	kept, err := t.board.Object.Read(ctx)
	if err != nil {
		t.complain(ctx, err, "Cannot read what an earlier process has left; starting without it")
		return Memory{}, false
	}
	if kept.State == "" {
		return Memory{}, false
	}
	state, err := saved.Decode(kept.State)
	if err != nil {
		t.logger.Error(err, "Cannot use what an earlier process has left; starting without it", "configMap", t.board.Object.String())
		return Memory{}, false
	}
	return Memory{State: state, Seen: kept.Seen}, true
}

// note stores the memory at once, with the latest status. It does not insist: while the status cannot be written it does nothing.
func (t *Teller) note(ctx context.Context, memory Memory) {
	if !t.keeps() || t.failing {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, intentTime)
	defer cancel()
	t.write(ctx, &memory)
}

// Stop ends the status: nobody keeps it current any more. Where state is kept it says so and stays, with what the process remembers, which is nil
// if the process never came to remember anything; else it is deleted.
func (t *Teller) Stop(ctx context.Context, at time.Time, memory *Memory) error {
	switch {
	case t.board.Object == nil:
		return nil
	case !t.board.KeepState:
		return t.board.Object.Delete(ctx)
	case t.failing: // that was told, and is none of this process' business any more
		return nil
	}
	t.document = status.Initializing(at, "")
	_, err := t.put(ctx, memory)
	return err
}

// write puts the status, and the memory unless it is nil, into the object. Trouble is told once until it is over.
func (t *Teller) write(ctx context.Context, memory *Memory) {
	if t.board.Object == nil {
		return
	}
	if _, err := t.put(ctx, memory); err != nil {
		t.complain(ctx, err, "Cannot write the status; nothing is kept over restarts until it can be written again")
		return
	}
	if t.failing {
		t.failing = false
		t.logger.Info("The status can be written again", "configMap", t.board.Object.String())
	}
}

func (t *Teller) put(ctx context.Context, memory *Memory) (*corev1.ConfigMap, error) {
	if memory == nil || !t.board.KeepState {
		return t.board.Object.Write(ctx, t.document)
	}
	text, err := t.encoder.Encode(memory.State, min(saved.Limit, t.board.Object.Room()))
	if err != nil && !t.unsaved {
		t.logger.Error(err, "Cannot keep what is remembered over restarts", "configMap", t.board.Object.String())
	}
	t.unsaved = err != nil
	return t.board.Object.WriteKeeping(ctx, t.document, status.Kept{State: text, Seen: memory.Seen}) // what cannot be kept is taken away: it would be out of date
}

// complain logs that the object cannot be used, unless that is known.
func (t *Teller) complain(ctx context.Context, err error, what string) {
	if errors.Is(ctx.Err(), context.Canceled) || t.failing {
		t.logger.V(verboseVerdict).Info("The status is still out of reach", "err", err)
		return
	}
	t.failing = true
	t.logger.Error(err, what)
}

// remember takes over what an earlier process has left, as far as it still holds. Timers hold only if nobody was missing for long.
func (a *Autoscaler) remember(ctx context.Context, seen observation.Observation) {
	memory, ok := a.teller.recall(ctx)
	if !ok {
		return
	}
	a.registry.Restore(memory.State.Registry, seen, memory.Seen)
	gap := seen.At.Sub(memory.Seen)
	timers := gap <= 2*a.options.Loop.ScanInterval+timerGap
	if timers {
		a.planner.RestoreSaved(memory.State.Planner, seen.Nodes, seen.At)
	}
	klog.FromContext(ctx).V(verboseDecision).Info("Took over what an earlier process remembered", "seen", memory.Seen, "timers", timers)
}

// Memory is what is remembered now; nil before the first iteration. Not to be called while Run or RunOnce run.
func (a *Autoscaler) Memory() *Memory {
	if a.seen.IsZero() {
		return nil
	}
	memory := a.memory()
	return &memory
}

func (a *Autoscaler) memory() Memory {
	if !a.teller.keeps() {
		return Memory{}
	}
	return Memory{State: saved.State{Registry: a.registry.Save(), Planner: a.planner.Save()}, Seen: a.seen}
}

// buyer asks the cloud for nodes. What is about to be bought is laid down before: should the process end before it can tell what came of it,
// the next one waits for those nodes and does not buy them again. Each call lays down the calls before, too, what came of which is not in the memory yet.
func (a *Autoscaler) buyer() scaleup.Act {
	var asked []report.Resize
	return func(ctx context.Context, resizes []report.Resize) ([]report.ResizeOutcome, error) {
		asked = append(asked, resizes...)
		if len(resizes) > 0 && a.teller.keeps() {
			intended := saved.State{Registry: a.registry.SaveIntending(asked, a.clock.Now()), Planner: a.planner.Save()}
			a.teller.note(ctx, Memory{State: intended, Seen: a.seen})
		}
		return a.act.Resize(ctx, resizes)
	}
}

// bought lays down what came of purchases: the rest of the iteration may take a while.
func (a *Autoscaler) bought(ctx context.Context, outcomes []report.ResizeOutcome) {
	if len(outcomes) > 0 {
		a.teller.note(ctx, a.memory())
	}
}
