package main

import (
	"fmt"
	"net/url"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

// startEtcd runs etcd in this process: it starts in 0.1 s and has to outlive the API
// server anyway. It listens on a Unix socket in a directory that only we may enter, so
// it needs no port and no TLS.
func startEtcd(dir, socket, logFile string) (*embed.Etcd, error) {
	c := embed.NewConfig()
	c.Name = "devcluster"
	c.Dir = dir
	c.ListenClientUrls = []url.URL{{Scheme: "unix", Path: socket}}
	c.ListenPeerUrls = []url.URL{{Scheme: "unix", Path: socket + ".peer"}}
	// Advertised addresses must read host:port, but nobody dials them with one member.
	advertised := []url.URL{{Scheme: "http", Host: "127.0.0.1:1"}}
	c.AdvertiseClientUrls, c.AdvertisePeerUrls = advertised, advertised
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	// A machine's crash may cost the data; a process's crash doesn't.
	c.UnsafeNoFsync = true
	// A lone member elects itself after one election timeout (default: 1 s).
	c.TickMs, c.ElectionMs = 10, 100
	c.WarningUnaryRequestDuration = time.Second // 0 would warn at each request
	c.LogLevel = "warn"
	c.LogOutputs = []string{logFile}
	c.SnapshotCount = 10000
	c.QuotaBackendBytes = 4 << 30
	e, err := embed.StartEtcd(c)
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	select {
	case <-e.Server.ReadyNotify():
		return e, nil
	case err = <-e.Err():
	case <-time.After(30 * time.Second):
		err = fmt.Errorf("not ready after 30 s (see %s)", logFile)
	}
	e.Close()
	return nil, fmt.Errorf("etcd: %w", err)
}
