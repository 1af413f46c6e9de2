package dotest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/digitalocean/godo"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/oauth2"
	clocktesting "k8s.io/utils/clock/testing"

	"example.com/cluster-autoscaler/cloudprovider/digitalocean/dotest"
)

var noon = time.Date(2026, 8, 3, 12, 0, 0, 0, time.UTC)

// rig is a stand-in with godo's own client in front.
type rig struct {
	*testing.T
	server *dotest.Server
	clock  *clocktesting.FakeClock
	godo   *godo.Client
}

func newRig(t *testing.T, config dotest.Config, pools ...dotest.Pool) *rig {
	t.Helper()
	clock := clocktesting.NewFakeClock(noon)
	config.Clock = clock
	server, err := dotest.New(config)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{T: t, server: server, clock: clock}
	for _, pool := range pools {
		r.must(server.AddPool(pool))
	}
	r.must(server.Start(context.WithoutCancel(t.Context())))
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	r.godo = r.client(dotest.DefaultToken)
	return r
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// client is godo with a token.
func (r *rig) client(token string) *godo.Client {
	source := oauth2.StaticTokenSource(&oauth2.Token{AccessToken: token})
	client, err := godo.New(oauth2.NewClient(r.Context(), source), godo.SetBaseURL(r.server.URL()+"/"))
	r.must(err)
	return client
}

func (r *rig) pools() []*godo.KubernetesNodePool {
	r.Helper()
	pools, _, err := r.godo.Kubernetes.ListNodePools(r.Context(), r.server.ClusterID(), nil)
	r.must(err)
	return pools
}

func (r *rig) resize(pool string, count int) (*godo.KubernetesNodePool, error) {
	p, _, err := r.godo.Kubernetes.UpdateNodePool(r.Context(), r.server.ClusterID(), pool, &godo.KubernetesNodePoolUpdateRequest{Count: &count})
	return p, err
}

// states renders the nodes that the API lists of a pool; * stands for one without a Droplet.
func (r *rig) states(pool string) string {
	r.Helper()
	p, _, err := r.godo.Kubernetes.GetNodePool(r.Context(), r.server.ClusterID(), pool)
	r.must(err)
	var parts []string
	for _, n := range p.Nodes {
		text := "-"
		if n.Status != nil {
			text = n.Status.State
		}
		if n.DropletID == "" {
			text += "*"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}

// status is the status of a failed call; 0: it was not answered.
func status(err error) int {
	if e, ok := errors.AsType[*godo.ErrorResponse](err); ok {
		return e.Response.StatusCode
	}
	return 0
}

var steps = dotest.Delays{
	List: time.Second, Droplet: 10 * time.Second, Running: 20 * time.Second, Register: 5 * time.Second, Fail: 5 * time.Second,
	Drain: 7 * time.Second, Delete: 3 * time.Second,
}

func TestANodeComesInTheStepsOfDOKS(t *testing.T) {
	r := newRig(t, dotest.Config{}, dotest.Pool{ID: "web", Count: 1, AutoScale: true, Max: 5, Delays: steps})
	p, err := r.resize("web", 2)
	r.must(err)
	if p.Count != 2 || len(p.Nodes) != 1 {
		t.Errorf("the answer has a count of %d and %d nodes, want 2 and 1", p.Count, len(p.Nodes))
	}
	for _, step := range []struct {
		after time.Duration
		want  string
	}{{0, "running"}, {time.Second, "running provisioning*"}, {10 * time.Second, "running provisioning"}, {20 * time.Second, "running running"}} {
		r.clock.Step(step.after)
		if got := r.states("web"); got != step.want {
			t.Errorf("%s later: %s, want %s", step.after, got, step.want)
		}
	}
	if r.server.Nodes("web")[1].Registered {
		t.Error("the node registered at once")
	}
	r.clock.Step(5 * time.Second)
	if !r.server.Nodes("web")[1].Registered {
		t.Error("the node didn't register")
	}
}

func TestTwoServersNeedNotShareIdsOfDroplets(t *testing.T) {
	r := newRig(t, dotest.Config{DropletsAbove: 7_000}, dotest.Pool{ID: "web", Count: 1, Max: 3})
	if err := r.server.UpdatePool("web", func(p *dotest.Pool) { p.Count = 2 }); err != nil {
		t.Fatal(err)
	}
	for _, n := range r.server.Nodes("web") {
		if len(n.DropletID) != 4 || n.DropletID[0] != '7' {
			t.Errorf("Droplet %q, want one of the first above 7000", n.DropletID)
		}
	}
}

func TestDeletingANodeEndsThatOneAndLowersTheCount(t *testing.T) {
	for name, test := range map[string]struct {
		request *godo.KubernetesNodeDeleteRequest
		count   int
		steps   []string
	}{
		"drained":     {request: nil, count: 2, steps: []string{"draining running running", "deleting running running", "running running"}},
		"not drained": {request: &godo.KubernetesNodeDeleteRequest{SkipDrain: true}, count: 2, steps: []string{"deleting running running", "running running", "running running"}},
		"replaced": {
			request: &godo.KubernetesNodeDeleteRequest{SkipDrain: true, Replace: true}, count: 3,
			steps: []string{"deleting running running", "running running provisioning*", "running running provisioning"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, dotest.Config{}, dotest.Pool{ID: "web", Count: 3, AutoScale: true, Max: 5, Delays: steps})
			victim := r.server.Nodes("web")[0].ID
			_, err := r.godo.Kubernetes.DeleteNode(t.Context(), r.server.ClusterID(), "web", victim, test.request)
			r.must(err)
			for i, want := range test.steps {
				if got := r.states("web"); got != want {
					t.Errorf("step %d: %s, want %s", i, got, want)
				}
				r.clock.Step(7 * time.Second)
			}
			if got := r.server.Pool("web").Count; got != test.count {
				t.Errorf("count %d, want %d", got, test.count)
			}
			if e := r.server.Endings(); len(e) != 1 || e[0].Node.ID != victim || e[0].Cause != dotest.CauseNamed {
				t.Errorf("endings %+v", e)
			}
		})
	}
}

func TestDeletingANodeTwiceIsAnsweredAsThePoolSays(t *testing.T) {
	for gone, want := range map[bool]int{false: 0, true: 404} {
		r := newRig(t, dotest.Config{}, dotest.Pool{ID: "web", Count: 2, AutoScale: true, Max: 5, Delays: steps, GoneTwice: gone})
		victim := r.server.Nodes("web")[0].ID
		_, err := r.godo.Kubernetes.DeleteNode(t.Context(), r.server.ClusterID(), "web", victim, nil)
		r.must(err)
		_, err = r.godo.Kubernetes.DeleteNode(t.Context(), r.server.ClusterID(), "web", victim, nil)
		if got := status(err); got != want || r.server.Pool("web").Count != 1 {
			t.Errorf("status %d and count %d, want %d and 1", got, r.server.Pool("web").Count, want)
		}
	}
}

func TestRecyclingReplacesNodes(t *testing.T) {
	r := newRig(t, dotest.Config{}, dotest.Pool{ID: "web", Count: 1, AutoScale: true, Max: 5})
	_, err := r.godo.Kubernetes.RecycleNodePoolNodes(t.Context(), r.server.ClusterID(), "web",
		&godo.KubernetesNodePoolRecycleNodesRequest{Nodes: []string{r.server.Nodes("web")[0].ID}})
	r.must(err)
	if got := r.states("web"); got != "running" || r.server.Pool("web").Count != 1 {
		t.Errorf("nodes %s, count %d; want one that runs", got, r.server.Pool("web").Count)
	}
}

func TestALowerCountMakesThePoolChoose(t *testing.T) {
	for victims, want := range map[dotest.Victims][]int{dotest.VictimsOldest: {0, 1}, dotest.VictimsNewest: {2, 3}, dotest.VictimsRandom: nil} {
		r := newRig(t, dotest.Config{}, dotest.Pool{ID: "web", Count: 4, AutoScale: true, Max: 5, Victims: victims})
		nodes := r.server.Nodes("web")
		_, err := r.resize("web", 2)
		r.must(err)
		var got []int
		for _, e := range r.server.Endings() {
			if e.Cause != dotest.CauseChoice {
				t.Errorf("cause %s", e.Cause)
			}
			got = append(got, slices.IndexFunc(nodes, func(n dotest.Node) bool { return n.ID == e.Node.ID }))
		}
		slices.Sort(got)
		if len(got) != 2 || want != nil && !slices.Equal(got, want) {
			t.Errorf("%q: nodes %v went, want %v", victims, got, want)
		}
	}
}

func TestTheAPIRefusesWhatItCannotDo(t *testing.T) {
	pools := []dotest.Pool{
		{ID: "web", Count: 2, AutoScale: true, Max: 5}, {ID: "fixed", Count: 0}, {ID: "gpu", Size: "gpu-h100x1-80gb", Count: 1, AutoScale: true, Max: 9},
	}
	for name, test := range map[string]struct {
		pool   string
		count  int
		status int
		text   string
	}{
		"below zero": {"web", -1, 422, "negative"}, "above the maximum": {"web", 6, 422, "max_nodes (5)"}, "the last CPU node": {"web", 0, 422, "last CPU"},
		"beyond the account's limit": {"fixed", 9, 422, "2 additional nodes are needed beyond the droplet limit of 10"},
		"an unknown pool":            {"nobody", 1, 404, "not found"}, "accelerators to zero": {"gpu", 0, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, dotest.Config{DropletLimit: 10}, pools...)
			_, err := r.resize(test.pool, test.count)
			if got := status(err); got != test.status || err != nil && !strings.Contains(err.Error(), test.text) {
				t.Errorf("%v, want the status %d and %q", err, test.status, test.text)
			}
		})
	}
	r := newRig(t, dotest.Config{StrictUpdates: true}, pools...)
	if _, err := r.resize("web", 3); status(err) != 422 {
		t.Errorf("without a name: %v, want 422", err)
	}
}

