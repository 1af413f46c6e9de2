package session

import (
	"context"
	"errors"
	"fmt"
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
	cloud        cloudconfig.Config
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

// Load runs the SDK's default chain. It fails with one line when no region can be found, listing what was tried.
func Load(ctx context.Context, o Options) (Session, error) {
	load := []func(*config.LoadOptions) error{
		config.WithAPIOptions([]func(*middleware.Stack) error{
			awsmiddleware.AddUserAgentKeyValue("cluster-autoscaler", o.Version), o.Attempt, plainBodies,
		}),
		config.WithLogger(sdkLogger(klog.FromContext(ctx))),
	}
	loaded, err := config.LoadDefaultConfig(ctx, append(load, o.Overrides...)...)
	if err != nil {
		return Session{}, fmt.Errorf("loading the AWS configuration from the environment and the shared files: %w", err)
	}
	s := Session{Config: loaded, cloud: o.Cloud}
	if s.Region, s.RegionSource, err = region(ctx, loaded, o.Cloud); err != nil {
		return Session{}, err
	}
	s.Config.Region = s.Region
	if err := s.checkOverrides(); err != nil {
		return Session{}, err
	}
	if o.Cloud.RoleARN != "" {
		s.assumeRole()
	}
	if s.Config.Credentials != nil {
		s.Config.Credentials = aws.NewCredentialsCache(faults.MarkCredentials(s.Config.Credentials))
	}
	return s, nil
}

// sdkLogger lets the SDK's own remarks, which are about its inner workings, show at high verbosity only.
func sdkLogger(logger klog.Logger) logging.Logger {
	return logging.LoggerFunc(func(level logging.Classification, format string, args ...any) {
		logger.V(4).Info("Remark of the AWS SDK", "level", string(level), "text", fmt.Sprintf(format, args...))
	})
}

// Override is the address of a service that the cloud config sets for the region; zero: the SDK knows.
func (s Session) Override(service string) endpoint.Override {
	o, ok := s.cloud.Override(service, s.Region)
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
	if name = strings.TrimSpace(loaded.Region); name != "" {
		return name, "AWS_REGION, AWS_DEFAULT_REGION or the shared config file", nil
	}
	if cloud.Region != "" {
		return cloud.Region, "Region of the cloud config", nil
	}
	if name = regionOfZone(cloud.Zone); name != "" {
		return name, "Zone of the cloud config", nil
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

// assumeRole makes all clients act in the role of the cloud config.
func (s *Session) assumeRole() {
	client := sts.NewFromConfig(s.Config, func(o *sts.Options) {
		if override := s.Override("sts"); override.URL != "" {
			o.EndpointResolverV2 = stsResolver{override: override}
		}
		if arn := s.cloud.SourceARN; arn != "" { // the role's policy may ask for these, against the confused deputy
			o.APIOptions = append(o.APIOptions,
				smithyhttp.AddHeaderValue("x-amz-source-arn", arn), smithyhttp.AddHeaderValue("x-amz-source-account", accountOf(arn)))
		}
	})
	s.Config.Credentials = stscreds.NewAssumeRoleProvider(client, s.cloud.RoleARN)
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
