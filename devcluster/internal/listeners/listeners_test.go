package listeners

import (
	"errors"
	"io"
	"net"
	"testing"
)

func listen(t *testing.T) net.Listener {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

func TestConnectionsOfAllAreAccepted(t *testing.T) {
	a, b := listen(t), listen(t)
	j := Join(a, b)
	if j.Addr() != a.Addr() {
		t.Errorf("its address is %s, not the first one's", j.Addr())
	}
	for _, ln := range []net.Listener{b, a, b} {
		client, err := net.Dial("tcp4", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		server, err := j.Accept()
		if err != nil {
			t.Fatal(err)
		}
		server.Write([]byte("hello"))
		server.Close()
		if text, err := io.ReadAll(client); err != nil || string(text) != "hello" {
			t.Errorf("%q, %v", text, err)
		}
		client.Close()
	}
}

func TestCloseEndsAcceptAndAllListeners(t *testing.T) {
	a, b := listen(t), listen(t)
	j := Join(a, b)
	ended := make(chan error)
	go func() {
		_, err := j.Accept()
		ended <- err
	}()
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept: %v", err)
	}
	for _, ln := range []net.Listener{a, b} {
		if conn, err := net.Dial("tcp4", ln.Addr().String()); err == nil {
			conn.Close()
			t.Errorf("%s still listens", ln.Addr())
		}
	}
	if err := j.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
}
