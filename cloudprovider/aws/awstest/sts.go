package awstest

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Role is an IAM role that can be assumed. The first use of PutRole makes all others unknown; a Server without roles lets any be assumed.
type Role struct {
	ARN           string
	Tokens        []string      // web identity tokens that it trusts; nil: any
	ExpiredTokens []string      // web identity tokens that it trusted once
	ExternalID    string        // that AssumeRole must give; empty: none needed
	SourceARN     string        // that the header X-Amz-Source-Arn must give; empty: none needed
	Trusts        []string      // ARNs of the callers that AssumeRole is open to; nil: any
	Lifetime      time.Duration // of the credentials, over what the request asks for; 0: as asked for, else an hour
}

// session is one set of temporary credentials that was given out.
type session struct {
	accessKey, secret, token string
	arn                      string // of the assumed role
	userID                   string
	expires                  time.Time
}

// PutRole adds or replaces an IAM role.
func (s *Server) PutRole(r Role) {
	_ = s.change(func(w *world) error { w.roles[r.ARN] = r; return nil }) // can't fail
}

// ExpireSessions makes all temporary credentials that were given out so far expire now. Clients can get new ones.
func (s *Server) ExpireSessions() {
	_ = s.change(func(w *world) error { // can't fail
		for key, session := range w.sessions {
			session.expires = w.now
			w.sessions[key] = session
		}
		return nil
	})
}

// callerOf is the ARN of who sent a request.
func (w *world) callerOf(r request) string {
	return cmp.Or(w.sessions[r.credential.accessKey].arn, w.cfg.Identity)
}

// getCallerIdentity tells who the caller is.
func getCallerIdentity(c *call) ([]element, error) {
	user := cmp.Or(c.w.sessions[c.credential.accessKey].userID, "AROAEXAMPLE:session")
	return []element{text("Arn", c.w.callerOf(c.request)), text("UserId", user), text("Account", c.w.cfg.Account)}, nil
}

// assumeRole gives out credentials of a role to who has some already.
func assumeRole(c *call) ([]element, error) {
	role, err := c.role()
	caller := c.w.callerOf(c.request)
	switch {
	case err != nil:
		return nil, err
	case role.ExternalID != "" && c.params.value("ExternalId") != role.ExternalID,
		role.SourceARN != "" && c.header.Get("X-Amz-Source-Arn") != role.SourceARN,
		role.Trusts != nil && !slices.Contains(role.Trusts, caller):
		return nil, refuse(STS, forbidden, "User: "+caller+" is not authorized to perform: sts:AssumeRole on resource: "+role.ARN)
	}
	return c.session(role)
}

// assumeRoleWithWebIdentity gives out credentials of a role for the token of a ServiceAccount.
func assumeRoleWithWebIdentity(c *call) ([]element, error) {
	role, err := c.role()
	token := c.params.value("WebIdentityToken")
	switch {
	case err != nil:
		return nil, err
	case token == "":
		return nil, validation("1 validation error detected: Value '' at 'webIdentityToken' failed to satisfy constraint: Member must have length greater than or equal to 4")
	case slices.Contains(role.ExpiredTokens, token):
		return nil, failure(http.StatusBadRequest, "ExpiredTokenException", "Token expired: current date/time must be before the expiration date/time")
	case role.Tokens != nil && !slices.Contains(role.Tokens, token):
		return nil, failure(http.StatusBadRequest, "InvalidIdentityToken", "Couldn't retrieve verification key from your identity provider")
	}
	return c.session(role)
}

// role finds the role that the request asks for.
func (c *call) role() (Role, error) {
	arn := c.params.value("RoleArn")
	account, name, ok := roleName(arn)
	switch {
	case !ok:
		return Role{}, validation("%s is invalid", arn)
	case c.params.value("RoleSessionName") == "":
		return Role{}, validation("1 validation error detected: Value null at 'roleSessionName' failed to satisfy constraint: Member must not be null")
	}
	if role, ok := c.w.roles[arn]; ok {
		return role, nil
	}
	if len(c.w.roles) > 0 || account != c.w.cfg.Account || name == "" {
		return Role{}, refuse(STS, forbidden, "Not authorized to perform sts:"+c.action)
	}
	return Role{ARN: arn}, nil
}

// roleName takes arn:aws:iam::ACCOUNT:role/PATH/NAME apart.
func roleName(arn string) (account, name string, ok bool) {
	parts := strings.SplitN(arn, ":", 6)
	if len(parts) != 6 || parts[0] != "arn" || parts[2] != "iam" || !strings.HasPrefix(parts[5], "role/") {
		return "", "", false
	}
	return parts[4], parts[5][strings.LastIndex(parts[5], "/")+1:], true
}

// session makes credentials of a role and renders them.
func (c *call) session(role Role) ([]element, error) {
	lifetime := time.Hour
	if raw := c.params.value("DurationSeconds"); raw != "" {
		seconds, err := strconv.Atoi(raw)
		if err != nil || seconds < 900 || seconds > 43200 {
			return nil, validation("The requested DurationSeconds %s isn't between 900 and 43200.", raw)
		}
		lifetime = time.Duration(seconds) * time.Second
	}
	s := c.w.newSession(role.ARN, c.params.value("RoleSessionName"), cmp.Or(role.Lifetime, lifetime))
	return []element{
		node("Credentials", text("AccessKeyId", s.accessKey), text("SecretAccessKey", s.secret), text("SessionToken", s.token),
			text("Expiration", timestamp(s.expires))),
		node("AssumedRoleUser", text("Arn", s.arn), text("AssumedRoleId", s.userID)),
	}, nil
}

// newSession gives out temporary credentials.
func (w *world) newSession(roleARN, name string, lifetime time.Duration) session {
	account, role, _ := roleName(roleARN)
	s := session{
		accessKey: "ASIA" + strings.ToUpper(w.hexID("key", 16)), secret: w.hexID("secret", 40), token: w.hexID("session", 60),
		arn:    "arn:aws:sts::" + account + ":assumed-role/" + role + "/" + name,
		userID: "AROA" + strings.ToUpper(w.hexID("role"+roleARN, 17)) + ":" + name, expires: w.now.Add(lifetime),
	}
	w.sessions[s.accessKey] = s
	return s
}
