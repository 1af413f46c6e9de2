package serving

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/externalgrpc/protocol"
)

// Server answers the calls of the protocol from a cloud provider. Safe for concurrent use, as the provider is. Register it at a grpc.Server.
//
// The provider is not cleaned up when an autoscaler says that it ends: the next one may be there already. Who made the provider does that.
type Server struct {
	protocol.UnimplementedCloudProviderServer
	cloud cloudprovider.CloudProvider
}

// New makes a Server in front of a provider.
func New(cloud cloudprovider.CloudProvider) *Server { return &Server{cloud: cloud} }

// group finds a group of the view; NotFound where there is none.
func (s *Server) group(id string) (cloudprovider.NodeGroup, error) {
	if id == "" {
		return nil, status.Error(codes.InvalidArgument, "id is empty: want the id of a node group")
	}
	for _, broken := range s.cloud.GroupErrors() {
		if string(broken.Group) == id { // it may be listed as well, with what was known before
			return nil, status.Errorf(codes.Aborted, "node group %q cannot be described: %v", id, broken.Err)
		}
	}
	for _, group := range s.cloud.NodeGroups() {
		if string(group.ID()) == id {
			return group, nil
		}
	}
	return nil, status.Errorf(codes.NotFound, "there is no node group %q", id)
}

// NodeGroups lists the groups of the view, and those that cannot be described without bounds of their own.
func (s *Server) NodeGroups(context.Context, *protocol.NodeGroupsRequest) (*protocol.NodeGroupsResponse, error) {
	out := &protocol.NodeGroupsResponse{}
	known := map[cloudprovider.GroupID]bool{}
	for _, group := range s.cloud.NodeGroups() {
		known[group.ID()] = true
		out.NodeGroups = append(out.NodeGroups, groupMessage(group))
	}
	for _, broken := range s.cloud.GroupErrors() {
		if !known[broken.Group] {
			out.NodeGroups = append(out.NodeGroups, &protocol.NodeGroup{Id: string(broken.Group), Debug: broken.Err.Error()})
		}
	}
	return out, nil
}

func groupMessage(group cloudprovider.NodeGroup) *protocol.NodeGroup {
	state := group.State()
	return &protocol.NodeGroup{Id: string(group.ID()), MinSize: int32(state.Min), MaxSize: int32(state.Max), Debug: state.Debug}
}

// NodeGroupForNode answers without a group where the node is not managed.
func (s *Server) NodeGroupForNode(_ context.Context, request *protocol.NodeGroupForNodeRequest) (*protocol.NodeGroupForNodeResponse, error) {
	if request.GetNode() == nil {
		return nil, status.Error(codes.InvalidArgument, "node is missing")
	}
	id, err := s.cloud.GroupOf(node(request.GetNode()))
	if err != nil {
		return nil, statusOf(err)
	}
	for _, group := range s.cloud.NodeGroups() {
		if group.ID() == id && id != "" {
			return &protocol.NodeGroupForNodeResponse{NodeGroup: groupMessage(group)}, nil
		}
	}
	return &protocol.NodeGroupForNodeResponse{}, nil
}

// node is what the protocol tells of a node.
func node(message *protocol.ExternalGrpcNode) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: message.GetName(), Labels: message.GetLabels(), Annotations: message.GetAnnotations()},
		Spec:       corev1.NodeSpec{ProviderID: message.GetProviderID()},
	}
}

// PricingNodePrice is Unimplemented where the provider has no prices.
func (s *Server) PricingNodePrice(ctx context.Context, request *protocol.PricingNodePriceRequest) (*protocol.PricingNodePriceResponse, error) {
	pricer, ok := s.cloud.(cloudprovider.Pricer)
	if !ok {
		return nil, status.Errorf(codes.Unimplemented, "%s has no prices", s.cloud.Name())
	}
	of := node(request.GetNode())
	if reader, ok := s.cloud.(cloudprovider.PriceReader); ok {
		reader.ReadPrices(ctx, []*corev1.Node{of}, nil)
	}
	price, err := pricer.NodePricePerHour(of)
	if err != nil {
		return nil, statusOf(err)
	}
	hours := hoursOf(request)
	return &protocol.PricingNodePriceResponse{Price: price * hours}, nil
}

