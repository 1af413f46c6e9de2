package userdata_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider/aws/internal/userdata"
)

func encode(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

const nodeConfig = `apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster: {name: c, apiServerEndpoint: "https://x"}
  kubelet:
    config: {maxPods: 42}
    flags: ["--node-labels=a=b"]
  instance:
    localStorage: {strategy: RAID0}
`

const message = "MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=\"BOUNDARY\"\r\n\r\n" +
	"--BOUNDARY\r\nContent-Type: text/x-shellscript; charset=\"us-ascii\"\r\n\r\n#!/bin/bash\necho hello\r\n" +
	"--BOUNDARY\r\nContent-Type: application/node.eks.aws\r\n\r\n---\n" + nodeConfig + "\r\n--BOUNDARY--\r\n"

func TestWhatUserDataSays(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte(nodeConfig)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	config := userdata.Settings{EKS: true, MaxPods: 42, LocalDisks: userdata.DisksRAID0}
	tests := map[string]struct {
		data string
		want userdata.Settings
	}{
		"nothing":                                 {},
		"not base64":                              {data: "#!/bin/bash"},
		"a NodeConfig":                            {data: encode(nodeConfig), want: config},
		"packed":                                  {data: base64.StdEncoding.EncodeToString(packed.Bytes()), want: config},
		"packed and cut off":                      {data: base64.StdEncoding.EncodeToString(packed.Bytes()[:20])},
		"in one of several parts":                 {data: encode(message), want: config},
		"in parts that are cut off":               {data: encode(message[:len(message)-60]), want: userdata.Settings{}},
		"a limit among kubelet's flags":           {data: encode(strings.Replace(nodeConfig, "a=b", "a=b --max-pods=7", 1)), want: userdata.Settings{EKS: true, MaxPods: 7, LocalDisks: userdata.DisksRAID0}},
		"disks that are kept twice":               {data: encode(strings.Replace(nodeConfig, "RAID0", "RAID10", 1)), want: userdata.Settings{EKS: true, MaxPods: 42, LocalDisks: userdata.DisksRAID10}},
		"disks that are only mounted":             {data: encode(strings.Replace(nodeConfig, "RAID0", "Mount", 1)), want: userdata.Settings{EKS: true, MaxPods: 42}},
		"a limit that makes no sense":             {data: encode(strings.Replace(nodeConfig, "42", "-1", 1)), want: userdata.Settings{EKS: true, LocalDisks: userdata.DisksRAID0}},
		"broken YAML":                             {data: encode("node.eks.aws/v1alpha1: [")},
		"several documents, the last limit wins":  {data: encode(nodeConfig + "---\n" + strings.Replace(nodeConfig, "42", "43", 1)), want: userdata.Settings{EKS: true, MaxPods: 43, LocalDisks: userdata.DisksRAID0}},
		"the set-up script":                       {data: encode("#!/bin/bash\n/etc/eks/bootstrap.sh c --use-max-pods false --kubelet-extra-args '--node-labels=a=b --max-pods=110'\n"), want: userdata.Settings{EKS: true, MaxPods: 110}},
		"the set-up script with the other quotes": {data: encode("/etc/eks/bootstrap.sh c --kubelet-extra-args \"--max-pods '30'\" --local-disks raid0"), want: userdata.Settings{EKS: true, MaxPods: 30, LocalDisks: userdata.DisksRAID0}},
		"a limit that is commented out":           {data: encode("# --max-pods=5\n/etc/eks/bootstrap.sh c\n"), want: userdata.Settings{EKS: true}},
		"another script":                          {data: encode("#!/bin/bash\nkubelet --max-pods=5\n")},
		"Windows":                                 {data: encode("<powershell>\r\n[string]$EKSBootstrapScriptFile = \"x\"\r\n& $EKSBootstrapScriptFile -EKSClusterName c -KubeletExtraArgs '--max-pods=20'\r\n</powershell>"), want: userdata.Settings{EKS: true, MaxPods: 20}},
		"Bottlerocket":                            {data: encode("[settings.kubernetes]\ncluster-name = \"c\"\nmax-pods = 58 # pods\n[settings.kubernetes.node-labels]\nmax-pods = \"3\"\n"), want: userdata.Settings{EKS: true, Bottlerocket: true, MaxPods: 58}},
		"Bottlerocket with dotted keys":           {data: encode("settings.kubernetes.max-pods = 9\n"), want: userdata.Settings{EKS: true, Bottlerocket: true, MaxPods: 9}},
		"Bottlerocket on the instance store": {
			data: encode("[settings.bootstrap-commands.disks]\ncommands = [[\"apiclient\", \"ephemeral-storage\", \"init\"]]\nmode = \"always\"\n"),
			want: userdata.Settings{EKS: true, Bottlerocket: true, LocalDisks: userdata.DisksRAID0},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, userdata.Parse(test.data)); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{nodeConfig, message, "[settings.kubernetes]\nmax-pods = 1\n", "/etc/eks/bootstrap.sh --max-pods=3"} {
		f.Add(encode(seed))
	}
	f.Fuzz(func(t *testing.T, data string) {
		if got := userdata.Parse(data); got.MaxPods < 0 {
			t.Errorf("%d pods", got.MaxPods)
		}
	})
}
