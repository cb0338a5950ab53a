package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

var action = regexp.MustCompile(`(?s)\{\{.*?\}\}`)

// unusedFunctions are the engine's template functions that no action of charts/functions names.
func unusedFunctions(program string) ([]string, error) {
	names, err := exec.Command(program, "--functions").Output()
	if err != nil {
		return nil, err
	}
	templates, err := filepath.Glob(filepath.Join(chartsDirectory, "charts/functions/templates/*.yaml"))
	if err != nil {
		return nil, err
	}
	used := ""
	for _, template := range templates {
		text, err := os.ReadFile(template)
		if err != nil {
			return nil, err
		}
		used += strings.Join(action.FindAllString(string(text), -1), "\n")
	}
	var unused []string
	for _, name := range strings.Fields(string(names)) {
		if !regexp.MustCompile(`\b` + name + `\b`).MatchString(used) {
			unused = append(unused, name)
		}
	}
	return unused, nil
}
