package session

import (
	"context"
	"errors"
	"mime"

	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// errPage is what an answer means that no service gives.
var errPage = errors.New("the answer is a page of HTML: a proxy or a portal stands between this process and AWS, or the URL of the endpoint is wrong")

// noPages refuses pages of HTML that come as a success. The SDK reads such a page as an answer without any content, which says that nothing exists.
func noPages(stack *middleware.Stack) error {
	return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("ClusterAutoscalerNoPages", func(
		ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler,
	) (middleware.DeserializeOutput, middleware.Metadata, error) {
		out, metadata, err := next.HandleDeserialize(ctx, in)
		if response, ok := out.RawResponse.(*smithyhttp.Response); err == nil && ok && isPage(response) {
			return out, metadata, &smithy.DeserializationError{Err: errPage}
		}
		return out, metadata, err
	}), middleware.After)
}

// isPage tells whether a response is a success that holds HTML.
func isPage(response *smithyhttp.Response) bool {
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return false // the SDK makes an error of it
	}
	kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	return err == nil && (kind == "text/html" || kind == "application/xhtml+xml")
}