// PricingPodPrice is Unimplemented where the provider has no prices.
func (s *Server) PricingPodPrice(ctx context.Context, request *protocol.PricingPodPriceRequest) (*protocol.PricingPodPriceResponse, error) {
	pricer, ok := s.cloud.(cloudprovider.Pricer)
	if !ok {
		return nil, status.Errorf(codes.Unimplemented, "%s has no prices", s.cloud.Name())
	}
	bytes := request.GetPodBytes()
	if len(bytes) == 0 {
		bytes = request.GetPod()
	}
	pod := &corev1.Pod{}
	if err := pod.Unmarshal(bytes); err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "pod_bytes: want a v1.Pod of Kubernetes as protobuf: %v", err)
	}
	if reader, ok := s.cloud.(cloudprovider.PriceReader); ok {
		reader.ReadPrices(ctx, nil, []*corev1.Pod{pod})
	}
	price, err := pricer.PodPricePerHour(pod)
	if err != nil {
		return nil, statusOf(err)
	}
	hours := hoursOf(request)
	return &protocol.PricingPodPriceResponse{Price: price * hours}, nil
}

// interval is what both questions about prices have, in the fields of clients of all ages.
type interval interface {
	GetStartTimestamp() *timestamppb.Timestamp
	GetEndTimestamp() *timestamppb.Timestamp
	GetStartTime() *protocol.OldTime
	GetEndTime() *protocol.OldTime
}

func hoursOf(asked interval) float64 {
	start, end := asked.GetStartTimestamp().AsTime(), asked.GetEndTimestamp().AsTime()
	if asked.GetStartTimestamp() == nil {
		start, end = oldTime(asked.GetStartTime()), oldTime(asked.GetEndTime())
	}
	return max(0, end.Sub(start).Hours())
}

func oldTime(t *protocol.OldTime) time.Time { return time.Unix(t.GetSeconds(), int64(t.GetNanos())) }

// GPULabel is empty where the provider knows no accelerators.
func (s *Server) GPULabel(context.Context, *protocol.GPULabelRequest) (*protocol.GPULabelResponse, error) {
	if labeler, ok := s.cloud.(cloudprovider.GPULabeler); ok {
		return &protocol.GPULabelResponse{Label: labeler.GPULabel()}, nil
	}
	return &protocol.GPULabelResponse{}, nil
}

// GetAvailableGPUTypes has the types as keys.
func (s *Server) GetAvailableGPUTypes(context.Context, *protocol.GetAvailableGPUTypesRequest) (*protocol.GetAvailableGPUTypesResponse, error) {
	out := &protocol.GetAvailableGPUTypesResponse{GpuTypes: map[string]*anypb.Any{}}
	if labeler, ok := s.cloud.(cloudprovider.GPULabeler); ok {
		for _, name := range labeler.GPUTypes() {
			out.GpuTypes[name] = &anypb.Any{}
		}
	}
	return out, nil
}

// Cleanup does nothing.
func (s *Server) Cleanup(context.Context, *protocol.CleanupRequest) (*protocol.CleanupResponse, error) {
	return &protocol.CleanupResponse{}, nil
}

// Refresh refreshes the provider.
func (s *Server) Refresh(ctx context.Context, _ *protocol.RefreshRequest) (*protocol.RefreshResponse, error) {
	if err := s.cloud.Refresh(ctx); err != nil {
		return nil, statusOf(err)
	}
	return &protocol.RefreshResponse{}, nil
}

// now is the state of a group as new as the provider can tell: a client that is about to write asks for it.
func (s *Server) now(ctx context.Context, id string) (cloudprovider.GroupState, error) {
	if err := s.cloud.Refresh(ctx); err != nil {
		return cloudprovider.GroupState{}, statusOf(err)
	}
	group, err := s.group(id)
	if err != nil {
		return cloudprovider.GroupState{}, err
	}
	return group.State(), nil
}

