package doapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/digitalocean/godo"
	"golang.org/x/oauth2"
	"k8s.io/utils/clock"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/digitalocean/internal/tokens"
)

// callTimeout is how long one call may take, a second try included.
const callTimeout = 10 * time.Second

// Options is what a Client is made with; all of it is required.
type Options struct {
	Provider  string // name in what the observer is told
	ClusterID string
	URL       string // scheme://host
	UserAgent string // godo adds its own
	// BudgetPercent is the share of the API's hourly limit that may be used.
	BudgetPercent int
	Tokens        *tokens.Source
	Clock         clock.WithDelayedExecution
	Observer      cloudprovider.CallObserver
}

// Client makes calls about one cluster. Safe for concurrent use. All calls block for at most ten seconds of the clock's time. Their errors are of
// type *Error, unless the caller's context ended.
type Client struct {
	godo      *godo.Client
	transport *http.Transport
	cluster   string
	tokens    *tokens.Source
	gate      *gate
	clock     clock.WithDelayedExecution
}

// New makes a Client. It makes no call.
func New(o Options) (*Client, error) {
	transport, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return nil, fmt.Errorf("making the DigitalOcean client: the default transport is a %T", http.DefaultTransport)
	}
	c := &Client{
		transport: transport.Clone(), cluster: o.ClusterID, tokens: o.Tokens, clock: o.Clock, gate: newGate(o.Clock, o.BudgetPercent, o.ClusterID),
	}
	attempts := &attempts{base: c.transport, provider: o.Provider, observer: o.Observer, clock: o.Clock, gate: c.gate}
	client, err := godo.New(&http.Client{Transport: &oauth2.Transport{Source: o.Tokens, Base: attempts}},
		godo.SetBaseURL(o.URL+"/"), godo.SetUserAgent(o.UserAgent))
	if err != nil {
		return nil, fmt.Errorf("--cloud-config: the client could not be initialised: %w", err)
	}
	c.godo = client
	return c, nil
}

// Low tells whether so few requests are left that only what is needed should be asked.
func (c *Client) Low() bool { return c.gate.isLow() }

// BlockedUntil is when the API may be asked again after it refused; a time that is past: now.
func (c *Client) BlockedUntil() time.Time { return c.gate.blockedUntil() }

// TokenTrouble says why the token file could not be read the last time; nil: it could, or there is none.
func (c *Client) TokenTrouble() error { return c.tokens.Trouble() }

// Close closes the connections that are idle.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// call is what a call is and how much it matters.
type call struct {
	operation  string
	importance importance
}

// do makes a call: at most twice where it only reads or where the token was replaced.
func (c *Client) do(ctx context.Context, what call, ask func(ctx context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("DigitalOcean %s: %w", what.operation, context.Cause(ctx))
	}
	bounded, cancel := context.WithCancelCause(ctx)
	timer := c.clock.AfterFunc(callTimeout, func() { cancel(errDeadline) })
	defer func() {
		timer.Stop()
		cancel(nil)
	}()
	once := func() error {
		if err := c.gate.admit(what.importance); err != nil {
			return &Error{Operation: what.operation, Class: Throttled, Err: err}
		}
		err := ask(bounded)
		if cause := context.Cause(bounded); err != nil && errors.Is(cause, errDeadline) && errors.Is(err, context.Canceled) {
			err = errDeadline
		}
		return classify(ctx, what.operation, err)
	}
	used := c.tokens.Current()
	err := once()
	switch class := ClassOf(err); {
	case class == Credentials && c.tokens.Reread(used):
		return once()
	case reads(what.operation) && (class == Unanswered || class == Unreachable || class == Broken) && bounded.Err() == nil:
		return once()
	}
	return err
}

// The operations, by godo's names.
const (
	opListNodePools  = "ListNodePools"
	opGetNodePool    = "GetNodePool"
	opUpdateNodePool = "UpdateNodePool"
	opDeleteNode     = "DeleteNode"
	opGetTemplate    = "GetNodePoolTemplate"
	opGetCluster     = "GetCluster"
	opListSizes      = "ListSizes"
)

// reads tells whether an operation changes nothing.
func reads(operation string) bool { return operation != opUpdateNodePool && operation != opDeleteNode }

// attempts is the transport below the one that adds the token. It tells the observer about each request, and the gate about each answer.
type attempts struct {
	base     http.RoundTripper
	provider string
	observer cloudprovider.CallObserver
	clock    clock.PassiveClock
	gate     *gate
}

// RoundTrip sends one request.
func (a *attempts) RoundTrip(request *http.Request) (*http.Response, error) {
	began := a.clock.Now()
	answer, err := a.base.RoundTrip(request)
	code := "error"
	if err == nil {
		a.gate.note(answer)
		code = codeOf(answer.StatusCode)
	}
	a.observer.ObserveCall(cloudprovider.Call{
		Provider: a.provider, Operation: operationOf(request), Duration: a.clock.Since(began), Code: code,
		Throttled: err == nil && answer.StatusCode == http.StatusTooManyRequests,
	})
	return answer, err
}

// codeOf is what an answer is called in metrics: the API's error ids are these words.
func codeOf(status int) string {
	if status >= 200 && status < 300 {
		return "success"
	}
	return strings.ReplaceAll(strings.ToLower(http.StatusText(status)), " ", "_")
}

// operationOf tells godo's name of a request.
func operationOf(request *http.Request) string {
	path := request.URL.Path
	switch {
	case strings.HasSuffix(path, "/sizes"):
		return opListSizes
	case strings.Contains(path, "/node_pools_template/"):
		return opGetTemplate
	case strings.HasSuffix(path, "/node_pools"):
		return opListNodePools
	case strings.Contains(path, "/nodes/"):
		return opDeleteNode
	case strings.Contains(path, "/node_pools/") && request.Method == http.MethodPut:
		return opUpdateNodePool
	case strings.Contains(path, "/node_pools/"):
		return opGetNodePool
	default:
		return opGetCluster
	}
}
