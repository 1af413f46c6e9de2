package act_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEvictedPodsAreRememberedForAsLongAsAnybodyWantsToKnow(t *testing.T) {
	for name, test := range map[string]struct {
		ttl  time.Duration
		want map[time.Duration][]string // by time after the start
	}{
		"for some minutes": {3 * time.Minute, map[time.Duration][]string{
			4 * time.Second: nil, 6 * time.Second: {"a"}, 16 * time.Second: {"a", "b"}, 3*time.Minute + 5*time.Second: {"b"}, 3*time.Minute + 15*time.Second: nil,
		}},
		"not at all by default": {0, map[time.Duration][]string{6 * time.Second: nil, 16 * time.Second: nil}},
	} {
		t.Run(name, func(t *testing.T) {
			options := defaults()
			options.EvictedPodTTL = test.ttl
			s := newStage(t, options)
			s.add("g", node("n"), node("m"))
			s.run(pod("b", "n"), pod("a", "n"))
			refusals := 0
			s.refuse["b"] = func() error { // once
				if refusals++; refusals == 1 {
					return tooManyRequests()
				}
				return nil
			}
			s.Shrink(silent(t), planOf(s.candidate("g", "n", "a", "b")))
			for at := time.Duration(0); at < 4*time.Minute; at += time.Second {
				s.play(at)
				want, asked := test.want[at]
				if !asked {
					continue
				}
				var got []string
				for _, e := range s.Evicted() {
					got = append(got, e.Pod.Name)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("after %v (-want +got):\n%s", at, diff)
				}
			}
		})
	}
}