func TestAPoolCanHaveNoStockGrantFewerOrGetStuck(t *testing.T) {
	one := 1
	for name, test := range map[string]struct {
		pool  dotest.Pool
		count int
		want  string
	}{
		"no stock":           {pool: dotest.Pool{Stock: &one}, count: 3, want: "running running failed*"},
		"no stock, in words": {pool: dotest.Pool{Stock: new(int), FailState: "error", FailMessage: "limit"}, count: 2, want: "running error*"},
		"fewer granted":      {pool: dotest.Pool{Grant: &one}, count: 4, want: "running running"},
		"stuck":              {pool: dotest.Pool{Stuck: dotest.StuckNoDroplet}, count: 2, want: "running provisioning*"},
		"stuck later":        {pool: dotest.Pool{Stuck: dotest.StuckWithDroplet}, count: 2, want: "running provisioning"},
	} {
		t.Run(name, func(t *testing.T) {
			test.pool.ID, test.pool.Count, test.pool.AutoScale, test.pool.Max, test.pool.Delays = "web", 1, true, 9, steps
			r := newRig(t, dotest.Config{}, test.pool)
			_, err := r.resize("web", test.count)
			r.must(err)
			for at, ok := r.server.NextChange(); ok; at, ok = r.server.NextChange() {
				r.clock.SetTime(at)
			}
			if got := r.states("web"); got != test.want {
				t.Errorf("nodes %s, want %s", got, test.want)
			}
		})
	}
}

