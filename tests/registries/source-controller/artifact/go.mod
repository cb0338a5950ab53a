// The part of this module that source-controller calls, written for our tests: the Go proxy doesn't have the original.
module github.com/fluxcd/pkg/artifact

go 1.26.0

require (
	github.com/fluxcd/pkg/apis/meta v1.30.2
	github.com/fluxcd/pkg/sourceignore v0.18.0
	github.com/opencontainers/go-digest v1.0.0
	github.com/spf13/pflag v1.0.10
	k8s.io/apimachinery v0.36.4
)
