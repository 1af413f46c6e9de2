package estimator_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"example.com/cluster-autoscaler/estimator"
	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/simtest"
)

const csiDriver = "csi.example.com"

// bound is a claim with its volume.
func bound(name string) []runtime.Object {
	class := ""
	return []runtime.Object{
		&corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.PersistentVolumeSpec{
				Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: csiDriver, VolumeHandle: name}},
			},
		},
		&corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name, Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "yes"}},
			Spec:       corev1.PersistentVolumeClaimSpec{VolumeName: name, StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}},
			Status:     corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound},
		},
	}
}

// Q20: what a new node can attach counts, what its DaemonSet pods attach included.
func TestNewNodesAttachNoMoreVolumesThanTheyCan(t *testing.T) {
	for name, tc := range map[string]struct {
		limit int32 // 0: unknown
		nodes int
	}{
		"Q20: eight places, one of them taken by a DaemonSet": {limit: 8, nodes: 3},
		"nothing is known of a limit":                         {nodes: 1},
	} {
		t.Run(name, func(t *testing.T) {
			objects := bound("agent")
			var pods []*corev1.Pod
			for i := range 5 {
				pod := simtest.Pod(fmt.Sprint("p", i)).OwnedBy("StatefulSet", "db")
				for k := range 3 {
					claim := fmt.Sprintf("data-%d-%d", i, k)
					objects, pod = append(objects, bound(claim)...), pod.Claim(claim)
				}
				pods = append(pods, pod.Build())
			}
			fresh := simulator.NodeTemplate{Node: template().Build(), Pods: []*corev1.Pod{simtest.Pod("agent").DaemonSet("agent").Claim("agent").Build()}}
			if tc.limit > 0 {
				fresh.CSINode = &storagev1.CSINode{
					ObjectMeta: metav1.ObjectMeta{Name: "t"},
					Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{
						{Name: csiDriver, NodeID: "t", Allocatable: &storagev1.VolumeNodeResources{Count: &tc.limit}},
					}},
				}
			}
			result, err := estimator.Estimate(t.Context(), estimator.In{
				Snapshot: simtest.Snapshot(t, nil, nil), Scheduler: simtest.Scheduler(t, objects...), Classes: classes(pods), Shapes: []simulator.NodeTemplate{fresh},
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(result.New) != tc.nodes || len(result.Pods) != len(pods) {
				t.Errorf("%d nodes for %d pods, want %d for %d", len(result.New), len(result.Pods), tc.nodes, len(pods))
			}
		})
	}
}
