package awstest

import (
	"fmt"
	"time"

	"k8s.io/utils/clock"
)

// Config is what a Server is made with. Only Clock is required.
type Config struct {
	Clock clock.WithTicker // the only source of time; a clock.RealClock makes Start run a goroutine that follows it

	Region      string   // the only region served; empty: us-east-1
	Zones       []string // zones that the region has besides those of the groups; empty: a, b and c of the region
	Account     string   // twelve digits; empty: 111122223333
	Identity    string   // the ARN that GetCallerIdentity tells; empty: an assumed role of the account
	Addr        string   // where Start listens, host:port; empty: a free port of 127.0.0.1
	AccessKeyID string   // the only access key accepted besides the temporary ones that were given out; empty: any
	Seed        int64    // ids of instances, activities and requests follow from it

	StaleHistory  time.Duration // how far back stale reads can look; 0: 5 minutes
	TokenLifetime time.Duration // how long a NextToken is good for; 0: for ever
}

// withDefaults fills the zero fields in.
func (c Config) withDefaults() (Config, error) {
	if c.Clock == nil {
		return Config{}, fmt.Errorf("making the AWS stand-in: Config.Clock is nil")
	}
	if c.Region == "" {
		c.Region = "us-east-1"
	}
	if len(c.Zones) == 0 {
		c.Zones = []string{c.Region + "a", c.Region + "b", c.Region + "c"}
	}
	if c.Account == "" {
		c.Account = "111122223333"
	}
	if c.Identity == "" {
		c.Identity = "arn:aws:sts::" + c.Account + ":assumed-role/cluster-autoscaler/session"
	}
	if c.Addr == "" {
		c.Addr = "127.0.0.1:0"
	}
	if c.StaleHistory <= 0 {
		c.StaleHistory = 5 * time.Minute
	}
	return c, nil
}
