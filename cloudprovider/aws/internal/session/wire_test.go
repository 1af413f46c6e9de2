package session_test

import (
	"context"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/middleware"
	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/cloudconfig"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/session"
)

// role is one of the stand-in's account.
const role = "arn:aws:iam::111122223333:role/autoscaler"

// cleanEnvironment unsets all variables of AWS and keeps the SDK from the files of this machine.
func cleanEnvironment(t *testing.T) {
	t.Helper()
	for _, line := range os.Environ() {
		if name, _, _ := strings.Cut(line, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
		}
	}
	setAll(t, map[string]string{
		"AWS_CONFIG_FILE": filepath.Join(t.TempDir(), "none"), "AWS_SHARED_CREDENTIALS_FILE": filepath.Join(t.TempDir(), "none"), "AWS_EC2_METADATA_DISABLED": "true",
	})
}

func setAll(t *testing.T, variables map[string]string) {
	t.Helper()
	for name, value := range variables {
		t.Setenv(name, value)
	}
}

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// standIn serves eu-west-1. Its clock is near the real one, by which the SDK tells whether credentials are still good.
func standIn(t *testing.T) *awstest.Server {
	t.Helper()
	server, err := awstest.New(awstest.Config{Clock: clocktesting.NewFakeClock(time.Now()), Region: "eu-west-1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// plain loads a session from nothing but the environment and a cloud config.
func plain(t *testing.T, cloud cloudconfig.Config) (session.Session, error) {
	t.Helper()
	return session.Load(t.Context(), session.Options{Cloud: cloud, Version: "1.2.3", Attempt: func(*middleware.Stack) error { return nil }})
}

func TestCredentialsComeFromTheFirstSourceThatIsConfigured(t *testing.T) {
	tests := map[string]struct {
		prepare func(t *testing.T, server *awstest.Server)
		cloud   func(server *awstest.Server) cloudconfig.Config
		want    session.Identity
	}{
		"keys in the environment": {
			prepare: func(t *testing.T, server *awstest.Server) {
				setAll(t, map[string]string{"AWS_REGION": "eu-west-1", "AWS_ENDPOINT_URL": server.URL(), "AWS_ACCESS_KEY_ID": "AK", "AWS_SECRET_ACCESS_KEY": "s"})
			},
			want: session.Identity{
				Account: "111122223333", ARN: "arn:aws:sts::111122223333:assumed-role/cluster-autoscaler/session",
				Source: "the variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
			},
		},
		"the token of a ServiceAccount": {
			prepare: func(t *testing.T, server *awstest.Server) {
				server.PutRole(awstest.Role{ARN: role, Tokens: []string{"jwt"}})
				setAll(t, map[string]string{
					"AWS_REGION": "eu-west-1", "AWS_ENDPOINT_URL": server.URL(), "AWS_ROLE_ARN": role, "AWS_WEB_IDENTITY_TOKEN_FILE": file(t, "jwt"), "AWS_ROLE_SESSION_NAME": "name",
				})
			},
			want: session.Identity{
				Account: "111122223333", ARN: "arn:aws:sts::111122223333:assumed-role/autoscaler/name", Source: "the web identity token of the ServiceAccount (IRSA)",
			},
		},
		"the token of a ServiceAccount, with the region and the address of STS in the cloud config": {
			prepare: func(t *testing.T, server *awstest.Server) {
				server.PutRole(awstest.Role{ARN: role, Tokens: []string{"jwt"}})
				setAll(t, map[string]string{"AWS_ROLE_ARN": role, "AWS_WEB_IDENTITY_TOKEN_FILE": file(t, "jwt"), "AWS_ROLE_SESSION_NAME": "name"})
			},
			cloud: func(server *awstest.Server) cloudconfig.Config {
				return cloudconfig.Config{Zone: "eu-west-1b", Overrides: []cloudconfig.Override{
					{Service: "sts", Region: "eu-west-1", URL: server.URL() + "/prefix", SigningRegion: "eu-west-1"},
				}}
			},
			want: session.Identity{
				Account: "111122223333", ARN: "arn:aws:sts::111122223333:assumed-role/autoscaler/name", Source: "the web identity token of the ServiceAccount (IRSA)",
			},
		},
		"a pod identity association": {
			prepare: func(t *testing.T, server *awstest.Server) {
				server.SetContainerCredentials(&awstest.ContainerRole{RoleARN: role, Token: "token"})
				setAll(t, map[string]string{
					"AWS_REGION": "eu-west-1", "AWS_ENDPOINT_URL": server.URL(), "AWS_CONTAINER_CREDENTIALS_FULL_URI": server.URL() + "/v1/credentials",
					"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": file(t, "token"),
				})
			},
			want: session.Identity{
				Account: "111122223333", ARN: "arn:aws:sts::111122223333:assumed-role/autoscaler/eks-cluster-autoscaler",
				Source: "the container credentials endpoint (EKS Pod Identity or ECS)",
			},
		},
		"an instance profile, which tells the region too": {
			prepare: func(t *testing.T, server *awstest.Server) {
				server.SetMetadata(&awstest.InstanceMetadata{RoleARN: role, InstanceID: "i-0a"})
				setAll(t, map[string]string{"AWS_EC2_METADATA_DISABLED": "", "AWS_EC2_METADATA_SERVICE_ENDPOINT": server.URL(), "AWS_ENDPOINT_URL": server.URL()})
			},
			want: session.Identity{
				Account: "111122223333", ARN: "arn:aws:sts::111122223333:assumed-role/autoscaler/i-0a", Source: "the instance profile of the machine",
			},
		},
		"a role that a profile assumes by way of another one": {
			prepare: func(t *testing.T, server *awstest.Server) {
				server.PutRole(awstest.Role{ARN: role, ExternalID: "x"})
				setAll(t, map[string]string{"AWS_PROFILE": "p", "AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_CONFIG_FILE": file(t,
					"[profile p]\nregion = eu-west-1\nrole_arn = "+role+"\nexternal_id = x\nrole_session_name = name\nsource_profile = q\n"+
						"[profile q]\naws_access_key_id = AK\naws_secret_access_key = s\n")})
			},
			cloud: func(server *awstest.Server) cloudconfig.Config {
				return cloudconfig.Config{Overrides: []cloudconfig.Override{{Service: "sts", Region: "eu-west-1", URL: server.URL(), SigningRegion: "eu-west-1"}}}
			},
			want: session.Identity{Account: "111122223333", ARN: "arn:aws:sts::111122223333:assumed-role/autoscaler/name", Source: "an assumed role"},
		},
		"the role of the cloud config": {
			prepare: func(t *testing.T, server *awstest.Server) {
				server.PutRole(awstest.Role{ARN: role, SourceARN: "arn:aws:eks:eu-west-1:111122223333:cluster/c"})
				setAll(t, map[string]string{"AWS_REGION": "eu-west-1", "AWS_ENDPOINT_URL_STS": server.URL(), "AWS_ACCESS_KEY_ID": "AK", "AWS_SECRET_ACCESS_KEY": "s"})
			},
			cloud: func(*awstest.Server) cloudconfig.Config {
				return cloudconfig.Config{RoleARN: role, SourceARN: "arn:aws:eks:eu-west-1:111122223333:cluster/c"}
			},
			want: session.Identity{Account: "111122223333", ARN: "arn:aws:sts::111122223333:assumed-role/autoscaler/cluster-autoscaler", Source: "an assumed role"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cleanEnvironment(t)
			server := standIn(t)
			test.prepare(t, server)
			var cloud cloudconfig.Config
			if test.cloud != nil {
				cloud = test.cloud(server)
			}
			s, err := plain(t, cloud)
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.Identity(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got.ARN = strings.Replace(got.ARN, "/i-0a1b2c3d4e5f60718", "/i-0a", 1)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("identity (-want +got):\n%s", diff)
			}
			for _, call := range server.Calls() {
				if call.Service == awstest.STS && !strings.Contains(call.UserAgent, "cluster-autoscaler/1.2.3") {
					t.Errorf("%s by %q", call.Action, call.UserAgent)
				}
			}
		})
	}
}

func TestRegionOrder(t *testing.T) {
	profile := "[profile p]\nregion = from-profile\n"
	cloud := cloudconfig.Config{Region: "from-config", Zone: "from-zone-1a"}
	tests := map[string]struct {
		variables    map[string]string
		profile      string
		cloud        cloudconfig.Config
		region, from string
	}{
		"AWS_REGION, without the blanks round it": {
			variables: map[string]string{"AWS_REGION": " one\n", "AWS_DEFAULT_REGION": "two"}, profile: profile, cloud: cloud, region: "one", from: "AWS_REGION",
		},
		"AWS_DEFAULT_REGION, also behind a variable of blanks": {
			variables: map[string]string{"AWS_REGION": "  ", "AWS_DEFAULT_REGION": "two"}, profile: profile, cloud: cloud, region: "two", from: "AWS_DEFAULT_REGION",
		},
		"the profile":                  {variables: map[string]string{"AWS_REGION": ""}, profile: profile, cloud: cloud, region: "from-profile", from: `the profile "p" of the shared config file`},
		"the cloud config":             {cloud: cloud, region: "from-config", from: "Region of the cloud config"},
		"the zone of the cloud config": {cloud: cloudconfig.Config{Zone: "us-west-2-lax-1a"}, region: "us-west-2", from: "Zone of the cloud config"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cleanEnvironment(t)
			setAll(t, map[string]string{"AWS_ACCESS_KEY_ID": "AK", "AWS_SECRET_ACCESS_KEY": "s"})
			setAll(t, test.variables)
			if test.profile != "" {
				setAll(t, map[string]string{"AWS_PROFILE": "p", "AWS_CONFIG_FILE": file(t, test.profile)})
			}
			s, err := plain(t, test.cloud)
			if err != nil || s.Region != test.region || s.Config.Region != test.region || s.RegionSource != test.from {
				t.Errorf("region %q (%q) from %q, %v; want %q from %q", s.Region, s.Config.Region, s.RegionSource, err, test.region, test.from)
			}
		})
	}
	t.Run("nowhere", func(t *testing.T) {
		cleanEnvironment(t)
		_, err := plain(t, cloudconfig.Config{})
		if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "the AWS region is not known: set AWS_REGION (tried") {
			t.Errorf("error %v", err)
		}
	})
}

func TestEndpointOrder(t *testing.T) {
	elsewhere := "http://127.0.0.1:1"
	tests := map[string]struct {
		variables map[string]string // STANDIN stands for the address of the stand-in
		override  bool
		ok        bool
	}{
		"a service override wins over the variables":        {variables: map[string]string{"AWS_ENDPOINT_URL": elsewhere, "AWS_ENDPOINT_URL_STS": elsewhere}, override: true, ok: true},
		"the variable of the service wins over that of all": {variables: map[string]string{"AWS_ENDPOINT_URL": elsewhere, "AWS_ENDPOINT_URL_STS": "STANDIN"}, ok: true},
		"the variable of all services, with a prefix":       {variables: map[string]string{"AWS_ENDPOINT_URL": "STANDIN/some/prefix"}, ok: true},
		"variables can be told to be of no effect, overrides are not": {
			variables: map[string]string{"AWS_ENDPOINT_URL_STS": elsewhere, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"}, override: true, ok: true,
		},
		"a variable that leads nowhere": {variables: map[string]string{"AWS_ENDPOINT_URL_STS": elsewhere, "AWS_ENDPOINT_URL": "STANDIN"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cleanEnvironment(t)
			server := standIn(t)
			setAll(t, map[string]string{"AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "AK", "AWS_SECRET_ACCESS_KEY": "s", "AWS_MAX_ATTEMPTS": "1"})
			for key, value := range test.variables {
				t.Setenv(key, strings.Replace(value, "STANDIN", server.URL(), 1))
			}
			var cloud cloudconfig.Config
			if test.override {
				cloud.Overrides = []cloudconfig.Override{{Service: "sts", Region: "eu-west-1", URL: server.URL() + "/x", SigningRegion: "eu-west-1"}}
			}
			s, err := plain(t, cloud)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Identity(t.Context()); (err == nil) != test.ok || (server.Count("GetCallerIdentity") == 1) != test.ok {
				t.Errorf("error %v, calls %d; want success %v", err, server.Count("GetCallerIdentity"), test.ok)
			}
		})
	}
}

// hostOf is the host that a call to STS would go to.
func hostOf(t *testing.T) string {
	t.Helper()
	var host string
	s, err := session.Load(t.Context(), session.Options{Attempt: func(*middleware.Stack) error { return nil }, Overrides: []func(*config.LoadOptions) error{
		config.WithHTTPClient(clientFunc(func(r *http.Request) (*http.Response, error) {
			host = r.URL.Host
			return nil, errors.New("not sent")
		})),
	}})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = sts.NewFromConfig(s.Config).GetCallerIdentity(t.Context(), nil)
	return host
}

func TestFIPSAndDualStackEndpoints(t *testing.T) {
	for want, variable := range map[string]string{
		"sts.us-east-2.amazonaws.com": "AWS_SDK_UA_APP_ID", "sts-fips.us-east-2.amazonaws.com": "AWS_USE_FIPS_ENDPOINT", "sts.us-east-2.api.aws": "AWS_USE_DUALSTACK_ENDPOINT",
	} {
		t.Run(variable, func(t *testing.T) {
			cleanEnvironment(t)
			setAll(t, map[string]string{"AWS_REGION": "us-east-2", "AWS_ACCESS_KEY_ID": "AK", "AWS_SECRET_ACCESS_KEY": "s", "AWS_MAX_ATTEMPTS": "1", variable: "true"})
			if got := hostOf(t); got != want {
				t.Errorf("host %q, want %q", got, want)
			}
		})
	}
}

func TestValuesOfTheEnvironmentAreChecked(t *testing.T) {
	for name, test := range map[string]struct {
		variables map[string]string
		want      string
	}{
		"attempts that are no number":   {map[string]string{"AWS_MAX_ATTEMPTS": "many"}, `AWS_MAX_ATTEMPTS="many": want a whole number`},
		"attempts below 0":              {map[string]string{"AWS_MAX_ATTEMPTS": "-1"}, `AWS_MAX_ATTEMPTS="-1": want a whole number`},
		"a token without a role":        {map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": "/token"}, "AWS_ROLE_ARN is not"},
		"a retry mode that isn't there": {map[string]string{"AWS_RETRY_MODE": "never"}, "never"},
	} {
		t.Run(name, func(t *testing.T) {
			cleanEnvironment(t)
			t.Setenv("AWS_REGION", "eu-west-1")
			setAll(t, test.variables)
			if _, err := plain(t, cloudconfig.Config{}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestTheNumberOfAttemptsIsObeyed(t *testing.T) {
	cleanEnvironment(t)
	server := standIn(t)
	setAll(t, map[string]string{
		"AWS_REGION": "eu-west-1", "AWS_ENDPOINT_URL": server.URL(), "AWS_ACCESS_KEY_ID": "AK", "AWS_SECRET_ACCESS_KEY": "s", "AWS_MAX_ATTEMPTS": "2",
	})
	server.Inject(awstest.Fault{Action: "GetCallerIdentity", Count: awstest.Always, Effect: awstest.ErrorAnswer{Status: 500, Code: "InternalFailure"}})
	s, err := plain(t, cloudconfig.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Identity(t.Context()); err == nil || server.Count("GetCallerIdentity") != 2 {
		t.Errorf("error %v after %d attempts", err, server.Count("GetCallerIdentity"))
	}
}

func TestACABundleIsTrusted(t *testing.T) {
	server := httptest.NewTLSServer(&service{})
	defer server.Close()
	bundle := file(t, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	for _, trusted := range []bool{false, true} {
		cleanEnvironment(t)
		setAll(t, map[string]string{
			"AWS_REGION": "eu-west-1", "AWS_ENDPOINT_URL": server.URL, "AWS_ACCESS_KEY_ID": "AK", "AWS_SECRET_ACCESS_KEY": "s", "AWS_MAX_ATTEMPTS": "1",
		})
		if trusted {
			t.Setenv("AWS_CA_BUNDLE", bundle)
		}
		s, err := plain(t, cloudconfig.Config{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Identity(t.Context()); (err == nil) != trusted {
			t.Errorf("with the bundle %v: %v", trusted, err)
		}
	}
}

func TestSourcesThatAnotherOneHidesAreWarnedOf(t *testing.T) {
	cleanEnvironment(t)
	setAll(t, map[string]string{
		"AWS_REGION": "eu-west-1", "AWS_ROLE_ARN": role, "AWS_WEB_IDENTITY_TOKEN_FILE": "/token", "AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://127.0.0.1/x",
	})
	s, err := plain(t, cloudconfig.Config{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"AWS_CONTAINER_CREDENTIALS_FULL_URI has no effect, because AWS_WEB_IDENTITY_TOKEN_FILE is set too and comes first"}
	if diff := cmp.Diff(want, s.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestErrorsOfCredentialsSayWhatToDo(t *testing.T) {
	tests := map[string]struct {
		prepare func(t *testing.T, server *awstest.Server)
		want    string
	}{
		"nothing is configured and there is no metadata": {
			prepare: func(t *testing.T, server *awstest.Server) {
				setAll(t, map[string]string{"AWS_EC2_METADATA_DISABLED": "", "AWS_EC2_METADATA_SERVICE_ENDPOINT": server.URL()})
			},
			want: "hop limit of at least 2",
		},
		"the token is for another cluster": {
			prepare: func(t *testing.T, server *awstest.Server) {
				server.PutRole(awstest.Role{ARN: role, Tokens: []string{"other"}})
				setAll(t, map[string]string{"AWS_ROLE_ARN": role, "AWS_WEB_IDENTITY_TOKEN_FILE": file(t, "jwt")})
			},
			want: "no identity provider for the cluster",
		},
		"the role does not trust the ServiceAccount": {
			prepare: func(t *testing.T, server *awstest.Server) {
				server.PutRole(awstest.Role{ARN: role})
				setAll(t, map[string]string{"AWS_ROLE_ARN": role + "2", "AWS_WEB_IDENTITY_TOKEN_FILE": file(t, "jwt")})
			},
			want: "does not let this ServiceAccount in",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cleanEnvironment(t)
			server := standIn(t)
			setAll(t, map[string]string{"AWS_REGION": "eu-west-1", "AWS_ENDPOINT_URL": server.URL(), "AWS_MAX_ATTEMPTS": "1"})
			test.prepare(t, server)
			s, err := plain(t, cloudconfig.Config{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Identity(t.Context()); err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want one line with %q", err, test.want)
			}
		})
	}
}
