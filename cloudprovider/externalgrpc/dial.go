package externalgrpc

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

const (
	// maxAnswer is how large an answer may be, in bytes.
	maxAnswer = 128 << 20
	// maxRedial is the longest pause between attempts to reach a server that is away.
	maxRedial = 15 * time.Second
	// pingEvery is just above what servers put up with unless they are told otherwise.
	pingEvery = 6 * time.Minute
	pingWait  = 20 * time.Second
)

// dial prepares the connection to the server. Nothing is sent: the connection is made, and made anew, when the server is asked. The files
// are read once here, so that a wrong path shows up at the start.
func dial(c Config, interceptor grpc.UnaryClientInterceptor) (*grpc.ClientConn, error) {
	transport := insecure.NewCredentials()
	if c.CACert != "" {
		encrypted := &certificates{config: c}
		if _, err := encrypted.load(); err != nil {
			return nil, err
		}
		transport = encrypted
	}
	again := backoff.DefaultConfig
	again.MaxDelay = maxRedial
	conn, err := grpc.NewClient(c.Address,
		grpc.WithTransportCredentials(transport),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer)),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: again, MinConnectTimeout: c.Timeout}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingEvery, Timeout: pingWait}),
		grpc.WithDisableServiceConfig(), // how to call is settled here; DNS is not asked about it
		grpc.WithUnaryInterceptor(interceptor),
	)
	if err != nil {
		return nil, fmt.Errorf("--cloud-config: address %q: want HOST:PORT of the server: %w", c.Address, err)
	}
	return conn, nil
}

// certificates are transport credentials that read their files at every handshake, so that renewed certificates are used from then on.
type certificates struct{ config Config }

// load reads the files as they are now.
func (c *certificates) load() (credentials.TransportCredentials, error) {
	bundle, err := os.ReadFile(c.config.CACert)
	if err != nil {
		return nil, fmt.Errorf("--cloud-config: cacert %q: want a readable file: %w", c.config.CACert, err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(bundle) {
		return nil, fmt.Errorf("--cloud-config: cacert %q: there is no PEM certificate in the file", c.config.CACert)
	}
	settings := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, ServerName: c.config.Host}
	if c.config.Cert != "" {
		pair, err := tls.LoadX509KeyPair(c.config.Cert, c.config.Key)
		if err != nil {
			return nil, fmt.Errorf("--cloud-config: cert %q and key %q: want the two PEM files of one certificate: %w", c.config.Cert, c.config.Key, err)
		}
		settings.Certificates = []tls.Certificate{pair}
	}
	return credentials.NewTLS(settings), nil
}

// ClientHandshake is called by gRPC for each connection.
func (c *certificates) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	current, err := c.load()
	if err != nil {
		return nil, nil, err
	}
	return current.ClientHandshake(ctx, authority, raw)
}

// ServerHandshake is not for clients.
func (c *certificates) ServerHandshake(net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("these credentials are those of a client")
}

// Info tells gRPC that the connection is encrypted.
func (c *certificates) Info() credentials.ProtocolInfo {
	return credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12, ServerName: c.config.Host}).Info()
}

// Clone returns credentials of the same files.
func (c *certificates) Clone() credentials.TransportCredentials {
	return &certificates{config: c.config}
}

// OverrideServerName sets the name that the server's certificate must carry.
func (c *certificates) OverrideServerName(name string) error {
	c.config.Host = name
	return nil
}
