package demo

import (
	"fmt"

	"example.com/cluster-autoscaler/cloudprovider/digitalocean/dotest"
	"example.com/cluster-autoscaler/hack/playground/autoscaler"
	"example.com/cluster-autoscaler/hack/playground/checker"
	"example.com/cluster-autoscaler/hack/playground/cluster"
)

// doksStandIn is DigitalOcean Kubernetes with node pools.
type doksStandIn struct{ cluster *cluster.Cluster }

func (s doksStandIn) furnish() ([]nodeGroup, error) {
	var told []nodeGroup
	for _, pool := range cluster.DefaultNodePools() {
		if err := s.cluster.AddNodePool(pool); err != nil {
			return nil, err
		}
		group := nodeGroup{name: pool.ID, min: pool.Min, max: pool.Max, machine: pool.Size}
		for _, taint := range pool.Taints {
			group.taints = append(group.taints, fmt.Sprintf("%s=%s:%s", taint.Key, taint.Value, taint.Effect))
		}
		told = append(told, group)
	}
	return told, nil
}

func (s doksStandIn) flags() []string { return autoscaler.ProductionFlagsDOKS(s.cluster.DOKSConfig()) }

func (s doksStandIn) first() map[string][]string {
	first := map[string][]string{}
	for _, n := range s.cluster.DOKS.Nodes("") {
		first[n.Pool] = append(first[n.Pool], n.DropletID)
	}
	return first
}

// words are those of the checker for what happens in pools.
var words = map[dotest.EventKind]string{ //nolint:gochecknoglobals // a constant that Go can't spell
	dotest.EventCountChanged: checker.DesiredChanged, dotest.EventLaunched: checker.Launched, dotest.EventLaunchFailed: checker.LaunchFailed,
	dotest.EventEnding: checker.Ending, dotest.EventGone: checker.Gone,
}

func (s doksStandIn) events() checker.Log {
	var log checker.Log
	for _, e := range s.cluster.DOKS.Events() {
		if e.Droplet == "" && (e.Kind == dotest.EventEnding || e.Kind == dotest.EventGone) {
			continue // it never had a machine
		}
		cause := string(e.Cause)
		if e.Cause == dotest.CauseNamed {
			cause = checker.CauseRequest
		}
		log = append(log, checker.Record{Time: e.Time, Cloud: &checker.Cloud{
			Kind: words[e.Kind], Group: e.Pool, Instance: e.Droplet, Cause: cause, Call: e.Call, From: e.From, To: e.To,
		}})
	}
	return log
}

func (s doksStandIn) calls() checker.Log {
	var log checker.Log
	for _, c := range s.cluster.DOKS.Writes() {
		call := checker.Call{
			Number: c.Number, Action: c.Operation, Code: c.ErrorID, Group: c.Pool, At: c.At,
			DesiredFrom: c.From, DesiredTo: c.To, LiveFrom: c.LiveFrom, LiveTo: c.LiveTo,
		}
		log = append(log, checker.Record{Time: c.Time, Call: &call})
	}
	return log
}

func (s doksStandIn) final() []checker.FinalGroup {
	var groups []checker.FinalGroup
	for _, pool := range s.cluster.DOKS.Pools() {
		group := checker.FinalGroup{Name: pool.ID, Desired: pool.Count, Instances: []string{}}
		for _, n := range s.cluster.DOKS.Nodes(pool.ID) {
			if n.Registered && !n.Ending() {
				group.Instances = append(group.Instances, n.DropletID)
			}
		}
		groups = append(groups, group)
	}
	return groups
}
