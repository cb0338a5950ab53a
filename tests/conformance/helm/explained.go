package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
)

// exception is a case in which mistctl says something else than Helm, a line of explained.txt.
type exception struct {
	of     string // the case's name and flags
	theirs string // what Helm says
	ours   string // what mistctl says in its place
	reason string
}

// asOurs puts mistctl's words in the place of Helm's: then nothing else may differ.
func (e *exception) asOurs(text string) string { return strings.ReplaceAll(text, e.theirs, e.ours) }

// readExceptions reads lines "CASE FLAGS… | what Helm says | what mistctl says | why". A reason that begins with "amd64: " is
// about Helm on such machines alone.
func readExceptions(path string) ([]exception, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var exceptions []exception
	lines := bufio.NewScanner(file)
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.Split(line, " | ")
		if len(parts) != 4 {
			return nil, fmt.Errorf("%s:%d: a case, what Helm says, what mistctl says and why are wanted, with \" | \" between them",
				path, number)
		}
		reason := parts[3]
		if machine, why, only := strings.Cut(reason, ": "); only && slices.Contains([]string{"amd64", "arm64"}, machine) {
			if machine != runtime.GOARCH {
				continue
			}
			reason = why
		}
		exceptions = append(exceptions, exception{of: oneLine(parts[0]), theirs: parts[1], ours: parts[2], reason: reason})
	}
	return exceptions, lines.Err()
}

func (c *comparison) exceptionFor(of testCase) *exception {
	at := slices.IndexFunc(c.exceptions, func(e exception) bool { return e.of == of.words() })
	if at < 0 {
		return nil
	}
	return &c.exceptions[at]
}

// stale prints and counts the exceptions that don't differ any more and, if all cases were compared, those that are none.
func (c *comparison) stale(verdicts []verdict, all bool) int {
	faults := 0
	for _, e := range c.exceptions {
		at := slices.IndexFunc(verdicts, func(v verdict) bool { return v.words() == e.of })
		switch {
		case at < 0 && all:
			fmt.Printf("NO CASE   %s\n  is in explained.txt\n", e.of)
		case at >= 0 && verdicts[at].class != explained && verdicts[at].class != different:
			fmt.Printf("NO LONGER %s\n  of explained.txt: it is one of those that %s\n", e.of, verdicts[at].class)
		default:
			continue
		}
		faults++
	}
	return faults
}
