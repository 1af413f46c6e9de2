package awstest

import (
	"errors"
	"fmt"
	"net/http"
)

// apiError is an error that a service answers with.
type apiError struct {
	status  int
	code    string
	message string
	header  map[string]string
}

func (e *apiError) Error() string { return fmt.Sprintf("%d %s: %s", e.status, e.code, e.message) }

// failure makes an error answer.
func failure(status int, code, format string, args ...any) error {
	return &apiError{status: status, code: code, message: fmt.Sprintf(format, args...)}
}

// validation is Auto Scaling's answer to a request that makes no sense.
func validation(format string, args ...any) error {
	return failure(http.StatusBadRequest, "ValidationError", format, args...)
}

// asAPIError makes any error one that can be answered.
func asAPIError(err error) *apiError {
	if e, ok := errors.AsType[*apiError](err); ok {
		return e
	}
	return &apiError{status: http.StatusInternalServerError, code: "InternalFailure", message: err.Error()}
}

// throttled is how the service answers when it is asked too often.
func throttled(s Service) *apiError {
	switch s {
	case EC2:
		return &apiError{status: http.StatusServiceUnavailable, code: "RequestLimitExceeded", message: "Request limit exceeded."}
	case EKS:
		return &apiError{status: http.StatusTooManyRequests, code: "ThrottlingException", message: "Rate exceeded"}
	case Pricing:
		return &apiError{status: http.StatusBadRequest, code: "ThrottlingException", message: "Rate exceeded"}
	case Metadata, ContainerCredentials:
		return &apiError{status: http.StatusTooManyRequests, code: "TooManyRequests", message: "Too Many Requests"}
	default:
		return &apiError{status: http.StatusBadRequest, code: "Throttling", message: "Rate exceeded"}
	}
}

// broken is how the service answers with a 5xx status.
func broken(s Service, status int) *apiError {
	e := &apiError{status: status, code: "InternalFailure", message: "The request processing has failed because of an unknown error, exception or failure."}
	json := s == EKS || s == Pricing
	switch {
	case status == http.StatusServiceUnavailable && json:
		e.code, e.message = "ServiceUnavailableException", "The service is unavailable. Back off and retry the operation."
	case s == EKS:
		e.code, e.message = "ServerException", "These errors are usually caused by a server-side issue."
	case s == Pricing:
		e.code, e.message = "InternalErrorException", "An error on the server occurred during the processing of your request. Try again later."
	case status == http.StatusServiceUnavailable && s == EC2:
		e.code, e.message = "Unavailable", "The server is overloaded and can't handle the request."
	case status == http.StatusServiceUnavailable:
		e.code, e.message = "ServiceUnavailable", "The request has failed due to a temporary failure of the server."
	case s == EC2:
		e.code, e.message = "InternalError", "An internal error has occurred"
	}
	return e
}

// xml is the error in the form of the service.
func (e *apiError) xml(s Service, requestID string) element {
	if s == EC2 {
		return node("Response",
			node("Errors", node("Error", text("Code", e.code), text("Message", e.message))),
			text("RequestID", requestID))
	}
	blame := "Sender"
	if e.status >= 500 {
		blame = "Receiver"
	}
	root := node("ErrorResponse",
		node("Error", text("Type", blame), text("Code", e.code), text("Message", e.message)),
		text("RequestId", requestID))
	root.attr = s.namespace()
	return root
}
