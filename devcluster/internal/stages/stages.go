// Package stages holds what the fake nodes do: kwok's stages for Pods, volumes and
// load balancers. kwok has none built in; those for nodes are its own, the others began
// as its "fast" ones (Apache-2.0).
//
// A Pod follows its spec: it becomes Ready, and, if its restartPolicy is Never or
// OnFailure, completes. Two annotations make it do something else, for tests:
// mistletoe.dev/dev-state and mistletoe.dev/dev-delay (see README.md of devcluster).
package stages

import (
	"embed"
	"slices"
	"sort"
	"strings"

	nodefast "sigs.k8s.io/kwok/kustomize/stage/node/fast"
	nodelease "sigs.k8s.io/kwok/kustomize/stage/node/heartbeat-with-lease"
)

//go:embed *.yaml
var files embed.FS

// Provisioner is the name that our storage classes carry and pvc-provision.yaml serves.
const Provisioner = "devcluster.mistletoe.dev/volume"

// volumeStages provision and delete volumes that nothing is stored on.
var volumeStages = []string{"pvc-provision.yaml", "pv-delete.yaml"}

// Config is kwok's configuration: all stages as one YAML stream. Beside a real node, somebody else makes volumes.
func Config(volumes bool) string {
	docs := []string{nodefast.DefaultNodeInit, nodelease.DefaultNodeHeartbeatWithLease}
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // an embedded directory
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].Name() < entries[j].Name() })
	for _, e := range entries {
		if !volumes && slices.Contains(volumeStages, e.Name()) {
			continue
		}
		b, err := files.ReadFile(e.Name())
		if err != nil {
			panic(err)
		}
		docs = append(docs, string(b))
	}
	return strings.Join(docs, "\n---\n")
}
