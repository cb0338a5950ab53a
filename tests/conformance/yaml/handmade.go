package main

import (
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// handMade reads cases/*.txt. A line that begins with "=== " (and a title) begins a case.
func handMade() []string {
	files, err := filepath.Glob("cases/*.txt")
	if err != nil {
		fail(err)
	}
	sort.Strings(files)
	var cases []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			fail(err)
		}
		for _, part := range strings.Split("\n"+string(text), "\n=== ")[1:] {
			_, body, _ := strings.Cut(part, "\n")
			cases = append(cases, body+"\n")
		}
	}
	return cases
}
