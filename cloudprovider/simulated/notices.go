package simulated

import "example.com/cluster-autoscaler/cloudprovider"

// Note makes something come up that the operator is to be told.
func (c *Cloud) Note(notice cloudprovider.Notice) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.notices = append(c.notices, notice)
}

// Notices hands over what came up since the call before.
func (c *Cloud) Notices() []cloudprovider.Notice {
	c.mu.Lock()
	defer c.mu.Unlock()
	notices := c.notices
	c.notices = nil
	return notices
}
