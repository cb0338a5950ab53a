package engine

import (
	"bytes"
	"path"
	"regexp"
	"strconv"
	"strings"

	"mistletoe.dev/engines/yamlfault"
	"sigs.k8s.io/kustomize/api/clones"
	"sigs.k8s.io/kustomize/api/konfig"
)

// where is the place of an error: a file below the package and, if known, its line.
type where struct {
	File string `json:"file"`
	Line int    `json:"line,omitempty"`
	// Of a chart's template only.
	Column int `json:"column,omitempty"`
	// Of that line, which the host may have no file for.
	Text string `json:"text,omitempty"`
}

var kustomizationNames = konfig.RecognizedKustomizationFileNames()

// explain makes a failure of an error of kustomize's: its own words, with paths below the package in the place of ours,
// and the place that they tell of; of a chart the place that the host tells of.
func explain(tree *Tree, root string, err error, chart *chartFailure) resultData {
	words := err.Error()
	message := Readable(words)
	for _, one := range advice {
		if strings.Contains(words, one.of) {
			message = one.instead + ". kustomize says: " + message
			break
		}
	}
	if chart != nil && chart.Where != nil && strings.Contains(words, chart.Message) {
		return failure(message, chart.Where)
	}
	return failure(message, withText(tree, locate(tree, root, words)))
}

func withText(tree *Tree, at *where) *where {
	if at == nil || at.Line == 0 {
		return at
	}
	content, _ := tree.file(at.File)
	if lines := strings.SplitN(string(content), "\n", at.Line+1); len(lines) >= at.Line {
		at.Text = strings.TrimSuffix(lines[at.Line-1], "\r")
	}
	return at
}

// What kustomize says where its user would give a flag that there is none of here.
var advice = []struct{ of, instead string }{
	{"external plugins disabled",
		"plugins that are programs or containers do not run in the sandbox, as with `kustomize build` without " +
			"--enable-alpha-plugins. Use the built-in generators and transformers, or commit what the plugin generates"},
}

var (
	mounted = regexp.MustCompile(regexp.QuoteMeta(TreeMount) + `(/?)`)
	pointer = regexp.MustCompile(` &\{0x[0-9a-f]+[^}]*\}`)
	cloned  = regexp.MustCompile(regexp.QuoteMeta(clones.Mount) + `/([^/'"\s]+)`)
)

// Readable shows paths as the package's author knows them.
func Readable(words string) string {
	words = cloned.ReplaceAllStringFunc(words, func(at string) string {
		if one, err := clones.Parse(strings.TrimPrefix(at, clones.Mount+"/")); err == nil && one.Repo != "" {
			return one.Repo
		}
		return at
	})
	words = pointer.ReplaceAllString(words, "") // kustomize prints addresses of generators
	return mounted.ReplaceAllStringFunc(words, func(at string) string {
		if strings.HasSuffix(at, "/") {
			return ""
		}
		return "."
	})
}

var (
	// "yaml: line 3: …" of a parser, "in File: x.yaml" of the one who gave it the file.
	lineOf = regexp.MustCompile(`yaml: line (\d+)`)
	inFile = regexp.MustCompile(`in File: ([^\n'"]+?)(?:'|: |\n|$)`)
	// The kustomization that was worked on, innermost last.
	ofPath = regexp.MustCompile(`(?:path|under:?|directory:?|below) '?"?(` + regexp.QuoteMeta(TreeMount) + `[^'":\n]*)`)
	// The entry of it that was worked on, innermost last.
	entry = regexp.MustCompile(`accumulating resources from '([^'\n]+)'|unable to find .*file "([^"]+)"|` +
		`evalsymlink failure on '([^'\n]+)'|security; file '([^'\n]+)'`)
	unknown = regexp.MustCompile(`unknown field "([^"]+)"`)
)

// locate finds the place that an error of kustomize's tells of. It reads prose, so it only ever names a file that
// exists, and where nothing fits the kustomization that was worked on. Entries that are told of before that are another's.
func locate(tree *Tree, root, words string) *where {
	directory, told := root, words
	for _, match := range ofPath.FindAllStringSubmatchIndex(words, -1) {
		below := strings.TrimPrefix(strings.TrimPrefix(words[match[2]:match[3]], TreeMount), "/")
		if _, ok := kustomizationIn(tree, below); ok && below != directory {
			directory, told = below, words[match[1]:]
		}
	}
	name, ok := kustomizationIn(tree, directory)
	if !ok {
		return nil
	}
	if match := last(inFile, told); match != nil {
		file := path.Join(directory, match[1])
		if content, ok := tree.file(file); ok {
			return &where{File: file, Line: faultIn(content, told)}
		}
	}
	content, _ := tree.file(name)
	if match := last(unknown, told); match != nil {
		return &where{File: name, Line: lineWith(content, match[1]+":")}
	}
	if match := last(entry, told); match != nil {
		for _, text := range match[1:] {
			text = strings.TrimPrefix(text, path.Join(TreeMount, directory)+"/")
			line := lineWith(content, text)
			if line == 0 {
				line = lineWith(content, path.Base(text))
			}
			if text != "" && line != 0 {
				return &where{File: name, Line: line}
			}
		}
	}
	if strings.Contains(told, "invalid Kustomization") {
		return &where{File: name, Line: faultIn(content, told)}
	}
	return &where{File: name}
}

// faultIn is the line at which a file is no YAML; of one that is, the line that kustomize names, or 0.
func faultIn(content []byte, words string) int {
	if line := yamlfault.Line(string(content)); line > 0 {
		return line
	}
	return number(last(lineOf, words))
}

func kustomizationIn(tree *Tree, directory string) (string, bool) {
	for _, name := range kustomizationNames {
		if _, ok := tree.file(path.Join(directory, name)); ok {
			return path.Join(directory, name), true
		}
	}
	return "", false
}

func last(pattern *regexp.Regexp, words string) []string {
	all := pattern.FindAllStringSubmatch(words, -1)
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1]
}

func number(match []string) int {
	if match == nil {
		return 0
	}
	n, _ := strconv.Atoi(match[1])
	return n
}

// lineWith is the first line that holds `text` and is no comment, from 1; 0: none.
func lineWith(content []byte, text string) int {
	for i, line := range bytes.Split(content, []byte("\n")) {
		if !bytes.HasPrefix(bytes.TrimSpace(line), []byte("#")) && bytes.Contains(line, []byte(text)) {
			return i + 1
		}
	}
	return 0
}
