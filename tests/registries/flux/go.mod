module mistletoe.example/tests/registries/flux

go 1.26.8

require github.com/fluxcd/pkg/oci v0.60.1

require (
	github.com/Masterminds/semver/v3 v3.4.0 // indirect
	github.com/containerd/stargz-snapshotter/estargz v0.18.1 // indirect
	github.com/cyphar/filepath-securejoin v0.6.1 // indirect
	github.com/docker/cli v29.2.0+incompatible // indirect
	github.com/docker/distribution v2.8.3+incompatible // indirect
	github.com/docker/docker-credential-helpers v0.9.3 // indirect
	github.com/fluxcd/pkg/sourceignore v0.17.0 // indirect
	github.com/fluxcd/pkg/tar v0.17.0 // indirect
	github.com/fluxcd/pkg/version v0.12.0 // indirect
	github.com/google/go-containerregistry v0.20.7 // indirect
	github.com/klauspost/compress v1.18.1 // indirect
	github.com/mitchellh/go-homedir v1.1.0 // indirect
	github.com/opencontainers/go-digest v1.0.0 // indirect
	github.com/opencontainers/image-spec v1.1.1 // indirect
	github.com/sirupsen/logrus v1.9.4 // indirect
	github.com/vbatts/tar-split v0.12.2 // indirect
	golang.org/x/sync v0.19.0 // indirect
	golang.org/x/sys v0.40.0 // indirect
)
