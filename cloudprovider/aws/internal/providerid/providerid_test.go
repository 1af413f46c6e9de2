package providerid_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider/aws/internal/providerid"
)

func TestParse(t *testing.T) {
	tests := map[string]struct {
		text string
		want providerid.ID
	}{
		"no id is no machine": {text: "", want: providerid.ID{Kind: providerid.None}},
		"an instance": {
			text: "aws:///us-east-1a/i-0abc1234",
			want: providerid.ID{Kind: providerid.Instance, Zone: "us-east-1a", Name: "i-0abc1234"},
		},
		"an instance with the long form of id": {
			text: "aws:///us-east-1a/i-0123456789abcdef0",
			want: providerid.ID{Kind: providerid.Instance, Zone: "us-east-1a", Name: "i-0123456789abcdef0"},
		},
		"an instance without zone": {
			text: "aws:////i-0abc1234",
			want: providerid.ID{Kind: providerid.Instance, Name: "i-0abc1234"},
		},
		"an instance with an empty third part": {
			text: "aws:///us-east-1a/i-0abc1234/",
			want: providerid.ID{Kind: providerid.Instance, Zone: "us-east-1a", Name: "i-0abc1234"},
		},
		"an instance in a Local Zone": {
			text: "aws:///us-west-2-lax-1a/i-0abc1234",
			want: providerid.ID{Kind: providerid.Instance, Zone: "us-west-2-lax-1a", Name: "i-0abc1234"},
		},
		"a Fargate node": {
			text: "aws:///us-west-2c/0a1b2c3d-uuid/fargate-ip-10-0-1-2.us-west-2.compute.internal",
			want: providerid.ID{Kind: providerid.Fargate, Zone: "us-west-2c"},
		},
		"a placeholder of a group with capitals, underscores and dots": {
			text: "aws:///us-east-1a/i-placeholder-My_Group.A-3",
			want: providerid.ID{Kind: providerid.Placeholder, Zone: "us-east-1a", Name: "i-placeholder-My_Group.A-3", Group: "My_Group.A", Number: 3},
		},
		"a placeholder of a group whose name ends in a number": {
			text: "aws:///us-east-1a/i-placeholder-web-7-12",
			want: providerid.ID{Kind: providerid.Placeholder, Zone: "us-east-1a", Name: "i-placeholder-web-7-12", Group: "web-7", Number: 12},
		},
		"a placeholder of a group with a slash": {
			text: "aws:///us-east-1a/i-placeholder-a%2Fb-3",
			want: providerid.ID{Kind: providerid.Placeholder, Zone: "us-east-1a", Name: "i-placeholder-a%2Fb-3", Group: "a/b", Number: 3},
		},
		"an unescaped slash in a placeholder is no placeholder": {
			text: "aws:///us-east-1a/i-placeholder-a/b-3", want: providerid.ID{Kind: providerid.ForeignAWS, Zone: "us-east-1a"},
		},
		"a placeholder without number": {
			text: "aws:///us-east-1a/i-placeholder-x", want: providerid.ID{Kind: providerid.ForeignAWS, Zone: "us-east-1a"},
		},
		"a placeholder without group": {
			text: "aws:///us-east-1a/i-placeholder--1", want: providerid.ID{Kind: providerid.ForeignAWS, Zone: "us-east-1a"},
		},
		"a placeholder number with a leading zero": {
			text: "aws:///us-east-1a/i-placeholder-x-01", want: providerid.ID{Kind: providerid.ForeignAWS, Zone: "us-east-1a"},
		},
		"text before the scheme":       {text: "xaws:///us-east-1a/i-placeholder-x-0", want: providerid.ID{Kind: providerid.Foreign}},
		"no parts at all":              {text: "aws:///", want: providerid.ID{Kind: providerid.ForeignAWS}},
		"no zone and no name":          {text: "aws:////", want: providerid.ID{Kind: providerid.ForeignAWS}},
		"a zone without name":          {text: "aws:///us-east-1a/", want: providerid.ID{Kind: providerid.ForeignAWS, Zone: "us-east-1a"}},
		"capitals in the instance id":  {text: "aws:///us-east-1a/I-0ABC", want: providerid.ID{Kind: providerid.ForeignAWS, Zone: "us-east-1a"}},
		"no digits in the instance id": {text: "aws:///us-east-1a/i-", want: providerid.ID{Kind: providerid.ForeignAWS, Zone: "us-east-1a"}},
		"capitals in the zone":         {text: "aws:///US/i-0abc", want: providerid.ID{Kind: providerid.ForeignAWS, Zone: "US"}},
		"a third part that isn't Fargate": {
			text: "aws:///us-east-1a/i-0abc/x", want: providerid.ID{Kind: providerid.ForeignAWS, Zone: "us-east-1a"},
		},
		"a HyperPod node": {
			text: "aws:///usw2-az1/sagemaker/cluster/hyperpod-x-i-0abc", want: providerid.ID{Kind: providerid.ForeignAWS, Zone: "usw2-az1"},
		},
		"two slashes only":      {text: "aws://us-east-1a/i-0abc", want: providerid.ID{Kind: providerid.Foreign}},
		"an instance id alone":  {text: "i-0abc1234", want: providerid.ID{Kind: providerid.Foreign}},
		"capitals in scheme":    {text: "AWS:///us-east-1a/i-0abc", want: providerid.ID{Kind: providerid.Foreign}},
		"an EKS hybrid node":    {text: "eks-hybrid:///us-west-2/my-cluster/mi-0abc", want: providerid.ID{Kind: providerid.Foreign}},
		"a kwok node":           {text: "kwok://node-1", want: providerid.ID{Kind: providerid.Foreign}},
		"letters without slash": {text: "aws123", want: providerid.ID{Kind: providerid.Foreign}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, providerid.Parse(test.text)); diff != "" {
				t.Errorf("Parse(%q) (-want +got):\n%s", test.text, diff)
			}
		})
	}
}

