package config

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEveryFaultOfACommandLineIsToldInOneLine(t *testing.T) {
	tests := map[string]struct {
		args []string
		want []string
	}{
		"a limit without a colon":              {[]string{"--cores-total=5"}, []string{`--cores-total="5": want min:max in whole cores; this is not two numbers with a colon between them`}},
		"a limit with two colons":              {[]string{"--cores-total=0:5:9"}, []string{`--cores-total="0:5:9": want min:max in whole cores; this is not two numbers with a colon between them`}},
		"a limit upside down":                  {[]string{"--cores-total=6:5"}, []string{`--cores-total="6:5": want min:max in whole cores; the maximum 5 is below the minimum 6`}},
		"a negative minimum":                   {[]string{"--memory-total=-1:5"}, []string{`--memory-total="-1:5": want min:max in whole GiB; the minimum "-1" is no whole number of 0 or more`}},
		"a maximum that is no number":          {[]string{"--memory-total=0:lots"}, []string{`--memory-total="0:lots": want min:max in whole GiB; the maximum "lots" is no whole number of 0 or more`}},
		"an empty limit":                       {[]string{"--memory-total="}, []string{`--memory-total="": want min:max in whole GiB; this is not two numbers with a colon between them`}},
		"a GPU limit without a type":           {[]string{"--gpu-total=0:5"}, []string{`--gpu-total="0:5": want type:min:max; this is not two numbers with a colon between them`}},
		"a GPU limit with an empty type":       {[]string{"--gpu-total=:0:5"}, []string{`--gpu-total=":0:5": want type:min:max; this has no type and two numbers with colons between them`}},
		"a GPU limit without colons":           {[]string{"--gpu-total=t4"}, []string{`--gpu-total="t4": want type:min:max; this has no type and two numbers with colons between them`}},
		"a GPU limit upside down":              {[]string{"--gpu-total=t4:2:1"}, []string{`--gpu-total="t4:2:1": want type:min:max; the maximum 1 is below the minimum 2`}},
		"a GPU limit of four parts":            {[]string{"--gpu-total=t4:0:2:3"}, []string{`--gpu-total="t4:0:2:3": want type:min:max; this is not two numbers with a colon between them`}},
		"every bad GPU limit":                  {[]string{"--gpu-total=a", "--gpu-total=t4:0:2", "--gpu-total=b"}, []string{`--gpu-total="a": want type:min:max; this has no type and two numbers with colons between them`, `--gpu-total="b": want type:min:max; this has no type and two numbers with colons between them`}},
		"another estimator":                    {[]string{"--estimator=oldbinpacking"}, []string{`--estimator="oldbinpacking": want binpacking, the only one there is`}},
		"X15: an unknown expander":             {[]string{"--expander=random,cheapest"}, []string{`--expander="random,cheapest": want strategies joined by commas, but "cheapest" is none of least-waste, random, most-pods, least-nodes, priority, price, grpc`}},
		"an empty expander":                    {[]string{"--expander="}, []string{`--expander="": want strategies joined by commas, but "" is none of least-waste, random, most-pods, least-nodes, priority, price, grpc`}},
		"X15: an expander twice":               {[]string{"--expander=least-waste,least-waste"}, []string{`--expander="least-waste,least-waste": want every strategy once, but least-waste is there twice`}},
		"X15: an expander behind random":       {[]string{"--expander=random,least-waste"}, []string{`--expander="random,least-waste": want nothing behind random, which leaves least-waste nothing to choose from`}},
		"no parallelism":                       {[]string{"--predicate-parallelism=0"}, []string{`--predicate-parallelism="0": want 1 or more`}},
		"DRA switched off":                     {[]string{"--enable-dynamic-resource-allocation=false"}, []string{`--enable-dynamic-resource-allocation="false": want true, since it cannot be switched off`}},
		"a bypassed scheduler not allowed":     {[]string{"--allowed-scheduler-names=a,b", "--bypassed-scheduler-names=b,c"}, []string{`--bypassed-scheduler-names="c": want only names that --allowed-scheduler-names holds too: ["a" "b"]`}},
		"priorities and a grace period":        {[]string{"--drain-priority-config=1:2", "--max-graceful-termination-sec=60"}, []string{`--max-graceful-termination-sec="60": want 600 beside --drain-priority-config, which sets grace periods itself`}},
		"a priority without seconds":           {[]string{"--drain-priority-config=1:2,3"}, []string{`--drain-priority-config="1:2,3": want priority:seconds pairs of whole numbers joined by commas, such as 0:60,2000000000:30, but one is "3"`}},
		"a priority that is no number":         {[]string{"--drain-priority-config=high:2"}, []string{`--drain-priority-config="high:2": want priority:seconds pairs of whole numbers joined by commas, such as 0:60,2000000000:30, but one is "high:2"`}},
		"a priority that no pod can have":      {[]string{"--drain-priority-config=3000000000:2"}, []string{`--drain-priority-config="3000000000:2": want priority:seconds pairs of whole numbers joined by commas, such as 0:60,2000000000:30, but one is "3000000000:2"`}},
		"priorities that are only a comma":     {[]string{"--drain-priority-config=,"}, []string{`--drain-priority-config=",": want priority:seconds pairs of whole numbers joined by commas, such as 0:60,2000000000:30, but one is ""`}},
		"another kind of lock":                 {[]string{"--leader-elect-resource-lock=configmaps"}, []string{`--leader-elect-resource-lock="configmaps": want leases, other kinds of locks no longer exist`}},
		"a Lease without a name":               {[]string{"--leader-elect-resource-name="}, []string{`--leader-elect-resource-name="": want the name of the Lease`}},
		"no namespace":                         {[]string{"--namespace="}, []string{`--namespace="": want the namespace that the autoscaler runs in`}},
		"a status ConfigMap without a name":    {[]string{"--status-config-map-name="}, []string{`--status-config-map-name="": want a name, or --write-status-configmap=false`}},
		"an address without a port":            {[]string{"--address=localhost"}, []string{`--address="localhost": want host:port or :port`}},
		"an API server without a scheme":       {[]string{"--kubernetes=api.example.com:6443"}, []string{`--kubernetes="api.example.com:6443": want a URL such as https://host:6443?inClusterConfig=false`}},
		"an API server that is only a word":    {[]string{"--kubernetes=localhost"}, []string{`--kubernetes="localhost": want a URL such as https://host:6443?inClusterConfig=false`}},
		"an API server with another scheme":    {[]string{"--kubernetes=ftp://host"}, []string{`--kubernetes="ftp://host": want a URL such as https://host:6443?inClusterConfig=false`}},
		"an API server that is no URL":         {[]string{"--kubernetes=https://host:port"}, []string{`--kubernetes="https://host:port": want a URL such as https://host:6443?inClusterConfig=false`}},
		"an API server with broken options":    {[]string{"--kubernetes=https://host?a;b"}, []string{`--kubernetes="https://host?a;b": want a URL such as https://host:6443?inClusterConfig=false`}},
		"an API server option that is neither": {[]string{"--kubernetes=https://host?inClusterConfig=maybe"}, []string{`--kubernetes="inClusterConfig=maybe": want true or false for this option`}},
		"another log format":                   {[]string{"--logging-format=xml"}, []string{`--logging-format="xml": want text or json`}},
		"module verbosity with JSON":           {[]string{"--logging-format=json", "--vmodule=a=1"}, []string{`--vmodule="a=1": want --logging-format=text beside it`}},
		"a split stream without its gate":      {[]string{"--log-text-split-stream"}, []string{`--log-text-split-stream="true": want --feature-gates=LoggingAlphaOptions=true beside it`}},
		"split JSON without its gate":          {[]string{"--log-json-split-stream", "--feature-gates=AllAlpha=true,LoggingAlphaOptions=false"}, []string{`--log-json-split-stream="true": want --feature-gates=LoggingAlphaOptions=true beside it`}},
		"buffers without their gate":           {[]string{"--log-text-info-buffer-size=1Ki", "--log-json-info-buffer-size=512"}, []string{`--log-json-info-buffer-size="512": want --feature-gates=LoggingAlphaOptions=true beside it`, `--log-text-info-buffer-size="1024": want --feature-gates=LoggingAlphaOptions=true beside it`}},
		"no flush frequency":                   {[]string{"--log-flush-frequency=0"}, []string{`--log-flush-frequency="0s": want more than 0`}},
		"unknown way to match":                 {[]string{"--aws-discovery-match=some"}, []string{`--aws-discovery-match="some": want all or any`}},
		"refreshes too often":                  {[]string{"--aws-refresh-interval=5s"}, []string{`--aws-refresh-interval="5s": want 10s to 4m0s`}},
		"no scan interval":                     {[]string{"--scan-interval=0"}, []string{`--scan-interval="0s": want more than 0`}},
		"a negative number of nodes":           {[]string{"--max-nodes-total=-1"}, []string{`--max-nodes-total="-1": want 0 or more`}},
		"a negative duration":                  {[]string{"--scale-down-unneeded-time=-10m"}, []string{`--scale-down-unneeded-time="-10m0s": want 0 or more`}},
		"not a number":                         {[]string{"--scale-down-utilization-threshold=NaN"}, []string{`--scale-down-utilization-threshold="NaN": want a finite number`}},
		"an infinite rate":                     {[]string{"--kube-client-qps=Inf"}, []string{`--kube-client-qps="+Inf": want a finite number`}},
		"all faults at once, by flag": {
			[]string{"--scan-interval=0", "--estimator=x", "--cores-total=1", "--leader-elect-retry-period=0"},
			[]string{
				`--cores-total="1": want min:max in whole cores; this is not two numbers with a colon between them`,
				`--estimator="x": want binpacking, the only one there is`,
				`--leader-elect-retry-period="0s": want more than 0`,
				`--scan-interval="0s": want more than 0`,
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(test.args)
			invalid, ok := errors.AsType[*ValidationError](err)
			if !ok {
				t.Fatalf("%q gives %v, want a validation error", test.args, err)
			}
			if diff := cmp.Diff(test.want, strings.Split(invalid.Error(), "\n")); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
			if ExitCode(err) != 255 {
				t.Errorf("exit code %d, want 255", ExitCode(err))
			}
			fault, ok := errors.AsType[Fault](err)
			if !ok || fault.Flag != invalid.Faults[0].Flag {
				t.Errorf("the fault cannot be told from outside: %v", fault)
			}
		})
	}
}

