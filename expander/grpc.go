package expander

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/expander/grpcplugin"
)

const (
	// callTimeout is how long the server may take to answer; the loop waits meanwhile.
	callTimeout = 5 * time.Second
	// maxAnswer is how large an answer may be, in bytes.
	maxAnswer = 128 << 20
	// maxRedial is the longest pause between attempts to reach a server that is away. gRPC's own, two minutes, would be many decisions without it.
	maxRedial = 15 * time.Second
)

// Dial prepares the connection to the server of the expander "grpc" at host:port. The certificate, PEM, is what the server is verified with: its own or
// that of whoever has signed it. Nothing is sent: the connection is made, and made anew, when the server is asked. The error is one line that names
// the flag. Close the connection when done.
func Dial(address string, certificate []byte) (*grpc.ClientConn, error) {
	if address == "" || strings.Contains(address, "//") {
		return nil, fmt.Errorf("--grpc-expander-url=%q: want host:port of the server, without a scheme", address)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(certificate) {
		return nil, errors.New("--grpc-expander-cert: there is no PEM certificate in the file, and without one the server cannot be trusted")
	}
	again := backoff.DefaultConfig
	again.MaxDelay = maxRedial
	conn, err := grpc.NewClient(address,
		grpc.WithTransportCredentials(credentials.NewClientTLSFromCert(roots, "")),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer)),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: again, MinConnectTimeout: callTimeout}),
		grpc.WithDisableServiceConfig(), // how to call is settled here; DNS is not asked about it
	)
	if err != nil {
		return nil, fmt.Errorf("--grpc-expander-url=%q: want host:port of the server: %w", address, err)
	}
	return conn, nil
}

// server is the strategy "grpc": it keeps the options that another process names. While that process cannot be asked, all stay.
type server struct {
	client  grpcplugin.ExpanderClient
	timeout time.Duration
	state   condition
}

func newServer(client grpcplugin.ExpanderClient, timeout time.Duration) *server {
	return &server{client: client, timeout: timeout}
}

func (s *server) keep(ctx context.Context, asked Question) answer {
	call, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	response, err := s.client.BestOptions(call, request(asked))
	switch {
	case ctx.Err() != nil:
		return answer{} // told to end: nothing is bought on behalf of a server that may have forbidden it
	case err != nil:
		return s.unfiltered(asked, status.Code(err).String(), fmt.Sprintf("cannot ask the server: %v", err))
	case len(response.GetOptions()) == 0:
		return answer{notices: s.becomes("veto", "the server vetoes the scale-up: its answer is empty")}
	}
	kept := known(response.GetOptions(), asked.Options)
	if len(kept) == 0 {
		return s.unfiltered(asked, "unknown", "the server names only node groups that it was not asked about")
	}
	return answer{kept: kept, notices: s.becomes("", "the server chooses again")}
}

func (s *server) unfiltered(asked Question, state, why string) answer {
	return answer{kept: all(asked.Options), notices: s.becomes(state, why+"; until it chooses again, options are not filtered by it")}
}

// becomes tells of a state that is new.
func (s *server) becomes(state, text string) []report.Notice {
	if !s.state.becomes(state) {
		return nil
	}
	return []report.Notice{{Message: "expander grpc: " + text}}
}

// known are the options that the answer names, by index, ascending.
func known(answered []*grpcplugin.Option, options []Option) []int {
	var kept []int
	for _, o := range answered {
		at := slices.IndexFunc(options, func(option Option) bool { return string(option.Group) == o.GetNodeGroupId() })
		if at >= 0 && !slices.Contains(kept, at) {
			kept = append(kept, at)
		}
	}
	slices.Sort(kept)
	return kept
}

// request puts the question into the words of the protocol. What cannot be encoded is left out: a pod for its option, a node for all.
func request(asked Question) *grpcplugin.BestOptionsRequest {
	encoded := map[*corev1.Pod][]byte{}
	out := &grpcplugin.BestOptionsRequest{NodeBytesMap: nodeBytes(asked.Templates)}
	for _, option := range asked.Options {
		out.Options = append(out.Options, &grpcplugin.Option{
			NodeGroupId: string(option.Group),
			NodeCount:   int32(min(option.Nodes, math.MaxInt32)),
			Debug:       fmt.Sprintf("%d nodes of %s for %d pods", option.Nodes, option.Group, len(option.Pods)),
			PodBytes:    podBytes(option.Pods, encoded),
		})
	}
	return out
}

func nodeBytes(templates map[cloudprovider.GroupID]*corev1.Node) map[string][]byte {
	out := make(map[string][]byte, len(templates))
	for group, node := range templates {
		if node == nil {
			continue
		}
		bytes, err := node.Marshal()
		if err != nil {
			return nil
		}
		out[string(group)] = bytes
	}
	return out
}

func podBytes(pods []*corev1.Pod, encoded map[*corev1.Pod][]byte) [][]byte {
	out := make([][]byte, 0, len(pods))
	for _, pod := range pods {
		bytes, done := encoded[pod]
		if !done {
			var err error
			if bytes, err = pod.Marshal(); err != nil {
				return nil
			}
			encoded[pod] = bytes
		}
		out = append(out, bytes)
	}
	return out
}
