package demo

import (
	"fmt"
	"slices"

	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
	"example.com/cluster-autoscaler/hack/playground/autoscaler"
	"example.com/cluster-autoscaler/hack/playground/checker"
	"example.com/cluster-autoscaler/hack/playground/cluster"
)

// awsStandIn is AWS with Auto Scaling groups.
type awsStandIn struct{ cluster *cluster.Cluster }

func (s awsStandIn) furnish() ([]nodeGroup, error) {
	for _, g := range cluster.DefaultNodeGroups() {
		if err := s.cluster.AddNodeGroup(g); err != nil {
			return nil, err
		}
	}
	return awsNodeGroups(), nil
}

// awsNodeGroups are the groups of the story.
func awsNodeGroups() []nodeGroup {
	var told []nodeGroup
	for _, g := range cluster.DefaultNodeGroups() {
		group := nodeGroup{name: g.Name, min: g.Min, max: g.Max, machine: g.Type}
		for _, taint := range g.Taints {
			group.taints = append(group.taints, fmt.Sprintf("%s=%s:%s", taint.Key, taint.Value, taint.Effect))
		}
		told = append(told, group)
	}
	return told
}

func (s awsStandIn) flags() []string { return autoscaler.ProductionFlags(cluster.Name) }

func (s awsStandIn) first() map[string][]string {
	first := map[string][]string{}
	for _, i := range s.cluster.AWS.Instances() {
		first[i.Group] = append(first[i.Group], i.ID)
	}
	return first
}

func (s awsStandIn) events() checker.Log {
	var log checker.Log
	for _, e := range s.cluster.AWS.Events() {
		log = append(log, checker.Record{Time: e.Time, Cloud: &checker.Cloud{
			Kind: string(e.Kind), Group: e.Group, Instance: e.Instance, Cause: string(e.Cause), Call: e.Call, From: e.From, To: e.To,
		}})
	}
	return log
}

func (s awsStandIn) calls() checker.Log {
	var log checker.Log
	for _, c := range s.cluster.AWS.Writes() {
		call := checker.Call{Number: c.Number, Action: c.Action, Code: c.Code, Group: c.Params.Get("AutoScalingGroupName")}
		if change := c.Change; change != nil {
			call.Group, call.At, call.Ended = change.Group, change.Time, change.Ended
			call.DesiredFrom, call.DesiredTo, call.LiveFrom, call.LiveTo = change.DesiredFrom, change.DesiredTo, change.LiveFrom, change.LiveTo
		}
		log = append(log, checker.Record{Time: c.Time, Call: &call})
	}
	return log
}

func (s awsStandIn) final() []checker.FinalGroup {
	var groups []checker.FinalGroup
	for _, group := range s.cluster.AWS.Groups() {
		groups = append(groups, checker.FinalGroup{Name: group.Name, Desired: group.Desired, Instances: []string{}})
	}
	for _, i := range s.cluster.AWS.Instances() {
		at := slices.IndexFunc(groups, func(g checker.FinalGroup) bool { return g.Name == i.Group })
		if at >= 0 && i.Lifecycle == awstest.InService {
			groups[at].Instances = append(groups[at].Instances, i.ID)
		}
	}
	return groups
}
