package prices

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"example.com/cluster-autoscaler/cloudprovider/digitalocean/internal/doapi"
)

// List is the catalogue as seen from one region. The zero value knows no sizes. It is never changed.
type List struct {
	sizes  map[string]doapi.Size
	region string
}

// New makes a list. An empty region takes sizes of all regions for a pod's price.
func New(sizes []doapi.Size, region string) List {
	l := List{sizes: make(map[string]doapi.Size, len(sizes)), region: region}
	for _, size := range sizes {
		l.sizes[size.Slug] = size
	}
	return l
}

// Size finds a size by its slug.
func (l List) Size(slug string) (doapi.Size, bool) {
	size, ok := l.sizes[slug]
	return size, ok
}

// Node is the price of a node of that size for one hour, in US dollars. The monthly cap of single Droplets doesn't hold for the nodes of DOKS.
func (l List) Node(slug string) (float64, error) {
	size, known := l.sizes[slug]
	switch {
	case len(l.sizes) == 0:
		return 0, fmt.Errorf("the sizes could not be read, so that %q has no price", slug)
	case !known:
		return 0, fmt.Errorf("size %q has no price: the API doesn't list it", slug)
	case size.Hourly <= 0:
		return 0, fmt.Errorf("size %q has no price: the API lists it for %g USD an hour", slug, size.Hourly)
	}
	return size.Hourly, nil
}

// Pod is the lowest price of the share of a machine that the pod would fill, for one hour in US dollars; 0 for a pod without requests. A pod that is
// larger than all machines counts as so many of the cheapest ones for it.
func (l List) Pod(pod *corev1.Pod) (float64, error) {
	need := needOf(pod)
	if need == (demand{}) {
		return 0, nil
	}
	lowest, found := 0.0, false
	for _, fits := range []bool{true, false} {
		for _, size := range l.sizes {
			share := need.share(size)
			if !l.sold(size) || share < 0 || fits && share > 1 {
				continue
			}
			if price := share * size.Hourly; !found || price < lowest {
				lowest, found = price, true
			}
		}
		if found {
			return lowest, nil
		}
	}
	return 0, fmt.Errorf("pod %s/%s has no price: no size that is for sale offers all that it requests", pod.Namespace, pod.Name)
}

// sold tells whether a size can be had in the region.
func (l List) sold(size doapi.Size) bool {
	return size.Hourly > 0 && size.Available && (l.region == "" || slices.Contains(size.Regions, l.region))
}

// Models lists the accelerators of the catalogue, as the labels of nodes name them.
func (l List) Models() []string {
	var models []string
	for _, size := range l.sizes {
		if size.GPUs > 0 && size.GPUModel != "" {
			models = append(models, size.GPUModel)
		}
	}
	return models
}

// demand is what a pod asks for.
type demand struct {
	cores, bytes float64
	gpus         float64
}

func needOf(pod *corev1.Pod) demand {
	requests := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
	amount := func(name corev1.ResourceName) float64 {
		quantity := requests[name]
		return quantity.AsApproximateFloat64()
	}
	return demand{
		cores: amount(corev1.ResourceCPU), bytes: amount(corev1.ResourceMemory), gpus: amount("nvidia.com/gpu") + amount("amd.com/gpu"),
	}
}

// share is the largest part of a machine's resources that the demand takes; below 0: it lacks something. Accelerators are for those who ask for them.
func (d demand) share(size doapi.Size) float64 {
	if size.VCPUs <= 0 || size.MemoryMB <= 0 || (size.GPUs > 0) != (d.gpus > 0) {
		return -1
	}
	share := max(d.cores/float64(size.VCPUs), d.bytes/(float64(size.MemoryMB)*(1<<20)))
	if size.GPUs > 0 {
		share = max(share, d.gpus/float64(size.GPUs))
	}
	return share
}