func TestSomebodyElseChangesPools(t *testing.T) {
	r := newRig(t, dotest.Config{}, dotest.Pool{ID: "web", Count: 1, AutoScale: true, Min: 1, Max: 5}, dotest.Pool{ID: "api", Count: 1})
	r.must(r.server.SwitchAutoScale("web", false, 0, 0))
	r.must(r.server.UpdatePool("api", func(p *dotest.Pool) { p.Count = 3 }))
	r.must(r.server.LoseNode(r.server.Nodes("web")[0].ID))
	got := map[string]string{}
	for _, p := range r.pools() {
		got[p.ID] = fmt.Sprintf("%t %d:%d of %d", p.AutoScale, p.MinNodes, p.MaxNodes, len(p.Nodes))
	}
	if diff := cmp.Diff(map[string]string{"web": "false 0:0 of 1", "api": "false 0:0 of 3"}, got); diff != "" {
		t.Errorf("pools (-want +got):\n%s", diff)
	}
	r.must(r.server.RemovePool("web"))
	if got := len(r.pools()); got != 1 {
		t.Errorf("%d pools, want 1", got)
	}
	for _, err := range []error{r.server.RemovePool("web"), r.server.LoseNode("x"), r.server.UpdateNode("x", nil), r.server.UpdatePool("x", nil)} {
		if err == nil {
			t.Error("no error about what doesn't exist")
		}
	}
}

