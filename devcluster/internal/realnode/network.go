package realnode

import (
	"fmt"
	"net"
	"os"
	"runtime"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// NewNetwork makes the node's network namespace; it lives as long as the file is open, or a process is in it. It has
// the loopback interface with the node's address, and routes everything there: the address of a Service needs a route
// before kube-proxy's rules rewrite it.
func NewNetwork() (*os.File, error) {
	var namespace *os.File
	err := onThread(func() (err error) {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("can't make a network namespace: %w", err)
		}
		if namespace, err = os.Open("/proc/thread-self/ns/net"); err != nil {
			return err
		}
		if err = configureLoopback(); err != nil {
			namespace.Close()
		}
		return err
	})
	return namespace, err
}

// configureLoopback works in the calling thread's namespace.
func configureLoopback() error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("no loopback interface: %w", err)
	}
	if err := netlink.LinkSetUp(lo); err != nil {
		return fmt.Errorf("can't set lo up: %w", err)
	}
	host := &net.IPNet{IP: net.ParseIP(IP).To4(), Mask: net.CIDRMask(32, 32)}
	if err := netlink.AddrAdd(lo, &netlink.Addr{IPNet: host}); err != nil {
		return fmt.Errorf("can't add %s to lo: %w", IP, err)
	}
	everything := &net.IPNet{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)}
	route := &netlink.Route{LinkIndex: lo.Attrs().Index, Dst: everything, Scope: netlink.SCOPE_LINK}
	if err := netlink.RouteAdd(route); err != nil {
		return fmt.Errorf("can't route to lo: %w", err)
	}
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0); err != nil {
		return fmt.Errorf("can't let packets be forwarded: %w", err)
	}
	return nil
}

// Listen listens in a network namespace; the socket then works from any thread.
func Listen(namespace *os.File, address string) (*net.TCPListener, error) {
	var listener net.Listener
	err := onThread(func() (err error) {
		if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err != nil {
			return err
		}
		listener, err = net.Listen("tcp4", address)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("can't listen on %s in the node's network: %w", address, err)
	}
	return listener.(*net.TCPListener), nil
}

// onThread runs f on a thread that ends with it, so that f may change the thread's namespaces.
func onThread(f func() error) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked
		result <- f()
	}()
	return <-result
}