// NodeGroupTargetSize is that of the view.
func (s *Server) NodeGroupTargetSize(ctx context.Context, request *protocol.NodeGroupTargetSizeRequest) (*protocol.NodeGroupTargetSizeResponse, error) {
	state, err := s.now(ctx, request.GetId())
	if err != nil {
		return nil, err
	}
	return &protocol.NodeGroupTargetSizeResponse{TargetSize: int32(state.Target)}, nil
}

// NodeGroupNodes lists machines and placeholders alike.
func (s *Server) NodeGroupNodes(ctx context.Context, request *protocol.NodeGroupNodesRequest) (*protocol.NodeGroupNodesResponse, error) {
	state, err := s.now(ctx, request.GetId())
	if err != nil {
		return nil, err
	}
	out := &protocol.NodeGroupNodesResponse{}
	for i := range state.Instances {
		out.Instances = append(out.Instances, instanceMessage(state.Instances[i]))
	}
	return out, nil
}

func instanceMessage(instance cloudprovider.Instance) *protocol.Instance {
	message := &protocol.Instance{Id: instance.ID}
	if instance.State != cloudprovider.InstanceUnset {
		message.Status = &protocol.InstanceStatus{InstanceState: protocol.InstanceStatus_InstanceState(instance.State)}
	}
	if failure := instance.Error; failure != nil {
		if message.Status == nil { // an error counts only together with a state
			message.Status = &protocol.InstanceStatus{InstanceState: protocol.InstanceStatus_instanceRunning}
		}
		code := failure.Code
		if code == "" { // and only with a code
			code = failure.Class.String()
		}
		message.Status.ErrorInfo = &protocol.InstanceErrorInfo{ErrorCode: code, ErrorMessage: failure.Message, InstanceErrorClass: int32(failure.Class)}
	}
	return message
}

// NodeGroupIncreaseSize grants all or nothing: what is refused in part is refused.
func (s *Server) NodeGroupIncreaseSize(ctx context.Context, request *protocol.NodeGroupIncreaseSizeRequest) (*protocol.NodeGroupIncreaseSizeResponse, error) {
	group, err := s.group(request.GetId())
	if err != nil {
		return nil, err
	}
	if request.GetDelta() <= 0 {
		return nil, status.Errorf(codes.InvalidArgument, "delta is %d: want at least 1", request.GetDelta())
	}
	granted, err := group.IncreaseSize(ctx, int(request.GetDelta()))
	if err == nil && granted < int(request.GetDelta()) {
		err = status.Errorf(codes.ResourceExhausted, "only %d of %d nodes were granted", granted, request.GetDelta())
		return nil, err
	}
	if err != nil {
		return nil, statusOf(err)
	}
	return &protocol.NodeGroupIncreaseSizeResponse{}, nil
}

// NodeGroupDecreaseTargetSize withdraws what is safe to withdraw.
func (s *Server) NodeGroupDecreaseTargetSize(ctx context.Context, request *protocol.NodeGroupDecreaseTargetSizeRequest) (*protocol.NodeGroupDecreaseTargetSizeResponse, error) {
	group, err := s.group(request.GetId())
	if err != nil {
		return nil, err
	}
	if request.GetDelta() >= 0 {
		return nil, status.Errorf(codes.InvalidArgument, "delta is %d: want at most -1", request.GetDelta())
	}
	wanted := -int(request.GetDelta())
	lowered, err := group.DecreaseTargetSize(ctx, wanted)
	if err != nil {
		return nil, statusOf(err)
	}
	if lowered < wanted {
		return nil, status.Errorf(codes.FailedPrecondition, "only %d of %d nodes could be withdrawn without ending a machine", lowered, wanted)
	}
	return &protocol.NodeGroupDecreaseTargetSizeResponse{}, nil
}

