package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	smithyendpoints "github.com/aws/smithy-go/endpoints"
	"github.com/aws/smithy-go/logging"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"k8s.io/klog/v2"

	"example.com/cluster-autoscaler/cloudprovider/aws/internal/cloudconfig"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/endpoint"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/faults"
)

// metadataLimit bounds the question to the metadata service, which on a machine that isn't on AWS nobody answers.
const metadataLimit = 2 * time.Second

// Session is what clients are made from.
type Session struct {
	Config aws.Config
	Region string
	// RegionSource says in words where the region comes from.
	RegionSource string
	// Warnings name settings of the environment that have no effect, one line each.
	Warnings []string
	cloud    cloudconfig.Config
}

// Options is what a session is loaded with.
type Options struct {
	Cloud cloudconfig.Config
	// Version goes into the user agent, by which operators filter their CloudTrail.
	Version string
	// Attempt is told about every request; see package attempts.
	Attempt func(*middleware.Stack) error
	// Overrides come after the default chain.
	Overrides []func(*config.LoadOptions) error
}

// Load runs the SDK's default chain. The error joins all that is wrong with it, one line each: values of the environment, no region
// anywhere, with a list of what was tried, URLs of service overrides.
func Load(ctx context.Context, o Options) (Session, error) {
	environment, err := readEnvironment()
	if err != nil {
		return Session{}, err
	}
	loaded, err := o.load(ctx)
	if err != nil {
		return Session{}, fmt.Errorf("loading the AWS configuration from the environment and the shared files: %w", err)
	}
	s := Session{Config: loaded, Warnings: environment.warnings(), cloud: o.Cloud}
	if s.Region, s.RegionSource, err = region(ctx, loaded, o.Cloud); err != nil {
		return Session{}, err
	}
	if err := s.checkOverrides(); err != nil {
		return Session{}, err
	}
	// The SDK makes its own client of STS, for a web identity or for the role of a profile, before it knows all that a finished configuration tells.
	at := s.whereSTS()
	s.Config, err = o.load(ctx, config.WithRegion(s.Region), func(l *config.LoadOptions) error { withSTS(l, at); return nil })
	if err != nil {
		return Session{}, fmt.Errorf("loading the AWS configuration for region %s: %w", s.Region, err)
	}
	if o.Cloud.RoleARN != "" {
		s.assumeRole()
	}
	if s.Config.Credentials != nil {
		s.Config.Credentials = aws.NewCredentialsCache(faults.MarkCredentials(explained(s.Config.Credentials)))
	}
	return s, nil
}

func (o Options) load(ctx context.Context, more ...func(*config.LoadOptions) error) (aws.Config, error) {
	load := []func(*config.LoadOptions) error{
		config.WithAPIOptions([]func(*middleware.Stack) error{
			awsmiddleware.AddUserAgentKeyValue("cluster-autoscaler", o.Version), o.Attempt, plainBodies, noPages,
		}),
		config.WithLogger(sdkLogger(klog.FromContext(ctx))),
	}
	return config.LoadDefaultConfig(ctx, slices.Concat(load, o.Overrides, more)...)
}

// sdkLogger lets the SDK's own remarks, which are about its inner workings, show at high verbosity only.
func sdkLogger(logger klog.Logger) logging.Logger {
	return logging.LoggerFunc(func(level logging.Classification, format string, args ...any) {
		logger.V(4).Info("Remark of the AWS SDK", "level", string(level), "text", fmt.Sprintf(format, args...))
	})
}

// Override is the address of a service that the cloud config sets for the region; zero: the SDK knows. others are further regions
// whose override will do, for services that are not in every region.
func (s Session) Override(service string, others ...string) endpoint.Override {
	o, ok := s.cloud.Override(service, s.Region)
	for _, other := range others {
		if !ok {
			o, ok = s.cloud.Override(service, other)
		}
	}
	if !ok {
		return endpoint.Override{}
	}
	return endpoint.Override{URL: o.URL, SigningRegion: o.SigningRegion, SigningName: o.SigningName}
}

func (s Session) checkOverrides() error {
	var errs []error
	for _, o := range s.cloud.Overrides {
		if err := s.Override(o.Service).Validate(); err != nil && o.Region == s.Region {
			errs = append(errs, fmt.Errorf("the ServiceOverride of the AWS cloud config for service %s: %w", o.Service, err))
		}
	}
	return errors.Join(errs...)
}

