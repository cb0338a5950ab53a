package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"

	"mistletoe.dev/devcluster/internal/home"
	"mistletoe.dev/devcluster/internal/kubelet"
	"mistletoe.dev/devcluster/internal/procs"
	"mistletoe.dev/devcluster/internal/realnode"
	"mistletoe.dev/devcluster/internal/stages"
)

// superviseCommand is the hidden command that `up` runs in the background.
const superviseCommand = "supervise"

// reportFD is where it inherits the pipe to `up`.
const reportFD = 3

// stopGrace is how long components may take to end by themselves. The API server always
// wants more, for clients that we don't have. Every write is in etcd before it is
// answered, so that killing it loses nothing.
const stopGrace = 300 * time.Millisecond

func superviseMain(c command, args []string) error {
	var o options
	fs := c.flagSet()
	o.flags(fs)
	if err := c.parse(fs, args); err != nil {
		return err
	}
	unix.CloseOnExec(reportFD)
	return supervise(o, reporter{os.NewFile(reportFD, "report")}, true)
}

// supervisor owns one running cluster. Its methods are called by one goroutine.
type supervisor struct {
	options
	cluster           home.Name
	dir               home.Dir
	report            reporter
	began             time.Time
	state             home.State
	log               *os.File
	children          []*procs.Child
	ended             chan *procs.Child
	controllersFailed chan error // those that run in this process
	real              *realNode  // nil without one
}

// supervise runs a cluster until a signal, the time limit, the end of its parent or a
// component's death. In the background it logs to the cluster's directory.
func supervise(o options, report reporter, background bool) (err error) {
	s := &supervisor{options: o, report: report, began: time.Now(), ended: make(chan *procs.Child, 8), controllersFailed: make(chan error, 4)}
	// From here on a signal ends us in order.
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	signal.Ignore(syscall.SIGHUP, syscall.SIGPIPE)
	defer func() {
		if err != nil {
			report.send(failed, err.Error())
		}
	}()

	if s.cluster, s.dir, err = o.resolve(); err != nil {
		return err
	}
	unix.Umask(0o077)
	lock, err := s.takeDirectory()
	if errors.Is(err, home.ErrBusy) {
		report.send(busy, "")
		return nil
	}
	if err != nil {
		return err
	}
	defer lock.Unlock()

	previous, _ := s.dir.ReadState() // none or damaged: as if there was none
	keepData := o.keep && previous.Keep
	ticks, _ := procs.StartTicks(os.Getpid())
	s.state = home.State{Phase: home.Starting, Name: o.name, PID: os.Getpid(), StartTicks: ticks,
		Node: o.node, Nodes: o.nodes, Keep: o.keep, Audit: o.audit, Started: s.began.UTC().Truncate(time.Millisecond)}
	if keepData { // whoever comes after a crash must know that there is data to keep
		if err := s.dir.WriteState(s.state); err != nil {
			return err
		}
	}
	if err := s.dir.Clean(keepData); err != nil {
		return fmt.Errorf("can't clean %s: %w", s.dir, err)
	}
	if err := s.openLog(background); err != nil {
		return err
	}
	defer s.log.Close()

	why, err := s.run(ctx, previous.Port)
	return s.finish(why, err)
}

// takeDirectory makes the directory and takes its lock.
func (s *supervisor) takeDirectory() (*home.Lock, error) {
	for attempt := 0; ; attempt++ {
		if err := s.dir.Create(); err != nil {
			return nil, err
		}
		lock, err := s.dir.TryLock()
		// `down` may have removed the directory in between.
		if errors.Is(err, os.ErrNotExist) && attempt < 100 {
			continue
		}
		return lock, err
	}
}

// run starts everything and waits for the end; why is the reason of an end as asked.
func (s *supervisor) run(ctx context.Context, preferredPort int) (why string, err error) {
	parentEnded, err := s.watchParent()
	if err != nil {
		return "", err
	}
	var ttl <-chan time.Time
	if s.ttl > 0 {
		ttl = time.After(s.ttl)
	}

	// A component's end, a signal or the time limit break off the start as well.
	startCtx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	controllersCtx, stopControllers := context.WithCancel(context.Background())
	stopEtcd, err := s.start(startCtx, controllersCtx, preferredPort)
	defer func() {
		s.state.Phase = home.Stopping
		s.dir.WriteState(s.state)
		begin := time.Now()
		stopControllers()
		procs.StopAll(s.children, stopGrace)
		stopEtcd()
		if s.real != nil {
			s.real.close()
		}
		s.logf("all stopped in %.1f s", time.Since(begin).Seconds())
	}()
	if err != nil {
		if ctx.Err() != nil {
			s.report.send(failed, "stopped by a signal before it was ready")
			return "a signal", nil
		}
		return "", err
	}
	s.state.Phase = home.Ready
	if err := s.dir.WriteState(s.state); err != nil {
		return "", err
	}
	s.progressf("ready")
	s.report.send(ready, s.dir.Kubeconfig())

	select {
	case <-ctx.Done():
		return "a signal", nil
	case <-ttl:
		return fmt.Sprintf("its time of %s is over", s.ttl), nil
	case <-parentEnded:
		return fmt.Sprintf("process %d ended", s.parentPID), nil
	case c := <-s.ended:
		return "", s.componentEnded(c)
	case err := <-s.controllersFailed:
		return "", err
	}
}

