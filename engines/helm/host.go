package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
)

// The host's requests (src/abi/v1/README.md).

// hostAnswer is {"ok": …} or {"error": …}.
type hostAnswer struct {
	OK    json.RawMessage `json:"ok"`
	Error *struct {
		Kind    string `json:"kind"`
		Message string `json:"message"`
		Hint    string `json:"hint"`
	} `json:"error"`
}

// hostError is an answer that says no.
type hostError struct{ kind, message string }

func (e hostError) Error() string { return e.message }

// ask sends one request and returns what is in "ok".
func ask(request any) (json.RawMessage, error) {
	text, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	var answer hostAnswer
	if err := json.Unmarshal(exchange(text), &answer); err != nil {
		return nil, fmt.Errorf("the host's answer can't be read: %w", err)
	}
	if answer.Error != nil {
		message := answer.Error.Message
		if answer.Error.Hint != "" {
			message += " (" + answer.Error.Hint + ")"
		}
		return nil, hostError{answer.Error.Kind, message}
	}
	return answer.OK, nil
}

// useRandomStream makes everything drawn from now on come from the stream of that name, so that a change in one
// template doesn't shift what another draws. A host without streams says no, and then there is one for all.
func useRandomStream(name string) {
	_, _ = ask(map[string]string{"op": "random.stream", "name": name})
}

// lookUp answers the template function `lookup`: an object, or with an empty name a list; empty when there is none.
func lookUp(apiVersion, kind, namespace, name string) (map[string]any, error) {
	text, err := ask(map[string]string{
		"op": "lookup", "apiVersion": apiVersion, "kind": kind, "namespace": namespace, "name": name})
	if refused, ok := errors.AsType[hostError](err); ok && refused.kind == "NotFound" {
		return map[string]any{}, nil
	}
	if err != nil {
		return map[string]any{}, err
	}
	if len(text) == 0 || bytes.Equal(text, []byte("null")) {
		return map[string]any{}, nil
	}
	return decodeObject(text)
}

// log receives what Helm logs. It reaches the user through the host; while the package is prepared there is nobody
// to tell.
var log = &hostLog{}

func init() { slog.SetDefault(slog.New(log.handler())) }

type hostLog struct{ held bool }

func (l *hostLog) hold() { l.held = true }
func (l *hostLog) drop() { l.held = false }

// Write is called with one line, `level=WARN msg=…`, or by the package log with a line without a level.
func (l *hostLog) Write(line []byte) (int, error) {
	if l.held {
		return len(line), nil
	}
	message, level := strings.TrimRight(string(line), "\n"), "warn"
	if rest, ok := strings.CutPrefix(message, "level=INFO "); ok {
		message, level = rest, "info"
	} else if rest, ok := strings.CutPrefix(message, "level=WARN "); ok {
		message = rest
	} else if rest, ok := strings.CutPrefix(message, "level=ERROR "); ok {
		message = rest
	}
	_, _ = ask(map[string]string{"op": "log", "level": level, "message": message})
	return len(line), nil
}

func (l *hostLog) handler() slog.Handler {
	return slog.NewTextHandler(l, &slog.HandlerOptions{
		Level: slog.LevelInfo,
		ReplaceAttr: func(_ []string, attribute slog.Attr) slog.Attr {
			if attribute.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return attribute
		},
	})
}
