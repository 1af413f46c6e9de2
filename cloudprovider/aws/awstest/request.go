package awstest

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Service is one of the AWS services, by its signing name, or one of the two places on a machine that hand out credentials.
type Service string

// The services that are served.
const (
	AutoScaling          Service = "autoscaling"
	EC2                  Service = "ec2"
	STS                  Service = "sts"
	EKS                  Service = "eks"
	Pricing              Service = "pricing"
	Metadata             Service = "imds"         // instance metadata: SetMetadata
	ContainerCredentials Service = "pod-identity" // the container credentials endpoint: SetContainerCredentials
)

// serviceOf finds the service by the Version parameter of the query protocols.
func serviceOf(version string) (Service, bool) {
	switch version {
	case "2011-01-01":
		return AutoScaling, true
	case "2016-11-15":
		return EC2, true
	case "2011-06-15":
		return STS, true
	}
	return "", false
}

// namespace is the xmlns of the service's answers.
func (s Service) namespace() string {
	switch s {
	case EC2:
		return "http://ec2.amazonaws.com/doc/2016-11-15/"
	case STS:
		return "https://sts.amazonaws.com/doc/2011-06-15/"
	default:
		return "http://autoscaling.amazonaws.com/doc/2011-01-01/"
	}
}

// params are the decoded form parameters of a query request. Requests of the JSON services are put into the same form.
type params url.Values

// value is a parameter's value; empty when it is missing.
func (p params) value(name string) string { return url.Values(p).Get(name) }

// list are the values name.1, name.2 and so on. A list that was sent empty (name=) isn't there.
func (p params) list(name string) []string {
	var all []string
	for i := 1; url.Values(p).Has(name + "." + strconv.Itoa(i)); i++ {
		all = append(all, p.value(name+"."+strconv.Itoa(i)))
	}
	return all
}

// filter is a named condition with its values, one of which must hold.
type filter struct {
	name   string
	values []string
}

// filters reads the conditions, in either service's spelling.
func (p params) filters(s Service) []filter {
	prefix, values := "Filters.member.", "Values.member"
	if s == EC2 {
		prefix, values = "Filter.", "Value"
	}
	var all []filter
	for i := 1; url.Values(p).Has(prefix + strconv.Itoa(i) + ".Name"); i++ {
		at := prefix + strconv.Itoa(i) + "."
		all = append(all, filter{name: p.value(at + "Name"), values: p.list(at + values)})
	}
	return all
}

// request is a request as it came in.
type request struct {
	service    Service
	action     string
	params     params
	credential credential
	header     http.Header
	id         string // our id for it, told in the answer
	number     int    // in the log
}

// credential is the scope that a request was signed for. All empty: it wasn't signed.
type credential struct {
	accessKey, region, service string
	broken                     bool // there is an Authorization header, but not a complete one
}

// maxBody is the largest request body that is read; the SDK's largest are a few kilobytes.
const maxBody = 1 << 20

// readForm decodes a request of a query protocol. It must be a POST with a form body that has Action and Version.
func readForm(r *http.Request) (request, error) {
	if r.Method != http.MethodPost {
		return request{}, failure(http.StatusMethodNotAllowed, "InvalidRequest", "Method %s isn't served; want POST.", r.Method)
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return request{}, fmt.Errorf("reading the request: %w", err)
	}
	values, err := url.ParseQuery(string(body))
	if err != nil {
		return request{}, failure(http.StatusBadRequest, "MalformedQueryString", "The query string contains a syntax error: %v", err)
	}
	p := params(values)
	req := request{action: p.value("Action"), params: p, header: r.Header.Clone(), credential: parseCredential(r.Header.Get("Authorization"))}
	service, ok := serviceOf(p.value("Version"))
	req.service = service
	if req.action == "" {
		return req, failure(http.StatusBadRequest, "MissingAction", "The request must contain the parameter Action.")
	}
	if !ok {
		return req, failure(http.StatusBadRequest, "InvalidAction", "Could not find operation %s for version %s.", req.action, p.value("Version"))
	}
	return req, nil
}

// parseCredential reads the scope out of an Authorization header of signature version 4.
func parseCredential(authorization string) credential {
	if authorization == "" {
		return credential{}
	}
	rest, ok := strings.CutPrefix(authorization, "AWS4-HMAC-SHA256 ")
	fields := map[string]string{}
	for field := range strings.SplitSeq(rest, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		fields[key] = value
	}
	scope := strings.Split(fields["Credential"], "/")
	if !ok || len(scope) != 5 || scope[4] != "aws4_request" || fields["SignedHeaders"] == "" || fields["Signature"] == "" {
		return credential{broken: true}
	}
	return credential{accessKey: scope[0], region: scope[2], service: scope[3]}
}

// attempt reads the number of the SDK's attempt out of "attempt=2; max=3"; 0: the header is missing.
func (r request) attempt() int {
	for part := range strings.SplitSeq(r.header.Get("Amz-Sdk-Request"), ";") {
		if text, ok := strings.CutPrefix(strings.TrimSpace(part), "attempt="); ok {
			if n, err := strconv.Atoi(text); err == nil {
				return n
			}
		}
	}
	return 0
}

// groups are the names of the groups that the request names.
func (r request) groups() []string {
	names := r.params.list("AutoScalingGroupNames.member")
	if name := r.params.value("AutoScalingGroupName"); name != "" {
		names = append(names, name)
	}
	return names
}

// instances are the ids of the instances that the request names.
func (r request) instances() []string {
	ids := append(r.params.list("InstanceIds.member"), r.params.list("InstanceId")...)
	if id := r.params.value("InstanceId"); id != "" {
		ids = append(ids, id)
	}
	return ids
}
