package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"mistletoe.dev/devcluster/internal/home"
)

// condition is a cluster as `list` and `status` show it.
type condition struct {
	Name       string       `json:"name"`
	Phase      home.Phase   `json:"phase"`
	Reason     string       `json:"reason,omitempty"`
	URL        string       `json:"url,omitempty"`
	PID        int          `json:"pid,omitempty"`
	Dir        string       `json:"dir"`
	Kubeconfig string       `json:"kubeconfig,omitempty"`
	Children   []home.Child `json:"components,omitempty"`
}

// look finds out how a cluster is; the lock outranks the state file.
func look(name home.Name, dir home.Dir) condition {
	c := condition{Name: string(name), Dir: string(dir), Phase: home.Stopped}
	state, err := dir.ReadState()
	running := dir.Running()
	switch {
	case err != nil && running:
		c.Phase = home.Starting
	case err != nil:
	case running:
		c.Phase, c.URL, c.PID, c.Children = state.Phase, state.URL, state.PID, state.Children
		c.Kubeconfig = dir.Kubeconfig()
	case state.Phase == home.Stopped || state.Phase == home.Failed:
		c.Phase, c.Reason = state.Phase, state.Reason
	default:
		c.Phase, c.Reason = home.Failed, fmt.Sprintf("its supervisor, process %d, was killed", state.PID)
	}
	return c
}

func list(c command, args []string) error {
	fs := c.flagSet()
	output := fs.StringP("output", "o", "text", "text or json")
	if err := c.parse(fs, args); err != nil {
		return err
	}
	root, err := home.Root(os.Getenv)
	if err != nil {
		return err
	}
	names, err := home.Names(root)
	if err != nil {
		return err
	}
	all := []condition{}
	for _, n := range names {
		all = append(all, look(n, home.Dir(filepath.Join(root, string(n)))))
	}
	switch *output {
	case "json":
		return printJSON(map[string]any{"clusters": all})
	case "text":
		w := tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', 0)
		fmt.Fprintln(w, "NAME\tPHASE\tURL\tPID")
		for _, c := range all {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", c.Name, c.Phase, orDash(c.URL), orDash(number(c.PID)))
		}
		return w.Flush()
	}
	return usagef("list: --output is text or json, not %q", *output)
}

func status(c command, args []string) error {
	var t target
	fs := c.flagSet()
	t.flags(fs)
	output := fs.StringP("output", "o", "text", "text or json")
	if err := c.parse(fs, args); err != nil {
		return err
	}
	name, dir, err := t.resolve()
	if err != nil {
		return err
	}
	s := look(name, dir)
	switch *output {
	case "json":
		if err := printJSON(s); err != nil {
			return err
		}
	case "text":
		fmt.Printf("cluster     %s\nphase       %s\n", s.Name, s.Phase)
		for _, row := range [][2]string{{"reason", s.Reason}, {"url", s.URL}, {"kubeconfig", s.Kubeconfig}, {"directory", s.Dir}, {"supervisor", number(s.PID)}} {
			if row[1] != "" {
				fmt.Printf("%-11s %s\n", row[0], row[1])
			}
		}
		for _, child := range s.Children {
			fmt.Printf("%-11s %d %s\n", "component", child.PID, child.Name)
		}
	default:
		return usagef("status: --output is text or json, not %q", *output)
	}
	if s.Phase != home.Ready {
		os.Exit(1) // said already
	}
	return nil
}

// located runs a command that is about one cluster's files.
func located(c command, args []string, needsRun bool, path func(home.Dir) string) error {
	var t target
	fs := c.flagSet()
	t.flags(fs)
	if err := c.parse(fs, args); err != nil {
		return err
	}
	name, dir, err := t.resolve()
	if err != nil {
		return err
	}
	if needsRun {
		if err := mustBeReady(t, name, dir); err != nil {
			return err
		}
	}
	p := path(dir)
	if _, err := os.Stat(p); err != nil {
		return fmt.Errorf("cluster %s has none: %w", name, err)
	}
	fmt.Println(p)
	return nil
}

func printKubeconfig(c command, args []string) error {
	return located(c, args, true, home.Dir.Kubeconfig)
}

func printAudit(c command, args []string) error { return located(c, args, false, home.Dir.Audit) }

func printLogs(c command, args []string) error {
	return located(c, args, false, func(d home.Dir) string { return filepath.Dir(d.Log("supervisor")) })
}

func mustBeReady(t target, name home.Name, dir home.Dir) error {
	if s := look(name, dir); s.Phase != home.Ready {
		why := ""
		if s.Reason != "" {
			why = " (" + s.Reason + ")"
		}
		return fmt.Errorf("cluster %s is %s%s; start it with: %s", name, s.Phase, why, t.hint("up"))
	}
	return nil
}

// kubectl takes only our own leading flags; the rest is kubectl's.
func kubectl(c command, args []string) error {
	var t target
	fs := c.flagSet()
	fs.SetInterspersed(false)
	t.flags(fs)
	own := leadingOwnFlags(args)
	if err := c.parse(fs, args[:own]); err != nil {
		return err
	}
	name, dir, err := t.resolve()
	if err != nil {
		return err
	}
	if err := mustBeReady(t, name, dir); err != nil {
		return err
	}
	os.Setenv("KUBECONFIG", dir.Kubeconfig())
	os.Args = append([]string{"kubectl"}, args[own:]...)
	return kubectlMain()
}

// leadingOwnFlags counts the arguments before kubectl's: --name, --dir, their values.
func leadingOwnFlags(args []string) int {
	i := 0
	for i < len(args) {
		switch flag, _, joined := strings.Cut(args[i], "="); {
		case flag != "--name" && flag != "--dir":
			return i
		case joined:
			i++
		default:
			i += 2
		}
	}
	return min(i, len(args))
}

func printJSON(v any) error {
	e := json.NewEncoder(os.Stdout)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
