package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"

	"github.com/spf13/pflag"

	"mistletoe.dev/devcluster/internal/home"
	"mistletoe.dev/devcluster/internal/realnode"
)

// load puts images into the containerd of a cluster's real node, which can't pull any.
func load(c command, args []string) error {
	var t target
	fs := c.flagSet()
	t.flags(fs)
	if err := fs.Parse(args); err != nil {
		if err == pflag.ErrHelp {
			return err
		}
		return usagef("load: %v; see devcluster load --help", err)
	}
	if fs.NArg() == 0 {
		return usagef("load: an archive is needed: an OCI image layout as one tar")
	}
	name, dir, err := t.resolve()
	if err != nil {
		return err
	}
	if err := mustBeReady(t, name, dir); err != nil {
		return err
	}
	node := pidOfNode(look(name, dir).Children)
	if node == 0 {
		return fmt.Errorf("cluster %s has no real node, and simulated ones run nothing; begin it with %s", name, t.hint("up --node real"))
	}
	for _, archive := range fs.Args() {
		if err := loadOne(node, archive); err != nil {
			return fmt.Errorf("%s: %w", archive, err)
		}
	}
	return nil
}

func pidOfNode(children []home.Child) int {
	for _, child := range children {
		if child.Name == nodeProcess {
			return child.PID
		}
	}
	return 0
}

func loadOne(node int, archive string) error {
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer file.Close()
	ctr := exec.Command("nsenter", append([]string{"--target=" + strconv.Itoa(node), "--mount", "--"}, realnode.ImportCommand()...)...)
	ctr.Stdin, ctr.Stdout, ctr.Stderr = file, os.Stdout, os.Stderr
	return ctr.Run()
}
