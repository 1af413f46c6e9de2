package expander_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	mathrand "math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/expander"
	"example.com/cluster-autoscaler/expander/grpcplugin"
	"example.com/cluster-autoscaler/simulator/simtest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("k8s.io/klog/v2.(*flushDaemon).run.func1"))
}

// chooser is a server of the operator's.
type chooser struct {
	grpcplugin.UnimplementedExpanderServer
	answer func(ctx context.Context, asked *grpcplugin.BestOptionsRequest) (*grpcplugin.BestOptionsResponse, error)
}

func (c chooser) BestOptions(ctx context.Context, asked *grpcplugin.BestOptionsRequest) (*grpcplugin.BestOptionsResponse, error) {
	return c.answer(ctx, asked)
}

// certificate makes a key and a certificate for this machine that signs itself.
func certificate(t *testing.T) (tls.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "chooser"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, &about, &about, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// serve runs a server at the address until stop is called or the test ends.
func serve(t *testing.T, address string, cert tls.Certificate, c chooser) (at string, stop func()) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(grpc.Creds(credentials.NewServerTLSFromCert(&cert)), grpc.MaxSendMsgSize(1<<30), grpc.MaxRecvMsgSize(1<<30))
	grpcplugin.RegisterExpanderServer(s, c)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(listener) // it ends by Stop
	}()
	stop = func() {
		s.Stop()
		<-done
	}
	t.Cleanup(stop)
	return listener.Addr().String(), stop
}

// ask makes a chain that asks the server at the address.
func ask(t *testing.T, address string, cert []byte, timeout time.Duration) *expander.Chain {
	t.Helper()
	conn, err := expander.Dial(address, cert)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return expander.NewPatient(grpcplugin.NewExpanderClient(conn), timeout, mathrand.New(mathrand.NewPCG(3, 3)))
}

// patience is more than a server of this test ever needs.
const patience = time.Minute

func names(groups ...string) *grpcplugin.BestOptionsResponse {
	response := &grpcplugin.BestOptionsResponse{}
	for _, group := range groups {
		response.Options = append(response.Options, &grpcplugin.Option{NodeGroupId: group, NodeCount: 99})
	}
	return response
}

func threeOptions() expander.Question {
	return expander.Question{Options: []expander.Option{machines("a", 1, "2"), machines("b", 2, "2"), machines("c", 3, "2")}}
}

func TestTheAnswerOfTheServerDecides(t *testing.T) {
	cert, trusted := certificate(t)
	unfiltered := "; until it chooses again, options are not filtered by it"
	for name, tc := range map[string]struct {
		answer  *grpcplugin.BestOptionsResponse
		err     error
		want    outcome
		notices []string
	}{
		"it names one": {answer: names("b"), want: outcome{"b", map[string]string{"a": "grpc", "c": "grpc"}}},
		"it names several, some of them twice, some unknown": {
			answer: names("z", "c", "a", "c"), want: outcome{"c", map[string]string{"a": "random", "b": "grpc"}}, // by the seed
		},
		"it names one without a name": {
			answer: &grpcplugin.BestOptionsResponse{Options: []*grpcplugin.Option{nil, {NodeGroupId: "a"}}}, want: outcome{"a", map[string]string{"b": "grpc", "c": "grpc"}},
		},
		"X14: it names none": {
			answer: names(), want: outcome{"", map[string]string{"a": "grpc", "b": "grpc", "c": "grpc"}},
			notices: []string{"expander grpc: the server vetoes the scale-up: its answer is empty"},
		},
		"X14: it names only unknown ones": {
			answer: names("y", "z"), want: outcome{"a", map[string]string{"b": "random", "c": "random"}}, // by the seed
			notices: []string{"expander grpc: the server names only node groups that it was not asked about" + unfiltered},
		},
		"it fails": {
			err: status.Error(codes.Internal, "out of luck"), want: outcome{"a", map[string]string{"b": "random", "c": "random"}},
			notices: []string{"expander grpc: cannot ask the server: rpc error: code = Internal desc = out of luck" + unfiltered},
		},
	} {
		t.Run(name, func(t *testing.T) {
			address, _ := serve(t, "127.0.0.1:0", cert, chooser{answer: func(context.Context, *grpcplugin.BestOptionsRequest) (*grpcplugin.BestOptionsResponse, error) {
				return tc.answer, tc.err
			}})
			chain := ask(t, address, trusted, patience)
			choice := chain.Choose(t.Context(), threeOptions())
			if diff := cmp.Diff(tc.want, told(threeOptions(), choice)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tc.notices, events(choice.Notices)); diff != "" {
				t.Error(diff)
			}
			if again := chain.Choose(t.Context(), threeOptions()); len(again.Notices) > 0 {
				t.Errorf("the second choice tells %v again", events(again.Notices))
			}
		})
	}
}

