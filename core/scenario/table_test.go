package scenario

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

func TestATableListsWhatIsInItByKeyWhateverCameAndWent(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	nodes := newTable[*corev1.Node](store)
	there := map[string]string{}
	for step := range 3000 {
		name := fmt.Sprintf("n-%d", random.IntN(40))
		if random.IntN(3) == 0 {
			delete(there, name)
			if err := nodes.drop(name); err != nil {
				t.Fatal(err)
			}
		} else {
			there[name] = fmt.Sprint(step)
			if err := nodes.put(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: there[name]}}); err != nil {
				t.Fatal(err)
			}
		}
		if random.IntN(4) > 0 { // several changes before somebody looks
			continue
		}
		var want, got []string
		for _, key := range sortedKeys(there) {
			want = append(want, key+" "+there[key])
		}
		for _, node := range nodes.all() {
			got = append(got, node.Name+" "+node.ResourceVersion)
		}
		if diff := cmp.Diff(want, got); diff != "" || !slices.IsSorted(nodes.keys) || len(store.ListKeys()) != len(there) {
			t.Fatalf("step %d, %d in the store (-want +got):\n%s", step, len(store.ListKeys()), diff)
		}
	}
}
