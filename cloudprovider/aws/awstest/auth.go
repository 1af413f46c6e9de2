package awstest

import "net/http"

// Credentials is what the service thinks of the credentials that requests carry.
type Credentials string

// The states of credentials. Empty means CredentialsValid.
const (
	CredentialsValid   Credentials = "Valid"
	CredentialsExpired Credentials = "Expired" // ExpiredToken; EC2 says RequestExpired
	CredentialsInvalid Credentials = "Invalid" // InvalidClientTokenId; EC2 says AuthFailure
)

// authorize judges who asks, for which region, and whether they may.
func (s *Server) authorize(r request) error {
	c := r.credential
	switch {
	case c == credential{}:
		return failure(http.StatusForbidden, "MissingAuthenticationToken", "Request is missing Authentication Token")
	case c.broken:
		return failure(http.StatusBadRequest, "IncompleteSignature", "Authorization header requires Credential, SignedHeaders and Signature.")
	case c.service != string(r.service):
		return badScope(r.service, "Credential should be scoped to correct service: '"+string(r.service)+"'.")
	case c.region != s.cfg.Region:
		return badScope(r.service, "Credential should be scoped to a valid region, not '"+c.region+"'.")
	case s.credentials == CredentialsExpired:
		if r.service == EC2 {
			return failure(http.StatusBadRequest, "RequestExpired", "Request has expired.")
		}
		return failure(http.StatusForbidden, "ExpiredToken", "The security token included in the request is expired")
	case s.credentials == CredentialsInvalid, s.cfg.AccessKeyID != "" && c.accessKey != s.cfg.AccessKeyID:
		if r.service == EC2 {
			return badScope(EC2, "")
		}
		return failure(http.StatusForbidden, "InvalidClientTokenId", "The security token included in the request is invalid.")
	}
	return s.permit(r)
}

// badScope is the answer to a signature that can't be right.
func badScope(s Service, message string) error {
	if s == EC2 {
		return failure(http.StatusUnauthorized, "AuthFailure", "AWS was not able to validate the provided access credentials")
	}
	return failure(http.StatusForbidden, "SignatureDoesNotMatch", "%s", message)
}

// permit judges whether the caller may do the action. GetCallerIdentity needs no permission.
func (s *Server) permit(r request) error {
	name := string(r.service) + ":" + r.action
	if r.action == "GetCallerIdentity" || !s.denied[name] && !s.denied[string(r.service)+":*"] {
		return nil
	}
	message := "User: " + s.cfg.Identity + " is not authorized to perform: " + name + " because no identity-based policy allows the " + name + " action"
	if r.service == EC2 {
		return failure(http.StatusForbidden, "UnauthorizedOperation", "You are not authorized to perform this operation. %s", message)
	}
	return failure(http.StatusForbidden, "AccessDenied", "%s", message)
}