func TestTheServerIsToldOptionsPodsAndNodes(t *testing.T) {
	cert, trusted := certificate(t)
	var got *grpcplugin.BestOptionsRequest
	address, _ := serve(t, "127.0.0.1:0", cert, chooser{answer: func(_ context.Context, asked *grpcplugin.BestOptionsRequest) (*grpcplugin.BestOptionsResponse, error) {
		got = asked
		return names("b"), nil
	}})
	asked := threeOptions()
	other := simtest.Node("other").CPU("64").Memory("8Gi").Build()
	asked.Templates = map[cloudprovider.GroupID]*corev1.Node{"a": asked.Options[0].Node, "full": other, "unknown": nil}
	ask(t, address, trusted, patience).Choose(t.Context(), asked)
	if got == nil {
		t.Fatal("the server was not asked")
	}
	var options []string
	for _, o := range got.GetOptions() {
		var pod corev1.Pod
		if len(o.GetPodBytes()) != 1 {
			t.Fatalf("%d pods for %s, want 1", len(o.GetPodBytes()), o.GetNodeGroupId())
		}
		if err := pod.Unmarshal(o.GetPodBytes()[0]); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(work, &pod); diff != "" {
			t.Error(diff)
		}
		options = append(options, o.GetDebug())
	}
	if diff := cmp.Diff([]string{"1 nodes of a for 1 pods", "2 nodes of b for 1 pods", "3 nodes of c for 1 pods"}, options); diff != "" {
		t.Error(diff)
	}
	if got.GetOptions()[2].GetNodeCount() != 3 || got.GetOptions()[2].GetNodeGroupId() != "c" {
		t.Errorf("the third option is %v", got.GetOptions()[2])
	}
	if len(got.GetNodeBytesMap()) != 2 {
		t.Errorf("%d nodes, want those of all groups that have one", len(got.GetNodeBytesMap()))
	}
	var node corev1.Node
	if err := node.Unmarshal(got.GetNodeBytesMap()["full"]); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(other, &node); diff != "" {
		t.Error(diff)
	}
}

// Servers that exist were made from another description of the protocol; what counts is what is on the wire.
func TestTheBytesOnTheWireAreThoseOfTheProtocol(t *testing.T) {
	field := func(number protowire.Number, value []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), value)
	}
	join := func(parts ...[]byte) (all []byte) {
		for _, part := range parts {
			all = append(all, part...)
		}
		return all
	}
	count := protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.VarintType), 7)
	option := join(field(1, []byte("g")), count, field(3, []byte("why")), field(5, []byte("pod")))
	message := &grpcplugin.Option{NodeGroupId: "g", NodeCount: 7, Debug: "why", PodBytes: [][]byte{[]byte("pod")}}
	for name, tc := range map[string]struct {
		message proto.Message
		want    []byte
	}{
		"request": {
			&grpcplugin.BestOptionsRequest{Options: []*grpcplugin.Option{message}, NodeBytesMap: map[string][]byte{"g": []byte("node")}},
			join(field(1, option), field(3, join(field(1, []byte("g")), field(2, []byte("node"))))),
		},
		"response": {&grpcplugin.BestOptionsResponse{Options: []*grpcplugin.Option{message}}, field(1, option)},
	} {
		got, err := proto.MarshalOptions{Deterministic: true}.Marshal(tc.message)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if grpcplugin.Expander_BestOptions_FullMethodName != "/grpcplugin.Expander/BestOptions" {
		t.Errorf("the method is %s", grpcplugin.Expander_BestOptions_FullMethodName)
	}
}

func TestASlowServerIsNotWaitedFor(t *testing.T) { // X14
	cert, trusted := certificate(t)
	chosen := make(chan struct{}) // the server learns of the deadline by its own clock: an answer at that moment might still be in time
	address, _ := serve(t, "127.0.0.1:0", cert, chooser{answer: func(context.Context, *grpcplugin.BestOptionsRequest) (*grpcplugin.BestOptionsResponse, error) {
		<-chosen
		return names("a"), nil
	}})
	choice := ask(t, address, trusted, 50*time.Millisecond).Choose(t.Context(), threeOptions())
	close(chosen)
	if diff := cmp.Diff(outcome{"a", map[string]string{"b": "random", "c": "random"}}, told(threeOptions(), choice)); diff != "" {
		t.Error(diff)
	}
	if got := events(choice.Notices); len(got) != 1 || !strings.Contains(got[0], "DeadlineExceeded") {
		t.Errorf("told %v, want that the time was over", got)
	}
}

