package autoscaler

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// tokenSeconds is how long a token lasts: a day, as nothing renews it.
const tokenSeconds = 24 * 60 * 60

// Server says where an API server is and how to know it.
type Server struct {
	URL       string
	Authority string // file with the certificate that signed the server's
}

// WriteKubeconfig writes a kubeconfig file for a ServiceAccount into a folder and returns its path. The token in it is an
// ordinary one from the TokenRequest API, so its bearer has the rights that RBAC gives to the account, and no more. The
// account must exist. client needs the right to make tokens.
func WriteKubeconfig(ctx context.Context, client kubernetes.Interface, server Server, account types.NamespacedName, folder string) (string, error) {
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(tokenSeconds))}}
	token, err := client.CoreV1().ServiceAccounts(account.Namespace).CreateToken(ctx, account.Name, request, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("asking for a token of ServiceAccount %s: %w", account, err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["playground"] = &clientcmdapi.Cluster{Server: server.URL, CertificateAuthority: server.Authority}
	config.AuthInfos[account.Name] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	config.Contexts["playground"] = &clientcmdapi.Context{Cluster: "playground", AuthInfo: account.Name, Namespace: account.Namespace}
	config.CurrentContext = "playground"
	path := filepath.Join(folder, account.Namespace+"-"+account.Name+".kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return "", fmt.Errorf("writing the kubeconfig of ServiceAccount %s: %w", account, err)
	}
	return path, os.Chmod(path, 0o600)
}
