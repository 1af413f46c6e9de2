package document_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"sigs.k8s.io/yaml"

	"example.com/cluster-autoscaler/core/scenario/document"
)

// dumpNode is a node as kubectl prints it.
func dumpNode(i int) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Node","metadata":{"name":"ip-10-0-%[1]d.ec2.internal","uid":"6f0d0000-0000-0000-0000-%012[1]d","resourceVersion":"%[1]d",
"creationTimestamp":"2026-03-01T10:00:00Z","labels":{"kubernetes.io/hostname":"ip-10-0-%[1]d","topology.kubernetes.io/zone":"eu-west-1%[2]c","pool":"workers"},
"annotations":{"csi.volume.kubernetes.io/nodeid":"{\"ebs.csi.aws.com\":\"i-%[1]d\"}"}},
"spec":{"providerID":"aws:///eu-west-1%[2]c/i-%017[1]d"},
"status":{"capacity":{"cpu":"8","memory":"32Gi","pods":"110"},"allocatable":{"cpu":"7910m","memory":"31Gi","pods":"110"},
"conditions":[{"type":"Ready","status":"True","reason":"KubeletReady","lastHeartbeatTime":"2026-03-01T11:00:00Z","lastTransitionTime":"2026-03-01T10:01:00Z"}],
"images":[{"names":["registry.example.com/app@sha256:0123456789","registry.example.com/app:v1"],"sizeBytes":123456789}]}}`, i, 'a'+i%3)
}

// dumpPod is a pod as kubectl prints it: most of it is of no use here.
func dumpPod(i int) string {
	workload := i / 50
	noise := strings.Repeat("x", 400)
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"app-%[2]d-%[1]d","namespace":"team-%[3]d","uid":"7a0d0000-0000-0000-0000-%012[1]d","resourceVersion":"%[1]d",
"creationTimestamp":"2026-03-01T10:30:00Z","generateName":"app-%[2]d-","labels":{"app":"app-%[2]d","pod-template-hash":"%[2]d","version":"v1"},
"annotations":{"prometheus.io/scrape":"true","checksum/config":"%[4]s"},
"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"app-%[2]d","uid":"8a0d0000-0000-0000-0000-%012[2]d","controller":true,"blockOwnerDeletion":true}]},
"spec":{"nodeName":"ip-10-0-%[5]d.ec2.internal","serviceAccountName":"default","schedulerName":"default-scheduler","priority":0,"restartPolicy":"Always","dnsPolicy":"ClusterFirst",
"containers":[{"name":"app","image":"registry.example.com/app:v1","imagePullPolicy":"IfNotPresent","args":["--verbose","%[4]s"],
"env":[{"name":"POD_NAME","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"metadata.name"}}},{"name":"SETTINGS","value":"%[4]s"}],
"livenessProbe":{"httpGet":{"path":"/healthz","port":8080,"scheme":"HTTP"},"timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,"failureThreshold":3},
"resources":{"requests":{"cpu":"100m","memory":"256Mi"},"limits":{"memory":"512Mi"}},
"volumeMounts":[{"name":"kube-api-access","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}]}],
"tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300},{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],
"volumes":[{"name":"kube-api-access","projected":{"sources":[{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}}],"defaultMode":420}}]},
"status":{"phase":"Running","podIP":"10.1.2.3","startTime":"2026-03-01T10:30:05Z","conditions":[{"type":"PodScheduled","status":"True","lastTransitionTime":"2026-03-01T10:30:01Z"},
{"type":"Ready","status":"True","lastTransitionTime":"2026-03-01T10:30:20Z"}],
"containerStatuses":[{"name":"app","ready":true,"restartCount":0,"image":"registry.example.com/app:v1","imageID":"registry.example.com/app@sha256:0123456789","containerID":"containerd://%012[1]d","state":{"running":{"startedAt":"2026-03-01T10:30:19Z"}}}]}}`,
		i, workload, workload%20, noise, i%100)
}

// leanPod is a pod that says as little as it can.
func leanPod(i int) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"pod-%[1]d","labels":{"app":"a"}},"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"100m","memory":"64Mi"}}}]}}`, i)
}

// jsonList is a list of n items, made as it is read.
type jsonList struct {
	item    func(int) string
	n, next int
	pending []byte
	size    int
}

