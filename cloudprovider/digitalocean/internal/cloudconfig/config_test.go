package cloudconfig_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider/digitalocean/internal/cloudconfig"
)

func TestTheWholeConfigIsRead(t *testing.T) {
	c, err := cloudconfig.Parse([]byte(`{"cluster_id": "c", "token": " t\n", "url": "http://h:8080/v2/", "skip_drain_on_delete": true, "gpu_label": "g",
		"use_cluster_autoscaler_configuration": true, "api_budget_percent": 20, "zeta": 1, "alpha": null}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = c.Check(); err != nil {
		t.Fatal(err)
	}
	want := cloudconfig.Config{
		ClusterID: "c", Token: "t", URL: "http://h:8080", SkipDrain: true, GPULabel: "g", UseAutoscaling: true, BudgetPercent: 20,
		Warnings: []string{`--cloud-config: the key "alpha" is not known and ignored`, `--cloud-config: the key "zeta" is not known and ignored`},
	}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
}

func TestTheDefaultsAreThoseOfTheDocument(t *testing.T) {
	c, err := cloudconfig.Parse([]byte(`{"cluster_id": "c", "token_file": "/etc/do/token"}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = c.Check(); err != nil {
		t.Fatal(err)
	}
	want := cloudconfig.Config{
		ClusterID: "c", TokenFile: "/etc/do/token", URL: "https://api.digitalocean.com", GPULabel: "doks.digitalocean.com/gpu-model", BudgetPercent: 50,
	}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
}

func FuzzAConfigIsUsableOrRefusedInOneLine(f *testing.F) {
	for _, text := range []string{"", "{}", "null", `{"cluster_id":"c","token":"t"}`, `{"cluster_id":"c","token":"t","url":"http://h/v2/v2"}`, `{"token":5}`, "[", `{"a":{"b":[1]}}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := cloudconfig.Parse([]byte(text), nil)
		if err == nil {
			c, err = c.Check()
		}
		if err != nil {
			return
		}
		if c.ClusterID == "" || (c.Token == "") == (c.TokenFile == "") || !strings.HasPrefix(c.URL, "http") || strings.HasSuffix(c.URL, "/") {
			t.Errorf("%q gives %+v", text, c)
		}
	})
}