func TestTemplatesAndSizesAreDescribed(t *testing.T) {
	r := newRig(t, dotest.Config{}, dotest.Pool{
		ID: "1", Name: "gpu", Size: "gpu-mi300x8-1536gb", Labels: map[string]string{"team": "ml"}, Taints: []dotest.Taint{{Key: "k", Value: "v", Effect: "NoSchedule"}},
	}, dotest.Pool{ID: "2", Name: "bare", NoTemplate: true})
	answer, _, err := r.godo.Kubernetes.GetNodePoolTemplate(t.Context(), r.server.ClusterID(), "gpu")
	r.must(err)
	got := answer.Template
	if got.Slug != "gpu-mi300x8-1536gb" || got.Labels["team"] != "ml" || !slices.Equal(got.Taints, []string{"k=v:NoSchedule"}) ||
		*got.Gpu != (godo.KubernetesNodePoolGPUResources{Vendor: "amd", Model: "mi300x", Count: 8}) ||
		*got.Capacity != (godo.KubernetesNodePoolResources{CPU: 160, CpuMilliCores: 160000, Memory: "1966080Mi", Pods: 110}) {
		t.Errorf("template %+v", got)
	}
	for _, name := range []string{"bare", "nobody"} {
		if _, _, err := r.godo.Kubernetes.GetNodePoolTemplate(t.Context(), r.server.ClusterID(), name); status(err) != 404 {
			t.Errorf("template of %s: %v, want 404", name, err)
		}
	}
	sizes, response, err := r.godo.Sizes.List(t.Context(), &godo.ListOptions{PerPage: 3, Page: 2})
	r.must(err)
	if len(sizes) != 3 || sizes[0].Slug != "s-8vcpu-16gb" || sizes[0].PriceHourly != 0.14286 || response.Links.IsLastPage() || response.Meta.Total != 8 {
		t.Errorf("sizes %+v, links %+v", sizes, response.Links)
	}
	cluster, _, err := r.godo.Kubernetes.Get(t.Context(), r.server.ClusterID())
	r.must(err)
	if cluster.RegionSlug != "fra1" || len(cluster.NodePools) != 2 || cluster.Status.State != godo.KubernetesClusterStatusRunning {
		t.Errorf("cluster %+v", cluster)
	}
	if _, _, err := r.godo.Kubernetes.GetOptions(t.Context()); err != nil {
		t.Errorf("options: %v", err)
	}
}

func TestPagesOfPoolsAreHonouredOrNot(t *testing.T) {
	for paged, want := range map[bool]int{true: 20, false: 25} {
		r := newRig(t, dotest.Config{Paged: paged})
		for i := range 25 {
			r.must(r.server.AddPool(dotest.Pool{ID: fmt.Sprint(i)}))
		}
		if got := len(r.pools()); got != want {
			t.Errorf("paged %t: %d pools, want %d", paged, got, want)
		}
	}
}

func TestTokensAreCheckedWithTheirScopes(t *testing.T) {
	r := newRig(t, dotest.Config{}, dotest.Pool{ID: "web", Count: 1, AutoScale: true, Max: 5})
	r.server.AcceptToken("reader", dotest.ScopeKubernetesUpdate)
	_, _, err := r.client("thief").Kubernetes.ListNodePools(t.Context(), r.server.ClusterID(), nil)
	if status(err) != 401 {
		t.Errorf("an unknown token: %v, want 401", err)
	}
	_, _, err = r.client("reader").Kubernetes.ListNodePools(t.Context(), r.server.ClusterID(), nil)
	r.must(err)
	three := 3
	_, _, err = r.client("reader").Kubernetes.UpdateNodePool(t.Context(), r.server.ClusterID(), "web", &godo.KubernetesNodePoolUpdateRequest{Count: &three})
	if status(err) != 403 || !strings.Contains(err.Error(), "kubernetes:update") || !strings.Contains(err.Error(), `(request "req-`) {
		t.Errorf("a write of a reader: %v, want 403 with the scope and the request", err)
	}
	r.server.RevokeToken("reader")
	if _, _, err = r.client("reader").Kubernetes.ListNodePools(t.Context(), r.server.ClusterID(), nil); status(err) != 401 {
		t.Errorf("a revoked token: %v, want 401", err)
	}
	if _, _, err = r.godo.Kubernetes.ListNodePools(t.Context(), "another", nil); status(err) != 404 {
		t.Errorf("another cluster: %v, want 404", err)
	}
}

