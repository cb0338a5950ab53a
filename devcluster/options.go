package main

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"mistletoe.dev/devcluster/internal/home"
	"mistletoe.dev/devcluster/internal/procs"
)

// options are what `up` was asked for, checked.
type options struct {
	target
	node      string
	nodes     int
	audit     string
	keep      bool
	ttl       time.Duration
	parentPID int
	timeout   time.Duration
	verbosity int
}

// Kinds of nodes.
const (
	nodeFake = "fake"
	nodeReal = "real"
)

const defaultNodes = 3

func (o *options) flags(fs *pflag.FlagSet) {
	o.target.flags(fs)
	fs.StringVar(&o.node, "node", nodeFake, "fake: simulated nodes only; real: also one that runs containers (needs root)")
	fs.IntVar(&o.nodes, "nodes", defaultNodes, "number of fake nodes; with --node real, none unless given")
	fs.StringVar(&o.audit, "audit", auditClients, "whose requests the audit log holds: clients (all but the cluster's own components), all, off")
	fs.BoolVar(&o.keep, "keep", false, "go on with the data of an earlier run with --keep, and keep it at the end")
	fs.DurationVar(&o.ttl, "ttl", 0, "stop the cluster after this time (0: never)")
	fs.IntVar(&o.parentPID, "parent-pid", 0, "stop the cluster when this process ends (0: don't)")
	fs.DurationVar(&o.timeout, "timeout", 2*time.Minute, "give up when the cluster is not ready after this time")
	fs.IntVar(&o.verbosity, "component-verbosity", 0, "log verbosity of the Kubernetes components")
}

func (o *options) check() error {
	if o.node != nodeFake && o.node != nodeReal {
		return usagef("--node is fake or real, not %q", o.node)
	}
	if o.node == nodeReal && o.keep {
		return usagef("--keep keeps no containers and no volumes, so it doesn't go with --node real")
	}
	if o.nodes < 0 || o.nodes > 1000 {
		return usagef("--nodes is a number from 0 to 1000, not %d", o.nodes)
	}
	if o.ttl < 0 {
		return usagef("--ttl can't be negative")
	}
	if o.timeout <= 0 {
		return usagef("--timeout must be positive")
	}
	if o.parentPID < 0 {
		return usagef("--parent-pid is the id of a process, not %d", o.parentPID)
	}
	if o.parentPID != 0 {
		if _, err := procs.StartTicks(o.parentPID); err != nil {
			return usagef("--parent-pid: there is no process %d", o.parentPID)
		}
	}
	return checkAudit(o.audit)
}

// arguments are the flags that make the supervisor read the same options.
func (o *options) arguments(dir home.Dir) []string {
	return []string{
		"--name=" + o.name, "--dir=" + string(dir),
		"--node=" + o.node, fmt.Sprintf("--nodes=%d", o.nodes), "--audit=" + o.audit, fmt.Sprintf("--keep=%t", o.keep),
		fmt.Sprintf("--ttl=%s", o.ttl), fmt.Sprintf("--parent-pid=%d", o.parentPID),
		fmt.Sprintf("--timeout=%s", o.timeout), fmt.Sprintf("--component-verbosity=%d", o.verbosity),
	}
}

// selfExe is this very program, even if its file was replaced since.
const selfExe = "/proc/self/exe"
