package awstest

import (
	"cmp"
	"net/http"
	"strconv"
	"time"
)

// InstanceMetadata is what the metadata service of the machine tells on which a client runs.
type InstanceMetadata struct {
	InstanceID string        // empty: i-0a1b2c3d4e5f60718
	Zone       string        // empty: the first of the region
	RoleARN    string        // of the instance profile; empty: the machine has none
	Lifetime   time.Duration // of the role's credentials; 0: 6 hours
	Failure    string        // Code of the role's credentials instead of Success, for example AssumeRoleUnauthorizedAccess
	TokenOff   bool          // the token endpoint isn't there (403), as where metadata is switched off
	AllowsV1   bool          // requests without a token are answered too
}

// ContainerRole is what the container credentials endpoint (PATH/v1/credentials) gives out, as the agent of EKS Pod Identity does.
type ContainerRole struct {
	RoleARN  string
	Token    string        // content of the token file, which the Authorization header must carry; empty: any text
	Lifetime time.Duration // 0: 6 hours
}

// SetMetadata lets instance metadata be served, for AWS_EC2_METADATA_SERVICE_ENDPOINT. Nil: it isn't, as from the beginning; every
// request then gets a 404.
func (s *Server) SetMetadata(m *InstanceMetadata) {
	_ = s.change(func(w *world) error { // can't fail
		w.metadata = nil
		if m != nil {
			copied := *m
			w.metadata = &copied
		}
		return nil
	})
}

// SetContainerCredentials lets container credentials be served. Nil: they aren't, as from the beginning; the endpoint then says that
// the pod has no association.
func (s *Server) SetContainerCredentials(r *ContainerRole) {
	_ = s.change(func(w *world) error { // can't fail
		w.containers = nil
		if r != nil {
			copied := *r
			w.containers = &copied
		}
		return nil
	})
}

// machineLifetime is how long credentials of a machine or pod are good for, unless said otherwise.
const machineLifetime = 6 * time.Hour

// getContainerCredentials gives out the credentials of a pod's role.
func getContainerCredentials(c *call) (any, error) {
	role, token := c.w.containers, c.header.Get("Authorization")
	switch {
	case role == nil:
		return nil, failure(http.StatusNotFound, "ResourceNotFoundException", "There is no pod identity association for this pod")
	case token == "":
		return nil, failure(http.StatusBadRequest, "MissingAuthorization", "Service account token cannot be empty")
	case role.Token != "" && token != role.Token:
		return nil, failure(http.StatusForbidden, "AccessDeniedException", "The service account token isn't valid for this pod")
	}
	s := c.w.newSession(role.RoleARN, "eks-cluster-autoscaler", cmp.Or(role.Lifetime, machineLifetime))
	return map[string]any{
		"AccessKeyId": s.accessKey, "SecretAccessKey": s.secret, "Token": s.token, "AccountId": c.w.cfg.Account,
		"Expiration": s.expires.UTC().Format(time.RFC3339),
	}, nil
}

const (
	tokenHeader         = "X-Aws-Ec2-Metadata-Token"
	tokenLifetimeHeader = "X-Aws-Ec2-Metadata-Token-Ttl-Seconds"
)

// putToken gives out a token of the second version of the metadata service.
func putToken(c *call) (RawAnswer, error) {
	switch {
	case c.w.metadata == nil:
		return RawAnswer{}, failure(http.StatusNotFound, "NotFound", "Not Found")
	case c.w.metadata.TokenOff:
		return RawAnswer{}, failure(http.StatusForbidden, "Forbidden", "Forbidden")
	}
	lifetime := c.header.Get(tokenLifetimeHeader)
	seconds, err := strconv.Atoi(lifetime)
	if err != nil || seconds < 1 || seconds > 21600 {
		return RawAnswer{}, failure(http.StatusBadRequest, "BadRequest", "Bad Request")
	}
	token := c.w.hexID("imds", 56)
	c.w.imdsTokens[token] = c.w.now.Add(time.Duration(seconds) * time.Second)
	return RawAnswer{Body: token, Header: map[string]string{tokenLifetimeHeader: lifetime}}, nil
}