func TestTheLimitsSlide(t *testing.T) {
	r := newRig(t, dotest.Config{Limits: dotest.Limits{PerHour: 5, PerMinute: 2}})
	list := func() (*godo.Response, int) {
		_, response, err := r.godo.Kubernetes.ListNodePools(t.Context(), r.server.ClusterID(), nil)
		return response, status(err)
	}
	response, _ := list()
	if response.Limit != 5 || response.Remaining != 4 || !response.Reset.Equal(godo.Timestamp{Time: noon.Add(time.Hour)}) {
		t.Errorf("rate %+v", response.Rate)
	}
	list()
	if response, got := list(); got != 429 || response.Header.Get("retry-after") != "60" || response.Remaining != 0 {
		t.Errorf("the third in a minute: %d, retry-after %q, remaining %d; want 429, 60, 0", got, response.Header.Get("retry-after"), response.Remaining)
	}
	for range 2 {
		r.clock.Step(time.Minute)
		list()
		list()
	}
	r.clock.Step(time.Minute)
	if response, got := list(); got != 429 || response.Header.Get("retry-after") != "" {
		t.Errorf("the sixth in an hour: %d, retry-after %q; want 429 without", got, response.Header.Get("retry-after"))
	}
	r.clock.SetTime(noon.Add(time.Hour))
	if _, got := list(); got != 0 {
		t.Errorf("an hour after the first: %d, want a place", got)
	}
}

func TestFaultsHitTheCallsThatTheyName(t *testing.T) {
	two := 2
	for name, test := range map[string]struct {
		fault  dotest.Fault
		status int
		failed bool
		count  int
	}{
		"an error":             {fault: dotest.Fault{Status: 500}, status: 500, failed: true, count: 1},
		"an error that is one": {fault: dotest.Fault{Status: 503, HTML: true, Carried: true}, status: 503, failed: true, count: 2},
		"a cut before":         {fault: dotest.Fault{Cut: true}, failed: true, count: 1},
		"a cut after":          {fault: dotest.Fault{Cut: true, Carried: true}, failed: true, count: 2},
		"half an answer":       {fault: dotest.Fault{Half: true}, failed: true, count: 2},
		"another answer":       {fault: dotest.Fault{Body: new("{")}, failed: true, count: 2},
		"another pool":         {fault: dotest.Fault{Status: 500, Pool: "api"}, count: 2},
		"another call":         {fault: dotest.Fault{Status: 500, Operation: dotest.DeleteNode}, count: 2},
		"not yet":              {fault: dotest.Fault{Status: 500, Skip: 1}, count: 2},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, dotest.Config{}, dotest.Pool{ID: "web", Count: 1, AutoScale: true, Max: 5}, dotest.Pool{ID: "api"})
			if test.fault.Operation == "" {
				test.fault.Operation = dotest.UpdateNodePool
			}
			r.server.Inject(test.fault)
			_, err := r.resize("web", two)
			if status(err) != test.status || (err != nil) != test.failed || r.server.Pool("web").Count != test.count {
				t.Errorf("%v, count %d; want status %d and count %d", err, r.server.Pool("web").Count, test.status, test.count)
			}
			if err != nil {
				if _, err := r.resize("web", two); err != nil {
					t.Errorf("the next call: %v, want none", err)
				}
			}
		})
	}
}

func TestAnswersCanBeOldShortOrHeldBack(t *testing.T) {
	r := newRig(t, dotest.Config{}, dotest.Pool{ID: "web", Count: 1, AutoScale: true, Max: 5}, dotest.Pool{ID: "api"})
	r.clock.Step(time.Minute)
	_, err := r.resize("web", 3)
	r.must(err)
	remove := r.server.Inject(dotest.Fault{Operation: dotest.ListNodePools, Stale: 30 * time.Second, Count: dotest.Always})
	if got := r.pools()[0].Count; got != 1 {
		t.Errorf("count %d by an old answer, want 1", got)
	}
	remove()
	remove()
	if got := r.pools()[0].Count; got != 3 {
		t.Errorf("count %d by a new answer, want 3", got)
	}
	one := 1
	r.server.Inject(dotest.Fault{Items: &one})
	if got := len(r.pools()); got != 1 {
		t.Errorf("%d pools on a short page, want 1", got)
	}
	hold, order := make(chan struct{}), make(chan string, 4)
	r.server.Inject(dotest.Fault{Hold: hold, Before: func() { order <- "before"; close(hold) }, After: func() { order <- "after" }})
	r.pools()
	if a, b := <-order, <-order; a != "before" || b != "after" {
		t.Errorf("%s, %s", a, b)
	}
}

