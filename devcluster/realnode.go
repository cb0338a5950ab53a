package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mistletoe.dev/devcluster/internal/home"
	"mistletoe.dev/devcluster/internal/pki"
	"mistletoe.dev/devcluster/internal/procs"
	"mistletoe.dev/devcluster/internal/realnode"
)

const (
	// nodeProcess is the name of the node's first process, among the components.
	nodeProcess = "node"
	// sweepCommand is the hidden command that removes what the kernel doesn't, when the supervisor has ended.
	sweepCommand = "sweep"
	// sweepPatience is how long a node's processes may take to end.
	sweepPatience = 60 * time.Second
)

// realNode is what `up --node real` adds to a cluster.
type realNode struct {
	files   realnode.Files
	dir     realnode.Dir
	network *os.File
	orders  io.WriteCloser // to the node's first process
	life    io.Closer      // its end sets the sweeper to work
	sweeper *exec.Cmd
}

// canRunNode is an error that says what is missing on this machine.
func canRunNode(dir home.Dir) error {
	missing := realnode.MissingRights()
	if len(missing) == 0 {
		files, err := realnode.FindFiles()
		if err != nil {
			return err
		}
		missing = realnode.MissingFeatures(files, string(dir))
	}
	if len(missing) != 0 {
		return fmt.Errorf("a real node can't run here; missing:\n  %s", strings.Join(missing, "\n  "))
	}
	return nil
}

func checkNode(c command, args []string) error {
	var t target
	fs := c.flagSet()
	t.flags(fs)
	if err := c.parse(fs, args); err != nil {
		return err
	}
	_, dir, err := t.resolve()
	if err != nil {
		return err
	}
	if err := canRunNode(dir); err != nil {
		return err
	}
	fmt.Println("a real node can run here")
	return nil
}

// newRealNode makes everything that has to be there before the first process: the caller holds the cluster's lock.
func newRealNode(cluster home.Dir) (*realNode, error) {
	files, err := realnode.FindFiles()
	if err != nil {
		return nil, err
	}
	if err := realnode.LeftCgroups(string(cluster)).Remove(sweepPatience); err != nil {
		return nil, fmt.Errorf("the last run's containers don't end: %w", err)
	}
	n := &realNode{files: files, dir: realnode.Dir(cluster.Node())}
	cgroups := realnode.CgroupsOf(string(cluster), os.Getpid())
	if err := n.dir.Prepare(cgroups); err != nil {
		return nil, fmt.Errorf("can't make the node's directory: %w", err)
	}
	if n.network, err = realnode.NewNetwork(); err != nil {
		return nil, err
	}
	if err := n.startSweeper(cluster); err != nil {
		n.network.Close()
		return nil, err
	}
	if err := cgroups.Create(); err != nil {
		n.close()
		return nil, err
	}
	return n, nil
}

// startSweeper starts a process that outlives us, however we end.
func (n *realNode) startSweeper(cluster home.Dir) error {
	ours, life, err := os.Pipe()
	if err != nil {
		return err
	}
	defer ours.Close()
	sweeper := exec.Command(selfExe, sweepCommand, "--dir="+string(cluster), fmt.Sprintf("--supervisor=%d", os.Getpid()))
	sweeper.Args[0] = "devcluster"
	sweeper.Stdin = ours
	sweeper.Dir = "/"
	sweeper.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := sweeper.Start(); err != nil {
		life.Close()
		return fmt.Errorf("can't start the sweeper: %w", err)
	}
	n.life, n.sweeper = life, sweeper
	return nil
}

// sweepMain waits for the end of the supervisor, and then for the end of its node's processes, whose control groups it
// removes.
func sweepMain(c command, args []string) error {
	var dir string
	var supervisor int
	fs := c.flagSet()
	fs.StringVar(&dir, "dir", "", "directory of the cluster")
	fs.IntVar(&supervisor, "supervisor", 0, "process id of its supervisor")
	if err := c.parse(fs, args); err != nil {
		return err
	}
	io.Copy(io.Discard, os.Stdin)
	return realnode.CgroupsOf(dir, supervisor).Remove(sweepPatience)
}

