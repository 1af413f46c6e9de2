package expander

import (
	"math/rand/v2"
	"time"

	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/expander/grpcplugin"
)

// NewPatient is a chain of "grpc" alone that waits for an answer as long as the test says.
func NewPatient(server grpcplugin.ExpanderClient, timeout time.Duration, random *rand.Rand) *Chain {
	return &Chain{links: []link{{name: config.ExpanderGRPC, keep: newServer(server, timeout).keep}}, random: random}
}
