package template

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/digitalocean/internal/doapi"
)

// The labels that DOKS puts on its nodes.
const (
	LabelPool     = "doks.digitalocean.com/node-pool"
	LabelPoolID   = "doks.digitalocean.com/node-pool-id"
	LabelNodeID   = "doks.digitalocean.com/node-id"
	LabelVersion  = "doks.digitalocean.com/version"
	LabelManaged  = "doks.digitalocean.com/managed"
	LabelGPUBrand = "doks.digitalocean.com/gpu-brand"
	LabelGPUModel = "doks.digitalocean.com/gpu-model"
	labelRegion   = "region"
)

const (
	gib = 1 << 30
	// volumeDriver attaches block storage, at most volumeLimit volumes to a machine.
	volumeDriver = "dobs.csi.digitalocean.com"
	volumeLimit  = 15
	// What the file system and kubelet's eviction threshold keep from the pods of a disk.
	diskVisible, diskAllocatable = 0.95, 0.85
)

// Source is all that a template is made from.
type Source struct {
	Pool     doapi.Pool
	Template doapi.Template
	Cluster  doapi.Cluster
	Size     *doapi.Size // of the pool's Droplets; nil: unknown, and with it the disk
	Now      time.Time
}

// Variant makes the one variant of a pool. The error says what the API left out or got wrong.
func Variant(s Source) (cloudprovider.TemplateVariant, error) {
	capacity, err := resources(s.Template.Capacity, "capacity")
	if err != nil {
		return cloudprovider.TemplateVariant{}, err
	}
	allocatable, err := resources(s.Template.Allocatable, "allocatable")
	if err != nil {
		return cloudprovider.TemplateVariant{}, err
	}
	taints, err := s.taints()
	if err != nil {
		return cloudprovider.TemplateVariant{}, err
	}
	s.addDisk(capacity, allocatable)
	for _, list := range []corev1.ResourceList{capacity, allocatable} {
		if gpu := s.Template.GPU; gpu != nil && gpu.Count > 0 {
			list[corev1.ResourceName(brandOf(*gpu)+".com/gpu")] = *resource.NewQuantity(gpu.Count, resource.DecimalSI)
		}
	}
	name := s.Pool.Name + "-template"
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: s.labels(name), CreationTimestamp: metav1.NewTime(s.Now)},
		Spec:       corev1.NodeSpec{Taints: taints},
		Status:     corev1.NodeStatus{Capacity: capacity, Allocatable: allocatable, Conditions: conditions(s.Now), Phase: corev1.NodeRunning},
	}
	return cloudprovider.TemplateVariant{
		Key: cmp.Or(s.slug(), "default"), Node: node, CSINode: volumes(name), Weight: 1, Promise: cloudprovider.PromiseCertain,
	}, nil
}

func (s Source) slug() string { return cmp.Or(s.Template.Slug, s.Pool.Size) }

// resources reads one of the two lists of a template.
func resources(r *doapi.Resources, what string) (corev1.ResourceList, error) {
	if r == nil {
		return nil, fmt.Errorf("the template has no %s", what)
	}
	milli := r.MilliCPU
	if milli == 0 {
		milli = r.CPU * 1000
	}
	memory, err := resource.ParseQuantity(r.Memory)
	switch {
	case milli <= 0:
		return nil, fmt.Errorf("the %s of the template has %d milli-CPU: want more than 0", what, milli)
	case err != nil:
		return nil, fmt.Errorf("the %s of the template has the memory %q: want a quantity such as 2048Mi", what, r.Memory)
	case memory.Sign() <= 0:
		return nil, fmt.Errorf("the %s of the template has the memory %q: want more than 0", what, r.Memory)
	case r.Pods <= 0:
		return nil, fmt.Errorf("the %s of the template has room for %d pods: want more than 0", what, r.Pods)
	}
	return corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(milli, resource.DecimalSI),
		corev1.ResourceMemory: memory,
		corev1.ResourcePods:   *resource.NewQuantity(r.Pods, resource.DecimalSI),
	}, nil
}

// addDisk adds the local disk, if it is known: without it pods that ask for ephemeral storage could never start a pool from zero.
func (s Source) addDisk(capacity, allocatable corev1.ResourceList) {
	if s.Size == nil || s.Size.DiskGB <= 0 {
		return
	}
	disk := float64(s.Size.DiskGB) * gib
	capacity[corev1.ResourceEphemeralStorage] = *resource.NewQuantity(int64(disk*diskVisible), resource.BinarySI)
	allocatable[corev1.ResourceEphemeralStorage] = *resource.NewQuantity(int64(disk*diskAllocatable), resource.BinarySI)
}