// NodeGroupDeleteNodes fails if one of the nodes could not be deleted.
func (s *Server) NodeGroupDeleteNodes(ctx context.Context, request *protocol.NodeGroupDeleteNodesRequest) (*protocol.NodeGroupDeleteNodesResponse, error) {
	group, err := s.group(request.GetId())
	if err != nil {
		return nil, err
	}
	nodes := make([]cloudprovider.NodeRef, 0, len(request.GetNodes()))
	for _, n := range request.GetNodes() {
		nodes = append(nodes, cloudprovider.NodeRef{Name: n.GetName(), ProviderID: n.GetProviderID(), Labels: n.GetLabels(), Annotations: n.GetAnnotations()})
	}
	outcomes, err := group.DeleteNodes(ctx, nodes)
	if err != nil {
		return nil, statusOf(err)
	}
	var failures []error
	for _, outcome := range outcomes {
		if outcome.Err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", outcome.Node.Name, outcome.Err))
		}
	}
	if err := errors.Join(failures...); err != nil {
		return nil, statusOf(err)
	}
	return &protocol.NodeGroupDeleteNodesResponse{}, nil
}

// NodeGroupTemplateNodeInfo shows the first variant; the protocol has room for one.
func (s *Server) NodeGroupTemplateNodeInfo(ctx context.Context, request *protocol.NodeGroupTemplateNodeInfoRequest) (*protocol.NodeGroupTemplateNodeInfoResponse, error) {
	group, err := s.group(request.GetId())
	if err != nil {
		return nil, err
	}
	variants, err := group.Templates(ctx)
	if errors.Is(err, cloudprovider.ErrNoTemplate) {
		return nil, status.Error(codes.Unimplemented, err.Error())
	}
	if err != nil {
		return nil, statusOf(err)
	}
	bytes, err := variants[0].Node.Marshal()
	if err != nil {
		return nil, status.Errorf(codes.Internal, "encoding the template of node group %q: %v", request.GetId(), err)
	}
	return &protocol.NodeGroupTemplateNodeInfoResponse{NodeBytes: bytes, NodeInfo: slices.Clone(bytes)}, nil
}

// NodeGroupGetOptions puts what the group overrides into the defaults of the request.
func (s *Server) NodeGroupGetOptions(_ context.Context, request *protocol.NodeGroupAutoscalingOptionsRequest) (*protocol.NodeGroupAutoscalingOptionsResponse, error) {
	group, err := s.group(request.GetId())
	if err != nil {
		return nil, err
	}
	own := group.State().Options
	if own == (cloudprovider.OptionOverrides{}) {
		return &protocol.NodeGroupAutoscalingOptionsResponse{}, nil
	}
	options := request.GetDefaults()
	if options == nil {
		options = &protocol.NodeGroupAutoscalingOptions{}
	}
	set(&options.ScaleDownUtilizationThreshold, own.ScaleDownUtilizationThreshold)
	set(&options.ScaleDownGpuUtilizationThreshold, own.ScaleDownGPUUtilizationThreshold)
	set(&options.IgnoreDaemonSetsUtilization, own.IgnoreDaemonSetsUtilization)
	set(&options.ZeroOrMaxNodeScaling, own.ZeroOrMaxNodeScaling)
	set(&options.AllowNonAtomicScaleUpToMax, own.AllowNonAtomicScaleUpToMax)
	setDuration(&options.ScaleDownUnneededDuration, &options.ScaleDownUnneededTime, own.ScaleDownUnneededTime)
	setDuration(&options.ScaleDownUnreadyDuration, &options.ScaleDownUnreadyTime, own.ScaleDownUnreadyTime)
	setDuration(&options.MaxNodeProvisionDuration, &options.MaxNodeProvisionTime, own.MaxNodeProvisionTime)
	var none *protocol.OldDuration
	setDuration(&options.MaxNodeStartupDuration, &none, own.MaxNodeStartupTime)
	return &protocol.NodeGroupAutoscalingOptionsResponse{NodeGroupAutoscalingOptions: options}, nil
}

func set[T any](into *T, value *T) {
	if value != nil {
		*into = *value
	}
}

// setDuration fills the field and its older form.
func setDuration(into **durationpb.Duration, older **protocol.OldDuration, value *time.Duration) {
	if value != nil {
		*into, *older = durationpb.New(*value), &protocol.OldDuration{Nanoseconds: int64(*value)}
	}
}
