package awstest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// readRequest decodes a request of any service. A prefix in front of the path doesn't matter.
func readRequest(r *http.Request) (request, error) {
	path := r.URL.EscapedPath()
	switch {
	case r.Header.Get("X-Amz-Target") != "":
		return readTarget(r)
	case strings.Contains(path, "/clusters/"):
		return readCluster(r)
	case strings.Contains(path, "/latest/"):
		return readMetadata(r)
	case r.Method == http.MethodGet && strings.HasSuffix(path, "/v1/credentials"):
		return newRequest(ContainerCredentials, "GetCredentials", r), nil
	}
	return readForm(r)
}

// readMetadata decodes a request to the metadata of a machine. What it asks for becomes the parameter path.
func readMetadata(r *http.Request) (request, error) {
	_, path, _ := strings.Cut(r.URL.Path, "/latest/")
	req := newRequest(Metadata, "GetMetadata", r)
	const roles = "meta-data/iam/security-credentials/"
	switch {
	case path == "api/token":
		req.action = "PutToken"
	case path == "dynamic/instance-identity/document":
		req.action = "GetIdentityDocument"
	case path == roles || path+"/" == roles:
		req.action = "ListRoles"
	case strings.HasPrefix(path, roles):
		req.action, path = "GetRoleCredentials", strings.TrimPrefix(path, roles)
	default:
		path = strings.TrimPrefix(path, "meta-data/")
	}
	if want := map[bool]string{true: http.MethodPut, false: http.MethodGet}[req.action == "PutToken"]; r.Method != want {
		return req, failure(http.StatusMethodNotAllowed, "MethodNotAllowed", "Method %s isn't served here; want %s.", r.Method, want)
	}
	url.Values(req.params).Set("path", path)
	return req, nil
}

// newRequest is a request with all that doesn't depend on the protocol.
func newRequest(s Service, action string, r *http.Request) request {
	return request{
		service: s, action: action, params: params{}, header: r.Header.Clone(), credential: parseCredential(r.Header.Get("Authorization")),
	}
}

// readCluster decodes a request to EKS. Names are escaped in the path, so they may hold slashes.
func readCluster(r *http.Request) (request, error) {
	_, rest, _ := strings.Cut(r.URL.EscapedPath(), "/clusters/")
	parts := strings.Split(rest, "/")
	req := newRequest(EKS, "", r)
	if r.Method != http.MethodGet || len(parts) != 3 || parts[1] != "node-groups" {
		return req, unknownAction(req)
	}
	req.action = "DescribeNodegroup"
	for key, escaped := range map[string]string{"name": parts[0], "nodegroupName": parts[2]} {
		name, err := url.PathUnescape(escaped)
		if err != nil || name == "" {
			return req, failure(http.StatusBadRequest, "InvalidParameterException", "The path holds no valid %s.", key)
		}
		url.Values(req.params).Set(key, name)
	}
	return req, nil
}

// readTarget decodes a request of the JSON 1.1 protocol. Its members become parameters in the spelling of the query protocol.
func readTarget(r *http.Request) (request, error) {
	target, action, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	req := newRequest(Pricing, action, r)
	if target != "AWSPriceListService" {
		return req, unknownAction(req)
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return req, fmt.Errorf("reading the request: %w", err)
	}
	var members map[string]any
	if err := json.Unmarshal(body, &members); err != nil {
		return req, failure(http.StatusBadRequest, "SerializationException", "The body isn't a JSON object: %v", err)
	}
	for key, value := range members {
		flatten(url.Values(req.params), key, value)
	}
	return req, nil
}

// flatten puts a JSON value into parameters: Filters.member.1.Field for a list of objects.
func flatten(into url.Values, key string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			flatten(into, key+"."+name, inner)
		}
	case []any:
		for i, inner := range v {
			flatten(into, key+".member."+strconv.Itoa(i+1), inner)
		}
	case string:
		into.Set(key, v)
	case nil: // the same as not given
	default:
		into.Set(key, fmt.Sprint(v))
	}
}

// contentType is what the service calls its answers.
func (s Service) contentType() string {
	switch s {
	case EKS, ContainerCredentials:
		return "application/json"
	case Pricing:
		return "application/x-amz-json-1.1"
	case Metadata:
		return "text/plain"
	default:
		return "text/xml"
	}
}

// jsonDocument renders a value that is made of maps, slices, texts and numbers, which can't fail.
func jsonDocument(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		return []byte("{}")
	}
	return raw
}

// without removes all members of the given names, at any depth.
func without(value any, names []string) any {
	if len(names) == 0 {
		return value
	}
	switch v := value.(type) {
	case map[string]any:
		kept := map[string]any{}
		for key, inner := range v {
			kept[key] = without(inner, names)
		}
		for _, name := range names {
			delete(kept, name)
		}
		return kept
	case []any:
		kept := make([]any, 0, len(v))
		for _, inner := range v {
			kept = append(kept, without(inner, names))
		}
		return kept
	}
	return value
}