func TestIDsOfInstancesAndPlaceholdersReadBack(t *testing.T) {
	if got := providerid.Parse(providerid.OfInstance("eu-west-1a", "i-0a")); got.Kind != providerid.Instance || got.Name != "i-0a" {
		t.Errorf("instance read back as %+v", got)
	}
	for _, group := range []string{"web", "a/b", "50%", "%2F", "a%25/b", "-", "a-1", `quo"te`, "Ünicode"} {
		got := providerid.Parse(providerid.OfPlaceholder("eu-west-1a", group, 7))
		if got.Kind != providerid.Placeholder || got.Group != group || got.Number != 7 {
			t.Errorf("placeholder of %q read back as %+v", group, got)
		}
	}
}

func TestKindsPrintThemselves(t *testing.T) {
	for kind := providerid.None; kind <= providerid.Foreign; kind++ {
		if strings.HasPrefix(kind.String(), "Kind(") {
			t.Errorf("kind %d has no word", int(kind))
		}
	}
	if got := providerid.Kind(99).String(); got != "Kind(99)" {
		t.Errorf("unknown kind prints %q", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "aws:///us-east-1a/i-0abc1234", "aws:////i-placeholder-a%2Fb-3", "aws:///z/u/fargate-x", "kwok://x", "aws:///a/i-placeholder-x-01", "aws:///a/i-placeholder-%252F-1",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id := providerid.Parse(text)
		switch id.Kind {
		case providerid.Instance:
			if id.Name == "" || strings.TrimSuffix(text, "/") != providerid.OfInstance(id.Zone, id.Name) {
				t.Errorf("Parse(%q) = %+v doesn't read back", text, id)
			}
		case providerid.Placeholder:
			if id.Name == "" || id.Group == "" || strings.TrimSuffix(text, "/") != providerid.OfPlaceholder(id.Zone, id.Group, id.Number) {
				t.Errorf("Parse(%q) = %+v doesn't read back", text, id)
			}
		default:
			if id.Name != "" || id.Group != "" {
				t.Errorf("Parse(%q) = %+v carries a name although it is no machine of ours", text, id)
			}
		}
	})
}
