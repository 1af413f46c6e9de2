package template_test

import (
	"testing"
	"time"

	"example.com/cluster-autoscaler/cloudprovider/digitalocean/internal/doapi"
	"example.com/cluster-autoscaler/cloudprovider/digitalocean/internal/template"
)

func FuzzATemplateIsWholeOrRefused(f *testing.F) {
	f.Add("dedicated=web:NoSchedule", "2048Mi", int64(2), int64(1900), int64(110))
	f.Add("a:NoExecute-", "1Gi", int64(0), int64(390), int64(1))
	f.Add("=:", "1024MI", int64(-1), int64(0), int64(0))
	f.Fuzz(func(t *testing.T, taint, memory string, cpu, milli, pods int64) {
		r := &doapi.Resources{CPU: cpu, MilliCPU: milli, Memory: memory, Pods: pods}
		v, err := template.Variant(template.Source{
			Pool: doapi.Pool{ID: "p", Name: "p"}, Template: doapi.Template{Taints: []string{taint}, Capacity: r, Allocatable: r}, Now: time.Unix(0, 0),
		})
		if err != nil {
			return
		}
		list := v.Node.Status.Allocatable
		if list.Cpu().Sign() <= 0 || list.Memory().Sign() <= 0 || list.Pods().Sign() <= 0 {
			t.Errorf("a node with %v", list)
		}
		for _, taint := range v.Node.Spec.Taints {
			if taint.Key == "" || taint.Effect == "" {
				t.Errorf("the taint %+v", taint)
			}
		}
	})
}
