// devcluster runs whole Kubernetes control planes on this machine, for development and
// tests: etcd, kube-apiserver, kube-controller-manager, kube-scheduler, and kwok, which
// plays the nodes. See README.md.
//
// It is one multi-call binary. Each component but etcd is a process of its own, made by
// executing this binary again under the component's name; etcd lives in the supervisor.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
)

func main() {
	if run, ok := components[filepath.Base(os.Args[0])]; ok {
		exit(filepath.Base(os.Args[0]), run())
	}
	exit("devcluster", dispatch(os.Args[1:]))
}

// usageError is a mistake in the command line: exit code 2.
type usageError struct{ text string }

func (e usageError) Error() string { return e.text }

func usagef(format string, a ...any) error { return usageError{fmt.Sprintf(format, a...)} }

// errInterrupted is what a start ends with that the user broke off: exit code 130.
var errInterrupted = errors.New("interrupted")

func exit(program string, err error) {
	var usage usageError
	switch {
	case err == nil || errors.Is(err, pflag.ErrHelp):
		os.Exit(0)
	case errors.Is(err, errInterrupted):
		fmt.Fprintf(os.Stderr, "%s: %v\n", program, err)
		os.Exit(130)
	case errors.As(err, &usage):
		fmt.Fprintf(os.Stderr, "%s: %v\n", program, err)
		os.Exit(2)
	default:
		fmt.Fprintf(os.Stderr, "%s: %v\n", program, err)
		os.Exit(1)
	}
}
