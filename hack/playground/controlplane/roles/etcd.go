package roles

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/spf13/pflag"
	"go.etcd.io/etcd/server/v3/embed"

	"example.com/cluster-autoscaler/hack/playground/process"
)

// runEtcd serves a one-member etcd on Unix sockets. Its data is thrown away at the end, so it never waits for the disk.
func runEtcd(ctx context.Context, args []string) error {
	flags := pflag.NewFlagSet("etcd", pflag.ContinueOnError)
	folder := flags.String("data-dir", "", "folder for the data")
	client := flags.String("client-url", "", "URL to serve clients on")
	peer := flags.String("peer-url", "", "URL to serve other members on, of which there are none")
	if err := flags.Parse(args); err != nil {
		return err
	}
	clientURL, err := url.Parse(*client)
	if err != nil {
		return fmt.Errorf("reading --client-url: %w", err)
	}
	peerURL, err := url.Parse(*peer)
	if err != nil {
		return fmt.Errorf("reading --peer-url: %w", err)
	}

	config := embed.NewConfig()
	config.Dir = *folder
	config.ListenClientUrls, config.AdvertiseClientUrls = []url.URL{*clientURL}, []url.URL{*clientURL}
	config.ListenPeerUrls, config.AdvertisePeerUrls = []url.URL{*peerURL}, []url.URL{*peerURL}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	config.UnsafeNoFsync = true
	config.LogLevel = "warn"

	server, err := embed.StartEtcd(config)
	if err != nil {
		return fmt.Errorf("starting the server: %w", err)
	}
	defer server.Close()
	select {
	case <-server.Server.ReadyNotify():
	case err := <-server.Err():
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := process.NotifyReady(*client); err != nil {
		return err
	}
	select {
	case err := <-server.Err():
		return err
	case <-server.Server.StopNotify():
		return errors.New("the server stopped")
	case <-ctx.Done():
		return nil
	}
}
