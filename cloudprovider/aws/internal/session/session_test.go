package session_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/middleware"

	"example.com/cluster-autoscaler/cloudprovider/aws/internal/cloudconfig"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/session"
)

// service answers AssumeRole and GetCallerIdentity and keeps the requests.
type service struct {
	mu       sync.Mutex
	requests []*http.Request
	bodies   []string
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests, s.bodies = append(s.requests, r), append(s.bodies, string(body))
	w.Header().Set("Content-Type", "text/xml")
	if strings.Contains(string(body), "Action=AssumeRole") {
		_, _ = fmt.Fprint(w, `<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>ASSUMED</AccessKeyId><SecretAccessKey>s</SecretAccessKey>`+
			`<SessionToken>t</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`)
		return
	}
	_, _ = fmt.Fprint(w, `<GetCallerIdentityResponse><GetCallerIdentityResult><Account>1</Account></GetCallerIdentityResult></GetCallerIdentityResponse>`)
}

func load(t *testing.T, cloud cloudconfig.Config, url string) (session.Session, error) {
	t.Helper()
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CA_BUNDLE", "")
	return session.Load(t.Context(), session.Options{
		Cloud: cloud, Version: "v", Attempt: func(*middleware.Stack) error { return nil },
		Overrides: []func(*config.LoadOptions) error{
			config.WithRegion("eu-west-1"), config.WithBaseEndpoint(url), config.WithSharedConfigFiles([]string{}), config.WithSharedCredentialsFiles([]string{}),
			config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider("OWN", "secret", "")), config.WithRetryMaxAttempts(1),
		},
	})
}

func TestTheRoleOfTheCloudConfigIsAssumed(t *testing.T) {
	backend := &service{}
	server := httptest.NewServer(backend)
	defer server.Close()
	s, err := load(t, cloudconfig.Config{RoleARN: "arn:aws:iam::1:role/x", SourceARN: "arn:aws:eks:eu-west-1:123456789012:cluster/c"}, server.URL)
	if err != nil {
		t.Fatal(err)
	}
	if len(backend.requests) != 0 {
		t.Errorf("loading makes %d requests", len(backend.requests))
	}
	got, err := s.Config.Credentials.Retrieve(t.Context())
	if err != nil || got.AccessKeyID != "ASSUMED" {
		t.Fatalf("credentials %q, %v", got.AccessKeyID, err)
	}
	form, err := url.ParseQuery(backend.bodies[0])
	if err != nil {
		t.Fatal(err)
	}
	header := backend.requests[0].Header
	if form.Get("RoleArn") != "arn:aws:iam::1:role/x" || header.Get("X-Amz-Source-Arn") != "arn:aws:eks:eu-west-1:123456789012:cluster/c" ||
		header.Get("X-Amz-Source-Account") != "123456789012" || !strings.Contains(header.Get("Authorization"), "Credential=OWN/") {
		t.Errorf("form %v, headers %v", form, header)
	}
}

func TestAServiceOverrideSignsAsItSays(t *testing.T) {
	backend := &service{}
	server := httptest.NewServer(backend)
	defer server.Close()
	s, err := load(t, cloudconfig.Config{
		RoleARN: "arn:aws:iam::1:role/x",
		Overrides: []cloudconfig.Override{{
			Service: "sts", Region: "eu-west-1", URL: server.URL + "/base", SigningRegion: "elsewhere", SigningName: "other",
		}},
	}, "http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Config.Credentials.Retrieve(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := backend.requests[0]
	if !strings.HasPrefix(r.URL.Path, "/base") || !strings.Contains(r.Header.Get("Authorization"), "/elsewhere/other/aws4_request") {
		t.Errorf("path %q, signature %q", r.URL.Path, r.Header.Get("Authorization"))
	}
	if got := s.Override("ec2").URL; got != "" {
		t.Errorf("ec2 is at %q", got)
	}
}

func TestBodiesCannotWriteThemselves(t *testing.T) {
	backend := &service{}
	server := httptest.NewServer(backend)
	defer server.Close()
	s, err := load(t, cloudconfig.Config{}, server.URL)
	if err != nil {
		t.Fatal(err)
	}
	var plain, seen bool
	client := sts.NewFromConfig(s.Config, func(o *sts.Options) {
		o.HTTPClient = clientFunc(func(r *http.Request) (*http.Response, error) {
			_, writes := r.Body.(io.WriterTo)
			plain, seen = !writes, true
			return http.DefaultClient.Do(r)
		})
	})
	if _, err := client.GetCallerIdentity(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if !seen || !plain {
		t.Error("the body that net/http gets can write itself: once closed it would fail")
	}
	if backend.requests[0].ContentLength <= 0 {
		t.Error("the length of the body is lost")
	}
}

type clientFunc func(*http.Request) (*http.Response, error)

func (f clientFunc) Do(r *http.Request) (*http.Response, error) { return f(r) }

var _ aws.HTTPClient = clientFunc(nil)

func TestTheMetadataServiceIsTheLastToTellTheRegion(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.Method == http.MethodPut {
			w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "300")
			_, _ = fmt.Fprint(w, "token")
			return
		}
		_, _ = fmt.Fprint(w, `{"region": "ap-south-1", "availabilityZone": "ap-south-1a"}`)
	}))
	defer server.Close()
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_CA_BUNDLE", "AWS_EC2_METADATA_DISABLED"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_CONFIG_FILE", "/nonexistent")
	t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", server.URL)
	s, err := session.Load(t.Context(), session.Options{Attempt: func(*middleware.Stack) error { return nil }})
	if err != nil || s.Region != "ap-south-1" || s.RegionSource != "the instance metadata service" {
		t.Errorf("region %q from %q, %v", s.Region, s.RegionSource, err)
	}
	if asked == 0 {
		t.Error("the metadata service was not asked")
	}
}
