package doapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"

	"github.com/digitalocean/godo"
)

// Class is what kind of failure an error is.
type Class int

// The classes.
const (
	Other       Class = iota // the API refuses, and nothing below says why
	Throttled                // too many requests; nothing was done
	Unreachable              // the request never got there
	Unanswered               // the request may have been carried out
	Broken                   // the API failed (5xx); the request may have been carried out
	Busy                     // something else is being done to it (409)
	Credentials              // the token is not accepted
	Denied                   // the token lacks a scope
	NotFound
	Quota    // a limit of the account
	Capacity // there are no such machines now
)

// Error is a failed call.
type Error struct {
	Operation string // godo's name of it
	Class     Class
	Status    int    // of the answer; 0: there was none
	Request   string // the API's id of the request; empty: unknown, or left out of the text
	Err       error
}

// Error says which call failed and why.
func (e *Error) Error() string {
	text := fmt.Sprintf("DigitalOcean %s: %v", e.Operation, e.Err)
	if e.Request != "" {
		text += fmt.Sprintf(" (request %s)", e.Request)
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Ambiguous tells whether a write may have been carried out.
func (e *Error) Ambiguous() bool { return e.Class == Unanswered || e.Class == Broken }

// ClassOf is the class of an error of this package, Other for any other.
func ClassOf(err error) Class {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Class
	}
	return Other
}

// errDeadline is why a call is given up.
var errDeadline = fmt.Errorf("no answer within %s", callTimeout)

// errNothing stands for a good answer that holds nothing.
var errNothing = errors.New("the answer is empty")

// classify sorts an error. ctx is the caller's own: what it brings about is no failure of the API.
func classify(ctx context.Context, operation string, err error) error {
	if err == nil {
		return nil
	}
	e := &Error{Operation: operation, Class: Unanswered, Err: err}
	if answer, ok := errors.AsType[*godo.ErrorResponse](err); ok {
		e.Class, e.Status, e.Request = classOf(answer), answer.Response.StatusCode, answer.RequestID
		e.Err = errors.New(textOf(answer))
		return e
	}
	dial, _ := errors.AsType[*net.OpError](err)
	switch _, noName := errors.AsType[*net.DNSError](err); {
	case errors.Is(err, errDeadline):
		e.Err = errDeadline
	case ctx.Err() != nil:
		return fmt.Errorf("DigitalOcean %s: %w", operation, context.Cause(ctx))
	case noName, errors.Is(err, syscall.ECONNREFUSED), dial != nil && dial.Op == "dial":
		e.Class = Unreachable
	}
	return e
}

// classOf sorts an answer that is an error.
func classOf(answer *godo.ErrorResponse) Class {
	switch status := answer.Response.StatusCode; {
	case status == http.StatusUnauthorized:
		return Credentials
	case status == http.StatusForbidden:
		return Denied
	case status == http.StatusNotFound, status == http.StatusGone:
		return NotFound
	case status == http.StatusConflict, status == http.StatusLocked:
		return Busy
	case status == http.StatusTooManyRequests:
		return Throttled
	case status >= http.StatusInternalServerError:
		return Broken
	case status == http.StatusUnprocessableEntity:
		return Shortage(answer.Message)
	default:
		return Other
	}
}

// Shortage reads from a message whether an account limit (Quota) or a lack of machines (Capacity) is the trouble; Other: neither.
func Shortage(message string) Class {
	text := strings.ToLower(message)
	has := func(words ...string) bool {
		for _, word := range words {
			if strings.Contains(text, word) {
				return true
			}
		}
		return false
	}
	switch {
	case has("capacity", "not enough", "unavailable", "not available", "sold out"):
		return Capacity
	case has("limit", "quota"):
		return Quota
	default:
		return Other
	}
}

// textOf is the error as people read it: the page of a proxy is cut to its first line.
func textOf(answer *godo.ErrorResponse) string {
	message := strings.TrimSpace(answer.Message)
	if line, _, more := strings.Cut(message, "\n"); more || len(line) > 300 {
		message = line[:min(len(line), 300)] + " …"
	}
	if message == "" {
		message = http.StatusText(answer.Response.StatusCode)
	}
	return fmt.Sprintf("%d %s", answer.Response.StatusCode, message)
}
