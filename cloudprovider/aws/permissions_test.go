package aws_test

import (
	"strings"
	"testing"
	"time"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws"
	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/permissions"
)

// missing lists the notices about permissions since the last call.
func (r *rig) missing() []string {
	var texts []string
	for _, notice := range r.provider.Notices() {
		if notice.Reason == "AWSPermissionMissing" || strings.HasSuffix(notice.Message, "is allowed again") {
			texts = append(texts, notice.Message)
		}
	}
	return texts
}

// everything is a rig whose world needs every permission there is, those for prices on request.
func everything(t *testing.T, withPrices bool) *rig {
	t.Helper()
	nodegroup := awstest.Nodegroup{Cluster: "c", Name: "ng"}
	r := stocked(t, aws.Options{ReadPrices: withPrices},
		awstest.Group{Name: "attributes", Max: 10, MixedInstances: &awstest.MixedInstances{
			LaunchTemplate: awstest.LaunchTemplateRef{Name: "workers"}, Overrides: []awstest.Override{{Requirements: &awstest.Requirements{
				VCPUs: awstest.Range{Min: 2, Max: 2}, MemoryMiB: awstest.Range{Min: 8192, Max: 8192},
			}}},
		}},
		awstest.Group{Name: "configured", Max: 10, LaunchConfiguration: "spot"},
		awstest.Group{Name: "eks", Max: 10, Tags: nodegroup.GroupTags()},
		awstest.Group{Name: "plain", Max: 10, Desired: 2, Zones: []string{"eu-west-1a", "eu-west-1b"}},
		awstest.Group{Name: "spot", Max: 10, Desired: 1, LaunchTemplate: &awstest.LaunchTemplateRef{Name: "spot"}},
	)
	r.server.PutLaunchTemplate(awstest.LaunchTemplate{Name: "workers", Versions: []awstest.LaunchTemplateVersion{{InstanceType: "m5.large", ImageID: "ami-0a1b2c3d4e5f60718"}}})
	r.server.PutImage(awstest.Image{ID: "ami-0a1b2c3d4e5f60718"})
	if err := r.server.PutNodegroup(nodegroup); err != nil {
		t.Fatal(err)
	}
	return r
}

// exercise makes the provider do all that it can do, whatever fails on the way.
func (r *rig) exercise() {
	look := func(d time.Duration) {
		r.clock.Step(d)
		r.server.Advance()
		_ = r.provider.Refresh(r.ctx())
		r.provider.WaitForPrices()
	}
	look(0)
	look(time.Minute)
	groups := map[cloudprovider.GroupID]*aws.NodeGroup{}
	for _, group := range r.provider.NodeGroups() {
		groups[group.ID()] = group.(*aws.NodeGroup)
		_, _ = group.Templates(r.ctx())
		_ = groups[group.ID()].CheckShrink(r.ctx())
	}
	if len(groups) == 0 {
		return
	}
	_, _ = groups["plain"].DeleteNodes(r.ctx(), refs(r.machines("plain")[0]))
	r.server.SetStock(awstest.StockRule{Group: "spot", Left: 0})
	_, _ = groups["spot"].IncreaseSize(r.ctx(), 1)
	for range 12 {
		look(15 * time.Second)
	}
	if failed := places(groupState(r, "spot"), false); len(failed) > 0 {
		_, _ = r.group("spot").DeleteNodes(r.ctx(), failed)
	}
	look(time.Minute)
}

func groupState(r *rig, name string) cloudprovider.GroupState { return r.group(name).State() }

// Each denied action is told once, with what it costs, and the groups that do not need it go on.
func TestEachDeniedActionIsToldOnceWithWhatItCosts(t *testing.T) {
	for _, action := range permissions.Actions() {
		t.Run(action.Name, func(t *testing.T) {
			r := everything(t, action.Policy == permissions.Prices)
			r.server.Deny(action.Name)
			r.exercise()
			if r.count(action.Operation()) == 0 {
				t.Fatal("nobody needs the action")
			}
			told := r.missing()
			if len(told) != 1 || !strings.Contains(told[0], action.Operation()+" is denied") || !strings.Contains(told[0], action.Without) {
				t.Errorf("told %q, want once %s and that %s", told, action.Operation(), action.Without)
			}
			if groups := len(r.provider.NodeGroups()); groups != 5 && action.Operation() != "DescribeAutoScalingGroups" {
				t.Errorf("%d groups are left", groups)
			}
		})
	}
}

func TestAnActionThatIsAllowedAgainIsToldToo(t *testing.T) {
	r := priced(t, aws.Options{}, awstest.Group{Name: "plain", Max: 10})
	r.server.Deny("pricing:GetProducts")
	r.load()
	_ = r.missing()
	r.server.Allow("pricing:GetProducts")
	r.after(time.Minute)
	r.provider.WaitForPrices()
	if told := r.missing(); len(told) != 1 || told[0] != "GetProducts is allowed again" {
		t.Errorf("told %q", told)
	}
}
