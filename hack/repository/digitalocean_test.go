package repository_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"example.com/cluster-autoscaler/core/config"
)

const digitalOceanManifest = root + "/deploy/digitalocean/cluster-autoscaler.yaml"

func TestTheManifestForDigitalOceanGivesTheRightsThatTheOneForAWSGives(t *testing.T) {
	ours, aws := documents(t, digitalOceanManifest), documents(t, awsManifests+"cluster-autoscaler.yaml")
	for _, kind := range []string{"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"} {
		if diff := cmp.Diff(string(aws[kind]), string(ours[kind])); diff != "" {
			t.Errorf("%s (-AWS +DigitalOcean):\n%s", kind, diff)
		}
	}
}

func TestTheManifestForDigitalOceanMountsItsSecretWhereTheFlagsLook(t *testing.T) {
	pod := deployment(t, digitalOceanManifest).Spec.Template.Spec
	for _, argument := range pod.Containers[0].Command[1:] {
		name, _, _ := strings.Cut(strings.TrimPrefix(argument, "--"), "=")
		if !slices.ContainsFunc(config.Table(), func(f config.Flag) bool { return f.Name == name }) {
			t.Errorf("there is no flag %s", argument)
		}
	}
	var secret corev1.Secret
	if err := yaml.UnmarshalStrict(documents(t, digitalOceanManifest)["Secret"], &secret); err != nil {
		t.Fatal(err)
	}
	if pod.Volumes[0].Secret.SecretName != secret.Name || pod.Volumes[0].Name != pod.Containers[0].VolumeMounts[0].Name {
		t.Errorf("volumes %+v, mounts %+v", pod.Volumes, pod.Containers[0].VolumeMounts)
	}
	folder := pod.Containers[0].VolumeMounts[0].MountPath + "/"
	if !slices.Contains(pod.Containers[0].Command, "--cloud-config="+folder+"cloud-config.json") {
		t.Errorf("the command %q doesn't read the cloud config in %s", pod.Containers[0].Command, folder)
	}
	var file map[string]string
	if err := json.Unmarshal([]byte(secret.StringData["cloud-config.json"]), &file); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"cluster_id": "DOKS_CLUSTER_ID", "token_file": folder + "token"}
	if diff := cmp.Diff(want, file); diff != "" || secret.StringData["token"] == "" {
		t.Errorf("cloud config (-want +got):\n%s", diff)
	}
}