// machine is the metadata that a request may see.
func (c *call) machine() (InstanceMetadata, error) {
	m, token := c.w.metadata, c.header.Get(tokenHeader)
	until, known := c.w.imdsTokens[token]
	switch {
	case m == nil:
		return InstanceMetadata{}, failure(http.StatusNotFound, "NotFound", "Not Found")
	case token == "" && !m.AllowsV1, token != "" && (!known || !c.w.now.Before(until)):
		return InstanceMetadata{}, failure(http.StatusUnauthorized, "Unauthorized", "Unauthorized")
	}
	found := *m
	found.InstanceID, found.Zone = cmp.Or(m.InstanceID, "i-0a1b2c3d4e5f60718"), cmp.Or(m.Zone, c.w.cfg.Zones[0])
	return found, nil
}

// getIdentityDocument tells which machine this is.
func getIdentityDocument(c *call) (RawAnswer, error) {
	m, err := c.machine()
	if err != nil {
		return RawAnswer{}, err
	}
	return RawAnswer{Body: string(jsonDocument(map[string]any{
		"accountId": c.w.cfg.Account, "architecture": "x86_64", "availabilityZone": m.Zone, "imageId": "ami-1", "instanceId": m.InstanceID,
		"instanceType": "m5.large", "region": c.w.cfg.Region, "version": "2017-09-30", "pendingTime": c.w.now.UTC().Format(time.RFC3339),
	}))}, nil
}

// getMetadata tells one fact.
func getMetadata(c *call) (RawAnswer, error) {
	m, err := c.machine()
	if err != nil {
		return RawAnswer{}, err
	}
	fact, ok := map[string]string{
		"instance-id": m.InstanceID, "instance-type": "m5.large", "placement/availability-zone": m.Zone,
		"placement/availability-zone-id": zoneID(m.Zone), "placement/region": c.w.cfg.Region,
	}[c.params.value("path")]
	if !ok {
		return RawAnswer{}, failure(http.StatusNotFound, "NotFound", "Not Found")
	}
	return RawAnswer{Body: fact}, nil
}

// listRoles tells the role of the instance profile.
func listRoles(c *call) (RawAnswer, error) {
	m, err := c.machine()
	if err != nil {
		return RawAnswer{}, err
	}
	_, name, ok := roleName(m.RoleARN)
	if !ok {
		return RawAnswer{}, failure(http.StatusNotFound, "NotFound", "Not Found")
	}
	return RawAnswer{Body: name}, nil
}

// getRoleCredentials gives out the credentials of the instance profile's role.
func getRoleCredentials(c *call) (RawAnswer, error) {
	m, err := c.machine()
	if err != nil {
		return RawAnswer{}, err
	}
	_, name, ok := roleName(m.RoleARN)
	if !ok || name != c.params.value("path") {
		return RawAnswer{}, failure(http.StatusNotFound, "NotFound", "Not Found")
	}
	now := c.w.now.UTC().Format(time.RFC3339)
	if m.Failure != "" {
		return RawAnswer{Body: string(jsonDocument(map[string]any{
			"Code": m.Failure, "LastUpdated": now, "Message": "EC2 cannot assume the role " + name + ".",
		}))}, nil
	}
	s := c.w.newSession(m.RoleARN, m.InstanceID, cmp.Or(m.Lifetime, machineLifetime))
	return RawAnswer{Body: string(jsonDocument(map[string]any{
		"Code": "Success", "LastUpdated": now, "Type": "AWS-HMAC", "AccessKeyId": s.accessKey, "SecretAccessKey": s.secret, "Token": s.token,
		"Expiration": s.expires.UTC().Format(time.RFC3339),
	}))}, nil
}