func (l *jsonList) Read(p []byte) (int, error) {
	if len(l.pending) == 0 {
		switch {
		case l.next > l.n:
			return 0, io.EOF
		case l.next == 0:
			l.pending = []byte(`{"apiVersion":"v1","items":[` + l.item(0))
		case l.next == l.n:
			l.pending = []byte(`],"kind":"List","metadata":{"resourceVersion":""}}` + "\n")
		default:
			l.pending = []byte(",\n" + l.item(l.next))
		}
		l.next++
	}
	n := copy(p, l.pending)
	l.pending, l.size = l.pending[n:], l.size+n
	return n, nil
}

// yamlOf is JSON as kubectl prints YAML.
func yamlOf(tb testing.TB, text string) string {
	tb.Helper()
	out, err := yaml.JSONToYAML([]byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return string(out)
}

// dump is a small cluster, as a list in JSON.
func dump(nodes, pods int) string {
	var items []string
	for i := range nodes {
		items = append(items, dumpNode(i))
	}
	for i := range pods {
		items = append(items, dumpPod(i))
	}
	return `{"apiVersion":"v1","items":[` + strings.Join(items, ",") + `],"kind":"List","metadata":{"resourceVersion":""}}`
}

// inInput compares inputs without where things stand.
func inInput() cmp.Options {
	return cmp.Options{cmpopts.IgnoreUnexported(document.Input{}, document.Entry{})}
}

func TestTheSameObjectsAreReadFromEveryWriting(t *testing.T) {
	small := dump(100, 30)
	want := mustRead(t, small)
	if len(want.Nodes) != 100 || len(want.Pods) != 30 {
		t.Fatalf("read %d nodes and %d pods", len(want.Nodes), len(want.Pods))
	}
	var items struct{ Items []json.RawMessage }
	if err := json.Unmarshal([]byte(small), &items); err != nil {
		t.Fatal(err)
	}
	var stream, indented bytes.Buffer
	var yamls, typedNodes, typedPods []string
	for _, item := range items.Items {
		stream.Write(item)
		stream.WriteString("\n")
		yamls = append(yamls, yamlOf(t, string(item)))
		bare := strings.Replace(string(item), `"apiVersion":"v1","kind":"Node",`, "", 1)
		if bare != string(item) {
			typedNodes = append(typedNodes, bare)
			continue
		}
		typedPods = append(typedPods, strings.Replace(bare, `"apiVersion":"v1","kind":"Pod",`, "", 1))
	}
	if err := json.Indent(&indented, []byte(small), "", "    "); err != nil {
		t.Fatal(err)
	}
	typed := func(kind string, items []string) string {
		return `{"kind":"` + kind + `","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[` + strings.Join(items, ",") + "]}"
	}
	late := `{"items":[` + strings.Join(typedPods, ",") + `],"metadata":{},"kind":"PodList","apiVersion":"v1"}`
	plain := yamlOf(t, small)
	start, end := strings.Index(plain, "\n- "), strings.Index(plain, "\nkind: List")
	indentedItems := plain[:start] + strings.ReplaceAll(plain[start:end], "\n", "\n    ") + plain[end:]

	for name, files := range map[string][]string{
		"a YAML list":                        {yamlOf(t, small)},
		"a YAML list with carriage returns":  {strings.ReplaceAll(yamlOf(t, small), "\n", "\r\n")},
		"a YAML list with more indentation":  {indentedItems},
		"indented JSON":                      {indented.String()},
		"a stream of JSON objects":           {stream.String()},
		"JSON objects between markers":       {"---\n" + strings.ReplaceAll(stream.String(), "}}\n{", "}}\n---\n{")},
		"YAML documents":                     {strings.Join(yamls, "---\n")},
		"YAML documents over two files":      {strings.Join(yamls[:40], "---\n"), strings.Join(yamls[40:], "---\n")},
		"documents with comments and blanks": {"\ufeff%YAML 1.1\n--- # first\n\n" + strings.Join(yamls, "\n...\n\n# next\n---\n\n") + "---\n---\n# end"},
		"lists of a type":                    {typed("NodeList", typedNodes), typed("PodList", typedPods)},
		"a list that says last what it is":   {typed("NodeList", typedNodes), late},
		"a list within a list":               {`{"kind":"List","apiVersion":"v1","items":[` + small + "]}"},
		"JSON and YAML in one file":          {typed("NodeList", typedNodes) + "\n---\n" + yamlOf(t, typed("PodList", typedPods))},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(want, mustRead(t, files...), inInput()); diff != "" {
				t.Errorf("input (-list of JSON +got):\n%s", diff)
			}
		})
	}
}

