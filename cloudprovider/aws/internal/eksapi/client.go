package eksapi

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
	smithyendpoints "github.com/aws/smithy-go/endpoints"
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asg"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/endpoint"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/faults"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/managed"
)

// readLimit bounds one call, retries included. In clusters without a way to EKS' endpoint calls hang, and the loop waits for them.
const readLimit = 10 * time.Second

// operation is the API's name of the only call.
const operation = "DescribeNodegroup"

// service is what is used of the SDK's client.
type service interface {
	DescribeNodegroup(ctx context.Context, in *eks.DescribeNodegroupInput, opts ...func(*eks.Options)) (*eks.DescribeNodegroupOutput, error)
}

// Client asks EKS in one region. Safe for concurrent use; its methods block. Errors are of type *faults.Error.
type Client struct{ api service }

// New makes a client. override is zero where the SDK knows where the service is.
func New(config aws.Config, override endpoint.Override) *Client {
	return &Client{api: eks.NewFromConfig(config, func(o *eks.Options) {
		if override.URL != "" {
			o.EndpointResolverV2 = resolver{override: override}
		}
	})}
}

// resolver sends all calls to the address of a service override.
type resolver struct{ override endpoint.Override }

var _ eks.EndpointResolverV2 = resolver{}

// ResolveEndpoint ignores region and environment: an override wins over both.
func (r resolver) ResolveEndpoint(context.Context, eks.EndpointParameters) (smithyendpoints.Endpoint, error) {
	return r.override.Resolve()
}

// NodeGroup reads the description of a managed node group.
func (c *Client) NodeGroup(ctx context.Context, key managed.Key) (managed.Description, error) {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	out, err := c.api.DescribeNodegroup(ctx, &eks.DescribeNodegroupInput{ClusterName: aws.String(key.Cluster), NodegroupName: aws.String(key.NodeGroup)})
	if err != nil {
		return managed.Description{}, faults.Wrap(operation, err)
	}
	if out.Nodegroup == nil {
		return managed.Description{}, &faults.Error{Operation: operation, Class: faults.Unanswered, Message: "EKS answers without the node group"}
	}
	return convert(out.Nodegroup), nil
}

func convert(in *types.Nodegroup) managed.Description {
	d := managed.Description{
		Status: managed.Status(in.Status), AMIType: string(in.AmiType), CapacityType: string(in.CapacityType), Version: aws.ToString(in.Version),
		DiskGiB: int64(aws.ToInt32(in.DiskSize)), Labels: in.Labels, Tags: in.Tags,
	}
	if t := in.LaunchTemplate; t != nil {
		d.Template = asg.TemplateRef{ID: aws.ToString(t.Id), Name: aws.ToString(t.Name), Version: aws.ToString(t.Version)}
	}
	if in.Health != nil {
		for _, issue := range in.Health.Issues {
			d.Issues = append(d.Issues, string(issue.Code))
		}
	}
	for _, t := range in.Taints {
		taint, oddity := convertTaint(t)
		if oddity != "" {
			d.Oddities = append(d.Oddities, oddity)
		}
		if taint.Key != "" {
			d.Taints = append(d.Taints, taint)
		}
	}
	return d
}

// convertTaint reads a taint, which may lack a value. One with an effect that is not known keeps pods off like most do.
func convertTaint(in types.Taint) (corev1.Taint, string) {
	taint := corev1.Taint{Key: aws.ToString(in.Key), Value: aws.ToString(in.Value)}
	if taint.Key == "" {
		return taint, "EKS tells a taint without a key, which is left out"
	}
	switch in.Effect {
	case types.TaintEffectNoSchedule:
		taint.Effect = corev1.TaintEffectNoSchedule
	case types.TaintEffectNoExecute:
		taint.Effect = corev1.TaintEffectNoExecute
	case types.TaintEffectPreferNoSchedule:
		taint.Effect = corev1.TaintEffectPreferNoSchedule
	default:
		taint.Effect = corev1.TaintEffectNoSchedule
		return taint, fmt.Sprintf("EKS tells the effect %q for the taint %s, which is not known and taken for NO_SCHEDULE", string(in.Effect), taint.Key)
	}
	return taint, ""
}
