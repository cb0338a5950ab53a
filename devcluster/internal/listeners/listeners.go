// Package listeners makes one net.Listener of several, for servers that take only one.
package listeners

import (
	"errors"
	"net"
	"sync"
)

// Join accepts connections of all; its address is the first one's. One that fails fails the whole.
func Join(all ...net.Listener) net.Listener {
	if len(all) == 1 {
		return all[0]
	}
	j := &joined{all: all, accepted: make(chan accepted), closed: make(chan struct{})}
	for _, ln := range all {
		go j.accept(ln)
	}
	return j
}

type accepted struct {
	conn net.Conn
	err  error
}

type joined struct {
	all      []net.Listener
	accepted chan accepted
	closed   chan struct{}
	once     sync.Once
}

func (j *joined) accept(ln net.Listener) {
	for {
		conn, err := ln.Accept()
		select {
		case j.accepted <- accepted{conn, err}:
		case <-j.closed:
			if conn != nil {
				conn.Close()
			}
			return
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
	}
}

func (j *joined) Accept() (net.Conn, error) {
	select {
	case a := <-j.accepted:
		return a.conn, a.err
	case <-j.closed:
		return nil, net.ErrClosed
	}
}

func (j *joined) Close() error {
	var problems []error
	j.once.Do(func() {
		close(j.closed)
		for _, ln := range j.all {
			problems = append(problems, ln.Close())
		}
	})
	return errors.Join(problems...)
}

func (j *joined) Addr() net.Addr { return j.all[0].Addr() }
