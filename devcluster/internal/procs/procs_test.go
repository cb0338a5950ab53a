package procs

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestStartTicksIsField22WhateverTheCommand(t *testing.T) {
	tail := " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 424242 99 0"
	for _, command := range []string{"sh", "a b", "x) S 1 (y", ")"} {
		got, err := parseStartTicks("77 (" + command + ")" + tail)
		if err != nil || got != 424242 {
			t.Errorf("%q: %d, %v", command, got, err)
		}
	}
	for _, bad := range []string{"", "77 (sh", "77 (sh) S 1 2"} {
		if _, err := parseStartTicks(bad); err == nil {
			t.Errorf("%q is no error", bad)
		}
	}
}

func TestAProcessIsKnownByItsStartToo(t *testing.T) {
	ticks, err := StartTicks(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if !Is(os.Getpid(), ticks) || Is(os.Getpid(), ticks+1) {
		t.Error("this process is not told from another with its id")
	}
}

func start(t *testing.T, script string) *Child {
	c, err := Start("sh", exec.Command("sh", "-c", script))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Signal(syscall.SIGKILL); <-c.Done() })
	return c
}

func TestAChildTellsHowItEnded(t *testing.T) {
	c := start(t, "exit 3")
	<-c.Done()
	if c.How() != "exit status 3" {
		t.Error(c.How())
	}
	c = start(t, "exit 0")
	<-c.Done()
	if c.How() != "exit status 0" {
		t.Error(c.How())
	}
	if _, err := Start("nothing", exec.Command("/nonexistent/program")); err == nil || !strings.Contains(err.Error(), "nothing") {
		t.Errorf("a program that isn't there: %v", err)
	}
}

func TestStopAllKillsWhoDoesNotListen(t *testing.T) {
	deafScript := "trap '' TERM; echo > $0; while :; do sleep 0.01; done"
	ready := t.TempDir() + "/ready"
	deaf, err := Start("sh", exec.Command("sh", "-c", deafScript, ready))
	if err != nil {
		t.Fatal(err)
	}
	for _, err := os.Stat(ready); err != nil; _, err = os.Stat(ready) {
		time.Sleep(time.Millisecond)
	}
	polite := start(t, "exec sleep 60")
	ended := start(t, "exit 0")
	<-ended.Done()
	StopAll([]*Child{ended, deaf, polite}, 50*time.Millisecond)
	if deaf.How() != "signal: killed" {
		t.Error(deaf.How())
	}
	select {
	case <-polite.Done():
	default:
		t.Error("one still runs")
	}
}

func TestWatchSeesTheEnd(t *testing.T) {
	c := start(t, "exec sleep 60")
	ended, err := Watch(c.PID)
	if err != nil {
		t.Fatal(err)
	}
	c.Signal(syscall.SIGKILL)
	<-ended
	<-c.Done()
	if _, err := Watch(c.PID); err == nil {
		t.Error("a process that is gone can be watched")
	}
}
