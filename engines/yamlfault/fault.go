// Package yamlfault finds the line at which a YAML text stops being YAML. The engines written in Go share it.
//
// Go's YAML library knows that line and doesn't say it: what its errors name is one line too high for faults of its
// parser, or where the collection around the fault begins, or the end of the text. Here the text is cut after one line after
// the other, until the library meets the same fault.
package yamlfault

import (
	"errors"
	"io"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Line is the line, from 1, of the first fault in the text, which may hold many documents; 0: it is YAML.
func Line(text string) int {
	lines := strings.SplitAfter(text, "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	}
	words, line := fault(text)
	switch {
	case words == "":
		return 0
	case len(lines) < 2:
		return 1
	case isOfScanner(words, line):
		// The line where what it was reading begins; if that is the first one, the line where it stopped.
		if first, _ := fault(lines[0]); first == words && (words != unended || line > len(lines)) {
			return 1
		}
		return min(line, len(lines))
	}
	t := cut{lines, words}
	if n := sort.Search(len(lines), func(i int) bool { return t.hasFault(i + 1) }); n < len(lines) {
		return n + 1
	}
	return t.lastOpened()
}

const (
	// What the parser says, and so not the scanner before it.
	ofParser = "did not find expected "
	// Of a quoted text.
	unended = "found unexpected end of stream"
)

func isOfScanner(words string, line int) bool { return line > 0 && !strings.HasPrefix(words, ofParser) }

// cut is a text with that fault, of which only the first lines are read.
type cut struct {
	lines []string
	words string
}

// More brackets than anybody opens before a fault; each is closed by reading once more.
const mostBrackets = 24

// hasFault says whether the first n lines have the fault already. Brackets that are open at the end of them are closed: that
// they are open is none.
func (t cut) hasFault(n int) bool {
	text := strings.Join(t.lines[:n], "") + "\n"
	words, _ := fault(text)
	for range min(strings.Count(text, "[")+strings.Count(text, "{"), mostBrackets) {
		closed := text
		switch words {
		case ofParser + "',' or ']'":
			closed += "]"
		case ofParser + "',' or '}'":
			closed += "}"
		case ofParser + "node content": // behind a comma
			if closed += "]"; sameFault(closed, words) {
				closed = text + "}"
			}
		default:
			return words == t.words
		}
		text = closed
		words, _ = fault(text)
	}
	return words == t.words
}

// lastOpened is the line with the bracket that never ends, where nothing but its end is missing: before it the text is
// whole, and at the end of no line after it.
func (t cut) lastOpened() int {
	whole := func(n int) bool { return sameFault(strings.Join(t.lines[:n], ""), "") }
	bad, step := len(t.lines), 1
	for bad > step && !whole(bad-step) {
		bad -= step
		step *= 2
	}
	good := max(bad-step, 0)
	return good + 1 + sort.Search(bad-good-1, func(i int) bool { return !whole(good + 1 + i) })
}

func sameFault(text, words string) bool {
	now, _ := fault(text)
	return now == words
}

var numbered = regexp.MustCompile(`^line (\d+): `)

// fault is what the library says of a text that is no YAML, and the line that it names, or 0.
func fault(text string) (string, int) {
	for decoder := yaml.NewDecoder(strings.NewReader(text)); ; {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return "", 0
		}
		if err == nil {
			continue
		}
		words, line := strings.TrimPrefix(err.Error(), "yaml: "), 0
		if match := numbered.FindStringSubmatch(words); match != nil {
			words = words[len(match[0]):]
			line, _ = strconv.Atoi(match[1])
		}
		return words, line
	}
}
