package randomcluster

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// mount gives the pod a volume or two.
func (g *Generator) mount(pod *corev1.Pod) {
	for range 1 + g.Of(2) {
		volume := corev1.Volume{Name: "v" + string(rune('0'+len(pod.Spec.Volumes)))}
		switch g.Of(8) {
		case 0:
			volume.EmptyDir = &corev1.EmptyDirVolumeSource{}
		case 1:
			volume.GCEPersistentDisk = &corev1.GCEPersistentDiskVolumeSource{PDName: "disk", ReadOnly: g.Chance(30)}
		default:
			claim := Pick(g.Choices, "plain", "zonal", "on-nodes", "local", "exclusive", "plain", "more", "other", "plain", "more", "other", "late", "late-zonal", "lost", "waiting", "missing")
			volume.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}
		}
		pod.Spec.Volumes = append(pod.Spec.Volumes, volume)
	}
}

// volumes are the claims of a namespace, all but the one called missing, with their volumes and classes.
func volumes(namespace string) []runtime.Object {
	inZone := func(zone string) *corev1.VolumeNodeAffinity { return nodesWith(corev1.LabelTopologyZone, zone) }
	zonal := volume(namespace, "zonal", nil)
	zonal.Labels = map[string]string{corev1.LabelTopologyZone: "z0"}
	exclusive := claim(namespace, "exclusive", namespace+"-exclusive", "")
	exclusive.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
	immediate, late := storagev1.VolumeBindingImmediate, storagev1.VolumeBindingWaitForFirstConsumer
	bound := func(name string) *corev1.PersistentVolumeClaim { return claim(namespace, name, namespace+"-"+name, "") }
	return []runtime.Object{
		bound("plain"), volume(namespace, "plain", nil),
		bound("more"), volume(namespace, "more", nil),
		bound("other"), volume(namespace, "other", nil),
		bound("zonal"), zonal,
		bound("on-nodes"), volume(namespace, "on-nodes", inZone("z1")),
		bound("local"), volume(namespace, "local", nodesWith(corev1.LabelHostname, "n1")),
		exclusive, volume(namespace, "exclusive", nil),
		bound("lost"), // its volume is gone
		claim(namespace, "waiting", "", "at-once"), claim(namespace, "late", "", "late"), claim(namespace, "late-zonal", "", "late-zonal"),
		&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "at-once"}, Provisioner: driver, VolumeBindingMode: &immediate},
		&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "late"}, Provisioner: driver, VolumeBindingMode: &late},
		&storagev1.StorageClass{
			ObjectMeta: metav1.ObjectMeta{Name: "late-zonal"}, Provisioner: driver, VolumeBindingMode: &late,
			AllowedTopologies: []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{
				{Key: corev1.LabelTopologyZone, Values: []string{"z0"}},
			}}},
		},
	}
}

func nodesWith(key, value string) *corev1.VolumeNodeAffinity {
	return &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}},
	}}}}
}

func volume(namespace, name string, where *corev1.VolumeNodeAffinity) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: namespace + "-" + name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			AccessModes:            []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: namespace + "-" + name}},
			NodeAffinity:           where,
		},
	}
}

// claim is bound to the volume, or waits for one of the class.
func claim(namespace, name, volume, class string) *corev1.PersistentVolumeClaim {
	out := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			VolumeName: volume, StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		},
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending},
	}
	if volume != "" {
		out.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
		out.Status.Phase = corev1.ClaimBound
	}
	return out
}
