package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"google.golang.org/grpc"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/expander"
	"example.com/cluster-autoscaler/expander/grpcplugin"
)

// prioritiesTimeout is how long the first iteration waits for the map of priorities: a purchase in the wrong group is worse than a late one, but not
// worse than none.
const prioritiesTimeout = 10 * time.Second

// dialExpander prepares the connection to the server of the expander "grpc"; nil: it is not in the chain. The error is one line.
func dialExpander(options config.ScaleUp) (*grpc.ClientConn, error) {
	if !slices.Contains(options.Expanders, config.ExpanderGRPC) {
		return nil, nil //nolint:nilnil // there is nobody to ask and nothing wrong with that
	}
	certificate, err := os.ReadFile(options.GRPCExpanderCert)
	if err != nil {
		return nil, fmt.Errorf("--grpc-expander-cert=%q: want a file with the certificate of the server: %w", options.GRPCExpanderCert, err)
	}
	return expander.Dial(options.GRPCExpanderURL, certificate)
}

// expanders is what the expanders of one term of leadership ask.
type expanders struct {
	sources expander.Sources
	// priorities is nil without the expander "priority".
	priorities *observation.ConfigMapWatch
}

func (p *process) expanders(cloud cloudprovider.CloudProvider) (expanders, error) {
	out := expanders{sources: expander.Sources{Cloud: cloud}}
	if p.expander != nil {
		out.sources.Server = grpcplugin.NewExpanderClient(p.expander)
	}
	if slices.Contains(p.options.ScaleUp.Expanders, config.ExpanderPriority) {
		var err error
		out.priorities, err = observation.NewConfigMapWatch(p.clients.reading, p.options.Process.Namespace, config.PriorityConfigMap, p.clock)
		if err != nil {
			return out, err
		}
		out.sources.Priorities = out.priorities.ConfigMap
	}
	return out, nil
}

// run reads until ctx ends.
func (e expanders) run(ctx context.Context) {
	if e.priorities != nil {
		e.priorities.Run(ctx)
	}
}

// wait blocks until what can be read at the start was read.
func (e expanders) wait(ctx context.Context) {
	if e.priorities != nil {
		e.priorities.WaitForRead(ctx, prioritiesTimeout)
	}
}
