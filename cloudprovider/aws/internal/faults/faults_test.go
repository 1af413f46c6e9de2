package faults_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"example.com/cluster-autoscaler/cloudprovider/aws/internal/faults"
)

// answered is an error as the SDK makes it of an answer with a status and perhaps a code.
func answered(status int, code, message string) error {
	inner := errors.New("x")
	if code != "" {
		inner = &smithy.GenericAPIError{Code: code, Message: message}
	}
	return operation(&retry.MaxAttemptsError{Attempt: 3, Err: response(status, inner)})
}

func response(status int, inner error) error {
	return &awshttp.ResponseError{RequestID: "1", ResponseError: &smithyhttp.ResponseError{
		Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}}, Err: inner,
	}}
}

func operation(inner error) error {
	return &smithy.OperationError{ServiceID: "Auto Scaling", OperationName: "SetDesiredCapacity", Err: inner}
}

// ofSTS is an error of the client that fetches credentials.
func ofSTS(err error) error {
	return &smithy.OperationError{ServiceID: "STS", OperationName: "AssumeRole", Err: err}
}

// unsent is an error as the SDK makes it of a failing transport.
func unsent(inner error) error {
	return operation(response(0, &smithyhttp.RequestSendError{Err: inner}))
}

func TestClasses(t *testing.T) {
	tests := map[string]struct {
		err  error
		want faults.Class
		text string // after the operation
	}{
		"throttled":                  {answered(400, "Throttling", "Rate exceeded"), faults.Throttled, "Throttling: Rate exceeded"},
		"throttled by EC2":           {answered(503, "RequestLimitExceeded", "x"), faults.Throttled, "RequestLimitExceeded: x"},
		"throttled without code":     {answered(429, "", ""), faults.Throttled, "x"},
		"busy":                       {answered(400, "ScalingActivityInProgress", "x"), faults.Throttled, "ScalingActivityInProgress: x"},
		"contention":                 {answered(500, "ResourceContention", "x"), faults.Throttled, "ResourceContention: x"},
		"server fault":               {answered(500, "InternalFailure", "x"), faults.Unanswered, "InternalFailure: x"},
		"server fault without code":  {answered(502, "UnknownError", ""), faults.Unanswered, "UnknownError: "},
		"a fault without a document": {answered(503, "", ""), faults.Unanswered, "x"},
		"unreadable answer":          {operation(response(200, &smithy.DeserializationError{Err: io.ErrUnexpectedEOF})), faults.Unanswered, "unexpected EOF"},
		"expired":                    {answered(403, "ExpiredToken", "x"), faults.Credentials, "ExpiredToken: x"},
		"expired, says EC2":          {answered(400, "RequestExpired", "x"), faults.Credentials, "RequestExpired: x"},
		"wrong key":                  {answered(403, "InvalidClientTokenId", "x"), faults.Credentials, "InvalidClientTokenId: x"},
		"denied":                     {answered(403, "AccessDenied", "x"), faults.Denied, "AccessDenied: x"},
		"denied by EC2":              {answered(403, "UnauthorizedOperation", "x"), faults.Denied, "UnauthorizedOperation: x"},
		"denied without code":        {answered(403, "", ""), faults.Denied, "x"},
		"service-linked role":        {answered(500, "ServiceLinkedRoleFailure", "x"), faults.Denied, "ServiceLinkedRoleFailure: x"},
		"quota":                      {answered(400, "LimitExceeded", "x"), faults.Quota, "LimitExceeded: x"},
		"group not found":            {answered(400, "ValidationError", "AutoScalingGroup name not found - null"), faults.NotFound, "ValidationError: AutoScalingGroup name not found - null"},
		"instance not found":         {answered(400, "ValidationError", "Instance Id not found - No managed instance found"), faults.NotFound, "ValidationError: Instance Id not found - No managed instance found"},
		"template not found":         {answered(400, "InvalidLaunchTemplateId.NotFound", "x"), faults.NotFound, "InvalidLaunchTemplateId.NotFound: x"},
		"template name not found":    {answered(400, "InvalidLaunchTemplateName.NotFoundException", "x"), faults.NotFound, "InvalidLaunchTemplateName.NotFoundException: x"},
		"version not found":          {answered(400, "InvalidLaunchTemplateId.VersionNotFound", "x"), faults.NotFound, "InvalidLaunchTemplateId.VersionNotFound: x"},
		"above maximum":              {answered(400, "ValidationError", "New SetDesiredCapacity value 9 is above max value 8"), faults.AboveMax, "ValidationError: New SetDesiredCapacity value 9 is above max value 8"},
		"below minimum":              {answered(400, "ValidationError", "New SetDesiredCapacity value 1 is below min value 2"), faults.BelowMin, "ValidationError: New SetDesiredCapacity value 1 is below min value 2"},
		"at the minimum":             {answered(400, "ValidationError", "Currently, desiredSize equals minSize (1)."), faults.BelowMin, "ValidationError: Currently, desiredSize equals minSize (1)."},
		"another refusal":            {answered(400, "ValidationError", "1 validation error detected"), faults.Refused, "ValidationError: 1 validation error detected"},
		"a code from tomorrow":       {answered(400, "MoonPhase", "x"), faults.Refused, "MoonPhase: x"},
		"no such host":               {unsent(&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "h", IsNotFound: true}}), faults.NoSuchEndpoint, "dial: lookup h: no such host"},
		"names can't be looked up":   {unsent(&net.DNSError{Err: "server misbehaving", Name: "h"}), faults.Unreachable, "lookup h: server misbehaving"},
		"connection refused":         {unsent(&net.OpError{Op: "dial", Err: errors.New("connection refused")}), faults.Unreachable, "dial: connection refused"},
		"connection reset":           {unsent(&net.OpError{Op: "read", Err: errors.New("connection reset by peer")}), faults.Unanswered, "read: connection reset by peer"},
		"time-out":                   {operation(&smithy.CanceledError{Err: context.DeadlineExceeded}), faults.Unanswered, "context deadline exceeded"},
		"cancelled":                  {operation(&aws.RequestCanceledError{Err: context.Canceled}), faults.Unanswered, "context canceled"},
		"the SDK wouldn't send it":   {operation(errors.New("resolve endpoint: invalid input region ?")), faults.Refused, "resolve endpoint: invalid input region ?"},
		"no credentials":             {operation(fmt.Errorf("get identity: %w", &faults.CredentialsError{Err: errors.New("no EC2\n IMDS role found")})), faults.Credentials, "fetching credentials: no EC2 IMDS role found"},
		"credentials are denied, which is not an answer of the service": {
			operation(&faults.CredentialsError{Err: answered(403, "AccessDenied", "x")}), faults.Credentials, "fetching credentials: api error AccessDenied: x",
		},
		"STS is busy": {
			operation(&faults.CredentialsError{Err: ofSTS(answered(400, "Throttling", "Rate exceeded"))}), faults.Unreachable,
			"fetching credentials: api error Throttling: Rate exceeded",
		},
		"STS is broken": {operation(&faults.CredentialsError{Err: ofSTS(answered(503, "", ""))}), faults.Unreachable, "fetching credentials: x"},
		"STS knows no such role": {
			operation(&faults.CredentialsError{Err: ofSTS(answered(403, "AccessDenied", "x"))}), faults.Credentials, "fetching credentials: api error AccessDenied: x",
		},
		"no time for credentials": {operation(&faults.CredentialsError{Err: context.DeadlineExceeded}), faults.Unreachable, "fetching credentials: context deadline exceeded"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := faults.Wrap("SetDesiredCapacity", test.err)
			if got := faults.ClassOf(fmt.Errorf("raising: %w", err)); got != test.want {
				t.Errorf("class %v, want %v", got, test.want)
			}
			if got := err.Error(); got != "SetDesiredCapacity: "+test.text {
				t.Errorf("text %q, want %q", got, test.text)
			}
			if !errors.Is(err, test.err) {
				t.Error("the cause is lost")
			}
		})
	}
}

func TestNoErrorStaysNone(t *testing.T) {
	if err := faults.Wrap("x", nil); err != nil {
		t.Errorf("%v", err)
	}
	if got := faults.ClassOf(errors.New("x")); got != faults.Unset {
		t.Errorf("class %v", got)
	}
}

func TestErrorsOfACredentialsProviderAreMarked(t *testing.T) {
	broken := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return aws.Credentials{}, errors.New("x") })
	_, err := faults.MarkCredentials(broken).Retrieve(t.Context())
	if _, ok := errors.AsType[*faults.CredentialsError](err); !ok {
		t.Errorf("%v", err)
	}
	good := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return aws.Credentials{AccessKeyID: "a"}, nil })
	if got, err := faults.MarkCredentials(good).Retrieve(t.Context()); err != nil || got.AccessKeyID != "a" {
		t.Errorf("%v, %v", got, err)
	}
}

func TestClassesPrintThemselves(t *testing.T) {
	for class := faults.Unset; class <= faults.Refused; class++ {
		if strings.HasPrefix(class.String(), "Class(") {
			t.Errorf("class %d has no word", int(class))
		}
	}
	if got := faults.Class(99).String(); got != "Class(99)" {
		t.Errorf("unknown class prints %q", got)
	}
}
