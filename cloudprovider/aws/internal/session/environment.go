package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
)

// environment is what the SDK reads from variables, to be checked before it is used.
type environment struct{ config.EnvConfig }

// readEnvironment fails with one line per variable that makes no sense.
func readEnvironment() (environment, error) {
	if text := os.Getenv("AWS_MAX_ATTEMPTS"); text != "" {
		if n, err := strconv.Atoi(text); err != nil || n < 0 {
			return environment{}, fmt.Errorf("AWS_MAX_ATTEMPTS=%q: want a whole number, the attempts of each call; 0 means the default", text)
		}
	}
	read, err := config.NewEnvConfig()
	if err != nil {
		return environment{}, fmt.Errorf("reading the AWS environment variables: %w", err)
	}
	var faults []error
	if read.WebIdentityTokenFilePath != "" && read.RoleARN == "" && !read.Credentials.HasKeys() {
		faults = append(faults, errors.New("AWS_WEB_IDENTITY_TOKEN_FILE is set and AWS_ROLE_ARN is not: set the role that the token is for"))
	}
	return environment{read}, errors.Join(faults...)
}

// warnings lists sources of credentials that another one hides. The SDK takes the first that is configured and never falls back on the next.
func (e environment) warnings() []string {
	sources := []struct {
		set  bool
		name string
	}{
		{e.Credentials.HasKeys(), "AWS_ACCESS_KEY_ID"},
		{e.WebIdentityTokenFilePath != "", "AWS_WEB_IDENTITY_TOKEN_FILE"},
		{e.ContainerCredentialsEndpoint != "", "AWS_CONTAINER_CREDENTIALS_FULL_URI"},
		{e.ContainerCredentialsRelativePath != "", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"},
	}
	first := ""
	var warnings []string
	for _, source := range sources {
		switch {
		case !source.set:
		case first == "":
			first = source.name
		default:
			warnings = append(warnings, fmt.Sprintf("%s has no effect, because %s is set too and comes first", source.name, first))
		}
	}
	return warnings
}

// explained adds to errors of a credentials provider what an operator can do about them.
func explained(provider aws.CredentialsProvider) aws.CredentialsProvider {
	return aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
		credentials, err := provider.Retrieve(ctx)
		if hint := hintFor(err); hint != "" {
			return credentials, fmt.Errorf("%w: %s", err, hint)
		}
		return credentials, err
	})
}

// hintFor goes by the SDK's texts, since its errors have no types.
func hintFor(err error) string {
	if err == nil {
		return ""
	}
	switch text := err.Error(); {
	case strings.Contains(text, "ec2imds"):
		return "no other credentials are configured, and the instance metadata service gave none; from within a pod it needs an HTTP put response hop limit of " +
			"at least 2, otherwise use IRSA or EKS Pod Identity"
	case strings.Contains(text, "jwt") && strings.Contains(text, "permission denied"):
		return "the user of the process may not read the token: set securityContext.fsGroup of the pod"
	case strings.Contains(text, "InvalidIdentityToken"):
		return "the account has no identity provider for the cluster, or it is for another cluster"
	case strings.Contains(text, "AssumeRoleWithWebIdentity") && strings.Contains(text, "AccessDenied"):
		return "the trust policy of the role does not let this ServiceAccount in"
	default:
		return ""
	}
}
