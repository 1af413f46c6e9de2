package asgapi

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	smithyendpoints "github.com/aws/smithy-go/endpoints"

	"example.com/cluster-autoscaler/cloudprovider/aws/internal/endpoint"
)

// resolver sends all calls to the address of a service override.
type resolver struct{ override endpoint.Override }

var _ autoscaling.EndpointResolverV2 = resolver{}

// ResolveEndpoint ignores region and environment: an override wins over both.
func (r resolver) ResolveEndpoint(context.Context, autoscaling.EndpointParameters) (smithyendpoints.Endpoint, error) {
	return r.override.Resolve()
}
