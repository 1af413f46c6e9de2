package awstest_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
)

// ask makes a harmless request of each service.
func (r *rig) ask(ctx context.Context) map[awstest.Service]error {
	_, asgErr := r.asg.DescribeAutoScalingGroups(ctx, nil)
	_, ec2Err := r.ec2.DescribeAvailabilityZones(ctx, nil)
	_, stsErr := r.sts.GetCallerIdentity(ctx, nil)
	_, eksErr := r.nodegroup(ctx, "c", "ng")
	_, pricingErr := pricing.NewFromConfig(r.cfg).GetProducts(ctx, priceQuery("instanceType", "m5.large"))
	return map[awstest.Service]error{
		awstest.AutoScaling: asgErr, awstest.EC2: ec2Err, awstest.STS: stsErr, awstest.EKS: eksErr, awstest.Pricing: pricingErr,
	}
}

func TestEachServiceRefusesBadCredentialsInItsOwnWay(t *testing.T) {
	type refusal struct {
		status int
		code   string
	}
	for name, tc := range map[string]struct {
		spoil func(*rig)
		want  map[awstest.Service]refusal
	}{
		"expired": {func(r *rig) { r.SetCredentials(awstest.CredentialsExpired) }, map[awstest.Service]refusal{
			awstest.AutoScaling: {403, "ExpiredToken"}, awstest.EC2: {400, "RequestExpired"}, awstest.STS: {403, "ExpiredToken"},
			awstest.EKS: {403, "ExpiredTokenException"}, awstest.Pricing: {400, "ExpiredTokenException"},
		}},
		"invalid": {func(r *rig) { r.SetCredentials(awstest.CredentialsInvalid) }, map[awstest.Service]refusal{
			awstest.AutoScaling: {403, "InvalidClientTokenId"}, awstest.EC2: {401, "AuthFailure"}, awstest.STS: {403, "InvalidClientTokenId"},
			awstest.EKS: {403, "UnrecognizedClientException"}, awstest.Pricing: {400, "UnrecognizedClientException"},
		}},
		"another region": {func(r *rig) {
			r.cfg.Region = "eu-west-1"
			r.asg, r.ec2, r.sts = autoscaling.NewFromConfig(r.cfg), ec2.NewFromConfig(r.cfg), sts.NewFromConfig(r.cfg)
		}, map[awstest.Service]refusal{
			awstest.AutoScaling: {403, "SignatureDoesNotMatch"}, awstest.EC2: {401, "AuthFailure"}, awstest.STS: {403, "SignatureDoesNotMatch"},
			awstest.EKS: {403, "InvalidSignatureException"}, awstest.Pricing: {400, "InvalidSignatureException"},
		}},
		"no signature": {func(r *rig) {
			r.cfg.Credentials = aws.AnonymousCredentials{}
			r.asg, r.ec2, r.sts = autoscaling.NewFromConfig(r.cfg), ec2.NewFromConfig(r.cfg), sts.NewFromConfig(r.cfg)
		}, map[awstest.Service]refusal{
			awstest.AutoScaling: {403, "MissingAuthenticationToken"}, awstest.EC2: {403, "MissingAuthenticationToken"}, awstest.STS: {403, "MissingAuthenticationToken"},
			awstest.EKS: {403, "MissingAuthenticationTokenException"}, awstest.Pricing: {400, "MissingAuthenticationTokenException"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			tc.spoil(r)
			for service, err := range r.ask(t.Context()) {
				wantCode(t, err, tc.want[service].status, tc.want[service].code)
			}
		})
	}
}

func TestOnlyTheConfiguredAccessKeyIsKnown(t *testing.T) {
	r := newRig(t, func(c *awstest.Config) { c.AccessKeyID = "AKIDOTHER" })
	wantCode(t, r.ask(t.Context())[awstest.AutoScaling], 403, "InvalidClientTokenId")
}

func TestDeniedActionsAreRefusedUntilTheyAreAllowedAgain(t *testing.T) {
	r := newRig(t)
	r.mustPut(t, awstest.Nodegroup{Cluster: "c", Name: "ng"})
	r.Deny("autoscaling:DescribeAutoScalingGroups", "ec2:*", "sts:*")
	got := r.ask(t.Context())
	wantCode(t, got[awstest.AutoScaling], 403, "AccessDenied")
	wantCode(t, got[awstest.EC2], 403, "UnauthorizedOperation")
	if err := got[awstest.STS]; err != nil {
		t.Errorf("GetCallerIdentity needs no permission, got %v", err)
	}
	if !strings.Contains(got[awstest.AutoScaling].Error(), "is not authorized to perform: autoscaling:DescribeAutoScalingGroups") {
		t.Errorf("error %v doesn't name the action", got[awstest.AutoScaling])
	}
	r.Allow("autoscaling:DescribeAutoScalingGroups", "ec2:*")
	for service, err := range r.ask(t.Context()) {
		if err != nil {
			t.Errorf("%s after allowing: %v", service, err)
		}
	}
}

func TestASignatureMustBeCompleteAndForTheService(t *testing.T) {
	r := newRig(t)
	for authorization, want := range map[string]string{
		"AWS4-HMAC-SHA256 Credential=AK/20260803/us-east-1/ec2/aws4_request, SignedHeaders=host, Signature=00":         "SignatureDoesNotMatch",
		"AWS4-HMAC-SHA256 Credential=AK/20260803/us-east-1/autoscaling/aws4_request, SignedHeaders=host":               "IncompleteSignature",
		"AWS4-HMAC-SHA256 Credential=AK/us-east-1/autoscaling, SignedHeaders=host, Signature=00":                       "IncompleteSignature",
		"Basic Credential=AK/20260803/us-east-1/autoscaling/aws4_request, SignedHeaders=host, Signature=00":            "IncompleteSignature",
		"AWS4-HMAC-SHA256 Credential=AK/20260803/us-east-1/autoscaling/aws4_request, SignedHeaders=host, Signature=00": "",
	} {
		body := url.Values{"Action": {"DescribeTags"}, "Version": {"2011-01-01"}}.Encode()
		req := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		req.Header.Set("Authorization", authorization)
		res := httptest.NewRecorder()
		r.Handler().ServeHTTP(res, req)
		if want == "" && res.Code != 200 || !strings.Contains(res.Body.String(), want) {
			t.Errorf("%s\n%d %s, want %s", authorization, res.Code, res.Body, want)
		}
	}
}

func TestTheCallerIsTold(t *testing.T) {
	r := newRig(t, func(c *awstest.Config) { c.Account = "123456789012" })
	out := must[*sts.GetCallerIdentityOutput](t)(r.sts.GetCallerIdentity(t.Context(), nil))
	if aws.ToString(out.Account) != "123456789012" || aws.ToString(out.Arn) != "arn:aws:sts::123456789012:assumed-role/cluster-autoscaler/session" {
		t.Errorf("identity %+v", out)
	}
}

func TestUnknownActionsAndBadRequestsAreErrors(t *testing.T) {
	r := newRig(t)
	_, err := r.asg.DescribePolicies(t.Context(), nil)
	wantCode(t, err, 400, "InvalidAction")
	_, err = r.ec2.DescribeVpcs(t.Context(), nil)
	wantCode(t, err, 400, "InvalidAction")
	_, err = r.sts.GetSessionToken(t.Context(), nil)
	wantCode(t, err, 400, "InvalidAction")

	post := func(body string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL()+"/prefix/", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		res, err := r.cfg.HTTPClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		if err := errors.Join(err, res.Body.Close()); err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(text)
	}
	for body, want := range map[string]string{
		url.Values{"Version": {"2011-01-01"}}.Encode():                         "MissingAction",
		url.Values{"Action": {"Describe"}, "Version": {"1999-01-01"}}.Encode(): "InvalidAction",
		"%zz": "MalformedQueryString",
	} {
		if status, text := post(body); status != 400 || !strings.Contains(text, "<Code>"+want+"</Code>") {
			t.Errorf("%q: %d %s, want %s", body, status, text, want)
		}
	}
}