// control runs one of our own controllers in the background.
func (s *supervisor) control(ctx context.Context, name string, run func(context.Context) error) {
	go func() {
		if err := run(ctx); err != nil {
			s.controllersFailed <- fmt.Errorf("%s: %w", name, err)
		}
	}()
}

func (s *supervisor) componentEnded(c *procs.Child) error {
	if c.Name == nodeProcess { // its last word names the program that ended
		return fmt.Errorf("%s ended: %s (see %s)", c.Name, strings.TrimSpace(lastLines(s.dir.Log(c.Name), 1)), s.dir.Log(c.Name))
	}
	return fmt.Errorf("%s ended: %s (see %s)", c.Name, c.How(), s.dir.Log(c.Name))
}

func (s *supervisor) watchParent() (<-chan struct{}, error) {
	if s.parentPID == 0 {
		return nil, nil
	}
	return procs.Watch(s.parentPID)
}

// start brings up all components. stopEtcd is never nil.
func (s *supervisor) start(ctx, controllersCtx context.Context, preferredPort int) (stopEtcd func(), err error) {
	stopEtcd = func() {}
	ln, err := listen(preferredPort)
	if err != nil {
		return stopEtcd, err
	}
	defer ln.Close() // the API server has its own copy
	s.state.Port = ln.Addr().(*net.TCPAddr).Port
	s.state.URL = fmt.Sprintf("https://127.0.0.1:%d", s.state.Port)
	if err := s.dir.WriteState(s.state); err != nil {
		return stopEtcd, err
	}
	sockets := []*net.TCPListener{ln}
	if s.node == nodeReal {
		if s.real, err = newRealNode(s.dir); err != nil {
			return stopEtcd, err
		}
		inner, err := realnode.Listen(s.real.network, fmt.Sprintf("0.0.0.0:%d", s.state.Port))
		if err != nil {
			return stopEtcd, err
		}
		defer inner.Close()
		sockets = append(sockets, inner)
	}
	if err := s.writeFiles(); err != nil {
		return stopEtcd, err
	}
	if s.real != nil { // containerd starts meanwhile
		if err := s.spawnNode(); err != nil {
			return stopEtcd, err
		}
	}

	if err := s.dir.PrepareSocket(); err != nil {
		return stopEtcd, fmt.Errorf("no place for etcd's socket: %w", err)
	}
	etcd, err := startEtcd(s.dir.Etcd(), s.dir.EtcdSocket(), s.dir.Log("etcd"))
	if err != nil {
		return stopEtcd, err
	}
	stopEtcd = etcd.Close
	s.progressf("etcd is ready")

	if err := s.spawn("kube-apiserver", apiserverArgs(s.dir, s.dir.EtcdSocket(), s.audit), sockets...); err != nil {
		return stopEtcd, err
	}
	b, err := newBootstrap(s.dir.Internal("supervisor.kubeconfig"))
	if err != nil {
		return stopEtcd, err
	}
	if err := s.await(ctx, "kube-apiserver", b.apiserverReady); err != nil {
		return stopEtcd, err
	}
	s.progressf("kube-apiserver is ready at %s", s.state.URL)

	logs, err := s.serveLogs(b)
	if err != nil {
		return stopEtcd, fmt.Errorf("kubelet: %w", err)
	}
	s.control(controllersCtx, "kubelet", logs.Run)
	if err := b.populate(ctx, s.nodes, logs.Port); err != nil {
		return stopEtcd, err
	}
	nodes := s.nodes
	if s.real != nil {
		nodes++
		if err := s.startNode(ctx, controllersCtx, b); err != nil {
			return stopEtcd, err
		}
	}
	for _, c := range []struct {
		name string
		args []string
	}{
		{"kube-controller-manager", controllerManagerArgs(s.dir)},
		{"kube-scheduler", schedulerArgs(s.dir)},
		{"kwok", kwokArgs(s.dir, s.real != nil)},
	} {
		if err := s.spawn(c.name, c.args); err != nil {
			return stopEtcd, err
		}
	}
	s.control(controllersCtx, "namespace controller", b.runNamespaceController)
	s.control(controllersCtx, "garbage collector", b.runGarbageCollector)
	return stopEtcd, s.await(ctx, "nodes, default service account and its CA", func(ctx context.Context) error { return b.clusterReady(ctx, nodes) })
}

// serveLogs is the kubelet of all fake nodes, where the API server runs.
func (s *supervisor) serveLogs(b *bootstrap) (*kubelet.Server, error) {
	const address = "127.0.0.1:0"
	var ln net.Listener
	var err error
	if s.real != nil {
		ln, err = realnode.Listen(s.real.network, address)
	} else {
		ln, err = net.Listen("tcp4", address)
	}
	if err != nil {
		return nil, err
	}
	return kubelet.NewServer(ln, b.pod, s.dir.Internal("server.crt"), s.dir.Internal("server.key"), s.dir.CACert())
}

