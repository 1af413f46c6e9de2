package aws_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws"
	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
)

// batch is the Auto Scaling group of the managed node group "batch" of cluster "c", at zero.
func batch(n awstest.Nodegroup) awstest.Group {
	return awstest.Group{Name: "eks-" + n.Name, Max: 3, Tags: n.GroupTags()}
}

// newManaged makes a provider for one managed node group at zero, and reads it.
func newManaged(t *testing.T, n awstest.Nodegroup) *rig {
	t.Helper()
	n.Cluster, n.Name = "c", "batch"
	r := newRig(t, aws.Options{AutoDiscovery: []string{"asg:tag=k8s.io/cluster-autoscaler/enabled"}}, batch(n))
	r.put(n)
	r.refresh()
	return r
}

func (r *rig) put(n awstest.Nodegroup) {
	r.t.Helper()
	if err := r.server.PutNodegroup(n); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) update(change func(*awstest.Nodegroup)) {
	r.t.Helper()
	if err := r.server.UpdateNodegroup("c", "batch", change); err != nil {
		r.t.Fatal(err)
	}
}

// fresh is the node of the only template of a group.
func (r *rig) fresh(name string) *corev1.Node {
	r.t.Helper()
	list, err := r.group(name).Templates(r.ctx())
	if err != nil || len(list) != 1 {
		r.t.Fatalf("templates of %s: %v, %v", name, list, err)
	}
	return list[0].Node
}

// some picks labels.
func some(labels map[string]string, keys ...string) map[string]string {
	out := map[string]string{}
	for _, key := range keys {
		if value, ok := labels[key]; ok {
			out[key] = value
		}
	}
	return out
}

// Case C19: the taint names of the EKS API.
func TestAManagedNodeGroupAtZeroHasTheLabelsAndTaintsThatEKSKnows(t *testing.T) {
	r := newManaged(t, awstest.Nodegroup{
		AMIType: "AL2023_x86_64_STANDARD", CapacityType: "SPOT", Labels: map[string]string{"team": "batch"}, DiskSizeGiB: 80,
		LaunchTemplate: &awstest.LaunchTemplateRef{ID: "lt-0123", Name: "mine", Version: "7"},
		Taints: []awstest.NodegroupTaint{
			{Key: "team", Value: "batch", Effect: "NO_SCHEDULE"}, {Key: "bare", Effect: "NO_EXECUTE"}, {Key: "soft", Effect: "PREFER_NO_SCHEDULE"}, {Key: "new", Effect: "SOMETIMES"},
		},
	})
	node := r.fresh("eks-batch")
	wantTaints := []corev1.Taint{
		{Key: "bare", Effect: "NoExecute"}, {Key: "new", Effect: "NoSchedule"}, {Key: "soft", Effect: "PreferNoSchedule"}, {Key: "team", Value: "batch", Effect: "NoSchedule"},
	}
	if diff := cmp.Diff(wantTaints, node.Spec.Taints); diff != "" {
		t.Errorf("taints (-want +got):\n%s", diff)
	}
	wantLabels := map[string]string{
		"team": "batch", "eks.amazonaws.com/nodegroup": "batch", "eks.amazonaws.com/capacityType": "SPOT",
		"eks.amazonaws.com/sourceLaunchTemplateId": "lt-0123", "eks.amazonaws.com/sourceLaunchTemplateVersion": "7",
	}
	got := some(node.Labels, "team", "eks.amazonaws.com/nodegroup", "eks.amazonaws.com/capacityType", "eks.amazonaws.com/sourceLaunchTemplateId",
		"eks.amazonaws.com/sourceLaunchTemplateVersion", "diskSize", "amiType", "k8sVersion", "nodegroup-name", "cluster-name")
	if diff := cmp.Diff(wantLabels, got); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if disk := node.Status.Capacity.StorageEphemeral().String(); disk != "80Gi" {
		t.Errorf("a disk of %s", disk)
	}
	if list, err := r.group("eks-batch").Templates(r.ctx()); err != nil || list[0].Promise != cloudprovider.PromiseCertain {
		t.Errorf("all is known, and yet: %v, %v", list, err)
	}
	if got := r.count("DescribeNodegroup"); got != 1 {
		t.Errorf("%d questions", got)
	}
}

