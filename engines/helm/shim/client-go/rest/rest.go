// Package rest stands in for client-go's: the engine names its Config, and never fills one.
package rest

// Config would say how to reach an API server.
type Config struct{}
