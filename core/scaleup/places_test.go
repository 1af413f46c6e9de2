package scaleup_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/core/clusterstate"
	"example.com/cluster-autoscaler/simulator/simtest"
)

func TestPlacesWithoutMachinesAreAvoided(t *testing.T) {
	machines := func(zone string) simtest.NodeBuilder {
		return simtest.Node("cloud-" + zone).CPU("2").Memory("8Gi").Zone(zone)
	}
	until := now.Add(5 * time.Minute)
	short := func(zones ...string) func(*clusterstate.GroupState) {
		return func(s *clusterstate.GroupState) {
			for _, zone := range zones {
				s.FailedPlaces = append(s.FailedPlaces, clusterstate.FailedPlace{Zone: zone, Until: until, Code: "InsufficientInstanceCapacity"})
			}
		}
	}
	for name, tc := range map[string]struct {
		short []string
		zone  string // that the pod wants; empty: any
		sizes []string
		told  string
	}{
		"a pod that may run elsewhere does":              {short: []string{"a"}, sizes: []string{"g 0->1"}, told: "Triggered by g"},
		"one that wants the place waits, and is told so": {short: []string{"a"}, zone: "a", told: "Unschedulable; g: in backoff after failed scale-up"},
		"one that wants another place does not wait":     {short: []string{"a"}, zone: "b", sizes: []string{"g 0->1"}, told: "Triggered by g"},
		"if all places are short, the group itself decides": {
			short: []string{"a", "b"}, zone: "a", sizes: []string{"g 0->1"}, told: "Triggered by g",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := pod("p", "1")
			if tc.zone != "" {
				p = p.NodeSelector(corev1.LabelTopologyZone, tc.zone)
			}
			w := world{
				groups: []group{{id: "g", max: 9, variants: []simtest.NodeBuilder{machines("a"), machines("b")}, state: short(tc.short...)}},
				pods:   []simtest.PodBuilder{p},
			}
			grown := w.grow(t)
			if diff := cmp.Diff(tc.sizes, sizes(grown)); diff != "" {
				t.Errorf("sizes (-want +got):\n%s", diff)
			}
			if got := verdicts(grown)["p"]; !strings.HasPrefix(got, tc.told) {
				t.Errorf("the pod is told %q, want %q", got, tc.told)
			}
		})
	}
}
