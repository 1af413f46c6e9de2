package externalgrpc_test

import (
	"context"
	"maps"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"example.com/cluster-autoscaler/cloudprovider/externalgrpc/protocol"
)

// scripted is a server that answers what the test says and counts how often it is asked. What the test doesn't set is answered as an empty cloud
// would. It has no optional calls unless the test gives them.
type scripted struct {
	protocol.UnimplementedCloudProviderServer
	mu        sync.Mutex
	calls     map[string]int
	fail      map[string]error // by call
	groups    []*protocol.NodeGroup
	targets   map[string]int32
	instances map[string][]*protocol.Instance
	nodes     map[string]string // group by name of node
	template  func() (*protocol.NodeGroupTemplateNodeInfoResponse, error)
	options   func(*protocol.NodeGroupAutoscalingOptionsRequest) (*protocol.NodeGroupAutoscalingOptionsResponse, error)
	nodePrice func(*protocol.PricingNodePriceRequest) (*protocol.PricingNodePriceResponse, error)
	podPrice  func(*protocol.PricingPodPriceRequest) (*protocol.PricingPodPriceResponse, error)
	deleted   []*protocol.ExternalGrpcNode
	slow      map[string]bool // calls that are never answered
}

func oneGroup(id string, minSize, maxSize, target int32) *scripted {
	return &scripted{
		groups: []*protocol.NodeGroup{{Id: id, MinSize: minSize, MaxSize: maxSize}}, targets: map[string]int32{id: target},
		instances: map[string][]*protocol.Instance{}, nodes: map[string]string{},
	}
}

// called counts a call and tells how it is to fail.
func (s *scripted) called(ctx context.Context, name string) error {
	s.mu.Lock()
	if s.calls == nil {
		s.calls = map[string]int{}
	}
	s.calls[name]++
	err, slow := s.fail[name], s.slow[name]
	s.mu.Unlock()
	if slow {
		<-ctx.Done()
		return status.FromContextError(ctx.Err()).Err()
	}
	return err
}

// change is for tests that change what is answered.
func (s *scripted) change(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

// forget returns the counts and begins anew.
func (s *scripted) forget() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := maps.Clone(s.calls)
	s.calls = map[string]int{}
	return counts
}

func answer[T any](s *scripted, ctx context.Context, name string, make func() *T) (*T, error) {
	if err := s.called(ctx, name); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return make(), nil
}

func (s *scripted) Refresh(ctx context.Context, _ *protocol.RefreshRequest) (*protocol.RefreshResponse, error) {
	return answer(s, ctx, "Refresh", func() *protocol.RefreshResponse { return &protocol.RefreshResponse{} })
}

func (s *scripted) Cleanup(ctx context.Context, _ *protocol.CleanupRequest) (*protocol.CleanupResponse, error) {
	return answer(s, ctx, "Cleanup", func() *protocol.CleanupResponse { return &protocol.CleanupResponse{} })
}

func (s *scripted) NodeGroups(ctx context.Context, _ *protocol.NodeGroupsRequest) (*protocol.NodeGroupsResponse, error) {
	return answer(s, ctx, "NodeGroups", func() *protocol.NodeGroupsResponse { return &protocol.NodeGroupsResponse{NodeGroups: s.groups} })
}

func (s *scripted) NodeGroupForNode(ctx context.Context, request *protocol.NodeGroupForNodeRequest) (*protocol.NodeGroupForNodeResponse, error) {
	return answer(s, ctx, "NodeGroupForNode", func() *protocol.NodeGroupForNodeResponse {
		return &protocol.NodeGroupForNodeResponse{NodeGroup: &protocol.NodeGroup{Id: s.nodes[request.GetNode().GetName()]}}
	})
}

func (s *scripted) GPULabel(ctx context.Context, _ *protocol.GPULabelRequest) (*protocol.GPULabelResponse, error) {
	return answer(s, ctx, "GPULabel", func() *protocol.GPULabelResponse { return &protocol.GPULabelResponse{Label: "example.com/gpu"} })
}

func (s *scripted) GetAvailableGPUTypes(ctx context.Context, _ *protocol.GetAvailableGPUTypesRequest) (*protocol.GetAvailableGPUTypesResponse, error) {
	return answer(s, ctx, "GetAvailableGPUTypes", func() *protocol.GetAvailableGPUTypesResponse {
		return &protocol.GetAvailableGPUTypesResponse{}
	})
}

