package drain_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/simulator/drain"
	"example.com/cluster-autoscaler/simulator/simtest"
)

// randomPod is a pod about which any of the rules may have something to say.
func randomPod(random *rand.Rand, name string) *corev1.Pod {
	p := simtest.Pod(name).Label("app", []string{"a", "b", "c"}[random.IntN(3)])
	if random.IntN(4) > 0 {
		p = p.OwnedBy("ReplicaSet", []string{"rs", "single", "unset", "denied", "gone"}[random.IntN(5)])
	}
	switch random.IntN(8) {
	case 0:
		p = p.Annotation(safeToEvict, []string{"true", "false", "on-completion"}[random.IntN(3)])
	case 1:
		p = p.Annotation(runsAsDaemon, "true")
	case 2:
		p = p.Annotation(corev1.MirrorPodAnnotationKey, "x")
	case 3:
		p = p.With(func(pod *corev1.Pod) {
			pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		})
	case 4:
		p = p.With(func(pod *corev1.Pod) { pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "claim"}} })
	case 5:
		p = p.With(func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed })
	}
	if random.IntN(4) == 0 {
		p = p.With(func(pod *corev1.Pod) { pod.Namespace = metav1.NamespaceSystem })
	}
	return p.Build()
}

// Pods that are alike are judged as if each had been looked at, while the budgets get smaller.
func TestRulingsAreThoseOfEachPod(t *testing.T) {
	t.Parallel()
	outcomes := map[string]int{}
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		var pdbs []*policyv1.PodDisruptionBudget
		for i := range random.IntN(4) {
			pdb := budgetFor(fmt.Sprint("pdb-", i), []string{"a", "b", "c"}[random.IntN(3)], int32(random.IntN(4)))
			if random.IntN(8) == 0 {
				pdb.Spec.Selector.MatchLabels = map[string]string{"not a key": "?"}
			}
			pdbs = append(pdbs, pdb)
		}
		plain := drain.Context{At: now, Workloads: existing(), Budgets: drain.NewBudgets(pdbs), Options: defaults()}
		plain.Options.SkipNodesWithCustomControllerPods = random.IntN(2) == 0
		remembering := plain
		remembering.Budgets = plain.Budgets.Copy()
		rulings := drain.NewRulings(remembering)
		var pods []*corev1.Pod
		var classes []int
		for class := range 6 {
			model := randomPod(random, fmt.Sprint("class-", class))
			for i := range 1 + random.IntN(3) {
				pod := model.DeepCopy()
				pod.Name = fmt.Sprintf("%s-%d", model.Name, i)
				pod.CreationTimestamp = metav1.NewTime(now.Add(-time.Duration(random.IntN(120)) * time.Minute))
				if class == 0 {
					pod.DeletionTimestamp = &metav1.Time{Time: now.Add(-time.Duration(random.IntN(3)) * time.Minute)}
				}
				pods, classes = append(pods, pod), append(classes, class)
			}
		}
		for range 3 {
			random.Shuffle(len(pods), func(i, j int) {
				pods[i], pods[j], classes[i], classes[j] = pods[j], pods[i], classes[j], classes[i]
			})
			for i, pod := range pods {
				want, got := drain.Judge(pod, plain), rulings.Judge(pod, classes[i])
				if !reflect.DeepEqual(want, got.Decision) && fmt.Sprint(want) != fmt.Sprint(got.Decision) || want.Moves(pod) != got.Moves || got.Pod != pod {
					t.Fatalf("seed %d: %+v about pod %s, want %+v", seed, got, pod.Name, want)
				}
				outcomes[want.Rule+string(want.Reason)]++
			}
			few := random.IntN(len(pods))
			want := plain.Budgets.CanRemove(pods[:few])
			plain.Budgets.Lower(pods[:few])
			got := rulings.Remove(func(yield func(*corev1.Pod, int) bool) {
				for i := range few {
					if !yield(pods[i], classes[i]) {
						return
					}
				}
			})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d: verdict (-want +got):\n%s", seed, diff)
			}
		}
	}
	t.Log(outcomes)
	if len(outcomes) < 10 {
		t.Errorf("only %d kinds of decisions, the test proves nothing: %v", len(outcomes), outcomes)
	}
}
