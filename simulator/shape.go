package simulator

import (
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/resource"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	schedulerutil "k8s.io/kubernetes/pkg/scheduler/util"

	"example.com/cluster-autoscaler/simulator/podfacts"
)

// shape is what all pods of one namespace have in common whose specifications say the same to the scheduler's filters. Names, labels, owners
// and the node that a pod is on are no part of it. A shape is never changed, except for what is worked out later and kept.
type shape struct {
	// pod is one of the pods; of it only the specification may be read.
	pod *corev1.Pod
	// asked is what a pod wants to find free on a node, held is what it takes there.
	asked, held amounts
	ports       []corev1.ContainerPort // of the host
	claims      bool                   // mounts PersistentVolumeClaims

	// affinity and antiAffinity are the required terms, with namespace selectors as they stand; spread are the hard constraints.
	affinity, antiAffinity []fwk.AffinityTerm
	spread                 []corev1.TopologySpreadConstraint
	withAffinity           bool // of any kind, even preferred

	// byFramework: nothing else can tell where the pods fit. Such are pods that name nodes, or mount what can be attached.
	byFramework bool

	// groups count the pods that hold each of the anti-affinity terms; made when the first pod is placed.
	groups []*tally
	// latest is the class of the pod that was looked at last.
	latest *podClass
}

// specKey tells most equal specifications by the addresses of their parts, which pods from one informer share. It is a short cut only: where
// it fails, contents are compared. Parts by which few pods differ are there by value or by address, never left out.
type specKey struct {
	namespace                string
	containers, inits        *corev1.Container
	tolerations              *corev1.Toleration
	affinity                 *corev1.Affinity
	spread                   *corev1.TopologySpreadConstraint
	volumes                  *corev1.Volume
	claims                   *corev1.PodResourceClaim
	resources                *corev1.ResourceRequirements
	group                    *corev1.PodSchedulingGroup
	os                       *corev1.PodOS
	selector, overhead       uintptr
	lengths                  [6]int
	hostNetwork, noHostUsers bool
	restart                  corev1.RestartPolicy
	priority                 int64
}

// remembered is a specKey's shape. The pod keeps the addresses in the key from being used again.
type remembered struct {
	shape *shape
	pod   *corev1.Pod
}

// maxKeys bounds how many addresses are remembered.
const maxKeys = 50_000

func keyOf(pod *corev1.Pod) specKey {
	spec := &pod.Spec
	k := specKey{
		namespace: pod.Namespace, affinity: spec.Affinity, resources: spec.Resources, group: spec.SchedulingGroup, os: spec.OS,
		selector: address(spec.NodeSelector), overhead: reflect.ValueOf(spec.Overhead).Pointer(),
		containers: first(spec.Containers), inits: first(spec.InitContainers), tolerations: first(spec.Tolerations),
		spread: first(spec.TopologySpreadConstraints), volumes: first(spec.Volumes), claims: first(spec.ResourceClaims),
		lengths: [6]int{
			len(spec.Containers), len(spec.InitContainers), len(spec.Tolerations), len(spec.TopologySpreadConstraints), len(spec.Volumes),
			len(spec.ResourceClaims),
		},
		hostNetwork: spec.HostNetwork, noHostUsers: spec.HostUsers != nil && !*spec.HostUsers, restart: spec.RestartPolicy,
		priority: priorityKey(spec.Priority),
	}
	return k
}

func address(m map[string]string) uintptr { return reflect.ValueOf(m).Pointer() }

func first[T any](slice []T) *T {
	if len(slice) == 0 {
		return nil
	}
	return &slice[0]
}

// priorityKey tells no priority from priority 0.
func priorityKey(priority *int32) int64 {
	if priority == nil {
		return -1 << 40
	}
	return int64(*priority)
}

