package demo

import (
	"fmt"

	"example.com/cluster-autoscaler/hack/playground/checker"
	"example.com/cluster-autoscaler/hack/playground/cluster"
)

// The clouds that the demo can be played in, by the autoscaler's names for them.
const (
	CloudAWS          = "aws"
	CloudDigitalOcean = "digitalocean"
)

// standIn is the cloud that a story is played in.
type standIn interface {
	// furnish makes the node groups.
	furnish() ([]nodeGroup, error)
	// flags are those of the usual deployment on this cloud.
	flags() []string
	// first are the machines that exist, by group.
	first() map[string][]string
	// events is all that has happened, with exact times.
	events() checker.Log
	// calls is what was asked of the cloud.
	calls() checker.Log
	// final is what there is now.
	final() []checker.FinalGroup
}

// nodeGroup is what the story tells of a node group.
type nodeGroup struct {
	name     string
	min, max int
	machine  string   // type of its machines
	taints   []string // KEY=VALUE:EFFECT
}

func (g nodeGroup) String() string {
	text := fmt.Sprintf("Node group %-8s %d to %d machines of type %s", g.name+":", g.min, g.max, g.machine)
	for _, taint := range g.taints {
		text += ", taint " + taint
	}
	return text
}

// standInOf is the cloud of that name in a cluster.
func standInOf(name string, c *cluster.Cluster) (standIn, error) {
	switch name {
	case CloudAWS:
		return awsStandIn{c}, nil
	case CloudDigitalOcean:
		return doksStandIn{c}, nil
	default:
		return nil, fmt.Errorf("--cloud=%q: want %s or %s", name, CloudAWS, CloudDigitalOcean)
	}
}