// close comes after the node's last process has ended.
func (n *realNode) close() {
	if n.orders != nil {
		n.orders.Close()
	}
	n.network.Close()
	n.life.Close()
	n.sweeper.Wait()
}

// accounts are those of the node's programs; the user names are Kubernetes' own, so RBAC knows them.
func (n *realNode) accounts() []account {
	return []account{
		{"system:node:" + realnode.Name, "system:nodes", n.dir.Config("kubelet.kubeconfig")},
		{"system:kube-proxy", "", n.dir.Config("kube-proxy.kubeconfig")},
		{userDNS, "system:masters", n.dir.Config("coredns.kubeconfig")},
	}
}

// writeCertificates makes what the API server and the kubelet know each other by.
func (n *realNode) writeCertificates(cluster home.Dir, now time.Time) error {
	ca, err := pki.LoadOrCreate(cluster.CACert(), cluster.CAKey(), "devcluster-ca", now)
	if err != nil {
		return err
	}
	if err := os.WriteFile(n.dir.Config("ca.crt"), ca.CertPEM, 0o600); err != nil {
		return err
	}
	return ca.IssueServer(n.dir.Config("kubelet.crt"), n.dir.Config("kubelet.key"), realnode.Name, []string{realnode.Name},
		[]net.IP{net.ParseIP(realnode.IP).To4()}, now)
}

// spawnNode starts the node as far as it needs no API server.
func (s *supervisor) spawnNode() error {
	cmd := exec.Command(selfExe, realnode.Arguments(s.real.files, s.real.dir, s.dir.Logs())...)
	cmd.Args[0] = nodeProcess
	theirs, orders, err := os.Pipe()
	if err != nil {
		return err
	}
	defer theirs.Close()
	cmd.Stdin, s.real.orders = theirs, orders
	return s.startChild(nodeProcess, cmd, procs.Namespaces{Network: s.real.network, New: realnode.NewNamespaces})
}

// startNode starts the rest, and all that the API server doesn't do for it with a node so near.
func (s *supervisor) startNode(ctx, controllersCtx context.Context, b *bootstrap) error {
	if err := s.await(ctx, "services of the node", func(ctx context.Context) error { return b.announceServers(ctx, s.state.Port) }); err != nil {
		return err
	}
	if _, err := io.WriteString(s.real.orders, realnode.Go); err != nil {
		return fmt.Errorf("the node does not listen: %w", err)
	}
	s.control(controllersCtx, "cache of the node's files", func(ctx context.Context) error { return s.real.files.KeepInUse(ctx, 24*time.Hour) })
	s.control(controllersCtx, "volumes", func(ctx context.Context) error { return b.runVolumes(ctx, s.real.dir.Volumes()) })
	return nil
}

// announceServers says where Services find the API server and the name server: both are at the node's address.
func (b *bootstrap) announceServers(ctx context.Context, apiserverPort int) error {
	dns := []corev1.ServicePort{{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP}, {Name: "dns-tcp", Port: 53, Protocol: corev1.ProtocolTCP}}
	_, err := b.client.CoreV1().Services(metav1.NamespaceSystem).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "kube-dns"},
		Spec:       corev1.ServiceSpec{ClusterIP: realnode.DNS, Ports: dns},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	https := []corev1.ServicePort{{Name: "https", Port: int32(apiserverPort), Protocol: corev1.ProtocolTCP}}
	return errors.Join(b.announce(ctx, metav1.NamespaceSystem, "kube-dns", dns), b.announce(ctx, metav1.NamespaceDefault, "kubernetes", https))
}

// announce makes the EndpointSlice of a Service.
func (b *bootstrap) announce(ctx context.Context, namespace, service string, ports []corev1.ServicePort) error {
	ready := true
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: service, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{realnode.IP}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}}},
	}
	for _, p := range ports {
		slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: &p.Name, Port: &p.Port, Protocol: &p.Protocol})
	}
	_, err := b.client.DiscoveryV1().EndpointSlices(namespace).Create(ctx, slice, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}