// shapeOf is the pod's shape.
func (s *Snapshot) shapeOf(pod *corev1.Pod) *shape {
	key := keyOf(pod)
	if known, ok := s.byAddress[key]; ok {
		return known.shape
	}
	text, err := contentOf(pod)
	if err != nil { // specifications that can't be written can't come from an API server; each is then its own
		return s.newShape(pod)
	}
	sh, ok := s.shapes[text]
	if !ok {
		sh = s.newShape(pod)
		s.shapes[text] = sh
	}
	if len(s.byAddress) >= maxKeys {
		clear(s.byAddress)
	}
	s.byAddress[key] = remembered{shape: sh, pod: pod}
	return sh
}

// contentOf is a text that pods of one shape have in common, and no others.
func contentOf(pod *corev1.Pod) (string, error) {
	spec := plainSpec(&pod.Spec)
	content, err := spec.Marshal()
	return pod.Namespace + "\x00" + string(content), err
}

// plainSpec is the specification without what no filter reads. What is not known to be irrelevant stays.
func plainSpec(spec *corev1.PodSpec) corev1.PodSpec {
	out := *spec
	out.NodeName = "" // where the pod is; a pod that has it and is looked at as if it were still to be placed goes to the framework
	out.TerminationGracePeriodSeconds, out.ActiveDeadlineSeconds = nil, nil
	out.DNSPolicy, out.DNSConfig, out.HostAliases = "", nil, nil
	out.ServiceAccountName, out.DeprecatedServiceAccount, out.AutomountServiceAccountToken = "", "", nil
	out.HostPID, out.HostIPC, out.ShareProcessNamespace, out.SecurityContext = false, false, nil, nil
	out.ImagePullSecrets, out.ReadinessGates, out.EnableServiceLinks, out.EvictionResponders = nil, nil, nil, nil
	out.Hostname, out.Subdomain, out.SetHostnameAsFQDN, out.HostnameOverride = "", "", nil, nil
	out.SchedulerName, out.PriorityClassName, out.PreemptionPolicy, out.RuntimeClassName = "", "", nil, nil
	out.SchedulingGates, out.EphemeralContainers = nil, nil
	out.Volumes = slices.DeleteFunc(slices.Clone(spec.Volumes), func(v corev1.Volume) bool { return anywhere(&v) })
	out.Containers, out.InitContainers = plainContainers(spec.Containers), plainContainers(spec.InitContainers)
	return out
}

func plainContainers(containers []corev1.Container) []corev1.Container {
	out := make([]corev1.Container, len(containers))
	for i := range containers {
		c := &containers[i]
		out[i] = corev1.Container{
			Ports: c.Ports, Resources: c.Resources, ResizePolicy: c.ResizePolicy, RestartPolicy: c.RestartPolicy,
			RestartPolicyRules: c.RestartPolicyRules,
		}
		for _, mount := range c.VolumeMounts {
			if len(mount.BindMountOptions) > 0 {
				out[i].VolumeMounts = append(out[i].VolumeMounts, mount)
			}
		}
	}
	return out
}

// anywhere tells a volume that no node is better or worse for.
func anywhere(v *corev1.Volume) bool {
	return v.EmptyDir != nil || v.HostPath != nil || v.ConfigMap != nil || v.Secret != nil || v.DownwardAPI != nil || v.Projected != nil
}

func (s *Snapshot) newShape(pod *corev1.Pod) *shape {
	sh := &shape{pod: pod, ports: schedulerutil.GetHostPorts(pod)}
	var asked framework.Resource
	asked.SetMaxResource(resource.PodRequests(pod, resource.PodResourcesOptions{}))
	sh.asked = amountsOf(&asked)
	bare := *pod
	bare.Status = corev1.PodStatus{} // what a single pod's status says comes on top
	info, err := framework.NewPodInfo(&bare)
	sh.held = amountsOf(info.CalculateResource().Resource)
	sh.affinity, sh.antiAffinity = info.GetRequiredAffinityTerms(), info.GetRequiredAntiAffinityTerms()
	sh.byFramework = err != nil
	for range framework.PodPVCKeys(pod) {
		sh.claims = true
	}
	sh.byFramework = sh.byFramework || podfacts.HasResourceClaims(&bare) ||
		slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return !anywhere(&v) })
	sh.readAffinity(pod)
	for _, constraint := range pod.Spec.TopologySpreadConstraints {
		if constraint.WhenUnsatisfiable == corev1.DoNotSchedule {
			sh.spread = append(sh.spread, constraint)
		}
		if _, err := metav1.LabelSelectorAsSelector(constraint.LabelSelector); err != nil {
			sh.byFramework = true
		}
	}
	s.noteKeys(sh)
	return sh
}

