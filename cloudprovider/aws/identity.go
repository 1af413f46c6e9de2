package aws

import (
	"context"

	"k8s.io/klog/v2"
)

// introduce logs once as whom AWS is called. It asks in the background, and a failure changes nothing: the reading of the groups tells what is wrong with
// the credentials.
func (p *Provider) introduce(ctx context.Context) {
	if p.identify == nil {
		return
	}
	p.introduced.Do(func() {
		ctx, done := p.calls.Begin(context.WithoutCancel(ctx))
		go func() {
			defer done()
			logger := klog.FromContext(ctx)
			identity, err := p.identify(ctx)
			switch {
			case ctx.Err() != nil:
			case err != nil:
				logger.Info("AWS does not tell as whom it is called", "reason", err.Error())
			default:
				logger.Info("Calling AWS", "account", identity.Account, "identity", identity.ARN, "credentials", identity.Source)
			}
		}()
	})
}
