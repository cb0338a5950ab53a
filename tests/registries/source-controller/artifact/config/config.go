// Package config holds the settings of artifact storage that source-controller reads from its command line.
package config

import (
	"net"

	"github.com/spf13/pflag"
)

// Options is filled by flags. Storage and server share it, because they share the listener.
type Options struct {
	StoragePath        string
	StorageAddress     string
	ArtifactDigestAlgo string

	listener net.Listener
}

// BindFlags declares the flags. There is none for the advertised address: both controllers run on one machine, so it is the
// address of the listener.
func (o *Options) BindFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.StoragePath, "storage-path", "", "The directory that holds the artifacts; it must exist.")
	flags.StringVar(&o.StorageAddress, "storage-addr", "127.0.0.1:0", "Where they are served; port 0 takes a free one.")
	flags.StringVar(&o.ArtifactDigestAlgo, "artifact-digest-algo", "sha256", "The digest of artifacts.")
}

// Listener opens the address at the first call, which storage makes to learn the port; the server's call comes later.
func (o *Options) Listener() (net.Listener, error) {
	if o.listener != nil {
		return o.listener, nil
	}
	listener, err := net.Listen("tcp", o.StorageAddress)
	o.listener = listener
	return listener, err
}
