package main

import (
	"encoding/json"
	"io"
)

// message is one line of what a starting supervisor tells `up` through a pipe.
type message struct {
	Kind messageKind `json:"kind"`
	Text string      `json:"text,omitempty"`
}

type messageKind string

const (
	progress messageKind = "progress"
	ready    messageKind = "ready"
	busy     messageKind = "busy" // another supervisor has this cluster
	failed   messageKind = "failed"
)

// reporter writes messages. Nobody listens any more once `up` has ended: errors are
// of no interest.
type reporter struct{ w io.Writer }

func (r reporter) send(kind messageKind, text string) {
	if b, err := json.Marshal(message{kind, text}); err == nil {
		r.w.Write(append(b, '\n'))
	}
}