func (sh *shape) readAffinity(pod *corev1.Pod) {
	affinity := pod.Spec.Affinity
	if affinity == nil {
		return
	}
	sh.withAffinity = affinity.PodAffinity != nil || affinity.PodAntiAffinity != nil
	if affinity.NodeAffinity == nil || affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return
	}
	for _, term := range affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		if len(term.MatchFields) > 0 {
			sh.byFramework = true
		}
	}
}

// restrictsNodes tells shapes whose pods suit some nodes only by their labels.
func (sh *shape) restrictsNodes() bool {
	spec := &sh.pod.Spec
	return len(spec.NodeSelector) > 0 || spec.Affinity != nil && spec.Affinity.NodeAffinity != nil &&
		spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil
}

// keySet is a growing set of label keys. Whatever was derived from an older version has to be derived anew.
type keySet struct {
	has     map[string]bool
	version int
}

func (k *keySet) add(key string) {
	if k.has[key] {
		return
	}
	if k.has == nil {
		k.has = map[string]bool{}
	}
	k.has[key] = true
	k.version++
}

// sorted are the keys in ascending order.
func (k *keySet) sorted() []string { return slices.Sorted(maps.Keys(k.has)) }

// noteKeys adds the keys of labels that the shape's selectors read: those of pods, and those of nodes.
func (s *Snapshot) noteKeys(sh *shape) {
	for _, terms := range [][]fwk.AffinityTerm{sh.affinity, sh.antiAffinity} {
		for i := range terms {
			s.noteSelector(terms[i].Selector)
		}
	}
	for i := range sh.pod.Spec.TopologySpreadConstraints {
		constraint := &sh.pod.Spec.TopologySpreadConstraints[i]
		if selector, err := metav1.LabelSelectorAsSelector(constraint.LabelSelector); err == nil {
			s.noteSelector(selector)
		}
		for _, key := range constraint.MatchLabelKeys {
			s.podKeys.add(key)
		}
	}
	for key := range sh.pod.Spec.NodeSelector {
		s.nodeKeys.add(key)
	}
	if affinity := sh.pod.Spec.Affinity; affinity != nil && affinity.NodeAffinity != nil {
		s.noteNodeSelector(affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
	}
}

func (s *Snapshot) noteNodeSelector(selector *corev1.NodeSelector) {
	if selector == nil {
		return
	}
	for _, term := range selector.NodeSelectorTerms {
		for _, expression := range term.MatchExpressions {
			s.nodeKeys.add(expression.Key)
		}
	}
}

func (s *Snapshot) noteSelector(selector labels.Selector) {
	requirements, _ := selector.Requirements()
	for _, requirement := range requirements {
		s.podKeys.add(requirement.Key())
	}
}

// heldByStatus is what a pod takes whose status says more of that than its specification; ok is false for all others. Such are pods that are
// being resized.
func heldByStatus(pod *corev1.Pod) (held amounts, ok bool) {
	if !resized(pod) {
		return amounts{}, false
	}
	info, _ := framework.NewPodInfo(pod) // errors are about affinity
	return amountsOf(info.CalculateResource().Resource), true
}

func resized(pod *corev1.Pod) bool {
	status := &pod.Status
	if status.Resources != nil || len(status.AllocatedResources) > 0 || len(status.NodeAllocatableResourceClaimStatuses) > 0 ||
		status.ExtendedResourceClaimStatus != nil {
		return true
	}
	for _, list := range [][]corev1.ContainerStatus{status.ContainerStatuses, status.InitContainerStatuses} {
		for i := range list {
			if list[i].Resources != nil || len(list[i].AllocatedResources) > 0 {
				return true
			}
		}
	}
	return false
}
