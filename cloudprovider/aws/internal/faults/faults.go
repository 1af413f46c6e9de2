package faults

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"example.com/cluster-autoscaler/cloudprovider/aws/internal/throttle"
)

// Class groups errors by what they mean.
type Class int

// The classes.
const (
	Unset          Class = iota
	Throttled            // too many calls, or busy; nothing was done
	Unreachable          // no connection; nothing was done
	Unanswered           // a server fault, a time-out, a broken connection; the request may have been carried out
	NoSuchEndpoint       // the name of the endpoint doesn't exist: a wrong region or a wrong URL
	Credentials          // none, expired or wrong ones
	Denied               // the identity lacks a permission
	NotFound             // the thing that was named doesn't exist
	AboveMax             // a desired capacity above the maximum
	BelowMin             // a desired capacity below the minimum, also after a decrement
	Quota                // a limit of the account
	Refused              // any other answer that the request is not acceptable
)

// String returns the word used in logs.
func (c Class) String() string {
	words := []string{
		"unset", "throttled", "unreachable", "unanswered", "no such endpoint", "credentials", "denied", "not found", "above maximum",
		"below minimum", "quota", "refused",
	}
	if int(c) < 0 || int(c) >= len(words) {
		return fmt.Sprintf("Class(%d)", int(c))
	}
	return words[c]
}

// Error is a failed call. Its text is one short line.
type Error struct {
	Operation string // the API's own name, for example SetDesiredCapacity
	Class     Class
	// Code is AWS's own, empty when there was no answer.
	Code    string
	Message string
	Err     error // what the SDK returned
}

// Error names the operation and the cause.
func (e *Error) Error() string {
	if e.Code == "" {
		return e.Operation + ": " + e.Message
	}
	return e.Operation + ": " + e.Code + ": " + e.Message
}

// Unwrap returns the SDK's error.
func (e *Error) Unwrap() error { return e.Err }

// ClassOf is the class of an error that Wrap made, also when it was wrapped again; Unset for other errors.
func ClassOf(err error) Class {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Class
	}
	return Unset
}

// Passing tells whether an error goes away by itself, so that it is worth asking again soon.
func Passing(err error) bool {
	switch ClassOf(err) {
	case Throttled, Unreachable, Unanswered:
		return true
	default:
		return false
	}
}

// CredentialsError marks an error that arose while credentials were fetched, see Credential.
type CredentialsError struct{ Err error }

// Error says what was being done.
func (e *CredentialsError) Error() string { return "fetching credentials: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *CredentialsError) Unwrap() error { return e.Err }

// MarkCredentials wraps a provider so that Wrap recognises its errors. The SDK has no type for them.
func MarkCredentials(provider aws.CredentialsProvider) aws.CredentialsProvider {
	return aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
		credentials, err := provider.Retrieve(ctx)
		if err != nil {
			return aws.Credentials{}, &CredentialsError{Err: err}
		}
		return credentials, nil
	})
}

// Wrap turns an error of the SDK into an *Error; nil stays nil.
func Wrap(operation string, err error) error {
	if err == nil {
		return nil
	}
	wrapped := &Error{Operation: operation, Err: err, Message: lastMessage(err)}
	_, credentials := errors.AsType[*CredentialsError](err)
	if api, ok := errors.AsType[smithy.APIError](err); ok && !credentials {
		wrapped.Code, wrapped.Message = api.ErrorCode(), strings.TrimSpace(api.ErrorMessage())
	}
	wrapped.Class = classify(err, wrapped.Code, wrapped.Message)
	return wrapped
}

func classify(err error, code, message string) Class {
	// Fetching credentials makes calls of its own: its errors must not be taken for answers of the service that was asked.
	if marked, ok := errors.AsType[*CredentialsError](err); ok {
		return classifyCredentials(marked.Err)
	}
	if _, waited := errors.AsType[*throttle.Error](err); waited {
		return Throttled // it wasn't even sent
	}
	if class := classifyCode(code, message); class != Unset {
		return class
	}
	if response, ok := errors.AsType[*smithyhttp.ResponseError](err); ok && response.HTTPStatusCode() != 0 { // 0: there was none
		return classifyStatus(response.HTTPStatusCode(), code)
	}
	return classifyTransport(err)
}

