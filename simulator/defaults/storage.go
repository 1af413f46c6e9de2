package defaults

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

func volume(o *corev1.PersistentVolume) {
	if o.Spec.PersistentVolumeReclaimPolicy == "" {
		o.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
	}
	if o.Spec.VolumeMode == nil {
		o.Spec.VolumeMode = new(corev1.PersistentVolumeFilesystem)
	}
	if o.Status.Phase == "" {
		o.Status.Phase = corev1.VolumePending
	}
}

func claimSpec(spec *corev1.PersistentVolumeClaimSpec) {
	if spec.VolumeMode == nil {
		spec.VolumeMode = new(corev1.PersistentVolumeFilesystem)
	}
}

func driver(o *storagev1.CSIDriver) {
	if o.Spec.AttachRequired == nil {
		o.Spec.AttachRequired = new(true)
	}
	if o.Spec.PodInfoOnMount == nil {
		o.Spec.PodInfoOnMount = new(false)
	}
	if o.Spec.StorageCapacity == nil {
		o.Spec.StorageCapacity = new(false)
	}
	if len(o.Spec.VolumeLifecycleModes) == 0 {
		o.Spec.VolumeLifecycleModes = []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent}
	}
}

// defaultClassAnnotations mark the class of claims that name none; the second is what older clusters have.
func defaultClassAnnotations() []string {
	return []string{"storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"}
}

// SetStorageClass gives the claims that name no class the default one, if there is any: of several the newest, of equally old ones the
// first by name. An empty name is a name: such claims want no class.
func SetStorageClass(claims []*corev1.PersistentVolumeClaim, classes []*storagev1.StorageClass) {
	candidates := slices.DeleteFunc(slices.Clone(classes), func(class *storagev1.StorageClass) bool {
		return !slices.ContainsFunc(defaultClassAnnotations(), func(key string) bool { return class.Annotations[key] == "true" })
	})
	if len(candidates) == 0 {
		return
	}
	name := slices.MinFunc(candidates, func(a, b *storagev1.StorageClass) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	}).Name
	for _, claim := range claims {
		if claim.Spec.StorageClassName == nil && claim.Annotations[corev1.BetaStorageClassAnnotation] == "" {
			claim.Spec.StorageClassName = &name
		}
	}
}
