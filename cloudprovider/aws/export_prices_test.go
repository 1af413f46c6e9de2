package aws

// WaitForPrices waits for what is being read in the background.
func (p *Provider) WaitForPrices() { p.prices.loads.Wait() }
