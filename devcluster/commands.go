package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"mistletoe.dev/devcluster/internal/home"
)

// command is one row of the table that help and dispatch are made from.
type command struct {
	name, args, summary string
	hidden              bool
	run                 func(c command, args []string) error
}

func commands() []command {
	return []command{
		{name: "up", args: "[flags]", summary: "start a cluster, wait until it is ready, print its kubeconfig's path", run: up},
		{name: "down", args: "[flags]", summary: "stop a cluster and remove its state", run: down},
		{name: "list", args: "[flags]", summary: "list clusters and whether they run", run: list},
		{name: "status", args: "[flags]", summary: "say how one cluster is; exit code 1 unless it is ready", run: status},
		{name: "kubeconfig", args: "[flags]", summary: "print the path of a running cluster's kubeconfig", run: printKubeconfig},
		{name: "audit", args: "[flags]", summary: "print the path of a cluster's audit log", run: printAudit},
		{name: "logs", args: "[flags]", summary: "print the directory of a cluster's logs", run: printLogs},
		{name: "load", args: "[--name N | --dir DIR] ARCHIVE...", summary: "put images (OCI layouts as tar) into a cluster's real node", run: load},
		{name: "check", args: "[flags]", summary: "say what this machine lacks for up --node real; exit code 1 if anything", run: checkNode},
		{name: "kubectl", args: "[--name N | --dir DIR] ARG...", summary: "run kubectl against a cluster", run: kubectl},
		{name: superviseCommand, hidden: true, run: superviseMain},
		{name: sweepCommand, hidden: true, run: sweepMain},
	}
}

func dispatch(args []string) error {
	if len(args) == 0 {
		printUsage(os.Stderr)
		return usagef("a command is needed")
	}
	switch args[0] {
	case "help", "--help", "-h":
		printUsage(os.Stdout)
		return nil
	}
	for _, c := range commands() {
		if c.name == args[0] || c.name == "list" && args[0] == "ls" {
			return c.run(c, args[1:])
		}
	}
	return usagef("there is no command %q; see devcluster --help", args[0])
}

func printUsage(w io.Writer) {
	fmt.Fprint(w, "devcluster runs Kubernetes control planes on this machine, for development and tests.\n\nUsage: devcluster COMMAND [flags]\n\nCommands:\n")
	for _, c := range commands() {
		if !c.hidden {
			fmt.Fprintf(w, "  %-11s %s\n", c.name, c.summary)
		}
	}
	fmt.Fprint(w, "\nSee devcluster COMMAND --help for a command's flags. The cluster's name is \"default\" unless --name says otherwise.\nState lies under $MIST_DEVCLUSTER_HOME (else $XDG_STATE_HOME/mistletoe/devcluster, ~/.local/state/mistletoe/devcluster).\n")
}

// flagSet makes a command's flags; --help prints to standard output and ends well.
func (c command) flagSet() *pflag.FlagSet {
	fs := pflag.NewFlagSet(c.name, pflag.ContinueOnError)
	fs.SortFlags = false
	fs.Usage = func() {
		fmt.Printf("devcluster %s: %s.\n\nUsage: devcluster %s %s\n\nFlags:\n%s", c.name, c.summary, c.name, c.args, fs.FlagUsages())
	}
	return fs
}

// parse reads flags; a command of ours takes no other arguments.
func (c command) parse(fs *pflag.FlagSet, args []string) error {
	if err := fs.Parse(args); err != nil {
		if err == pflag.ErrHelp {
			return err
		}
		return usagef("%s: %v; see devcluster %s --help", c.name, err, c.name)
	}
	if fs.NArg() != 0 {
		return usagef("%s: unexpected argument %q; see devcluster %s --help", c.name, fs.Arg(0), c.name)
	}
	return nil
}

// target is which cluster a command means.
type target struct{ name, dir string }

func (t *target) flags(fs *pflag.FlagSet) {
	fs.StringVar(&t.name, "name", home.DefaultName, "name of the cluster")
	fs.StringVar(&t.dir, "dir", "", "directory of the cluster (default: named like the cluster, in the state directory)")
}

func (t target) resolve() (home.Name, home.Dir, error) {
	name, err := home.ParseName(t.name)
	if err != nil {
		return "", "", usageError{err.Error()}
	}
	if t.dir != "" {
		d, err := filepath.Abs(t.dir)
		return name, home.Dir(d), err
	}
	root, err := home.Root(os.Getenv)
	if err != nil {
		return "", "", err
	}
	return name, home.Dir(filepath.Join(root, string(name))), nil
}

// downHint is the command that a message advises, for this target.
func (t target) hint(command string) string {
	switch {
	case t.dir != "":
		return fmt.Sprintf("devcluster %s --dir %s", command, quote(t.dir))
	case t.name != home.DefaultName:
		return fmt.Sprintf("devcluster %s --name %s", command, t.name)
	}
	return "devcluster " + command
}

// quote makes a word safe to paste into a shell.
func quote(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:@%+,") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
