package session

import (
	"context"
	"fmt"
	"io"

	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// plainBodies hides from net/http that the body of a request could write itself. The SDK closes the body as soon as an answer begins to arrive, and a
// closed body that is asked to write itself reports EOF as a failure: an answer that comes while net/http still looks for the end of the
// body would be lost, with the connection. Servers nearby and busy machines make that happen.
func plainBodies(stack *middleware.Stack) error {
	return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("ClusterAutoscalerPlainBodies", func(
		ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler,
	) (middleware.DeserializeOutput, middleware.Metadata, error) {
		request, ok := in.Request.(*smithyhttp.Request)
		if !ok {
			return middleware.DeserializeOutput{}, middleware.Metadata{}, fmt.Errorf("unknown transport type %T", in.Request)
		}
		if stream, seekable := request.GetStream().(io.ReadSeeker); seekable {
			plain, err := request.SetStream(onlyReadSeek{stream})
			if err != nil {
				return middleware.DeserializeOutput{}, middleware.Metadata{}, fmt.Errorf("preparing the body of a request: %w", err)
			}
			in.Request = plain
		}
		return next.HandleDeserialize(ctx, in)
	}), middleware.After)
}

// onlyReadSeek has no method but the two.
type onlyReadSeek struct{ io.ReadSeeker }
