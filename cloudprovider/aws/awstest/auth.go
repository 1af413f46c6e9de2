package awstest

import (
	"net/http"
	"slices"
	"strings"
)

// Credentials is what the service thinks of the credentials that requests carry.
type Credentials string

// The states of credentials. Empty means CredentialsValid.
const (
	CredentialsValid   Credentials = "Valid"
	CredentialsExpired Credentials = "Expired" // ExpiredToken; EC2 says RequestExpired
	CredentialsInvalid Credentials = "Invalid" // InvalidClientTokenId; EC2 says AuthFailure
)

// refusal is why a request isn't let in.
type refusal int

const (
	unsigned   refusal = iota
	incomplete         // the signature lacks parts
	misscoped          // it is for another service or region
	expired
	unknownKey
	forbidden
)

// authorize judges who asks, for which region, and whether they may.
func (s *Server) authorize(r request) error {
	switch {
	case r.service == Metadata, r.service == ContainerCredentials:
		return nil // these have tokens of their own
	case r.service == STS && r.action == "AssumeRoleWithWebIdentity":
		return s.permit(r) // the token is the proof
	}
	c := r.credential
	switch {
	case c == credential{}:
		return refuse(r.service, unsigned, "Request is missing Authentication Token")
	case c.broken:
		return refuse(r.service, incomplete, "Authorization header requires Credential, SignedHeaders and Signature.")
	case c.service != string(r.service):
		return refuse(r.service, misscoped, "Credential should be scoped to correct service: '"+string(r.service)+"'.")
	case c.region != s.cfg.Region && (r.service != Pricing || !slices.Contains(pricingRegions(), c.region)):
		return refuse(r.service, misscoped, "Credential should be scoped to a valid region, not '"+c.region+"'.")
	case s.credentials == CredentialsExpired:
		return refuse(r.service, expired, "The security token included in the request is expired")
	case s.credentials == CredentialsInvalid:
		return refuse(r.service, unknownKey, "The security token included in the request is invalid.")
	}
	if session, ok := s.world.sessions[c.accessKey]; ok {
		switch {
		case r.header.Get("X-Amz-Security-Token") != session.token:
			return refuse(r.service, unknownKey, "The security token included in the request is invalid.")
		case !s.cfg.Clock.Now().Before(session.expires):
			return refuse(r.service, expired, "The security token included in the request is expired")
		}
	} else if s.cfg.AccessKeyID != "" && c.accessKey != s.cfg.AccessKeyID {
		return refuse(r.service, unknownKey, "The security token included in the request is invalid.")
	}
	return s.permit(r)
}

// refuse is the service's answer to a request that isn't let in.
func refuse(s Service, why refusal, message string) error {
	codes := map[refusal]string{
		unsigned: "MissingAuthenticationToken", incomplete: "IncompleteSignature", misscoped: "SignatureDoesNotMatch",
		expired: "ExpiredToken", unknownKey: "InvalidClientTokenId", forbidden: "AccessDenied",
	}
	status := http.StatusForbidden
	switch s {
	case EKS, Pricing:
		codes = map[refusal]string{
			unsigned: "MissingAuthenticationTokenException", incomplete: "IncompleteSignatureException", misscoped: "InvalidSignatureException",
			expired: "ExpiredTokenException", unknownKey: "UnrecognizedClientException", forbidden: "AccessDeniedException",
		}
		if s == Pricing {
			status = http.StatusBadRequest
		}
	case EC2:
		codes[misscoped], codes[unknownKey], codes[expired], codes[forbidden] = "AuthFailure", "AuthFailure", "RequestExpired", "UnauthorizedOperation"
		switch why {
		case misscoped, unknownKey:
			status, message = http.StatusUnauthorized, "AWS was not able to validate the provided access credentials"
		case expired:
			status, message = http.StatusBadRequest, "Request has expired."
		case forbidden:
			message = "You are not authorized to perform this operation. " + message
		default:
		}
	default:
	}
	if why == incomplete && s != EKS {
		status = http.StatusBadRequest
	}
	return failure(status, codes[why], "%s", message)
}

// permit judges whether the caller may do the action. GetCallerIdentity needs no permission.
func (s *Server) permit(r request) error {
	if r.action == "GetCallerIdentity" {
		return nil
	}
	return s.world.permit(r, string(r.service)+":"+r.action)
}

// permit judges whether the caller of a request has a permission, which may be another one than that of the request's action.
func (w *world) permit(r request, name string) error {
	service, _, _ := strings.Cut(name, ":")
	if !w.denied[name] && !w.denied[service+":*"] {
		return nil
	}
	return refuse(r.service, forbidden, "User: "+w.callerOf(r)+" is not authorized to perform: "+name+
		" because no identity-based policy allows the "+name+" action")
}
