package session

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"example.com/cluster-autoscaler/cloudprovider/aws/internal/faults"
)

// identityLimit bounds the question who we are, retries included.
const identityLimit = 30 * time.Second

// Identity is as whom AWS is called.
type Identity struct {
	Account string // twelve digits
	ARN     string
	// Source says in words where the credentials come from.
	Source string
}

// Identity asks STS who we are, which needs no permission. It blocks.
func (s Session) Identity(ctx context.Context) (Identity, error) {
	ctx, cancel := context.WithTimeout(ctx, identityLimit)
	defer cancel()
	if s.Config.Credentials == nil {
		return Identity{}, fmt.Errorf("asking STS for the identity: there are no credentials")
	}
	credentials, err := s.Config.Credentials.Retrieve(ctx)
	if err != nil {
		return Identity{}, faults.Wrap("GetCallerIdentity", err)
	}
	client := sts.NewFromConfig(s.Config, func(o *sts.Options) { overrideSTS(o, s.Override("sts")) })
	out, err := client.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return Identity{}, faults.Wrap("GetCallerIdentity", err)
	}
	return Identity{Account: aws.ToString(out.Account), ARN: aws.ToString(out.Arn), Source: sourceOf(credentials.Source)}, nil
}

// sourceOf puts the SDK's names of credentials providers into words.
func sourceOf(provider string) string {
	switch {
	case provider == "EnvConfigCredentials":
		return "the variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
	case provider == "WebIdentityCredentials":
		return "the web identity token of the ServiceAccount (IRSA)"
	case strings.HasPrefix(provider, "SharedConfigCredentials"):
		return "a profile of the shared files"
	case provider == "CredentialsEndpointProvider":
		return "the container credentials endpoint (EKS Pod Identity or ECS)"
	case provider == "EC2RoleProvider":
		return "the instance profile of the machine"
	case provider == "AssumeRoleProvider":
		return "an assumed role"
	default:
		return provider
	}
}