func (s *scripted) NodeGroupTargetSize(ctx context.Context, request *protocol.NodeGroupTargetSizeRequest) (*protocol.NodeGroupTargetSizeResponse, error) {
	return answer(s, ctx, "NodeGroupTargetSize", func() *protocol.NodeGroupTargetSizeResponse {
		return &protocol.NodeGroupTargetSizeResponse{TargetSize: s.targets[request.GetId()]}
	})
}

func (s *scripted) NodeGroupNodes(ctx context.Context, request *protocol.NodeGroupNodesRequest) (*protocol.NodeGroupNodesResponse, error) {
	return answer(s, ctx, "NodeGroupNodes", func() *protocol.NodeGroupNodesResponse {
		return &protocol.NodeGroupNodesResponse{Instances: s.instances[request.GetId()]}
	})
}

func (s *scripted) NodeGroupIncreaseSize(ctx context.Context, request *protocol.NodeGroupIncreaseSizeRequest) (*protocol.NodeGroupIncreaseSizeResponse, error) {
	return answer(s, ctx, "NodeGroupIncreaseSize", func() *protocol.NodeGroupIncreaseSizeResponse {
		s.targets[request.GetId()] += request.GetDelta()
		return &protocol.NodeGroupIncreaseSizeResponse{}
	})
}

func (s *scripted) NodeGroupDecreaseTargetSize(
	ctx context.Context, request *protocol.NodeGroupDecreaseTargetSizeRequest,
) (*protocol.NodeGroupDecreaseTargetSizeResponse, error) {
	return answer(s, ctx, "NodeGroupDecreaseTargetSize", func() *protocol.NodeGroupDecreaseTargetSizeResponse {
		s.targets[request.GetId()] += request.GetDelta()
		return &protocol.NodeGroupDecreaseTargetSizeResponse{}
	})
}

func (s *scripted) NodeGroupDeleteNodes(ctx context.Context, request *protocol.NodeGroupDeleteNodesRequest) (*protocol.NodeGroupDeleteNodesResponse, error) {
	return answer(s, ctx, "NodeGroupDeleteNodes", func() *protocol.NodeGroupDeleteNodesResponse {
		s.deleted = append(s.deleted, request.GetNodes()...)
		s.targets[request.GetId()] -= int32(len(request.GetNodes()))
		return &protocol.NodeGroupDeleteNodesResponse{}
	})
}

func (s *scripted) NodeGroupTemplateNodeInfo(
	ctx context.Context, _ *protocol.NodeGroupTemplateNodeInfoRequest,
) (*protocol.NodeGroupTemplateNodeInfoResponse, error) {
	if err := s.called(ctx, "NodeGroupTemplateNodeInfo"); err != nil {
		return nil, err
	}
	if s.template == nil {
		return nil, status.Error(codes.Unimplemented, "no templates")
	}
	return s.template()
}

func (s *scripted) NodeGroupGetOptions(
	ctx context.Context, request *protocol.NodeGroupAutoscalingOptionsRequest,
) (*protocol.NodeGroupAutoscalingOptionsResponse, error) {
	if err := s.called(ctx, "NodeGroupGetOptions"); err != nil {
		return nil, err
	}
	if s.options == nil {
		return nil, status.Error(codes.Unimplemented, "no options")
	}
	return s.options(request)
}

func (s *scripted) PricingNodePrice(ctx context.Context, request *protocol.PricingNodePriceRequest) (*protocol.PricingNodePriceResponse, error) {
	if err := s.called(ctx, "PricingNodePrice"); err != nil {
		return nil, err
	}
	if s.nodePrice == nil {
		return nil, status.Error(codes.Unimplemented, "no prices")
	}
	return s.nodePrice(request)
}

func (s *scripted) PricingPodPrice(ctx context.Context, request *protocol.PricingPodPriceRequest) (*protocol.PricingPodPriceResponse, error) {
	if err := s.called(ctx, "PricingPodPrice"); err != nil {
		return nil, err
	}
	if s.podPrice == nil {
		return nil, status.Error(codes.Unimplemented, "no prices")
	}
	return s.podPrice(request)
}