func TestEKSWinsOverTheTagsOfTheGroup(t *testing.T) {
	const prefix = "k8s.io/cluster-autoscaler/node-template/"
	n := awstest.Nodegroup{
		Cluster: "c", Name: "batch", Labels: map[string]string{"team": "eks"}, Taints: []awstest.NodegroupTaint{{Key: "a", Value: "eks", Effect: "NO_SCHEDULE"}},
		Tags: map[string]string{
			prefix + "resources/ephemeral-storage": "80Gi", prefix + "resources/example.com/slot": "4", prefix + "label/zoo": "node-group", prefix + "label/team": "tag",
			prefix + "autoscaling-options/scaledownunneededtime": "2h", prefix + "autoscaling-options/maxnodestartuptime": "20m",
		},
	}
	group := batch(n)
	group.Tags = append(group.Tags, tags(prefix+"label/team=asg", prefix+"label/only=asg", prefix+"taint/a=asg:NoSchedule", prefix+"taint/a=x:NoExecute",
		prefix+"resources/ephemeral-storage=40Gi", prefix+"autoscaling-options/scaledownunneededtime=1h")...)
	r := newRig(t, aws.Options{AutoDiscovery: []string{"asg:tag=k8s.io/cluster-autoscaler/enabled"}}, group)
	r.put(n)
	r.refresh()
	node := r.fresh("eks-batch")
	if diff := cmp.Diff(map[string]string{"team": "eks", "only": "asg", "zoo": "node-group"}, some(node.Labels, "team", "only", "zoo")); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	// Of the two taints of the group's tags the second key replaces the first: a tag key is there once.
	if diff := cmp.Diff([]corev1.Taint{{Key: "a", Value: "x", Effect: "NoExecute"}, {Key: "a", Value: "eks", Effect: "NoSchedule"}}, node.Spec.Taints); diff != "" {
		t.Errorf("taints (-want +got):\n%s", diff)
	}
	slots := node.Status.Allocatable["example.com/slot"]
	if disk := node.Status.Allocatable.StorageEphemeral().String(); disk != "80Gi" || slots.Value() != 4 {
		t.Errorf("disk %s, slots %s", disk, slots.String())
	}
	want := cloudprovider.OptionOverrides{ScaleDownUnneededTime: new(time.Hour), MaxNodeStartupTime: new(20 * time.Minute)}
	if diff := cmp.Diff(want, r.state("eks-batch").Options); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
}

func TestNodeGroupsOfTwoClustersAreNotMixedUp(t *testing.T) {
	one := awstest.Nodegroup{Cluster: "c", Name: "batch", Labels: map[string]string{"team": "one"}}
	two := awstest.Nodegroup{Cluster: "d", Name: "batch", Labels: map[string]string{"team": "two"}}
	first, second := batch(one), batch(two)
	second.Name = "other"
	r := newRig(t, aws.Options{AutoDiscovery: []string{"asg:tag=k8s.io/cluster-autoscaler/enabled"}}, first, second)
	r.put(one)
	r.put(two)
	r.refresh()
	if a, b := r.fresh("eks-batch").Labels["team"], r.fresh("other").Labels["team"]; a != "one" || b != "two" {
		t.Errorf("labels %s and %s", a, b)
	}
}

