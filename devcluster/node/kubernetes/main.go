// kubernetes-node is the two programs of Kubernetes that run on a node, as one multi-call binary: it is the kubelet or
// kube-proxy, whichever name it is called by. It is a program of its own, so that only those who use a real node
// spend the time to build it.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	proxyapp "k8s.io/kubernetes/cmd/kube-proxy/app"
	kubeletapp "k8s.io/kubernetes/cmd/kubelet/app"
)

func main() {
	var command *cobra.Command
	switch name := filepath.Base(os.Args[0]); name {
	case "kubelet":
		command = kubeletapp.NewKubeletCommand(context.Background())
	case "kube-proxy":
		command = proxyapp.NewProxyCommand()
	default:
		fmt.Fprintf(os.Stderr, "%s: this program must be called as kubelet or kube-proxy\n", name)
		os.Exit(2)
	}
	os.Exit(cli.Run(command))
}
