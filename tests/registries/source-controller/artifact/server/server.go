// Package server hands out artifacts over HTTP; kustomize-controller fetches them here.
package server

import (
	"context"
	"net/http"

	"github.com/fluxcd/pkg/artifact/config"
)

// Start serves until the context ends.
func Start(ctx context.Context, options *config.Options) error {
	listener, err := options.Listener()
	if err != nil {
		return err
	}
	server := &http.Server{Handler: http.FileServer(http.Dir(options.StoragePath))}
	context.AfterFunc(ctx, func() { server.Close() })
	if err := server.Serve(listener); ctx.Err() == nil {
		return err
	}
	return nil
}