// labels are those that the node will have, save the one that holds its id.
func (s Source) labels(name string) map[string]string {
	labels := map[string]string{
		corev1.LabelOSStable: "linux", "beta.kubernetes.io/os": "linux", corev1.LabelArchStable: "amd64", "beta.kubernetes.io/arch": "amd64",
		corev1.LabelHostname: name,
	}
	set := func(value string, keys ...string) {
		for _, key := range keys {
			if value != "" {
				labels[key] = value
			}
		}
	}
	set(s.slug(), corev1.LabelInstanceTypeStable, corev1.LabelInstanceType)
	set(s.Cluster.Region, corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaRegion, labelRegion)
	maps.Copy(labels, s.Template.Labels)
	maps.Copy(labels, s.Pool.Labels)
	set(s.Pool.Name, LabelPool)
	set(s.Pool.ID, LabelPoolID)
	set(s.Cluster.Version, LabelVersion)
	set("true", LabelManaged)
	if gpu := s.Template.GPU; gpu != nil && gpu.Count > 0 {
		set(brandOf(*gpu), LabelGPUBrand)
		set(strings.ToLower(gpu.Model), LabelGPUModel)
	}
	delete(labels, LabelNodeID)
	return labels
}

// brandOf is nvidia or amd.
func brandOf(gpu doapi.GPU) string {
	model := strings.ToLower(gpu.Model)
	switch vendor := strings.ToLower(gpu.Vendor); {
	case vendor == "amd", vendor == "" && strings.HasPrefix(model, "mi"):
		return "amd"
	default:
		return "nvidia"
	}
}

// taints are those of the template, of the pool, and of the accelerators; each key and effect once.
func (s Source) taints() ([]corev1.Taint, error) {
	var taints []corev1.Taint
	known := map[string]bool{}
	add := func(t corev1.Taint) {
		if key := t.Key + ":" + string(t.Effect); !known[key] {
			known[key] = true
			taints = append(taints, t)
		}
	}
	for _, text := range s.Template.Taints {
		if strings.HasSuffix(text, "-") {
			continue // the form in which a taint is taken off
		}
		t, err := parseTaint(text)
		if err != nil {
			return nil, fmt.Errorf("the template has the taint %q: %w", text, err)
		}
		add(t)
	}
	for _, t := range s.Pool.Taints {
		taint := corev1.Taint{Key: t.Key, Value: t.Value, Effect: corev1.TaintEffect(t.Effect)}
		if err := checkTaint(taint); err != nil {
			return nil, fmt.Errorf("the pool has the taint %s=%s:%s: %w", t.Key, t.Value, t.Effect, err)
		}
		add(taint)
	}
	if gpu := s.Template.GPU; gpu != nil && gpu.Count > 0 {
		add(corev1.Taint{Key: brandOf(*gpu) + ".com/gpu", Effect: corev1.TaintEffectNoSchedule})
	}
	return taints, nil
}

// parseTaint reads KEY=VALUE:EFFECT or KEY:EFFECT.
func parseTaint(text string) (corev1.Taint, error) {
	front, effect, _ := strings.Cut(text, ":")
	key, value, _ := strings.Cut(front, "=")
	taint := corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)}
	return taint, checkTaint(taint)
}

func checkTaint(t corev1.Taint) error {
	switch t.Effect {
	case corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute:
	default:
		return errors.New("want KEY=VALUE:EFFECT or KEY:EFFECT with the effect NoSchedule, PreferNoSchedule or NoExecute")
	}
	if t.Key == "" || strings.ContainsAny(t.Key+t.Value, " \t:=") {
		return errors.New("want a key and a value of a taint")
	}
	return nil
}

// conditions are those of a node that is ready.
func conditions(now time.Time) []corev1.NodeCondition {
	since := metav1.NewTime(now.Add(-time.Minute))
	list := []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: since}}
	for _, bad := range []corev1.NodeConditionType{
		corev1.NodeNetworkUnavailable, corev1.NodeDiskPressure, corev1.NodeMemoryPressure, corev1.NodePIDPressure,
	} {
		list = append(list, corev1.NodeCondition{Type: bad, Status: corev1.ConditionFalse, LastTransitionTime: since})
	}
	return list
}

// volumes says how many volumes can be attached to a node.
func volumes(node string) *storagev1.CSINode {
	limit := int32(volumeLimit)
	return &storagev1.CSINode{
		ObjectMeta: metav1.ObjectMeta{Name: node},
		Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{
			Name: volumeDriver, NodeID: node, Allocatable: &storagev1.VolumeNodeResources{Count: &limit},
		}}},
	}
}