func TestTheLogTellsWhatCame(t *testing.T) {
	r := newRig(t, dotest.Config{}, dotest.Pool{ID: "web", Count: 1, AutoScale: true, Max: 5})
	_, err := r.resize("web", 2)
	r.must(err)
	_, _ = r.resize("web", 9)
	calls := r.server.Writes()
	if len(calls) != 2 {
		t.Fatalf("%d writes, want 2", len(calls))
	}
	good, bad := calls[0], calls[1]
	if good.Operation != dotest.UpdateNodePool || good.Method != http.MethodPut || good.Pool != "web" || good.From != 1 || good.To != 2 ||
		good.Body != "{\"count\":2}\n" || good.Token != dotest.DefaultToken || good.Status != 202 || !good.Done || !strings.HasPrefix(good.UserAgent, "godo/") {
		t.Errorf("write %+v", good)
	}
	if bad.Status != 422 || bad.ErrorID != "unprocessable_entity" || bad.From != 0 || bad.To != 0 {
		t.Errorf("write that was refused %+v", bad)
	}
	r.server.ForgetCalls()
	if len(r.server.Calls()) != 0 {
		t.Error("the log is not empty")
	}
}

func TestAStrangePathOrBodyIsNoSuccess(t *testing.T) {
	r := newRig(t, dotest.Config{}, dotest.Pool{ID: "web", Count: 1})
	base := r.server.URL() + "/v2/kubernetes/clusters/" + r.server.ClusterID()
	for name, test := range map[string]struct {
		method, url, body string
		want              int
	}{
		"a path":          {http.MethodGet, r.server.URL() + "/v2/droplets", "", 404},
		"a deeper path":   {http.MethodGet, base + "/node_pools/web/nodes", "", 404},
		"a method":        {http.MethodPost, base + "/node_pools/web", "{}", 404},
		"no JSON":         {http.MethodPut, base + "/node_pools/web", "{", 400},
		"another type":    {http.MethodPut, base + "/node_pools/web", `{"count":"two"}`, 422},
		"status messages": {http.MethodGet, base + "/status_messages", "", 200},
	} {
		request, err := http.NewRequestWithContext(t.Context(), test.method, test.url, strings.NewReader(test.body))
		r.must(err)
		request.Header.Set("Authorization", "Bearer "+dotest.DefaultToken)
		answer, err := http.DefaultClient.Do(request)
		r.must(err)
		_, _ = io.Copy(io.Discard, answer.Body)
		r.must(answer.Body.Close())
		if answer.StatusCode != test.want {
			t.Errorf("%s: %d, want %d", name, answer.StatusCode, test.want)
		}
	}
}

func TestChangesAreAnnounced(t *testing.T) {
	r := newRig(t, dotest.Config{}, dotest.Pool{ID: "web", Count: 1, AutoScale: true, Max: 5, Delays: steps})
	changed := r.server.Changed()
	_, err := r.resize("web", 2)
	r.must(err)
	<-changed
	changed = r.server.Changed()
	r.clock.Step(time.Second)
	r.server.Advance()
	<-changed
}

func TestAServerIsMadeAndStartedOnce(t *testing.T) {
	if _, err := dotest.New(dotest.Config{DropletLimit: -1}); err == nil {
		t.Error("no error for a limit below 0")
	}
	r := newRig(t, dotest.Config{})
	if err := r.server.Start(t.Context()); err == nil {
		t.Error("no error for a second start")
	}
	r.must(r.server.AddPool(dotest.Pool{ID: "web"}))
	for _, pool := range []dotest.Pool{{ID: "web"}, {Count: -1}, {Min: 2, Max: 1}} {
		if err := r.server.AddPool(pool); err == nil {
			t.Errorf("no error for the pool %+v", pool)
		}
	}
}

func TestWithTheRealClockThingsHappenByThemselves(t *testing.T) {
	server, err := dotest.New(dotest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	pool := dotest.Pool{ID: "web", Delays: dotest.Delays{Droplet: time.Millisecond, Running: time.Millisecond, Register: time.Millisecond}}
	if err := errors.Join(server.AddPool(pool), server.Start(context.WithoutCancel(t.Context()))); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}()
	changed := server.Changed()
	if err := server.UpdatePool("web", func(p *dotest.Pool) { p.Count = 1 }); err != nil {
		t.Fatal(err)
	}
	for !slices.ContainsFunc(server.Nodes("web"), func(n dotest.Node) bool { return n.Registered }) {
		<-changed
		changed = server.Changed()
	}
}