// region finds the region and says where.
func region(ctx context.Context, loaded aws.Config, cloud cloudconfig.Config) (name, source string, err error) {
	for _, place := range places(loaded, cloud) {
		if name = strings.TrimSpace(place.value); name != "" {
			return name, place.name, nil
		}
	}
	ctx, cancel := context.WithTimeout(ctx, metadataLimit)
	defer cancel()
	answer, err := imds.NewFromConfig(loaded).GetRegion(ctx, &imds.GetRegionInput{})
	if err == nil && answer.Region != "" {
		return answer.Region, "the instance metadata service", nil
	}
	return "", "", fmt.Errorf("the AWS region is not known: set AWS_REGION (tried AWS_REGION, AWS_DEFAULT_REGION, the profile of the shared "+
		"config file, Region and Zone of --cloud-config, the instance metadata service: %w)", orEmpty(err))
}

// place is where a region may stand.
type place struct{ name, value string }

// places lists where the region is looked for without asking anybody, the most important first. A variable that is set to blanks counts as not set.
func places(loaded aws.Config, cloud cloudconfig.Config) []place {
	first, second := os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION")
	profile := place{name: "the profile of the shared config file"}
	for _, source := range loaded.ConfigSources {
		if shared, ok := source.(config.SharedConfig); ok {
			profile.value = shared.Region
			profile.name = fmt.Sprintf("the profile %q of the shared config file", shared.Profile)
		}
	}
	var all []place
	if told := loaded.Region; told != first && told != second && told != profile.value { // by whoever made the session
		all = append(all, place{name: "the options", value: told})
	}
	return append(all, place{"AWS_REGION", first}, place{"AWS_DEFAULT_REGION", second}, profile,
		place{"Region of the cloud config", cloud.Region}, place{"Zone of the cloud config", regionOfZone(cloud.Zone)})
}

func orEmpty(err error) error {
	if err != nil {
		return err
	}
	return errors.New("it answers without a region")
}

// regionOfZone cuts the letter off a zone's name. Local Zones have more behind the region, which also is cut.
func regionOfZone(zone string) string {
	parts := strings.Split(strings.TrimSpace(zone), "-")
	for i, part := range parts {
		if number := strings.TrimRight(part, "abcdefghijklmnopqrstuvwxyz"); i > 0 && number != "" && strings.Trim(number, "0123456789") == "" {
			return strings.Join(append(parts[:i:i], number), "-")
		}
	}
	return ""
}

// sessionName is by which an operator finds the calls in CloudTrail.
const sessionName = "cluster-autoscaler"

// assumeRole makes all clients act in the role of the cloud config.
func (s *Session) assumeRole() {
	client := sts.NewFromConfig(s.Config, func(o *sts.Options) {
		overrideSTS(o, s.Override("sts"))
		if arn := s.cloud.SourceARN; arn != "" { // the role's policy may ask for these, against the confused deputy
			o.APIOptions = append(o.APIOptions,
				smithyhttp.AddHeaderValue("x-amz-source-arn", arn), smithyhttp.AddHeaderValue("x-amz-source-account", accountOf(arn)))
		}
	})
	s.Config.Credentials = stscreds.NewAssumeRoleProvider(client, s.cloud.RoleARN, func(o *stscreds.AssumeRoleOptions) { o.RoleSessionName = sessionName })
}

// whereSTS changes a client of STS so that it goes where all others go: to the address of the cloud config or to that of the environment.
func (s Session) whereSTS() func(*sts.Options) {
	base, override := sts.NewFromConfig(s.Config).Options().BaseEndpoint, s.Override("sts")
	return func(o *sts.Options) {
		if o.BaseEndpoint == nil {
			o.BaseEndpoint = base
		}
		overrideSTS(o, override)
	}
}

// withSTS changes the clients of STS that the SDK makes for itself.
func withSTS(l *config.LoadOptions, at func(*sts.Options)) {
	l.AssumeRoleCredentialOptions = func(o *stscreds.AssumeRoleOptions) {
		if client, ok := o.Client.(*sts.Client); ok {
			o.Client = sts.New(client.Options(), at)
		}
	}
	l.WebIdentityRoleCredentialOptions = func(o *stscreds.WebIdentityRoleOptions) {
		if client, ok := o.Client.(*sts.Client); ok {
			o.Client = sts.New(client.Options(), at)
		}
	}
}

func overrideSTS(o *sts.Options, override endpoint.Override) {
	if override.URL != "" {
		o.EndpointResolverV2 = stsResolver{override: override}
	}
}

// accountOf is the fifth part of an ARN.
func accountOf(arn string) string {
	parts := strings.SplitN(arn, ":", 6)
	if len(parts) < 6 {
		return ""
	}
	return parts[4]
}

type stsResolver struct{ override endpoint.Override }

var _ sts.EndpointResolverV2 = stsResolver{}

// ResolveEndpoint ignores region and environment: an override wins over both.
func (r stsResolver) ResolveEndpoint(context.Context, sts.EndpointParameters) (smithyendpoints.Endpoint, error) {
	return r.override.Resolve()
}
