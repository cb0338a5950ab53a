package main

import (
	"fmt"
	"net"
	"os"
	"strconv"
	_ "time/tzdata" // time zones of CronJobs, on machines without them

	"github.com/spf13/pflag"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	genericapiserver "k8s.io/apiserver/pkg/server"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/cli"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectlcmd "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiapp "k8s.io/kubernetes/cmd/kube-apiserver/app"
	apiopts "k8s.io/kubernetes/cmd/kube-apiserver/app/options"
	kcmapp "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	schedapp "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kwokconfig "sigs.k8s.io/kwok/pkg/config"
	kwokcmd "sigs.k8s.io/kwok/pkg/kwok/cmd"
	kwoklog "sigs.k8s.io/kwok/pkg/log"
	kwoksignals "sigs.k8s.io/kwok/pkg/utils/signals"

	"mistletoe.dev/devcluster/internal/listeners"
	"mistletoe.dev/devcluster/internal/realnode"
)

// components are the programs that this binary is when it is called by their name.
// They read os.Args themselves.
var components = map[string]func() error{
	"kube-apiserver":          apiserverMain,
	"kube-controller-manager": func() error { os.Exit(cli.Run(kcmapp.NewControllerManagerCommand())); return nil },
	"kube-scheduler":          func() error { os.Exit(cli.Run(schedapp.NewSchedulerCommand())); return nil },
	"kwok":                    kwokMain,
	"kubectl":                 kubectlMain,
	nodeProcess:               realnode.Main,
}

func kubectlMain() error {
	if err := cli.RunNoErrOutput(kubectlcmd.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
	}
	return nil
}

// listenFD is where the API server inherits its listening sockets, one or two: the supervisor
// picks the port by listening, so that nobody can take it in between. The second one, on the
// same port, is in the network of a real node.
const listenFD = 3

// listenersVariable says how many there are.
const listenersVariable = "DEVCLUSTER_LISTENERS"

func inheritedListener() (net.Listener, error) {
	count, err := strconv.Atoi(os.Getenv(listenersVariable))
	if err != nil || count < 1 {
		return nil, fmt.Errorf("%s is no number of listening sockets", listenersVariable)
	}
	var all []net.Listener
	for fd := listenFD; fd < listenFD+count; fd++ {
		ln, err := net.FileListener(os.NewFile(uintptr(fd), "listener"))
		if err != nil {
			return nil, fmt.Errorf("no listening socket on descriptor %d: %w", fd, err)
		}
		all = append(all, ln)
	}
	return listeners.Join(all...), nil
}

// apiserverMain does what the API server's own command does, but for the socket, which
// that command can't be given.
func apiserverMain() error {
	ln, err := inheritedListener()
	if err != nil {
		return err
	}
	ctx := genericapiserver.SetupSignalContext()
	s := apiopts.NewServerRunOptions()
	fs := pflag.NewFlagSet("kube-apiserver", pflag.ContinueOnError)
	for _, f := range s.Flags().FlagSets {
		fs.AddFlagSet(f)
	}
	if err := fs.Parse(os.Args[1:]); err != nil {
		return err
	}
	if err := s.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return err
	}
	rest.SetDefaultWarningHandler(rest.NoWarnings{}) // of its own loopback client
	if err := logsapi.ValidateAndApply(s.Logs, utilfeature.DefaultFeatureGate); err != nil {
		return err
	}
	s.SecureServing.Listener = ln
	s.SecureServing.BindPort = ln.Addr().(*net.TCPAddr).Port
	completed, err := s.Complete(ctx)
	if err != nil {
		return err
	}
	if errs := completed.Validate(); len(errs) != 0 {
		return utilerrors.NewAggregate(errs)
	}
	return apiapp.Run(ctx, completed)
}

func kwokMain() error {
	fs := pflag.NewFlagSet("global", pflag.ContinueOnError)
	fs.ParseErrorsAllowlist.UnknownFlags = true
	fs.Usage = func() {}
	ctx := kwoksignals.SetupSignalContext()
	ctx, _ = kwoklog.InitFlags(ctx, fs)
	ctx, err := kwokconfig.InitFlags(ctx, fs)
	if err != nil {
		return err
	}
	cmd := kwokcmd.NewCommand(ctx)
	// With a version, cobra would look for --version in the process-wide flag set, where
	// Kubernetes registers one that is not a bool, and panic.
	cmd.Version = ""
	cmd.PersistentFlags().AddFlagSet(fs)
	return cmd.ExecuteContext(ctx)
}