// Case C20: the EKS call is denied.
func TestWithoutPermissionToAskEKSNothingIsBoughtOnAGuess(t *testing.T) {
	n := awstest.Nodegroup{Cluster: "c", Name: "batch", Labels: map[string]string{"team": "batch"}}
	r := newRig(t, aws.Options{AutoDiscovery: []string{"asg:tag=k8s.io/cluster-autoscaler/enabled"}}, batch(n), awstest.Group{
		Name: "good", Max: 3, Tags: tags("k8s.io/cluster-autoscaler/enabled=true"),
	})
	r.put(n)
	r.server.Deny("eks:DescribeNodegroup")
	r.refresh()
	for range 10 { // minutes
		_, err := r.group("eks-batch").Templates(r.ctx())
		if kind(err) != "configuration" {
			t.Fatalf("%s: %v", kind(err), err)
		}
		for _, part := range []string{"eks-batch", "labels and taints of EKS node group batch of cluster c", "AccessDenied", "eks:DescribeNodegroup"} {
			if !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "\n") {
				t.Fatalf("the error lacks %q: %v", part, err)
			}
		}
		if got, err := r.variants("good"); err != nil || len(got) != 1 {
			t.Fatalf("the other group: %v, %v", got, err)
		}
		r.after(time.Minute)
	}
	if got := r.count("DescribeNodegroup"); got < 3 || got > 4 { // at 0, 1, 3 and 7 minutes
		t.Errorf("%d questions in ten minutes", got)
	}
	r.server.Allow("eks:DescribeNodegroup")
	for range 7 { // minutes
		r.after(time.Minute)
	}
	if got := r.fresh("eks-batch").Labels["team"]; got != "batch" {
		t.Errorf("seven minutes after the permission was given: label %q", got)
	}
}

func TestTagsStandInForWhatEKSDoesNotTell(t *testing.T) {
	described := tags("k8s.io/cluster-autoscaler/node-template/label/team=tagged")
	n := awstest.Nodegroup{Cluster: "c", Name: "batch", Labels: map[string]string{"team": "eks"}}
	tests := map[string]struct {
		prepare func(*awstest.Server)
		tags    []awstest.Tag
		want    string // the label, or the kind of the error
	}{
		"denied, nothing described":                       {prepare: func(s *awstest.Server) { s.Deny("eks:DescribeNodegroup") }, want: "configuration"},
		"denied, the tags describe the nodes":             {prepare: func(s *awstest.Server) { s.Deny("eks:DescribeNodegroup") }, tags: described, want: "tagged possible"},
		"no such node group, the tags were set by hand":   {prepare: func(s *awstest.Server) { s.RemoveNodegroup("c", "batch") }, want: " possible"},
		"no such node group, the tags describe the nodes": {prepare: func(s *awstest.Server) { s.RemoveNodegroup("c", "batch") }, tags: described, want: "tagged possible"},
		"throttled": {
			prepare: func(s *awstest.Server) {
				s.Inject(awstest.Fault{Action: "DescribeNodegroup", Effect: awstest.Throttle{}})
			}, tags: described, want: "transient",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			group := batch(n)
			group.Tags = append(group.Tags, test.tags...)
			r := newRig(t, aws.Options{AutoDiscovery: []string{"asg:tag=k8s.io/cluster-autoscaler/enabled"}}, group)
			r.put(n)
			test.prepare(r.server)
			r.refresh()
			list, err := r.group("eks-batch").Templates(r.ctx())
			got := kind(err)
			if err == nil {
				got = list[0].Node.Labels["team"] + " " + list[0].Promise.String()
			}
			if got != test.want {
				t.Errorf("%s, want %s (%v)", got, test.want, err)
			}
		})
	}
}

func TestWhatEKSOnceToldStaysWhileItFails(t *testing.T) {
	r := newManaged(t, awstest.Nodegroup{Labels: map[string]string{"team": "batch"}})
	r.server.Deny("eks:DescribeNodegroup")
	for range 30 { // minutes
		r.after(time.Minute)
		if got := r.fresh("eks-batch").Labels["team"]; got != "batch" {
			t.Fatalf("label %q", got)
		}
	}
	if got := r.count("DescribeNodegroup"); got < 3 || got > 10 {
		t.Errorf("%d questions in half an hour", got)
	}
}