func TestALargeYAMLListIsReadItemByItem(t *testing.T) {
	text := dump(20, 320) // over a megabyte of YAML: it is split
	large := yamlOf(t, text)
	if len(large) < 9<<17 {
		t.Fatalf("the list has only %d bytes", len(large))
	}
	want := mustRead(t, text)
	start, end := strings.Index(large, "\n- "), strings.Index(large, "\nkind: List")
	for name, file := range map[string]string{
		"as kubectl writes it":         large,
		"with comments between":        strings.ReplaceAll(large, "\n- apiVersion: v1\n", "\n# comment\n\n- apiVersion: v1\n"),
		"with more indentation":        large[:start] + strings.ReplaceAll(large[start:end], "\n", "\n  ") + large[end:],
		"with what it is at the start": "kind: List\n" + strings.Replace(large, "\nkind: List\n", "\n", 1),
		"with a document behind":       large + "---\n# nothing\n",
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(want, mustRead(t, file), inInput()); diff != "" {
				t.Errorf("input (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("with errors", func(t *testing.T) {
		broken := strings.Replace(large, "\n    name: app-3-199\n", "\n    name: a: b\n", 1)
		broken = strings.Replace(broken, "nodeName: ip-10-0-1.ec2.internal", "nodeName: 7", 1)
		line := strings.Count(broken[:strings.Index(broken, "name: a: b")], "\n") + 1
		want := []string{
			"a.yaml: document 1: items[21].spec.nodeName: want a string, got the number 7",
			fmt.Sprintf("a.yaml: document 1: items[219]: line %d: mapping values are not allowed in this context", line),
		}
		if diff := cmp.Diff(want, all(broken)); diff != "" {
			t.Errorf("errors (-want +got):\n%s", diff)
		}
	})
	t.Run("that is none", func(t *testing.T) {
		want := []string{`a.yaml: document 1: items: only a list has items, this is a "Node"`}
		if diff := cmp.Diff(want, all(strings.Replace(large, "\nkind: List\n", "\nkind: Node\n", 1))); diff != "" {
			t.Errorf("errors (-want +got):\n%s", diff)
		}
	})
}

// heap is the live heap in bytes.
func heap() int {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}

func TestADumpTakesLittleMoreMemoryThanItsFile(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 60 MB")
	}
	for name, test := range map[string]struct {
		item func(int) string
		most float64 // live heap / size of the file
	}{
		"pods as kubectl prints them": {dumpPod, 1},
		"pods that say little":        {leanPod, 10},
	} {
		t.Run(name, func(t *testing.T) {
			before := heap()
			list := &jsonList{item: test.item, n: 20_000}
			in, _, err := document.Read([]document.Source{{Name: "dump.json", Reader: list}})
			if err != nil {
				t.Fatal(err)
			}
			ratio := float64(heap()-before) / float64(list.size)
			t.Logf("%d bytes of JSON, live heap %.2f times that", list.size, ratio)
			if len(in.Pods) != 20_000 || ratio > test.most {
				t.Errorf("%d pods, live heap %.2f times the file, want at most %v", len(in.Pods), ratio, test.most)
			}
			runtime.KeepAlive(in)
		})
	}
}

// BenchmarkRead reads pods as kubectl prints them; the reader makes them on the way, at a cost that is included.
func BenchmarkRead(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		b.Run(fmt.Sprintf("json/pods=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				list := &jsonList{item: dumpPod, n: n}
				if _, _, err := document.Read([]document.Source{{Name: "dump.json", Reader: list}}); err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(list.size))
			}
		})
	}
	text := yamlOf(b, dump(0, 1_000))
	b.Run("yaml/pods=1000", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if _, _, err := read(text); err != nil {
				b.Fatal(err)
			}
		}
	})
}