// listen takes the port of the last run if it is free, so that old kubeconfigs work.
func listen(preferredPort int) (*net.TCPListener, error) {
	if preferredPort > 0 && preferredPort < 1<<16 {
		if ln, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", preferredPort)); err == nil {
			return ln.(*net.TCPListener), nil
		}
	}
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("no port on 127.0.0.1: %w", err)
	}
	return ln.(*net.TCPListener), nil
}

func (s *supervisor) writeFiles() error {
	var ofNode []account
	if s.real != nil {
		ofNode = s.real.accounts()
	}
	err := writeCredentials(s.cluster, s.dir, s.state.URL, ofNode, s.began)
	if err == nil && s.real != nil {
		err = s.real.writeCertificates(s.dir, s.began)
	}
	if err != nil {
		return fmt.Errorf("can't write certificates and kubeconfigs: %w", err)
	}
	if err := os.WriteFile(s.dir.Internal("kwok.yaml"), []byte(stages.Config(s.real == nil)), 0o600); err != nil {
		return err
	}
	return os.WriteFile(s.dir.Internal("audit-policy.yaml"), []byte(auditPolicy(s.audit)), 0o600)
}

// spawn starts a component, this binary under its name, in the network of the real node if there is one.
func (s *supervisor) spawn(name string, args []string, sockets ...*net.TCPListener) error {
	if name != "kwok" { // it has no such flag
		args = append(args, fmt.Sprintf("--v=%d", s.verbosity))
	}
	cmd := exec.Command(selfExe, args...)
	cmd.Args[0] = name
	// Neither the user's kubeconfig nor kwok's own configuration may have a say.
	cmd.Env = append(os.Environ(), "KUBECONFIG=", "KWOK_WORKDIR="+s.dir.Internal("kwok"), fmt.Sprintf("%s=%d", listenersVariable, len(sockets)))
	for _, socket := range sockets {
		f, err := socket.File()
		if err != nil {
			return err
		}
		defer f.Close()
		cmd.ExtraFiles = append(cmd.ExtraFiles, f) // from listenFD on
	}
	var in procs.Namespaces
	if s.real != nil {
		in.Network = s.real.network
	}
	return s.startChild(name, cmd, in)
}

// startChild starts a process that the cluster can't do without.
func (s *supervisor) startChild(name string, cmd *exec.Cmd, in procs.Namespaces) error {
	log, err := os.OpenFile(s.dir.Log(name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = string(s.dir)
	child, err := procs.StartIn(name, cmd, in)
	if err != nil {
		return err
	}
	s.children = append(s.children, child)
	s.state.Children = append(s.state.Children, home.Child{Name: name, PID: child.PID})
	go func() {
		<-child.Done()
		s.ended <- child
	}()
	return s.dir.WriteState(s.state)
}

// await asks until the condition holds.
func (s *supervisor) await(ctx context.Context, what string, condition func(context.Context) error) error {
	for {
		err := condition(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: not ready after %.0f s: %w", what, time.Since(s.began).Seconds(), err)
		case c := <-s.ended:
			return s.componentEnded(c)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// finish leaves the directory as the next start should find it. It stays after a
// failure, for its logs, and with --keep.
func (s *supervisor) finish(why string, err error) error {
	s.state.Children = nil
	if err == nil && !s.keep {
		s.logf("stopped: %s", why)
		return s.dir.Remove()
	}
	s.state.Phase, s.state.Reason = home.Stopped, why
	if err != nil {
		s.state.Phase, s.state.Reason = home.Failed, err.Error()
	}
	s.logf("%s: %s", s.state.Phase, s.state.Reason)
	s.dir.PrepareSocket() // removes them
	if werr := s.dir.WriteState(s.state); err == nil {
		err = werr
	}
	return err
}

func (s *supervisor) progressf(format string, a ...any) {
	text := fmt.Sprintf("%5.2f s  %s", time.Since(s.began).Seconds(), fmt.Sprintf(format, a...))
	s.report.send(progress, text)
	s.logf("%s", text)
}

func (s *supervisor) logf(format string, a ...any) {
	fmt.Fprintf(s.log, "%s %s\n", time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), fmt.Sprintf(format, a...))
}

// openLog opens our log, for Kubernetes' code in this process too. In the background
// also what goes to standard error ends there, such as the trace of a panic.
func (s *supervisor) openLog(background bool) (err error) {
	s.log, err = os.OpenFile(s.dir.Log("supervisor"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	klog.LogToStderr(false)
	klog.SetOutput(s.log)
	if !background {
		return nil
	}
	for _, fd := range []int{1, 2} {
		if err := unix.Dup2(int(s.log.Fd()), fd); err != nil {
			return fmt.Errorf("can't write to %s: %w", s.log.Name(), err)
		}
	}
	return nil
}
