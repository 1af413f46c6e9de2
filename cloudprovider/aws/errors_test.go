package aws_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"example.com/cluster-autoscaler/cloudprovider"
)

// kind names the error of the contract in a chain, with what a caller branches on.
func kind(err error) string {
	if err == nil {
		return "none"
	}
	if e, ok := errors.AsType[*cloudprovider.TransientError](err); ok {
		if e.OutcomeUnknown {
			return "transient, outcome unknown"
		}
		return "transient"
	}
	if e, ok := errors.AsType[*cloudprovider.StaleBoundsError](err); ok {
		return fmt.Sprintf("stale bounds, asked %d, room %d", e.Asked, e.Room)
	}
	if _, ok := errors.AsType[*cloudprovider.GoneError](err); ok {
		return "gone"
	}
	if _, ok := errors.AsType[*cloudprovider.ConfigurationError](err); ok {
		return "configuration"
	}
	if e, ok := errors.AsType[*cloudprovider.QuotaError](err); ok {
		return "quota " + e.Code
	}
	if _, ok := errors.AsType[*cloudprovider.OutOfResourcesError](err); ok {
		return "out of resources"
	}
	return "other"
}

// noSuchHost is an HTTP client in a world without the name that it is asked for.
type noSuchHost struct{}

func (noSuchHost) Do(r *http.Request) (*http.Response, error) {
	return nil, &url.Error{Op: "Post", URL: r.URL.String(), Err: &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: r.URL.Host, IsNotFound: true}}}
}
