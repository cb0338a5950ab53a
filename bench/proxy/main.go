// proxy makes a server seem far away: a TCP proxy on 127.0.0.1 that holds back what it forwards, half of the round trip in
// each direction, as a long line with room for everything would. TLS passes through it untouched. A connection's first
// bytes wait for one round trip more, as if the TCP handshake had crossed the line too.
//
//	proxy TARGET_HOST:PORT ROUND_TRIP
//
// It prints the address that it listens on, and ends when its standard input does.
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

// One direction's bytes on the line at most; a sender that is faster waits.
const (
	pieceBytes = 64 << 10
	pieces     = 1024
)

type piece struct {
	due   time.Time
	bytes []byte
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "proxy:", err)
		os.Exit(1)
	}
}

// carry copies from one end to the other, each piece `delay` after it came, and none before `open` and that.
func carry(from, to *net.TCPConn, delay time.Duration, open time.Time) {
	line := make(chan piece, pieces)
	go func() {
		defer close(line)
		for {
			buffer := make([]byte, pieceBytes)
			n, err := from.Read(buffer)
			if n > 0 {
				came := time.Now()
				if came.Before(open) {
					came = open
				}
				line <- piece{came.Add(delay), buffer[:n]}
			}
			if err != nil {
				return
			}
		}
	}()
	for next := range line {
		time.Sleep(time.Until(next.due))
		if _, err := to.Write(next.bytes); err != nil {
			// Nobody listens any more: the sender hears it too, and what is on the line is lost.
			from.CloseRead()
			for range line {
			}
			return
		}
	}
	to.CloseWrite()
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: proxy TARGET_HOST:PORT ROUND_TRIP")
		os.Exit(2)
	}
	roundTrip, err := time.ParseDuration(os.Args[2])
	fail(err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	fail(err)
	fmt.Println(listener.Addr())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	for {
		accepted, err := listener.Accept()
		fail(err)
		near := accepted.(*net.TCPConn)
		open := time.Now().Add(roundTrip)
		go func() {
			dialled, err := net.Dial("tcp", os.Args[1])
			if err != nil {
				fmt.Fprintln(os.Stderr, "proxy:", err)
				near.Close()
				return
			}
			far := dialled.(*net.TCPConn)
			done := make(chan struct{})
			go func() {
				carry(near, far, roundTrip/2, open)
				close(done)
			}()
			carry(far, near, roundTrip/2, open)
			<-done
			near.Close()
			far.Close()
		}()
	}
}
