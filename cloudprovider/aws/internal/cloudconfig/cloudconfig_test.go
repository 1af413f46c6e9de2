package cloudconfig_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider/aws/internal/cloudconfig"
)

func TestParse(t *testing.T) {
	ec2 := cloudconfig.Override{Service: "ec2", Region: "eu-west-1", URL: "https://ec2.example", SigningRegion: "eu-west-1"}
	tests := map[string]struct {
		text string
		want cloudconfig.Config
		errs []string
	}{
		"an empty file says nothing": {text: "\n; comment\n# comment\n"},
		"keys of the cloud controller are accepted without a word": {
			text: "[Global]\nZone=eu-west-1a\nVPC = vpc-1\nNodeIPFamilies = ipv4\nNodeIPFamilies = ipv6\nDisableSecurityGroupIngress\nClusterServiceSharedLoadBalancerHealthProbePort=10256\n",
			want: cloudconfig.Config{Zone: "eu-west-1a"},
		},
		"names of sections and keys may be in any case": {
			text: "[gLOBAL]\nREGION = eu-west-1\nrolearn=arn:aws:iam::1:role/x\nSourceArn=arn:aws:eks:eu-west-1:1:cluster/c\n",
			want: cloudconfig.Config{Region: "eu-west-1", RoleARN: "arn:aws:iam::1:role/x", SourceARN: "arn:aws:eks:eu-west-1:1:cluster/c"},
		},
		"an unquoted value ends at a comment, a quoted one doesn't": {
			text: "[Global]\nRegion = eu-west-1 # here\nZone = \"a;b#c\" ; there\n",
			want: cloudconfig.Config{Region: "eu-west-1", Zone: "a;b#c"},
		},
		"quotes may hold escapes and stand beside plain text": {
			text: "[Global]\r\nZone = x\" \\\"y\\\\\"z\r\n", want: cloudconfig.Config{Zone: `x "y\z`},
		},
		"an override": {
			text: "[ServiceOverride \"1\"]\nService=ec2 \nRegion= eu-west-1\nURL=https://ec2.example\nSigningRegion=eu-west-1\nSigningMethod=v4\n",
			want: cloudconfig.Config{Overrides: []cloudconfig.Override{ec2}},
		},
		"a section may be continued": {
			text: "[ServiceOverride \"1\"]\nService=ec2\nRegion=eu-west-1\n[Global]\nRegion=x\n[ServiceOverride \"1\"]\nURL=https://ec2.example\nSigningRegion=eu-west-1\nSigningName=n\n",
			want: cloudconfig.Config{Region: "x", Overrides: []cloudconfig.Override{{
				Service: "ec2", Region: "eu-west-1", URL: "https://ec2.example", SigningRegion: "eu-west-1", SigningName: "n",
			}}},
		},
		"unknown sections and keys and a misspelt service are warnings": {
			text: "[Global]\nNewKey=1\n[Other \"x\"]\nA=b\n[ServiceOverride \"1\"]\nService=ecc2\nRegion=r\nURL=u\nSigningRegion=r\nColour=red\n",
			want: cloudconfig.Config{
				Overrides: []cloudconfig.Override{{Service: "ecc2", Region: "r", URL: "u", SigningRegion: "r"}},
				Warnings: []string{
					"line 3: the section [other] is unknown and ignored",
					"line 2, section [global], key newkey: the key is unknown and ignored",
					`line 10, section [serviceoverride "1"], key colour: the key is unknown and ignored`,
					`the ServiceOverride for service "ecc2" is never used; used are autoscaling, ec2, eks, pricing, sts`,
				},
			},
		},
		"an override needs four keys": {
			text: "[ServiceOverride \"one\"]\nURL= \n",
			errs: []string{
				`[ServiceOverride "one"] lacks the key Service`, `[ServiceOverride "one"] lacks the key Region`,
				`[ServiceOverride "one"] lacks the key URL`, `[ServiceOverride "one"] lacks the key SigningRegion`,
			},
		},
		"two overrides for the same service and region": {
			text: "[ServiceOverride \"one\"]\nService=ec2\nRegion=r\nURL=u\nSigningRegion=r\n[ServiceOverride \"two\"]\nService= ec2\nRegion=r\nURL=v\nSigningRegion=r\n",
			errs: []string{`[ServiceOverride "one"] and [ServiceOverride "two"] are both for service ec2 in region r`},
		},
		"a key before any section":  {text: "a=b", errs: []string{`line 1: "a=b" stands before any [section]`}},
		"a header without end":      {text: "\n[Global", errs: []string{"line 2:", "not a section header"}},
		"a header without name":     {text: "[]", errs: []string{"not a section header"}},
		"text behind a header":      {text: "[Global] x", errs: []string{"not a section header"}},
		"a quote without end":       {text: "[Global]\nZone=\"a", errs: []string{"line 2:", "no closing quote"}},
		"a quote cut in an escape":  {text: "[Global]\nZone=\"a\\", errs: []string{"no closing quote"}},
		"an unknown escape":         {text: "[Global]\nZone=\"\\x\"", errs: []string{`unknown escape \x`}},
		"a bare backslash":          {text: "[Global]\nZone=a\\b", errs: []string{"a backslash outside quotes"}},
		"no equals sign":            {text: "[Global]\nZone a", errs: []string{"not of the form key = value"}},
		"no key":                    {text: "[Global]\n= a", errs: []string{"has no key"}},
		"a subsection without end":  {text: "[ServiceOverride \"1]", errs: []string{"no closing quote"}},
		"YAML, taken for a config":  {text: "global:\n  region: x\n", errs: []string{"line 1"}},
		"a quoted header name only": {text: "[\"x\"]", errs: []string{"not a section header"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := cloudconfig.Parse([]byte(test.text))
			if len(test.errs) > 0 {
				if err == nil {
					t.Fatal("no error")
				}
				for _, want := range test.errs {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("error lacks %q: %v", want, err)
					}
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("config (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnOverrideCountsOnlyInItsRegion(t *testing.T) {
	config := cloudconfig.Config{Overrides: []cloudconfig.Override{{Service: "ec2", Region: "a", URL: "u"}}}
	if got, ok := config.Override("ec2", "a"); !ok || got.URL != "u" {
		t.Errorf("Override = %v, %v", got, ok)
	}
	for _, pair := range [][2]string{{"ec2", "b"}, {"autoscaling", "a"}} {
		if got, ok := config.Override(pair[0], pair[1]); ok {
			t.Errorf("Override(%v) = %v", pair, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"[Global]\nZone=a\n", "[ServiceOverride \"1\"]\nService=ec2\nRegion=r\nURL=u\nSigningRegion=r\n", "[G \"\\\"\"]\nk=\"v\" ;", "[a]\nb\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		config, err := cloudconfig.Parse([]byte(text))
		if err != nil {
			return
		}
		for _, o := range config.Overrides {
			if o.Service == "" || o.Region == "" || o.URL == "" || o.SigningRegion == "" {
				t.Errorf("%q gives the incomplete override %+v", text, o)
			}
		}
	})
}