func TestLeaseTimingsThatContradictEachOtherEndWithTwo(t *testing.T) {
	tests := map[string]struct {
		args []string
		want string
	}{
		"a lease as long as the deadline":      {[]string{"--leader-elect-lease-duration=10s"}, `--leader-elect-lease-duration="10s": want more than --leader-elect-renew-deadline, which is 10s`},
		"a deadline of 1.2 periods":            {[]string{"--leader-elect-renew-deadline=2400ms"}, `--leader-elect-renew-deadline="2.4s": want more than 1.2 times --leader-elect-retry-period, which is 2s`},
		"no retry period":                      {[]string{"--leader-elect-retry-period=0"}, `--leader-elect-retry-period="0s": want more than 0`},
		"a negative retry period":              {[]string{"--leader-elect-retry-period=-1s"}, `--leader-elect-retry-period="-1s": want more than 0`},
		"a lease that rounds to no second":     {[]string{"--leader-elect-lease-duration=900ms", "--leader-elect-renew-deadline=500ms", "--leader-elect-retry-period=100ms"}, `--leader-elect-lease-duration="900ms": want 1s or more, since a Lease counts whole seconds`},
		"a deadline longer than a short lease": {[]string{"--leader-elect-lease-duration=500ms"}, `--leader-elect-lease-duration="500ms": want more than --leader-elect-renew-deadline, which is 10s`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(test.args)
			if err == nil || err.Error() != test.want {
				t.Fatalf("%q gives %v, want %s", test.args, err, test.want)
			}
			if ExitCode(err) != 2 {
				t.Errorf("exit code %d, want 2", ExitCode(err))
			}
			if _, err := Parse(append(test.args, "--leader-elect=false")); err != nil {
				t.Errorf("without election it is refused too: %v", err)
			}
		})
	}
	accepted(t, "--leader-elect-renew-deadline=2401ms")
	accepted(t, "--leader-elect-lease-duration=10001ms")
}

