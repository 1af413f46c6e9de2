package awstest_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/ec2rolecreds"
	"github.com/aws/aws-sdk-go-v2/credentials/endpointcreds"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
)

const roleARN = "arn:aws:iam::111122223333:role/teams/scaler"

// as is an Auto Scaling and an STS client with the credentials of a provider.
func (r *rig) as(p aws.CredentialsProvider) (*autoscaling.Client, *sts.Client) {
	cfg := r.cfg
	cfg.Credentials = p
	return autoscaling.NewFromConfig(cfg), sts.NewFromConfig(cfg)
}

// caller is who the service takes the owner of the credentials for.
func (r *rig) caller(t *testing.T, p aws.CredentialsProvider) string {
	t.Helper()
	_, client := r.as(p)
	return aws.ToString(must[*sts.GetCallerIdentityOutput](t)(client.GetCallerIdentity(t.Context(), nil)).Arn)
}

// tokenFile writes a ServiceAccount token.
func tokenFile(t *testing.T, token string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(name, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// irsa are credentials for a ServiceAccount token.
func (r *rig) irsa(t *testing.T, token string) aws.CredentialsProvider {
	t.Helper()
	cfg := r.cfg
	cfg.Credentials = aws.AnonymousCredentials{}
	return stscreds.NewWebIdentityRoleProvider(sts.NewFromConfig(cfg), roleARN, stscreds.IdentityTokenFile(tokenFile(t, token)),
		func(o *stscreds.WebIdentityRoleOptions) { o.RoleSessionName = "pod" })
}

func TestAServiceAccountTokenBecomesCredentialsOfItsRole(t *testing.T) {
	r := newRig(t)
	r.PutRole(awstest.Role{ARN: roleARN, Tokens: []string{"good"}, ExpiredTokens: []string{"old"}, Lifetime: 15 * time.Minute})
	if got, want := r.caller(t, r.irsa(t, "good")), "arn:aws:sts::111122223333:assumed-role/scaler/pod"; got != want {
		t.Errorf("caller %s, want %s", got, want)
	}
	creds := must[aws.Credentials](t)(r.irsa(t, "good").Retrieve(t.Context()))
	if want := r.clock.Now().Add(15 * time.Minute); !creds.Expires.Equal(want) {
		t.Errorf("expire at %s, want %s", creds.Expires, want)
	}
	for token, want := range map[string]string{"old": "ExpiredTokenException", "forged": "InvalidIdentityToken"} {
		if _, err := r.irsa(t, token).Retrieve(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("token %q: %v, want %s", token, err, want)
		}
	}
	r.Deny("sts:AssumeRoleWithWebIdentity")
	if _, err := r.irsa(t, "good").Retrieve(t.Context()); err == nil || !strings.Contains(err.Error(), "AccessDenied") {
		t.Errorf("denied: %v", err)
	}
}

func TestTemporaryCredentialsExpireAndNeedTheirToken(t *testing.T) {
	r := newRig(t, func(c *awstest.Config) { c.AccessKeyID = "AKIDEXAMPLE" })
	creds := must[aws.Credentials](t)(r.irsa(t, "any").Retrieve(t.Context()))
	static := func(token string) aws.CredentialsProvider {
		return credentials.NewStaticCredentialsProvider(creds.AccessKeyID, creds.SecretAccessKey, token)
	}
	asg, _ := r.as(static(creds.SessionToken))
	if _, err := asg.DescribeAutoScalingGroups(t.Context(), nil); err != nil {
		t.Errorf("with the token: %v", err)
	}
	asg, _ = r.as(static("another"))
	_, err := asg.DescribeAutoScalingGroups(t.Context(), nil)
	wantCode(t, err, 403, "InvalidClientTokenId")
	asg, _ = r.as(static(creds.SessionToken))
	r.clock.Step(time.Hour)
	_, err = asg.DescribeAutoScalingGroups(t.Context(), nil)
	wantCode(t, err, 403, "ExpiredToken")

	creds = must[aws.Credentials](t)(r.irsa(t, "any").Retrieve(t.Context()))
	r.ExpireSessions()
	asg, _ = r.as(static(creds.SessionToken))
	_, err = asg.DescribeAutoScalingGroups(t.Context(), nil)
	wantCode(t, err, 403, "ExpiredToken")
}

func TestARoleIsAssumedByWhomItTrusts(t *testing.T) {
	r := newRig(t)
	r.PutRole(awstest.Role{ARN: roleARN, ExternalID: "xyz", SourceARN: "arn:aws:eks:us-east-1:111122223333:cluster/c"})
	in := &sts.AssumeRoleInput{RoleArn: aws.String(roleARN), RoleSessionName: aws.String("s"), ExternalId: aws.String("xyz")}
	_, err := r.sts.AssumeRole(t.Context(), in)
	wantCode(t, err, 403, "AccessDenied") // no source ARN
	r.PutRole(awstest.Role{ARN: roleARN, ExternalID: "xyz"})
	if out := must[*sts.AssumeRoleOutput](t)(r.sts.AssumeRole(t.Context(), in)); !strings.HasPrefix(aws.ToString(out.Credentials.AccessKeyId), "ASIA") {
		t.Errorf("access key %s", aws.ToString(out.Credentials.AccessKeyId))
	}
	in.ExternalId = nil
	_, err = r.sts.AssumeRole(t.Context(), in)
	wantCode(t, err, 403, "AccessDenied")
	r.PutRole(awstest.Role{ARN: roleARN, Trusts: []string{"arn:aws:iam::111122223333:user/somebody"}})
	_, err = r.sts.AssumeRole(t.Context(), in)
	wantCode(t, err, 403, "AccessDenied")
	in.RoleArn = aws.String("arn:aws:iam::111122223333:role/other")
	_, err = r.sts.AssumeRole(t.Context(), in)
	wantCode(t, err, 403, "AccessDenied")
	in.RoleArn = aws.String("nonsense")
	_, err = r.sts.AssumeRole(t.Context(), in)
	wantCode(t, err, 400, "ValidationError")
}

func TestAPodGetsTheCredentialsOfItsAssociation(t *testing.T) {
	r := newRig(t)
	ask := func(token string) aws.CredentialsProvider {
		return endpointcreds.New(r.URL()+"/v1/credentials", func(o *endpointcreds.Options) {
			o.HTTPClient, o.AuthorizationToken, o.Retryer = r.cfg.HTTPClient, token, aws.NopRetryer{}
		})
	}
	if _, err := ask("pod token").Retrieve(t.Context()); err == nil || !strings.Contains(err.Error(), "association") {
		t.Errorf("without an association: %v", err)
	}
	r.SetContainerCredentials(&awstest.ContainerRole{RoleARN: roleARN, Token: "pod token"})
	if got, want := r.caller(t, ask("pod token")), "arn:aws:sts::111122223333:assumed-role/scaler/eks-cluster-autoscaler"; got != want {
		t.Errorf("caller %s, want %s", got, want)
	}
	creds := must[aws.Credentials](t)(ask("pod token").Retrieve(t.Context()))
	if !creds.CanExpire || !creds.Expires.Equal(eightOClock.Add(6*time.Hour)) || creds.AccountID != "111122223333" {
		t.Errorf("credentials %+v", creds)
	}
	if _, err := ask("forged").Retrieve(t.Context()); err == nil || !strings.Contains(err.Error(), "isn't valid for this pod") {
		t.Errorf("a wrong token: %v", err)
	}
}

// metadata is a new client of the metadata service.
func (r *rig) metadata() *imds.Client {
	return imds.New(imds.Options{Endpoint: r.URL(), HTTPClient: r.cfg.HTTPClient, Retryer: aws.NopRetryer{}, ClientEnableState: imds.ClientEnabled})
}

func TestAMachineTellsItsRegionAndItsRolesCredentials(t *testing.T) {
	r := newRig(t)
	client := r.metadata()
	region := func() (string, error) {
		out, err := client.GetRegion(t.Context(), nil)
		if err != nil {
			return "", err
		}
		return out.Region, nil
	}
	if _, err := region(); err == nil {
		t.Error("a machine without metadata told its region")
	}
	r.SetMetadata(&awstest.InstanceMetadata{Zone: zoneB, RoleARN: roleARN})
	client = r.metadata() // the old one has learnt that there are no tokens
	if got := must[string](t)(region()); got != "us-east-1" {
		t.Errorf("region %q", got)
	}
	document := must[*imds.GetInstanceIdentityDocumentOutput](t)(client.GetInstanceIdentityDocument(t.Context(), nil))
	if document.AvailabilityZone != zoneB || document.AccountID != "111122223333" || document.InstanceID == "" {
		t.Errorf("identity document %+v", document)
	}
	provider := ec2rolecreds.New(func(o *ec2rolecreds.Options) { o.Client = client })
	if got, want := r.caller(t, provider), "arn:aws:sts::111122223333:assumed-role/scaler/i-0a1b2c3d4e5f60718"; got != want {
		t.Errorf("caller %s, want %s", got, want)
	}
	r.SetMetadata(&awstest.InstanceMetadata{RoleARN: roleARN, Failure: "AssumeRoleUnauthorizedAccess"})
	if _, err := provider.Retrieve(t.Context()); err == nil || !strings.Contains(err.Error(), "AssumeRoleUnauthorizedAccess") {
		t.Errorf("a role that can't be assumed: %v", err)
	}
	r.SetMetadata(&awstest.InstanceMetadata{})
	if _, err := provider.Retrieve(t.Context()); err == nil {
		t.Error("a machine without a role gave credentials")
	}
}

func TestMetadataNeedsATokenThatIsStillGood(t *testing.T) {
	r := newRig(t)
	r.SetMetadata(&awstest.InstanceMetadata{})
	client := r.metadata()
	ask := func(ctx context.Context) error {
		_, err := client.GetMetadata(ctx, &imds.GetMetadataInput{Path: "instance-id"})
		return err
	}
	r.Inject(awstest.Fault{Service: awstest.Metadata, Action: "PutToken", Effect: awstest.Drop{}})
	if err := ask(t.Context()); err == nil {
		t.Error("an answer although no token could be had")
	}
	client = r.metadata()
	if err := ask(t.Context()); err != nil {
		t.Errorf("with a token: %v", err)
	}
	r.SetMetadata(&awstest.InstanceMetadata{TokenOff: true})
	client = r.metadata()
	if err := ask(t.Context()); err == nil {
		t.Error("an answer although tokens are off and needed")
	}
}

func TestTheDefaultChainFindsEachSource(t *testing.T) {
	const assumed = "arn:aws:sts::111122223333:assumed-role/scaler/"
	profile := func(t *testing.T, text string) string {
		t.Helper()
		name := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	for name, tc := range map[string]struct {
		env  func(*testing.T, *rig) map[string]string
		want string
	}{
		"keys in the environment": {func(*testing.T, *rig) map[string]string {
			return map[string]string{"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret"}
		}, "arn:aws:sts::111122223333:assumed-role/cluster-autoscaler/session"},
		"a ServiceAccount token": {func(t *testing.T, _ *rig) map[string]string {
			return map[string]string{"AWS_ROLE_ARN": roleARN, "AWS_WEB_IDENTITY_TOKEN_FILE": tokenFile(t, "token"), "AWS_ROLE_SESSION_NAME": "irsa"}
		}, assumed + "irsa"},
		"a profile that assumes a role": {func(t *testing.T, _ *rig) map[string]string {
			return map[string]string{"AWS_CONFIG_FILE": profile(t, "[default]\nrole_arn="+roleARN+"\nsource_profile=base\nrole_session_name=profile\n"+
				"[profile base]\naws_access_key_id=AKIDEXAMPLE\naws_secret_access_key=secret\n")}
		}, assumed + "profile"},
		"a pod identity association": {func(t *testing.T, r *rig) map[string]string {
			return map[string]string{
				"AWS_CONTAINER_CREDENTIALS_FULL_URI": r.URL() + "/v1/credentials", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": tokenFile(t, "pod"),
			}
		}, assumed + "eks-cluster-autoscaler"},
		"the machine's role": {func(_ *testing.T, r *rig) map[string]string {
			return map[string]string{"AWS_EC2_METADATA_SERVICE_ENDPOINT": r.URL(), "AWS_EC2_METADATA_DISABLED": "false"}
		}, assumed + "i-0a1b2c3d4e5f60718"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.PutRole(awstest.Role{ARN: roleARN})
			r.SetContainerCredentials(&awstest.ContainerRole{RoleARN: roleARN, Token: "pod"})
			r.SetMetadata(&awstest.InstanceMetadata{RoleARN: roleARN})
			nowhere := filepath.Join(t.TempDir(), "none")
			env := map[string]string{
				"AWS_ENDPOINT_URL": r.URL(), "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": nowhere,
				"AWS_SHARED_CREDENTIALS_FILE": nowhere, "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_SESSION_TOKEN": "", "AWS_PROFILE": "", "AWS_CA_BUNDLE": "",
			}
			maps.Copy(env, tc.env(t, r))
			for key, value := range env {
				t.Setenv(key, value)
			}
			// The SDK's own STS client of the chain knows nothing of AWS_ENDPOINT_URL.
			here := func(o *sts.Options) { o.BaseEndpoint = aws.String(r.URL()) }
			cfg, err := config.LoadDefaultConfig(t.Context(), config.WithHTTPClient(r.cfg.HTTPClient), config.WithRetryer(r.cfg.Retryer),
				config.WithAssumeRoleCredentialOptions(func(o *stscreds.AssumeRoleOptions) {
					if c, ok := o.Client.(*sts.Client); ok {
						o.Client = sts.New(c.Options(), here)
					}
				}),
				config.WithWebIdentityRoleCredentialOptions(func(o *stscreds.WebIdentityRoleOptions) {
					if c, ok := o.Client.(*sts.Client); ok {
						o.Client = sts.New(c.Options(), here)
					}
				}))
			if err != nil {
				t.Fatal(err)
			}
			out := must[*sts.GetCallerIdentityOutput](t)(sts.NewFromConfig(cfg).GetCallerIdentity(t.Context(), nil))
			if got := aws.ToString(out.Arn); got != tc.want {
				t.Errorf("caller %s, want %s", got, tc.want)
			}
		})
	}
}
