package scaledown

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/core/config"
)

// lotOf reads "r3+2" or "a8+4/8:5": a normal or a whole-only group with so many empty and so many drained candidates; its
// target, else their sum; its registered nodes, else the target.
func lotOf(t *testing.T, text string, number int) *lot {
	t.Helper()
	l := &lot{atomic: strings.HasPrefix(text, "a")}
	sizes, rest, _ := strings.Cut(text[1:], "/")
	var empty, drained int
	if _, err := fmt.Sscanf(sizes, "%d+%d", &empty, &drained); err != nil {
		t.Fatalf("reading %q: %v", text, err)
	}
	l.target = empty + drained
	l.registered = l.target
	if rest != "" {
		if _, err := fmt.Sscanf(rest, "%d:%d", &l.target, &l.registered); err != nil {
			t.Fatalf("reading %q: %v", text, err)
		}
	}
	for i := range empty {
		l.empty = append(l.empty, &removable{node: &corev1.Node{}, since: time.Unix(int64(number), int64(i))})
	}
	for i := range drained {
		l.drained = append(l.drained, &removable{node: &corev1.Node{}, since: time.Unix(int64(number), int64(i))})
	}
	return l
}

// counts tells how many candidates of each lot were taken, by the number of the lot.
func counts(taken []*removable) string {
	var out []string
	last, n := int64(-1), 0
	flush := func() {
		if n > 0 {
			out = append(out, fmt.Sprintf("%d:%d", last, n))
		}
	}
	for _, r := range taken {
		if r.since.Unix() != last {
			flush()
			last, n = r.since.Unix(), 0
		}
		n++
	}
	flush()
	return strings.Join(out, " ")
}

// The numbers are those of the worked cases of scale-down 7.6: ten removals at once, five of them drains.
func TestBudgetsCropTheCandidates(t *testing.T) {
	for name, test := range map[string]struct {
		lots            string
		empty, draining int // in progress
		want            string
	}{
		"SD118: a normal group is cut":                        {"r11+0", 0, 0, "0:10 / "},
		"SD119: a whole group may exceed the budget":          {"a11+0", 0, 0, "0:11 / "},
		"SD120: whole groups go first":                        {"r8+0 a3+0", 0, 0, "1:3 0:7 / "},
		"SD121: a second whole group must fit":                {"r3+0 a8+0 a3+0", 0, 0, "1:8 0:2 / "},
		"SD122: removals in progress count":                   {"r10+0", 1, 1, "0:8 / "},
		"SD123: a whole group may exceed what is left":        {"a8+0", 3, 3, "0:8 / "},
		"SD124: nothing left for a normal group":              {"r10+0", 5, 5, " / "},
		"SD124: nothing left for a whole group":               {"a3+0", 5, 5, " / "},
		"SD125: drains are cut":                               {"r0+6", 0, 0, " / 0:5"},
		"SD126: the first group of drains uses it up":         {"r0+5 r0+5", 0, 0, " / 0:5"},
		"SD127: a whole group of drains may exceed it":        {"a0+8", 0, 0, " / 0:8"},
		"SD128: a whole group of drains goes first":           {"r0+3 a0+3", 0, 0, " / 1:3 0:2"},
		"SD129: the second whole group of drains must fit":    {"r0+3 a0+3 a0+4", 0, 0, " / 1:3 0:2"},
		"SD130: few removals are left":                        {"r0+4", 7, 1, " / 0:2"},
		"SD131: a whole group of drains may exceed the rest":  {"a0+4", 1, 2, " / 0:4"},
		"SD132: no drain is left for a normal group":          {"r0+5", 1, 5, " / "},
		"SD132: no drain is left for a whole group":           {"a0+4", 1, 5, " / "},
		"SD133: empty nodes go before drains":                 {"r8+0 r0+8", 0, 0, "0:8 / 1:2"},
		"SD134: a whole empty group leaves too little":        {"a8+0 a0+4", 0, 0, "0:8 / "},
		"SD135: one whole group of both kinds":                {"a8+3", 0, 0, "0:8 / 0:3"},
		"SD136: part of a whole group does not go":            {"a2+2/8:8", 0, 0, " / "},
		"SD137: all that is registered of a whole group goes": {"a2+2/8:4", 0, 0, "0:2 / 0:2"},
		"SD138: whole drains go before normal empty nodes":    {"r5+0 a0+8", 0, 0, "0:2 / 1:8"},
		"SD139: only one whole group may exceed":              {"r5+0 a3+0 a0+8", 0, 0, "1:3 0:5 / "},
		"SD140: the rest of the removals":                     {"r5+0 r0+5", 0, 9, "0:1 / "},
		"SD141: empty nodes use the rest up":                  {"r5+0 r0+2", 5, 3, "0:2 / "},
		"SD142: what empty nodes leave goes to drains":        {"r1+0 r0+2", 5, 3, "0:1 / 1:1"},
		"SD211: a negative budget lets nothing through":       {"a3+0", 11, 0, " / "},
		"SD211: nor does a negative one of drains":            {"a0+3", 0, 6, " / "},
	} {
		t.Run(name, func(t *testing.T) {
			var all lots
			for i, text := range strings.Fields(test.lots) {
				all = append(all, lotOf(t, text, i))
			}
			empty, drained := all.crop(10-test.empty-test.draining, 5-test.draining)
			if got := counts(empty) + " / " + counts(drained); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestTheLimitOnUnneededNodes(t *testing.T) {
	for name, test := range map[string]struct {
		unneeded  time.Duration
		intervals []time.Duration
		previous  int
		want      int
	}{
		"SD095: none before":               {time.Minute, []time.Duration{10 * time.Second}, 0, 20},
		"SD095: three before":              {time.Minute, []time.Duration{10 * time.Second}, 3, 23},
		"SD095: at the ceiling":            {time.Minute, []time.Duration{10 * time.Second}, 70, 70},
		"SD095: above the ceiling":         {time.Minute, []time.Duration{10 * time.Second}, 77, 70},
		"SD096: no unneeded time":          {0, []time.Duration{10 * time.Second}, 0, 20},
		"SD097: short intervals":           {time.Minute, []time.Duration{time.Second}, 13, 33},
		"SD097: long intervals":            {time.Minute, []time.Duration{30 * time.Second}, 13, 30},
		"SD206: one short interval":        {time.Minute, []time.Duration{10 * time.Second, time.Second, 10 * time.Second}, 70, 90},
		"a short interval is forgotten":    {time.Minute, append([]time.Duration{time.Second}, repeat(10*time.Second, 10)...), 70, 70},
		"the ceiling with ordinary values": {10 * time.Minute, []time.Duration{10 * time.Second}, 610, 610},
	} {
		t.Run(name, func(t *testing.T) {
			p := NewPlanner(nil, Options{ScaleDown: config.ScaleDown{MaxParallelism: 10}, UnneededTime: test.unneeded})
			now := time.Unix(0, 0)
			p.rhythm.note(now)
			for _, interval := range test.intervals {
				now = now.Add(interval)
				p.rhythm.note(now)
			}
			for i := range test.previous {
				p.unneeded[fmt.Sprint(i)] = timer{}
			}
			if got := (&update{Planner: p}).limit(); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

func repeat(d time.Duration, times int) []time.Duration {
	out := make([]time.Duration, times)
	for i := range out {
		out[i] = d
	}
	return out
}