func TestWhatIsProbablyAMistakeIsWarnedAbout(t *testing.T) {
	tests := map[string]struct {
		args []string
		want []string
	}{
		"a start-up limit that is too short":    {[]string{"--max-startup-time=1m"}, []string{"--max-startup-time: raised from 1m0s to 15m0s, the larger one of --max-inactivity and --max-failing-time"}},
		"a default start-up limit too short":    {[]string{"--max-inactivity=1h"}, []string{"--max-startup-time: raised from 20m0s to 1h0m0s, the larger one of --max-inactivity and --max-failing-time"}},
		"a threshold given in percent":          {[]string{"--scale-down-utilization-threshold=50"}, []string{"--scale-down-utilization-threshold: is a share from 0 to 1; with 50 every node is a candidate for removal"}},
		"a GPU threshold given in percent":      {[]string{"--scale-down-gpu-utilization-threshold=1.5"}, []string{"--scale-down-gpu-utilization-threshold: is a share from 0 to 1; with 1.5 every node is a candidate for removal"}},
		"a threshold of the whole node":         {[]string{"--scale-down-utilization-threshold=1"}, nil},
		"a taint with its value":                {[]string{"--startup-taint=a=b:NoSchedule"}, []string{`--startup-taint: "a=b:NoSchedule" matches no taint, since only the key is compared`}},
		"an empty taint prefix":                 {[]string{"--startup-taint-prefix="}, []string{"--startup-taint-prefix: an empty value is left out"}},
		"two of them about one flag":            {[]string{"--status-taint=", "--status-taint=a:b"}, []string{`--status-taint: an empty value is left out; "a:b" matches no taint, since only the key is compared`}},
		"two limits for one GPU":                {[]string{"--gpu-total=t4:0:1", "--gpu-total=t4:0:2"}, []string{`--gpu-total: type "t4" is given more than once, the last one counts`}},
		"two groups for one priority":           {[]string{"--drain-priority-config=1:2,1:3"}, []string{"--drain-priority-config: priority 1 is given more than once, the last one counts"}},
		"two ways to find the API server":       {[]string{"--kubernetes=anything", "--kubeconfig=file"}, []string{"--kubernetes: has no effect beside --kubeconfig, which wins"}},
		"an unknown option for the API server":  {[]string{"--kubernetes=https://host?insecure=true"}, []string{`--kubernetes: option "insecure" is unknown and has no effect`}},
		"a gate that a flag governs":            {[]string{"--feature-gates=DynamicResourceAllocation=false"}, []string{"--feature-gates: DynamicResourceAllocation=false has no effect: --enable-dynamic-resource-allocation governs it and is on"}},
		"the same gate with the flag's value":   {[]string{"--feature-gates=DynamicResourceAllocation=true"}, nil},
		"all expanders":                         {[]string{"--expander=priority,price,grpc,most-pods,least-nodes,least-waste,random", "--grpc-expander-url=a:1", "--grpc-expander-cert=c"}, nil},
		"labels to compare and labels to leave": {[]string{"--balancing-label=a", "--balancing-ignore-label=b"}, []string{"--balancing-ignore-label: has no effect beside --balancing-label, which wins"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, warning := range accepted(t, test.args...).Warnings {
				got = append(got, warning.String())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFormsAreParsedIntoTypedOptions(t *testing.T) {
	tests := map[string]struct {
		args []string
		edit func(*Options) // makes the wanted options of the default ones
	}{
		"cores": {[]string{"--cores-total=4:100"}, func(o *Options) { o.Limits.Cores = Range{4, 100} }},
		"memory is counted in bytes": {[]string{"--memory-total=1:3"}, func(o *Options) {
			o.Limits.Memory = Range{1 << 30, 3 << 30}
		}},
		"memory that is too large to count is unlimited": {[]string{"--memory-total=1:9223372036854775807"}, func(o *Options) {
			o.Limits.Memory = Range{1 << 30, Unlimited}
		}},
		"the largest memory that can be counted": {[]string{"--memory-total=0:8589934591"}, func(o *Options) {
			o.Limits.Memory = Range{0, 8589934591 << 30}
		}},
		"GPUs by type": {[]string{"--gpu-total=v100:1:2", "--gpu-total=a100:0:0"}, func(o *Options) {
			o.Limits.GPUs = []GPULimit{{"a100", Range{0, 0}}, {"v100", Range{1, 2}}}
		}},
		"the last limit of a GPU": {[]string{"--gpu-total=t4:0:1", "--gpu-total=t4:0:2"}, func(o *Options) {
			o.Limits.GPUs = []GPULimit{{"t4", Range{0, 2}}}
		}},
		"a chain with a draw at its end": {[]string{"--expander= least-waste ,random"}, func(o *Options) {
			o.ScaleUp.Expanders = []Expander{ExpanderLeastWaste, ExpanderRandom}
		}},
		"a chain in its order": {[]string{"--expander=priority,grpc,price"}, func(o *Options) {
			o.ScaleUp.Expanders = []Expander{ExpanderPriority, ExpanderGRPC, ExpanderPrice}
		}},
		"drain groups in ascending order": {[]string{"--drain-priority-config=2000000000:1,10:4, 1000:3,-5:0"}, func(o *Options) {
			o.Drain.PriorityGroups = []DrainGroup{{-5, 0}, {10, 4 * time.Second}, {1000, 3 * time.Second}, {2000000000, time.Second}}
		}},
		"drain groups beside the default grace period": {[]string{"--drain-priority-config=1:2", "--max-graceful-termination-sec=600"}, func(o *Options) {
			o.Drain.PriorityGroups = []DrainGroup{{1, 2 * time.Second}}
		}},
		"the last group of a priority": {[]string{"--drain-priority-config=1:2,1:3"}, func(o *Options) {
			o.Drain.PriorityGroups = []DrainGroup{{1, 3 * time.Second}}
		}},
		"a grace period": {[]string{"--max-graceful-termination-sec=90"}, func(o *Options) { o.Drain.MaxGracefulTermination = 90 * time.Second }},
		"a grace period without an end": {[]string{"--max-graceful-termination-sec=9223372036854775807"}, func(o *Options) {
			o.Drain.MaxGracefulTermination = math.MaxInt64
		}},
		"a negative grace period": {[]string{"--max-graceful-termination-sec=-9223372036854775808"}, func(o *Options) {
			o.Drain.MaxGracefulTermination = math.MinInt64
		}},
		"startup taints under both names, each once": {
			[]string{"--ignore-taint=b", "--startup-taint=a", "--startup-taint=b", "--startup-taint=", "--startup-taint-prefix=p/"},
			func(o *Options) {
				o.Templates.StartupTaints = []string{"a", "b"}
				o.Templates.StartupTaintPrefixes = []string{"startup-taint.cluster-autoscaler.kubernetes.io/", "ignore-taint.cluster-autoscaler.kubernetes.io/", "p/"}
			},
		},
		"an API server": {[]string{"--kubernetes=https://host:6443/ignored?inClusterConfig=false&auth=some%2Ffile&useServiceAccount=1"}, func(o *Options) {
			o.API.URL = KubernetesURL{Server: "https://host:6443", Kubeconfig: "some/file", UseServiceAccount: true}
		}},
		"options of the API server without a server": {[]string{"--kubernetes=?useServiceAccount=true"}, func(o *Options) {
			o.API.URL = KubernetesURL{InCluster: true, UseServiceAccount: true}
		}},
		"a kubeconfig makes the URL not matter": {[]string{"--kubernetes=https://host", "--kubeconfig=file"}, func(o *Options) { o.API.Kubeconfig = "file" }},
		"a start-up limit that is raised": {[]string{"--max-startup-time=1m", "--max-inactivity=2h"}, func(o *Options) {
			o.Loop.MaxInactivity, o.Loop.MaxStartupTime = 2*time.Hour, 2*time.Hour
		}},
		"a start-up limit that is long enough": {[]string{"--max-startup-time=15m"}, func(o *Options) { o.Loop.MaxStartupTime = 15 * time.Minute }},
		"bypassed schedulers that are allowed": {[]string{"--bypassed-scheduler-names=b", "--allowed-scheduler-names=a,b"}, func(o *Options) {
			o.Pods.BypassedSchedulers, o.Pods.AllowedSchedulers = []string{"b"}, []string{"a", "b"}
		}},
		"bypassed schedulers where all are allowed": {[]string{"--bypassed-scheduler-names=b"}, func(o *Options) { o.Pods.BypassedSchedulers = []string{"b"} }},
		"no limit and no time are kept apart": {[]string{"--max-nodegroup-binpacking-duration=-1s", "--max-nodes-per-scaleup=0"}, func(o *Options) {
			o.ScaleUp.MaxGroupBinpackingTime, o.ScaleUp.MaxNodesPerScaleUp = -time.Second, 0
		}},
		"no status ConfigMap, no name for it": {[]string{"--write-status-configmap=false", "--status-config-map-name="}, func(o *Options) {
			o.Status.WriteConfigMap, o.Status.ConfigMapName = false, ""
		}},
		"log streams with their gate": {[]string{"--feature-gates=LoggingAlphaOptions=true", "--log-text-split-stream", "--log-text-info-buffer-size=4Ki"}, func(o *Options) {
			o.FeatureGates = map[string]bool{"LoggingAlphaOptions": true}
			o.Logging.TextSplitStream, o.Logging.TextInfoBufferBytes = true, 4096
		}},
		"log streams with all alpha gates": {[]string{"--feature-gates=AllAlpha=true", "--log-json-split-stream", "--log-json-info-buffer-size=1k"}, func(o *Options) {
			o.FeatureGates = map[string]bool{"AllAlpha": true}
			o.Logging.JSONSplitStream, o.Logging.JSONInfoBufferBytes = true, 1000
		}},
		"a gate that a flag governs is taken out": {[]string{"--feature-gates=DynamicResourceAllocation=false,A=true"}, func(o *Options) {
			o.FeatureGates = map[string]bool{"A": true}
		}},
		"only that gate": {[]string{"--feature-gates=DynamicResourceAllocation=true"}, func(*Options) {}},
		"JSON logs":      {[]string{"--logging-format=json"}, func(o *Options) { o.Logging.Format = LogFormatJSON }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			want := Defaults()
			test.edit(&want)
			if diff := cmp.Diff(want, accepted(t, test.args...).Options); diff != "" {
				t.Errorf("%q: options (-want +got):\n%s", test.args, diff)
			}
		})
	}
}

func TestEveryOptionComesFromItsFlag(t *testing.T) {
	got := accepted(t,
		"--address=127.0.0.1:1", "--namespace=ns", "--persist-state=false",
		"--kubernetes=https://host", "--kube-api-content-type=application/json", "--kube-client-qps=1.5", "--kube-client-burst=2", "--user-agent=ua",
		"--leader-elect=false", "--leader-elect-lease-duration=3m", "--leader-elect-renew-deadline=2m", "--leader-elect-retry-period=1m", "--leader-elect-resource-name=lock",
		"--cloud-provider=cp", "--cloud-config=cc", "--nodes=n", "--node-group-auto-discovery=d", "--cluster-name=cn", "--aws-use-static-instance-list", "--aws-price-overrides=po", "--aws-discovery-match=any", "--aws-refresh-interval=90s", "--aws-pause-by-tag",
		"--scan-interval=1s", "--frequent-loops-enabled=false", "--max-inactivity=2s", "--max-failing-time=3s", "--max-startup-time=4s", "--scale-up-from-zero=false", "--enforce-node-group-min-size",
		"--max-nodes-total=3", "--cores-total=4:5", "--memory-total=6:7", "--gpu-total=g:8:9",
		"--max-total-unready-percentage=10", "--ok-total-unready-count=11", "--initial-node-group-backoff-duration=12s", "--max-node-group-backoff-duration=13s",
		"--node-group-backoff-reset-timeout=14s", "--health-scope-all-nodes", "--force-delete-unregistered-nodes", "--force-delete-failed-nodes",
		"--scale-down-utilization-threshold=0.1", "--scale-down-gpu-utilization-threshold=0.2", "--scale-down-unneeded-time=15s", "--scale-down-unready-time=16s",
		"--max-node-provision-time=17s", "--max-node-startup-time=18s", "--ignore-daemonsets-utilization",
		"--expander=random", "--grpc-expander-url=gu", "--grpc-expander-cert=gc", "--max-nodes-per-scaleup=19", "--max-nodegroup-binpacking-duration=20s", "--max-binpacking-time=21s",
		"--parallel-scale-up", "--salvo-scale-up", "--salvo-scale-up-budget=22s", "--scaleup-simulation-for-skipped-node-groups-enabled",
		"--balance-similar-node-groups", "--balancing-ignore-label=bi", "--balancing-label=bl", "--memory-difference-ratio=0.3", "--max-free-difference-ratio=0.4", "--max-allocatable-difference-ratio=0.6",
		"--expendable-pods-priority-cutoff=-23", "--new-pod-scale-up-delay=24s", "--allowed-scheduler-names=s1,s2", "--bypassed-scheduler-names=s2", "--enable-graceful-degradation", "--pending-pods-batching-timeout=25s",
		"--node-info-cache-expire-time=26s", "--force-ds", "--scale-from-unschedulable", "--startup-taint=t1", "--ignore-taint=t2", "--startup-taint-prefix=t3", "--status-taint=t4",
		"--scheduler-config-file=sc", "--predicate-parallelism=27", "--simulator-fast-path=false", "--enable-csi-node-aware-scheduling", "--enable-inter-pod-affinity-hostname-fast-path",
		"--scale-down-enabled=false", "--scale-down-unready-enabled=false", "--scale-down-delay-after-add=28s", "--scale-down-delay-after-delete=29s", "--scale-down-delay-after-failure=30s",
		"--scale-down-delay-type-local", "--ignore-mirror-pods-utilization", "--scale-down-simulation-timeout=31s", "--unremovable-node-recheck-timeout=32s",
		"--max-scale-down-parallelism=33", "--max-drain-parallelism=34", "--node-deletion-batcher-interval=35s", "--node-deletion-delay-timeout=36s", "--node-delete-delay-after-taint=37s",
		"--dynamic-node-delete-delay-after-taint-enabled", "--cordon-node-before-terminating=false", "--skip-nodes-with-system-pods=false", "--blocking-system-pod-distruption-timeout=38s",
		"--skip-nodes-with-local-storage=false", "--skip-nodes-with-custom-controller-pods=false", "--min-replica-count=39", "--node-removal-latency-tracking-enabled", "--max-node-skip-eval-time-tracker-enabled",
		"--max-graceful-termination-sec=600", "--drain-priority-config=40:41", "--max-pod-eviction-time=42s", "--daemonset-eviction-for-empty-nodes", "--daemonset-eviction-for-occupied-nodes=false",
		"--max-bulk-soft-taint-count=43", "--max-bulk-soft-taint-time=44s", "--node-deletion-candidate-ttl=45s",
		"--write-status-configmap=false", "--status-config-map-name=st", "--record-duplicated-events", "--emit-per-nodegroup-metrics", "--debugging-snapshot-enabled", "--profiling",
		"--enable-proactive-scaleup", "--pod-injection-limit=46", "--enable-provisioning-requests", "--provisioning-request-initial-backoff-time=47s", "--provisioning-request-max-backoff-time=48s",
		"--provisioning-request-max-backoff-cache-size=49", "--check-capacity-batch-processing", "--check-capacity-provisioning-request-max-batch-size=50",
		"--check-capacity-provisioning-request-batch-timebox=51s", "--check-capacity-processor-instance=pi",
		"--capacity-buffer-controller-enabled", "--capacity-buffer-pod-injection-enabled", "--capacity-buffer-pod-dry-run-enabled=false", "--capacity-quotas-enabled",
		"--v=52", "--vmodule=m=53", "--log-flush-frequency=54s", "--log-text-split-stream", "--log-json-split-stream", "--log-text-info-buffer-size=55", "--log-json-info-buffer-size=56",
		"--logtostderr=false", "--stderrthreshold=error", "--legacy-stderr-threshold-behavior", "--alsologtostderr", "--alsologtostderrthreshold=fatal", "--log-file=lf", "--log-dir=ld",
		"--log-file-max-size=57", "--log-backtrace-at=a.go:58", "--add-dir-header", "--skip-headers", "--skip-log-headers", "--one-output", "--feature-gates=LoggingAlphaOptions=true",
	).Options
	if diff := cmp.Diff(everyOptionChanged(), got); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
}

func TestTheTestOfEveryOptionLeavesNoneAtItsDefault(t *testing.T) {
	same := map[string]bool{
		"ScaleUp.Estimator": true, "Templates.StatusTaintPrefixes": true, // nothing can change these
		"Logging.Format": true, "API.Kubeconfig": true, // exclude others, so tests of their own change them
		"Drain.MaxGracefulTermination": true,
	}
	changed, defaults := reflect.ValueOf(everyOptionChanged()), reflect.ValueOf(Defaults())
	for i := range changed.NumField() {
		group := changed.Type().Field(i).Name
		if changed.Field(i).Kind() != reflect.Struct {
			continue
		}
		for j := range changed.Field(i).NumField() {
			name := group + "." + changed.Field(i).Type().Field(j).Name
			if equal := cmp.Equal(changed.Field(i).Field(j).Interface(), defaults.Field(i).Field(j).Interface()); equal != same[name] {
				t.Errorf("%s: equal to its default is %t, want %t", name, equal, same[name])
			}
		}
	}
}

// everyOptionChanged is what the command line of TestEveryOptionComesFromItsFlag means.
func everyOptionChanged() Options {
	return Options{
		Process:        Process{Address: "127.0.0.1:1", Namespace: "ns", PersistState: false},
		API:            API{URL: KubernetesURL{Server: "https://host", InCluster: true}, ContentType: "application/json", QPS: 1.5, Burst: 2, UserAgent: "ua"},
		LeaderElection: LeaderElection{Enabled: false, LeaseDuration: 3 * time.Minute, RenewDeadline: 2 * time.Minute, RetryPeriod: time.Minute, LeaseName: "lock"},
		Cloud: Cloud{Provider: "cp", ConfigFile: "cc", Nodes: []string{"n"}, AutoDiscovery: []string{"d"}, ClusterName: "cn",
			AWSStaticInstanceList: true, AWSPriceOverrides: "po", AWSDiscoverAny: true, AWSRefreshInterval: 90 * time.Second, AWSPauseByTag: true},
		Loop: Loop{ScanInterval: time.Second, FrequentLoops: false, MaxInactivity: 2 * time.Second, MaxFailingTime: 3 * time.Second,
			MaxStartupTime: 4 * time.Second, ScaleUpFromZero: false, EnforceGroupMinSize: true},
		Limits: Limits{MaxNodes: 3, Cores: Range{4, 5}, Memory: Range{6 << 30, 7 << 30}, GPUs: []GPULimit{{"g", Range{8, 9}}}},
		ClusterState: ClusterState{MaxUnreadyPercentage: 10, OKUnreadyCount: 11, InitialBackoff: 12 * time.Second, MaxBackoff: 13 * time.Second,
			BackoffResetTimeout: 14 * time.Second, HealthScopeAllNodes: true, ForceDeleteUnregistered: true, ForceDeleteFailed: true},
		NodeGroupDefaults: NodeGroupDefaults{ScaleDownUtilizationThreshold: 0.1, ScaleDownGPUUtilizationThreshold: 0.2,
			ScaleDownUnneededTime: 15 * time.Second, ScaleDownUnreadyTime: 16 * time.Second, MaxNodeProvisionTime: 17 * time.Second,
			MaxNodeStartupTime: 18 * time.Second, IgnoreDaemonSetsUtilization: true},
		ScaleUp: ScaleUp{Estimator: "binpacking", Expanders: []Expander{ExpanderRandom}, GRPCExpanderURL: "gu", GRPCExpanderCert: "gc",
			MaxNodesPerScaleUp: 19, MaxGroupBinpackingTime: 20 * time.Second, MaxBinpackingTime: 21 * time.Second, Parallel: true, Salvo: true,
			SalvoBudget: 22 * time.Second, SimulateSkippedNodeGroups: true},
		Balancing: Balancing{Enabled: true, IgnoreLabels: []string{"bi"}, Labels: []string{"bl"}, MemoryDifferenceRatio: 0.3,
			MaxFreeDifferenceRatio: 0.4, MaxAllocatableDifferenceRatio: 0.6},
		Pods: Pods{ExpendablePriorityCutoff: -23, NewPodScaleUpDelay: 24 * time.Second, AllowedSchedulers: []string{"s1", "s2"},
			BypassedSchedulers: []string{"s2"}, GracefulDegradation: true, GracefulDegradationTimeout: 25 * time.Second},
		Templates: Templates{NodeInfoCacheExpireTime: 26 * time.Second, ForceDaemonSets: true, FromUnschedulable: true,
			StartupTaints: []string{"t1", "t2"}, StartupTaintPrefixes: []string{StartupTaintPrefix, IgnoreTaintPrefix, "t3"},
			StatusTaints: []string{"t4"}, StatusTaintPrefixes: []string{StatusTaintPrefix}},
		Simulation: Simulation{SchedulerConfigFile: "sc", Parallelism: 27, CSINodeAware: true, HostnameAffinityFastPath: true},
		ScaleDown: ScaleDown{Enabled: false, UnreadyEnabled: false, DelayAfterAdd: 28 * time.Second, DelayAfterDelete: 29 * time.Second,
			DelayAfterFailure: 30 * time.Second, DelayTypeLocal: true, IgnoreMirrorPods: true, SimulationTimeout: 31 * time.Second,
			UnremovableRecheckTimeout: 32 * time.Second, MaxParallelism: 33, MaxDrainParallelism: 34, DeletionBatcherInterval: 35 * time.Second,
			DeletionDelayTimeout: 36 * time.Second, DeleteDelayAfterTaint: 37 * time.Second, DynamicDelayAfterTaint: true,
			CordonBeforeTerminating: false, SkipNodesWithSystemPods: false, SystemPodDisruptionTimeout: 38 * time.Second,
			SkipNodesWithLocalStorage: false, SkipCustomControllerPods: false, MinReplicaCount: 39, LatencyTracking: true, SkipEvalTracking: true},
		Drain: Drain{MaxGracefulTermination: 10 * time.Minute, PriorityGroups: []DrainGroup{{40, 41 * time.Second}}, MaxPodEvictionTime: 42 * time.Second,
			DaemonSetsOnEmpty: true, DaemonSetsWhenDrained: false},
		SoftTaints:       SoftTaints{MaxBulkCount: 43, MaxBulkTime: 44 * time.Second, CandidateTTL: 45 * time.Second},
		Status:           Status{WriteConfigMap: false, ConfigMapName: "st", RecordDuplicateEvents: true, PerNodeGroupMetrics: true},
		Debug:            Debug{SnapshotEnabled: true, Profiling: true},
		ProactiveScaleUp: ProactiveScaleUp{Enabled: true, PodInjectionLimit: 46},
		ProvisioningRequests: ProvisioningRequests{Enabled: true, InitialBackoff: 47 * time.Second, MaxBackoff: 48 * time.Second, MaxBackoffCacheSize: 49,
			CheckCapacityBatch: true, CheckCapacityMaxBatchSize: 50, CheckCapacityBatchTimebox: 51 * time.Second, CheckCapacityProcessorInstance: "pi"},
		CapacityBuffers: CapacityBuffers{ControllerEnabled: true, PodInjection: true, PodDryRun: false},
		CapacityQuotas:  CapacityQuotas{Enabled: true},
		Logging: Logging{Format: LogFormatText, Verbosity: 52, VModule: []VModule{{"m", 53}}, FlushFrequency: 54 * time.Second, TextSplitStream: true,
			JSONSplitStream: true, TextInfoBufferBytes: 55, JSONInfoBufferBytes: 56, LogToStderr: false, StderrThreshold: "ERROR",
			LegacyStderrThreshold: true, AlsoLogToStderr: true, AlsoLogToStderrThreshold: "FATAL", LogFile: "lf", LogDir: "ld", LogFileMaxSizeMB: 57,
			LogBacktraceAt: "a.go:58", AddDirHeader: true, SkipHeaders: true, SkipLogHeaders: true, OneOutput: true},
		FeatureGates: map[string]bool{"LoggingAlphaOptions": true},
	}
}

func TestTheOptionsOfAnEmptyCommandLineAreTheKnownDefaults(t *testing.T) {
	got := Defaults()
	want := Options{
		Process:        Process{Address: ":8085", Namespace: "kube-system", PersistState: true},
		API:            API{URL: KubernetesURL{InCluster: true}, ContentType: "application/vnd.kubernetes.protobuf", QPS: 5, Burst: 10, UserAgent: "cluster-autoscaler"},
		LeaderElection: LeaderElection{Enabled: true, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second, LeaseName: "cluster-autoscaler"},
		Cloud:          Cloud{AWSRefreshInterval: time.Minute},
		Loop: Loop{ScanInterval: 10 * time.Second, FrequentLoops: true, MaxInactivity: 10 * time.Minute, MaxFailingTime: 15 * time.Minute,
			MaxStartupTime: 20 * time.Minute, ScaleUpFromZero: true},
		Limits: Limits{Cores: Range{0, 320000}, Memory: Range{0, 6400000 << 30}},
		ClusterState: ClusterState{MaxUnreadyPercentage: 45, OKUnreadyCount: 3, InitialBackoff: 5 * time.Minute, MaxBackoff: 30 * time.Minute,
			BackoffResetTimeout: 3 * time.Hour},
		NodeGroupDefaults: NodeGroupDefaults{ScaleDownUtilizationThreshold: 0.5, ScaleDownGPUUtilizationThreshold: 0.5,
			ScaleDownUnneededTime: 10 * time.Minute, ScaleDownUnreadyTime: 20 * time.Minute, MaxNodeProvisionTime: 15 * time.Minute, MaxNodeStartupTime: 15 * time.Minute},
		ScaleUp: ScaleUp{Estimator: "binpacking", Expanders: []Expander{ExpanderLeastWaste}, MaxNodesPerScaleUp: 1000,
			MaxGroupBinpackingTime: 10 * time.Second, MaxBinpackingTime: 5 * time.Minute, SalvoBudget: time.Minute},
		Balancing: Balancing{MemoryDifferenceRatio: 0.015, MaxFreeDifferenceRatio: 0.05, MaxAllocatableDifferenceRatio: 0.05},
		Pods:      Pods{ExpendablePriorityCutoff: -10, GracefulDegradationTimeout: 4 * time.Minute},
		Templates: Templates{NodeInfoCacheExpireTime: 87600 * time.Hour,
			StartupTaintPrefixes: []string{"startup-taint.cluster-autoscaler.kubernetes.io/", "ignore-taint.cluster-autoscaler.kubernetes.io/"},
			StatusTaintPrefixes:  []string{"status-taint.cluster-autoscaler.kubernetes.io/"}},
		Simulation: Simulation{Parallelism: 4, FastPath: true},
		ScaleDown: ScaleDown{Enabled: true, UnreadyEnabled: true, DelayAfterAdd: 10 * time.Minute, DelayAfterFailure: 3 * time.Minute,
			SimulationTimeout: 30 * time.Second, UnremovableRecheckTimeout: 5 * time.Minute, MaxParallelism: 10, MaxDrainParallelism: 1,
			DeletionDelayTimeout: 2 * time.Minute, DeleteDelayAfterTaint: 5 * time.Second, CordonBeforeTerminating: true,
			SkipNodesWithSystemPods: true, SystemPodDisruptionTimeout: time.Hour, SkipNodesWithLocalStorage: true, SkipCustomControllerPods: true},
		Drain:            Drain{MaxGracefulTermination: 10 * time.Minute, MaxPodEvictionTime: 2 * time.Minute, DaemonSetsWhenDrained: true},
		SoftTaints:       SoftTaints{MaxBulkCount: 10, MaxBulkTime: 3 * time.Second},
		Status:           Status{WriteConfigMap: true, ConfigMapName: "cluster-autoscaler-status"},
		ProactiveScaleUp: ProactiveScaleUp{PodInjectionLimit: 5000},
		ProvisioningRequests: ProvisioningRequests{InitialBackoff: time.Minute, MaxBackoff: 10 * time.Minute, MaxBackoffCacheSize: 1000,
			CheckCapacityMaxBatchSize: 10, CheckCapacityBatchTimebox: 10 * time.Second},
		CapacityBuffers: CapacityBuffers{PodDryRun: true},
		Logging: Logging{Format: LogFormatText, FlushFrequency: 5 * time.Second, LogToStderr: true, StderrThreshold: "INFO",
			AlsoLogToStderrThreshold: "INFO", LogFileMaxSizeMB: 1800},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
}