func TestEKSIsAskedAtOnceWhenItChangedTheGroup(t *testing.T) {
	r := newManaged(t, awstest.Nodegroup{Labels: map[string]string{"team": "old"}})
	r.update(func(n *awstest.Nodegroup) { n.Labels = map[string]string{"team": "new"} })
	r.after(time.Minute)
	if got := r.fresh("eks-batch").Labels["team"]; got != "old" {
		t.Errorf("without a sign the label is %q", got)
	}
	r.server.PutLaunchTemplate(awstest.LaunchTemplate{Name: "workers", Versions: []awstest.LaunchTemplateVersion{{InstanceType: "m5.large"}, {InstanceType: "m5.large"}}})
	if err := r.server.UpdateGroup("eks-batch", func(g *awstest.Group) { g.LaunchTemplate = &awstest.LaunchTemplateRef{Name: "workers", Version: "2"} }); err != nil {
		t.Fatal(err)
	}
	r.after(time.Minute)
	if got := r.fresh("eks-batch").Labels["team"]; got != "new" {
		t.Errorf("after a new version of the launch template the label is %q", got)
	}
	if got := r.count("DescribeNodegroup"); got != 2 {
		t.Errorf("%d questions", got)
	}
}

func TestWhatEKSIsDoingHoldsTheGroup(t *testing.T) {
	r := newManaged(t, awstest.Nodegroup{})
	for status, want := range map[awstest.NodegroupStatus][]bool{ // held, suspended
		awstest.NodegroupActive: {false, false}, awstest.NodegroupUpdating: {true, false}, awstest.NodegroupDegraded: {false, false}, awstest.NodegroupDeleting: {true, true},
	} {
		r.update(func(n *awstest.Nodegroup) { n.Status = status })
		r.after(12 * time.Minute)
		state := r.state("eks-batch")
		if got := []bool{strings.Contains(state.Held, string(status)), state.Suspended != ""}; !slices.Equal(got, want) {
			t.Errorf("%s: held %q, suspended %q", status, state.Held, state.Suspended)
		}
	}
}

// Case C22: a Windows group.
func TestTheImageTypeOfEKSTellsTheSystem(t *testing.T) {
	tests := map[string]struct {
		group map[string]string
		pods  int    // that come with the node
		disk  string // of a machine whose launch template and image tell none
	}{
		"WINDOWS_CORE_2022_x86_64": {group: map[string]string{"kubernetes.io/os": "windows", "node.kubernetes.io/windows-build": "10.0.20348", "kubernetes.io/arch": "amd64"}, disk: "50Gi"},
		"WINDOWS_FULL_2025_x86_64": {group: map[string]string{"kubernetes.io/os": "windows", "node.kubernetes.io/windows-build": "10.0.26100", "kubernetes.io/arch": "amd64"}, disk: "50Gi"},
		"AL2023_x86_64_STANDARD":   {group: map[string]string{"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}, pods: 1, disk: "20Gi"},
		"BOTTLEROCKET_x86_64":      {group: map[string]string{"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}, pods: 1, disk: "20Gi"},
		"CUSTOM":                   {group: map[string]string{"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}, pods: 1, disk: "20Gi"},
	}
	for amiType, want := range tests {
		t.Run(amiType, func(t *testing.T) {
			r := newManaged(t, awstest.Nodegroup{AMIType: amiType})
			list, err := r.group("eks-batch").Templates(r.ctx())
			if err != nil {
				t.Fatal(err)
			}
			node := list[0].Node
			if diff := cmp.Diff(want.group, some(node.Labels, "kubernetes.io/os", "node.kubernetes.io/windows-build", "kubernetes.io/arch")); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
			addresses, windows := node.Status.Capacity["vpc.amazonaws.com/PrivateIPv4Address"]
			if windows != strings.HasPrefix(amiType, "WINDOWS") || windows && (addresses.Value() != 9 || node.Status.Capacity.Pods().Value() != 9) {
				t.Errorf("addresses %s, pods %s", addresses.String(), node.Status.Capacity.Pods())
			}
			if disk := node.Status.Capacity.StorageEphemeral().String(); len(list[0].Pods) != want.pods || disk != want.disk {
				t.Errorf("pods %d, disk %s", len(list[0].Pods), disk)
			}
		})
	}
}
