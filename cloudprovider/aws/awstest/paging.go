package awstest

import (
	"encoding/base64"
	"net/http"
	"sort"
	"strconv"
	"strings"
	"time"
)

// pageLimits are how many items a page holds when the client doesn't say, and at most.
type pageLimits struct {
	usual, most, least int
	parameter          string // MaxRecords or MaxResults
}

// recordPages are Auto Scaling's limits, resultPages EC2's.
func recordPages(usual int) pageLimits {
	return pageLimits{usual: usual, most: 100, least: 1, parameter: "MaxRecords"}
}

func resultPages(least, most int) pageLimits {
	return pageLimits{usual: most, most: most, least: least, parameter: "MaxResults"}
}

// page cuts the page that a request asks for out of all items, which must be sorted by their keys. The token for the next page is empty
// when there is none. Pages go by key, so items that come or go meanwhile neither repeat nor hide others.
func page[T any](c *call, all []T, key func(T) string, limits pageLimits) ([]T, string, error) {
	size := limits.usual
	if raw := c.params.value(limits.parameter); raw != "" {
		n, err := strconv.Atoi(raw)
		if err != nil || n < limits.least || n > limits.most {
			return nil, "", c.invalid("Value '%s' at '%s' failed to satisfy constraint: Member must have value between %d and %d",
				raw, strings.ToLower(limits.parameter[:1])+limits.parameter[1:], limits.least, limits.most)
		}
		size = n
	}
	if c.pageSize != nil {
		size = *c.pageSize
	}
	from := 0
	after := ""
	if token := c.params.value("NextToken"); token != "" {
		var err error
		if after, err = c.openToken(token); err != nil {
			return nil, "", err
		}
		if after != "" {
			from = sort.Search(len(all), func(i int) bool { return key(all[i]) > after })
		}
	}
	to := min(from+size, len(all))
	if to == len(all) {
		return all[from:], "", nil
	}
	if to > from {
		after = key(all[to-1])
	}
	return all[from:to], c.sealToken(after), nil
}

// sealToken makes a token that goes on behind a key. It is good for the same action only.
func (c *call) sealToken(after string) string {
	issued := strconv.FormatInt(c.w.now.UnixNano(), 36)
	return base64.RawURLEncoding.EncodeToString([]byte(c.action + "|" + issued + "|" + after))
}

func (c *call) openToken(token string) (string, error) {
	raw, err := base64.RawURLEncoding.DecodeString(token)
	action, rest, _ := strings.Cut(string(raw), "|")
	issued, after, ok := strings.Cut(rest, "|")
	nanos, numberErr := strconv.ParseInt(issued, 36, 64)
	if err != nil || numberErr != nil || !ok || action != c.action {
		return "", c.badToken("InvalidNextToken", "The specified token is not valid.")
	}
	if c.w.cfg.TokenLifetime > 0 && c.w.now.Sub(time.Unix(0, nanos)) > c.w.cfg.TokenLifetime {
		return "", c.badToken("ExpiredNextToken", "The specified token has expired.")
	}
	return after, nil
}

// badToken is the answer to a token that can't be used. Only the JSON services tell an expired one from a wrong one.
func (c *call) badToken(code, message string) error {
	if c.service == Pricing {
		return failure(http.StatusBadRequest, code+"Exception", "%s", message)
	}
	return failure(http.StatusBadRequest, "InvalidNextToken", "%s", message)
}
