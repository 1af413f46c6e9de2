package controlplane

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// validity is how long a control plane's certificates are good: longer than anybody leaves one running.
const validity = 30 * 24 * time.Hour

// authority issues the certificates of one control plane. Its key exists in memory only and dies with the process.
type authority struct {
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
	pem         []byte
	now         time.Time
	serial      int64
}

func newAuthority(now time.Time) (*authority, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	a := &authority{key: key, now: now}
	template := a.template(pkix.Name{CommonName: "playground"})
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("signing the certificate authority: %w", err)
	}
	if a.certificate, err = x509.ParseCertificate(der); err != nil {
		return nil, fmt.Errorf("reading the certificate authority back: %w", err)
	}
	a.pem = certificatePEM(der)
	return a, nil
}

func (a *authority) template(subject pkix.Name) *x509.Certificate {
	a.serial++
	return &x509.Certificate{
		SerialNumber: big.NewInt(a.serial),
		Subject:      subject,
		NotBefore:    a.now.Add(-time.Hour), // clocks of virtual machines jump
		NotAfter:     a.now.Add(validity),
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}
}

// pair is a certificate and its key, both PEM.
type pair struct{ certificate, key []byte }

// server issues the certificate of the API server: for loopback, and for the name that pods use.
func (a *authority) server() (pair, error) {
	template := a.template(pkix.Name{CommonName: "kube-apiserver"})
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	template.DNSNames = []string{"localhost", "kubernetes.default.svc"}
	return a.issue(template)
}

// client issues the certificate of a user of the API server.
func (a *authority) client(user string, groups ...string) (pair, error) {
	template := a.template(pkix.Name{CommonName: user, Organization: groups})
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.issue(template)
}

func (a *authority) issue(template *x509.Certificate) (pair, error) {
	key, err := newKey()
	if err != nil {
		return pair{}, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return pair{}, fmt.Errorf("signing the certificate of %s: %w", template.Subject.CommonName, err)
	}
	text, err := keyPEM(key)
	if err != nil {
		return pair{}, err
	}
	return pair{certificate: certificatePEM(der), key: text}, nil
}

// kubeconfig is the text of a kubeconfig file for a user with a certificate of this authority.
func (a *authority) kubeconfig(server, user string, groups ...string) ([]byte, error) {
	credentials, err := a.client(user, groups...)
	if err != nil {
		return nil, err
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["playground"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: a.pem}
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{ClientCertificateData: credentials.certificate, ClientKeyData: credentials.key}
	config.Contexts["playground"] = &clientcmdapi.Context{Cluster: "playground", AuthInfo: user}
	config.CurrentContext = "playground"
	text, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("writing the kubeconfig of %s: %w", user, err)
	}
	return text, nil
}

func newKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making a key: %w", err)
	}
	return key, nil
}

func certificatePEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func keyPEM(key crypto.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encoding a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

func publicKeyPEM(key crypto.PublicKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return nil, fmt.Errorf("encoding a public key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), nil
}

// Files in the folder of a control plane.
const (
	authorityFile         = "ca.crt"
	servingCertFile       = "kube-apiserver.crt"
	servingKeyFile        = "kube-apiserver.key"
	serviceAccountKeyFile = "service-account.key"
	serviceAccountPubFile = "service-account.pub"
	auditPolicyFile       = "audit-policy.yaml"
)

// identity is a user that gets a kubeconfig file <name>.kubeconfig.
type identity struct {
	name   string
	user   string
	groups []string
}

// Users of the API server in its audit log.
const (
	CloudUser    = "playground:cloud"    // makes and removes Node objects
	KubeletsUser = "playground:kubelets" // runs and ends pods
)

// identities have names that an audit log tells apart. The controllers share one instead of a service account each.
func identities() []identity {
	return []identity{
		{name: "admin", user: "playground:admin", groups: []string{"system:masters"}},
		{name: "cloud", user: CloudUser, groups: []string{"system:masters"}},
		{name: SchedulerRole, user: "system:kube-scheduler"},
		{name: ControllersRole, user: "playground:controllers", groups: []string{"system:masters"}},
		{name: KubeletsRole, user: KubeletsUser, groups: []string{"system:masters"}},
	}
}

// writeCredentials puts all certificates, keys and kubeconfig files of a control plane into its folder.
func writeCredentials(folder, server string, now time.Time) error {
	ca, err := newAuthority(now)
	if err != nil {
		return err
	}
	serving, err := ca.server()
	if err != nil {
		return err
	}
	tokens, err := newKey()
	if err != nil {
		return err
	}
	tokenKey, err := keyPEM(tokens)
	if err != nil {
		return err
	}
	tokenPublic, err := publicKeyPEM(tokens.Public())
	if err != nil {
		return err
	}
	files := map[string][]byte{
		authorityFile: ca.pem, servingCertFile: serving.certificate, servingKeyFile: serving.key,
		serviceAccountKeyFile: tokenKey, serviceAccountPubFile: tokenPublic, auditPolicyFile: []byte(auditPolicy),
	}
	for _, who := range identities() {
		if files[kubeconfigName(who.name)], err = ca.kubeconfig(server, who.user, who.groups...); err != nil {
			return err
		}
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			return fmt.Errorf("writing credentials: %w", err)
		}
	}
	return nil
}

func kubeconfigName(identity string) string { return identity + ".kubeconfig" }