func TestAServerThatDiesIsAskedAgainWhenItIsBack(t *testing.T) {
	cert, trusted := certificate(t)
	takeB := chooser{answer: func(context.Context, *grpcplugin.BestOptionsRequest) (*grpcplugin.BestOptionsResponse, error) {
		return names("b"), nil
	}}
	address, stop := serve(t, "127.0.0.1:0", cert, takeB)
	chain := ask(t, address, trusted, patience)
	choose := func() (string, []string) {
		choice := chain.Choose(t.Context(), threeOptions())
		took := told(threeOptions(), choice)
		if took.Dropped["a"] != "grpc" {
			return "any", events(choice.Notices)
		}
		return took.Took, events(choice.Notices)
	}
	if took, notices := choose(); took != "b" || notices != nil {
		t.Fatalf("took %s, told %v", took, notices)
	}
	stop()
	if took, notices := choose(); took != "any" || len(notices) != 1 || !strings.Contains(notices[0], "cannot ask the server") {
		t.Errorf("without server: took %s, told %v, want all options to stay and one notice", took, notices)
	}
	if took, notices := choose(); took != "any" || notices != nil {
		t.Errorf("still without: took %s, told %v, want no second notice", took, notices)
	}
	serve(t, address, cert, takeB)
	ended := time.Now().Add(patience)
	for time.Now().Before(ended) { // the connection is made anew a second after the failure
		if took, notices := choose(); took == "b" {
			if diff := cmp.Diff([]string{"expander grpc: the server chooses again"}, notices); diff != "" {
				t.Error(diff)
			}
			return
		}
	}
	t.Error("the server that is back is not asked")
}

func TestAnswersMayBeLargeButNotHuge(t *testing.T) {
	cert, trusted := certificate(t)
	for name, tc := range map[string]struct {
		size int
		took string // "" if the answer does not count
	}{
		"more than gRPC takes by default": {size: 5 << 20, took: "b"},
		"just below the limit":            {size: 128<<20 - 100, took: "b"},
		"above it":                        {size: 128<<20 + 1},
	} {
		t.Run(name, func(t *testing.T) {
			address, _ := serve(t, "127.0.0.1:0", cert, chooser{answer: func(context.Context, *grpcplugin.BestOptionsRequest) (*grpcplugin.BestOptionsResponse, error) {
				return &grpcplugin.BestOptionsResponse{Options: []*grpcplugin.Option{{NodeGroupId: "b", Debug: strings.Repeat("x", tc.size)}}}, nil
			}})
			choice := ask(t, address, trusted, patience).Choose(t.Context(), threeOptions())
			got := told(threeOptions(), choice)
			if filtered := got.Dropped["a"] == "grpc"; filtered != (tc.took != "") || filtered && got.Took != tc.took {
				t.Errorf("took %s and dropped %v, want %q", got.Took, got.Dropped, tc.took)
			}
		})
	}
}

func TestAStrangerIsNotAsked(t *testing.T) {
	strange, _ := certificate(t)
	_, trusted := certificate(t)
	address, _ := serve(t, "127.0.0.1:0", strange, chooser{answer: func(context.Context, *grpcplugin.BestOptionsRequest) (*grpcplugin.BestOptionsResponse, error) {
		t.Error("a server that cannot be verified was told of pods")
		return names("b"), nil
	}})
	choice := ask(t, address, trusted, patience).Choose(t.Context(), threeOptions())
	if got := events(choice.Notices); len(got) != 1 || !strings.Contains(got[0], "certificate") {
		t.Errorf("told %v, want that the certificate is not the one expected", got)
	}
}

func TestNothingIsChosenWhenTheProcessEnds(t *testing.T) {
	cert, trusted := certificate(t)
	ctx, stop := context.WithCancel(t.Context())
	address, _ := serve(t, "127.0.0.1:0", cert, chooser{answer: func(call context.Context, _ *grpcplugin.BestOptionsRequest) (*grpcplugin.BestOptionsResponse, error) {
		stop()
		<-call.Done()
		return nil, call.Err()
	}})
	choice := ask(t, address, trusted, patience).Choose(ctx, threeOptions())
	if choice.Taken != -1 || len(choice.Notices) > 0 {
		t.Errorf("took option %d and told %v, want nothing: the server may have forbidden it", choice.Taken, events(choice.Notices))
	}
}

func TestMistakesInTheAddressOrCertificateAreOneLine(t *testing.T) {
	_, good := certificate(t)
	for name, tc := range map[string]struct {
		address string
		cert    []byte
		want    string
	}{
		"no address":      {"", good, `--grpc-expander-url="": want host:port of the server, without a scheme`},
		"a URL":           {"https://choose:7000", good, `--grpc-expander-url="https://choose:7000": want host:port of the server, without a scheme`},
		"no certificate":  {"choose:7000", nil, "--grpc-expander-cert: there is no PEM certificate in the file, and without one the server cannot be trusted"},
		"some other file": {"choose:7000", []byte("hello"), "--grpc-expander-cert: there is no PEM certificate in the file, and without one the server cannot be trusted"},
	} {
		if _, err := expander.Dial(tc.address, tc.cert); err == nil || err.Error() != tc.want {
			t.Errorf("%s: got the error %v, want %s", name, err, tc.want)
		}
	}
}