// classifyCredentials is for requests that were not sent because there were no credentials to sign them with. Where STS gave none because it is busy, broken or
// slow, that passes. Other sources give none when there are none: they fail in the same ways where they don't exist.
func classifyCredentials(err error) Class {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return Unreachable
	}
	operation, ok := errors.AsType[*smithy.OperationError](err)
	if !ok || operation.ServiceID != "STS" {
		return Credentials
	}
	switch ClassOf(Wrap(operation.OperationName, operation)) {
	case Throttled, Unreachable, Unanswered:
		return Unreachable
	default:
		return Credentials
	}
}

// classifyStatus is for answers whose code says nothing.
func classifyStatus(status int, code string) Class {
	switch {
	case status == 429:
		return Throttled
	case status >= 500, status < 300: // below 300: the answer could not be read to its end
		return Unanswered
	case code == "" && (status == 401 || status == 403):
		return Denied
	default:
		return Refused
	}
}

// classifyTransport is for requests without an answer.
func classifyTransport(err error) Class {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		if dns.IsNotFound {
			return NoSuchEndpoint
		}
		return Unreachable
	}
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		return Unreachable
	}
	if _, sent := errors.AsType[*smithyhttp.RequestSendError](err); sent || isCancelled(err) {
		return Unanswered
	}
	if _, unreadable := errors.AsType[*smithy.DeserializationError](err); unreadable {
		return Unanswered
	}
	return Refused // the SDK would not even send it
}

func isCancelled(err error) bool {
	_, cancelled := errors.AsType[*smithy.CanceledError](err)
	return cancelled || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

func classifyCode(code, message string) Class {
	switch {
	case slices.Contains(throttleCodes(), code):
		return Throttled
	case slices.Contains(credentialCodes(), code):
		return Credentials
	case slices.Contains(deniedCodes(), code):
		return Denied
	case code == "LimitExceeded", code == "LimitExceededException":
		return Quota
	case strings.Contains(code, ".NotFound"), strings.HasSuffix(code, "NotFoundException"), strings.HasSuffix(code, ".VersionNotFound"):
		return NotFound
	case code == "ValidationError":
		return classifyValidation(strings.ToLower(message))
	case code == "UnknownError":
		return Unset // no readable code: the status decides
	default:
		return Unset
	}
}

func classifyValidation(message string) Class {
	switch {
	case strings.Contains(message, "not found"), strings.Contains(message, "does not exist"), strings.Contains(message, "not part of auto scaling group"):
		return NotFound
	case strings.Contains(message, "above max"):
		return AboveMax
	case strings.Contains(message, "below min"), strings.Contains(message, "equals minsize"), strings.Contains(message, "violate group's min size"),
		strings.Contains(message, "min size constraint"):
		return BelowMin
	default:
		return Refused
	}
}

func throttleCodes() []string {
	return append(throttle.Codes(), "ScalingActivityInProgress", "ResourceContention", "InvalidNextToken")
}

func credentialCodes() []string {
	return []string{
		"ExpiredToken", "ExpiredTokenException", "RequestExpired", "InvalidClientTokenId", "UnrecognizedClientException", "SignatureDoesNotMatch",
		"InvalidSignatureException", "IncompleteSignature", "MissingAuthenticationToken", "MissingAuthenticationTokenException", "AuthFailure",
		"InvalidAccessKeyId", "InvalidToken", "InvalidIdentityToken", "TokenRefreshRequired", "NotSignedUp",
	}
}

func deniedCodes() []string {
	return []string{
		"AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "UnauthorizedAccess", "NotAuthorized", "OptInRequired", "Blocked",
		"ServiceLinkedRoleFailure", "PendingVerification",
	}
}

// lastMessage is the text of the innermost cause that the SDK has wrapped: it repeats itself on the way out.
func lastMessage(err error) string {
	if marked, ok := errors.AsType[*CredentialsError](err); ok {
		return "fetching credentials: " + lastMessage(marked.Err)
	}
	for isWrapper(err) && errors.Unwrap(err) != nil {
		err = errors.Unwrap(err)
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}

// isWrapper tells whether an error of the SDK only adds what is known anyway.
func isWrapper(err error) bool {
	switch err.(type) { //nolint:errorlint // peeling one layer after the other is the point
	case *smithy.OperationError, *smithyhttp.ResponseError, *awshttp.ResponseError, *smithyhttp.RequestSendError, *smithy.DeserializationError,
		*smithy.CanceledError, *aws.RequestCanceledError, *retry.MaxAttemptsError:
		return true
	default:
		return false
	}
}
