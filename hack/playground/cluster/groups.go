package cluster

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
)

// NodeGroup describes an Auto Scaling group as an administrator of a cluster sees it.
type NodeGroup struct {
	Name     string
	Type     string // instance type; of the launch template, where Mixed names others
	Min, Max int
	Desired  int // how many machines exist from the beginning
	Zones    []string
	Labels   map[string]string
	Taints   []corev1.Taint
	Tags     map[string]string       // further tags of the group, for example of node-template/autoscaling-options
	Timing   awstest.Timing          // zero: machines come and go at once
	Mixed    *awstest.MixedInstances // a policy over the launch template, which it need not name; nil: all machines are of Type
}

// tagPrefix begins the tags that tell an autoscaler about a group (operator-surface §5.5).
const tagPrefix = "k8s.io/cluster-autoscaler/"

// AddNodeGroup makes a launch template and an Auto Scaling group that an autoscaler with the production flags discovers.
func (c *Cluster) AddNodeGroup(g NodeGroup) error {
	c.AWS.PutLaunchTemplate(awstest.LaunchTemplate{
		Name: g.Name, Versions: []awstest.LaunchTemplateVersion{{InstanceType: g.Type}},
	})
	group := awstest.Group{
		Name: g.Name, Min: g.Min, Max: g.Max, Desired: g.Desired, Zones: g.Zones,
		Tags:   g.tags(),
		Timing: g.Timing,
	}
	if template := (awstest.LaunchTemplateRef{Name: g.Name}); g.Mixed == nil {
		group.LaunchTemplate = &template
	} else {
		mixed := *g.Mixed
		mixed.LaunchTemplate = template
		group.MixedInstances = &mixed
	}
	if err := c.AWS.AddGroup(group); err != nil {
		return fmt.Errorf("adding node group %s: %w", g.Name, err)
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.types[g.Name] = g.Type
	return nil
}

func (g NodeGroup) tags() []awstest.Tag {
	all := map[string]string{tagPrefix + "enabled": "true", tagPrefix + Name: "owned"}
	maps.Copy(all, g.Tags)
	for key, value := range g.Labels {
		all[tagPrefix+"node-template/label/"+key] = value
	}
	for _, taint := range g.Taints {
		all[tagPrefix+"node-template/taint/"+taint.Key] = taint.Value + ":" + string(taint.Effect)
	}
	var tags []awstest.Tag
	for _, key := range slices.Sorted(maps.Keys(all)) {
		tags = append(tags, awstest.Tag{Key: key, Value: all[key], PropagateAtLaunch: true})
	}
	return tags
}

// DefaultTiming is a cloud in a hurry: a machine runs some three seconds after it was asked for.
func DefaultTiming() awstest.Timing {
	return awstest.Timing{Request: 500 * time.Millisecond, Launch: 2 * time.Second, HealthCheck: 5 * time.Second, Terminate: 2 * time.Second, Linger: 10 * time.Second}
}

// DefaultNodeGroups are three groups as many clusters have them: one for all, one of large machines, one set apart by a taint.
func DefaultNodeGroups() []NodeGroup {
	zones := []string{Region + "a", Region + "b", Region + "c"}
	return []NodeGroup{
		{Name: "general", Type: "m5.large", Min: 1, Max: 20, Desired: 1, Zones: zones, Timing: DefaultTiming()},
		{Name: "large", Type: "m5.4xlarge", Max: 5, Zones: zones, Timing: DefaultTiming()},
		{
			Name: "batch", Type: "c5.2xlarge", Max: 10, Zones: zones, Timing: DefaultTiming(),
			Labels: map[string]string{"dedicated": "batch"},
			Taints: []corev1.Taint{{Key: "dedicated", Value: "batch", Effect: corev1.TaintEffectNoSchedule}},
		},
	}
}
