package saved

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"

	"example.com/cluster-autoscaler/processors/nodeinfos"
)

// Limit is how many bytes the text may have. A ConfigMap holds 1 MiB, which the state shares with the status.
const Limit = 700 << 10

// version is that of the document. A process that finds another one starts without state.
const version = 1

// mostHints is up to how many hints are stored. They make the next search find the same places again; nothing depends on them.
const mostHints = 10_000

// inflated bounds what a text may unpack to, so that a damaged or hostile one does not use up the memory.
const inflated = 64 << 20

// ErrTooLarge says that what must not be left out does not fit into the limit.
var ErrTooLarge = errors.New("the state is larger than the limit even without what was learnt")

// document is what the text unpacks to.
type document struct {
	Version  int               `json:"version"`
	Registry *Registry         `json:"registry,omitempty"`
	Learnt   []json.RawMessage `json:"learnt,omitempty"`
	Planner  *storedPlanner    `json:"planner,omitempty"`
}

type storedPlanner struct {
	Timers   []Timer           `json:"timers,omitempty"`
	Rechecks []storedRecheck   `json:"rechecks,omitempty"`
	Hints    map[string]string `json:"hints,omitempty"`
}

type storedRecheck struct {
	Recheck
	First storedReason `json:"first"`
}

// Encoder makes the text of states. It remembers the last one: equal states have the same text, which is then not made anew. Not safe for concurrent
// use. The zero value is ready.
type Encoder struct {
	pressed map[key]pressed
	limit   int
	plain   []byte
	text    string
}

// Encode returns the state as text of at most limit bytes: JSON, compressed, in base64, because values of a ConfigMap's data have to be text. Equal
// states have equal texts. Where the limit is short, the oldest learnt templates are left out, then hints, rechecks and timers; if the rest does not
// fit either, the error is ErrTooLarge.
func (e *Encoder) Encode(state State, limit int) (string, error) {
	doc, err := e.document(state)
	if err != nil {
		return "", err
	}
	plain, err := json.Marshal(doc)
	if err != nil {
		return "", fmt.Errorf("writing the state as JSON: %w", err)
	}
	if limit == e.limit && bytes.Equal(plain, e.plain) {
		return e.text, nil
	}
	text, err := fit(doc, plain, state.Registry.Learnt, limit)
	if err != nil {
		return "", err
	}
	e.limit, e.plain, e.text = limit, plain, text
	return text, nil
}

func (e *Encoder) document(state State) (document, error) {
	doc := document{Version: version, Registry: &state.Registry, Planner: &storedPlanner{Timers: state.Planner.Timers}}
	var err error
	if doc.Learnt, err = e.press(state.Registry.Learnt); err != nil {
		return document{}, err
	}
	if len(state.Planner.Hints) <= mostHints {
		doc.Planner.Hints = state.Planner.Hints
	}
	for _, recheck := range state.Planner.Rechecks {
		first, err := storeReason(recheck.First)
		if err != nil {
			return document{}, err
		}
		doc.Planner.Rechecks = append(doc.Planner.Rechecks, storedRecheck{Recheck: recheck, First: first})
	}
	return doc, nil
}

// fit packs the document, and leaves out what has to be for it to keep within the limit.
func fit(doc document, plain []byte, learnt []nodeinfos.LearntTemplate, limit int) (string, error) {
	if text := pack(plain); len(text) <= limit {
		return text, nil
	}
	if text, ok, err := withoutOldest(doc, learnt, limit); err != nil || ok {
		return text, err
	}
	doc.Learnt = nil
	planner := *doc.Planner
	doc.Planner = &planner
	for _, leaveOut := range []func(){
		func() { planner.Hints = nil },
		func() { planner.Rechecks = nil },
		func() { planner.Timers = nil }, // the nodes stay for longer, which does no harm
	} {
		leaveOut()
		text, err := packed(doc)
		if err != nil || len(text) <= limit {
			return text, err
		}
	}
	return "", ErrTooLarge
}

