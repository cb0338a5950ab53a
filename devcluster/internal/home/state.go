package home

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Phase is where a cluster is in its life.
type Phase string

const (
	Starting Phase = "starting"
	Ready    Phase = "ready"
	Stopping Phase = "stopping"
	Failed   Phase = "failed"  // a component ended, or the start did not succeed; Reason says why
	Stopped  Phase = "stopped" // ended as asked, data kept
)

// State is what the supervisor tells others through state.json. It may be stale after
// kill -9: believe Dir.Running first.
type State struct {
	Phase      Phase     `json:"phase"`
	Reason     string    `json:"reason,omitempty"`
	Name       string    `json:"name"`
	PID        int       `json:"pid"`        // of the supervisor
	StartTicks uint64    `json:"startTicks"` // its start time, so that a reused PID isn't mistaken for it
	Port       int       `json:"port"`
	URL        string    `json:"url"`
	Node       string    `json:"node"` // fake or real
	Nodes      int       `json:"nodes"`
	Keep       bool      `json:"keep"`
	Audit      string    `json:"audit"`
	Started    time.Time `json:"started"`
	Children   []Child   `json:"children,omitempty"`
}

// Child is one component's process.
type Child struct {
	Name string `json:"name"`
	PID  int    `json:"pid"`
}

// ReadState reads the state file; a missing one gives an error that os.IsNotExist knows.
func (d Dir) ReadState() (State, error) {
	var s State
	b, err := os.ReadFile(d.State())
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(b, &s); err != nil {
		return s, fmt.Errorf("%s: %w", d.State(), err)
	}
	return s, nil
}

// WriteState replaces the state file in one step. Only the holder of the lock may.
func (d Dir) WriteState(s State) error {
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return WriteFile(d.State(), append(b, '\n'), 0o600)
}

// WriteFile writes by rename, so that a reader sees the old or the new content.
func WriteFile(path string, data []byte, mode os.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(mode)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
