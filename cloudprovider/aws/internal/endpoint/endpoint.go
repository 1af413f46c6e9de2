package endpoint

import (
	"fmt"
	"net/url"

	"github.com/aws/smithy-go"
	smithyauth "github.com/aws/smithy-go/auth"
	smithyendpoints "github.com/aws/smithy-go/endpoints"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Override says where a service is. The zero value says nothing.
type Override struct {
	URL           string // base URL, may have a path
	SigningRegion string
	SigningName   string // empty: the SDK's own for the service
}

// Resolve renders the override for the SDK.
func (o Override) Resolve() (smithyendpoints.Endpoint, error) {
	uri, err := url.Parse(o.URL)
	if err != nil {
		return smithyendpoints.Endpoint{}, fmt.Errorf("reading the URL of a service override: %w", err)
	}
	var signer smithy.Properties
	if o.SigningRegion != "" {
		smithyhttp.SetSigV4SigningRegion(&signer, o.SigningRegion)
	}
	if o.SigningName != "" {
		smithyhttp.SetSigV4SigningName(&signer, o.SigningName)
	}
	result := smithyendpoints.Endpoint{URI: *uri}
	smithyauth.SetAuthOptions(&result.Properties, []*smithyauth.Option{{SchemeID: smithyauth.SchemeIDSigV4, SignerProperties: signer}})
	return result, nil
}

// Validate tells whether the URL can be a base URL of a service.
func (o Override) Validate() error {
	uri, err := url.Parse(o.URL)
	if err != nil {
		return fmt.Errorf("the URL %q: %w", o.URL, err)
	}
	if (uri.Scheme != "http" && uri.Scheme != "https") || uri.Host == "" {
		return fmt.Errorf("the URL %q is not of the form https://HOST", o.URL)
	}
	return nil
}