// withoutOldest leaves out as many of the oldest learnt templates as it takes; ok is false if that does not suffice.
func withoutOldest(doc document, learnt []nodeinfos.LearntTemplate, limit int) (text string, ok bool, err error) {
	newest := make([]int, len(learnt))
	for i := range newest {
		newest[i] = i
	}
	slices.SortStableFunc(newest, func(a, b int) int {
		x, y := learnt[a], learnt[b]
		return cmp.Or(
			y.At.Truncate(learntGrain).Compare(x.At.Truncate(learntGrain)), cmp.Compare(x.Group, y.Group),
			cmp.Compare(x.Place.Zone, y.Place.Zone), cmp.Compare(x.Place.Type, y.Place.Type),
		)
	})
	with := func(count int) (string, error) {
		kept := slices.Sorted(slices.Values(newest[:count]))
		part := doc
		part.Learnt = make([]json.RawMessage, 0, count)
		for _, i := range kept {
			part.Learnt = append(part.Learnt, doc.Learnt[i])
		}
		return packed(part)
	}
	// More templates make a longer text but for a few bytes that the compression may win, and whether the one found fits is looked at.
	count := sort.Search(len(learnt), func(count int) bool {
		text, failed := with(count)
		if failed != nil {
			err = failed
		}
		return len(text) > limit
	}) - 1
	if err != nil || count < 0 {
		return "", false, err
	}
	text, err = with(count)
	return text, err == nil && len(text) <= limit, err
}

func packed(doc document) (string, error) {
	plain, err := json.Marshal(doc)
	if err != nil {
		return "", fmt.Errorf("writing the state as JSON: %w", err)
	}
	return pack(plain), nil
}

func pack(plain []byte) string {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	_, _ = zip.Write(plain) // a buffer takes everything
	_ = zip.Close()
	return base64.StdEncoding.EncodeToString(out.Bytes())
}

// Decode reads a text that Encode has made. The error says why nothing can be made of it: it is damaged, or of another version. An entry whose
// reason is not known is left out, and so is a template that lacks its objects.
func Decode(text string) (State, error) {
	zipped, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return State{}, fmt.Errorf("reading the state from base64: %w", err)
	}
	unzip, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		return State{}, fmt.Errorf("unpacking the state: %w", err)
	}
	plain, err := io.ReadAll(io.LimitReader(unzip, inflated+1))
	if err != nil {
		return State{}, fmt.Errorf("unpacking the state: %w", err)
	}
	if len(plain) > inflated {
		return State{}, fmt.Errorf("unpacking the state: it has more than %d bytes", inflated)
	}
	var head struct{ Version int }
	if err := json.Unmarshal(plain, &head); err != nil {
		return State{}, fmt.Errorf("reading the state's version: %w", err)
	}
	if head.Version != version {
		return State{}, fmt.Errorf("the state has version %d, this process knows version %d", head.Version, version)
	}
	var doc document
	if err := json.Unmarshal(plain, &doc); err != nil {
		return State{}, fmt.Errorf("reading the state: %w", err)
	}
	return doc.load()
}

func (d document) load() (State, error) {
	var state State
	if d.Registry != nil {
		state.Registry = *d.Registry
	}
	for _, text := range d.Learnt {
		var stored storedTemplate
		if err := json.Unmarshal(text, &stored); err != nil {
			return State{}, fmt.Errorf("reading what was learnt of fresh nodes: %w", err)
		}
		if stored.sound() {
			state.Registry.Learnt = append(state.Registry.Learnt, stored.load())
		}
	}
	if d.Planner == nil {
		return state, nil
	}
	state.Planner.Timers, state.Planner.Hints = d.Planner.Timers, d.Planner.Hints
	for _, stored := range d.Planner.Rechecks {
		first, err := stored.First.load()
		if errors.Is(err, errUnknownReason) {
			continue
		}
		if err != nil {
			return State{}, err
		}
		recheck := stored.Recheck
		recheck.First = first
		state.Planner.Rechecks = append(state.Planner.Rechecks, recheck)
	}
	return state, nil
}
