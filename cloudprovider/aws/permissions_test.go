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

// exercise makes the provider do all that it can do in a world that has a bit of everything.
func exercise(r *rig) {
	r.refresh()
	for _, group := range r.provider.NodeGroups() {
		_, _ = group.Templates(r.ctx())
	}
	r.provider.WaitForPrices()
	if group, ok := find(r, "spot"); ok {
		_, _ = group.IncreaseSize(r.ctx(), 1)
	}
	r.clock.Step(20 * time.Second)
	r.server.Advance()
	_ = r.provider.Refresh(r.ctx())
}

func find(r *rig, name string) (cloudprovider.NodeGroup, bool) {
	for _, group := range r.provider.NodeGroups() {
		if string(group.ID()) == name {
			return group, true
		}
	}
	return nil, false
}

// Each denied action is told once, with what it costs, and the groups that do not need it go on.
func TestEachDeniedActionIsToldOnceWithWhatItCosts(t *testing.T) {
	for _, name := range []string{
		"ec2:DescribeImages", "ec2:DescribeInstanceTypes", "ec2:DescribeLaunchTemplateVersions", "autoscaling:DescribeLaunchConfigurations",
		"ec2:DescribeSpotPriceHistory", "pricing:GetProducts", "autoscaling:SetDesiredCapacity",
	} {
		t.Run(name, func(t *testing.T) {
			r := priced(t, aws.Options{}, awstest.Group{Name: "plain", Max: 10}, awstest.Group{Name: "configured", Max: 10, LaunchConfiguration: "spot"},
				awstest.Group{Name: "spot", Max: 10, LaunchTemplate: &awstest.LaunchTemplateRef{Name: "spot"}})
			r.server.PutLaunchTemplate(awstest.LaunchTemplate{Name: "workers", Versions: []awstest.LaunchTemplateVersion{{InstanceType: "m5.large", ImageID: "ami-0a1b2c3d4e5f60718"}}})
			r.server.Deny(name)
			exercise(r)
			exercise(r)
			action, _ := permissions.Of(name[strings.Index(name, ":")+1:])
			told := r.missing()
			if len(told) != 1 || !strings.Contains(told[0], action.Operation()) || !strings.Contains(told[0], action.Without) {
				t.Errorf("told %q, want once %s and that %s", told, action.Operation(), action.Without)
			}
			if len(r.provider.NodeGroups()) != 3 {
				t.Errorf("groups %v", r.names())
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
