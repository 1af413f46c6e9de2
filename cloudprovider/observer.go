package cloudprovider

import "time"

// CallObserver is told about each request to a cloud's API, retries included once each. It must not block and may be called concurrently.
type CallObserver interface {
	ObserveCall(call Call)
}

// Call is one finished request to a cloud's API.
type Call struct {
	Provider  string // name of the provider
	Operation string // the API's own name for the operation
	Duration  time.Duration
	// Code is "success", else the API's error code, else "error".
	Code string
}

// ObserverFunc makes a function a CallObserver.
type ObserverFunc func(Call)

// ObserveCall calls the function.
func (f ObserverFunc) ObserveCall(call Call) { f(call) }
