package main

import (
	"fmt"
	"reflect"
	"strings"

	"sigs.k8s.io/yaml"
)

// crdFiles are the files of crds/ by Helm's names, those of subcharts too, with each CRD once. Helm creates them in the
// order of CRDObjects and passes over one that is already there, so the first one counts: two subcharts may bring the
// same operator's CRDs, and a subchart with two aliases brings its own twice.
func (r *rendering) crdFiles() map[string]string {
	files := map[string]string{}
	known := crdSet{}
	for _, crd := range r.chart.CRDObjects() {
		if !isWanted(crd.Filename, r.in.Engine.Options.ShowOnly) {
			continue
		}
		if text, some := known.without(crd.Filename, string(crd.File.Data)); some {
			files[crd.Filename] = text
		}
	}
	return files
}

// crdSet has the CRDs that were found so far, by name.
type crdSet map[string]foundCRD

type foundCRD struct{ file, document string }

// without removes from the text of a file the CRDs that the set already has, and adds the others to it. Lines stay where
// they are. It says whether anything is left; a file without a CRD stays as it is.
func (s crdSet) without(file, text string) (string, bool) {
	var all strings.Builder
	dropped, kept := false, false
	for _, document := range documentsOf(text) {
		if s.has(file, document) {
			all.WriteString(blank(document))
			dropped = true
			continue
		}
		all.WriteString(document)
		kept = kept || hasContent(document)
	}
	if !dropped {
		return text, true
	}
	return all.String(), kept
}

// has says whether the document is a CRD of the set; otherwise it adds it, if it is one.
func (s crdSet) has(file, document string) bool {
	name := crdName(document)
	if name == "" {
		return false
	}
	first, known := s[name]
	if !known {
		s[name] = foundCRD{file, document}
		return false
	}
	if !sameContent(first.document, document) {
		fmt.Fprintf(log, "the CRD %s differs in %s and %s; the first one is used, as Helm does\n", name, first.file, file)
	}
	return true
}

// crdName is empty for anything but a CRD. A document that can't be read is none: its reader shows the error at its place.
func crdName(document string) string {
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   struct {
			Name string `json:"name"`
		} `json:"metadata"`
	}
	if yaml.Unmarshal([]byte(withoutSpec(document)), &head) != nil ||
		head.Kind != "CustomResourceDefinition" || !strings.HasPrefix(head.APIVersion, "apiextensions.k8s.io/") {
		return ""
	}
	return head.Metadata.Name
}

// withoutSpec leaves out the schemas, which are nearly all of a CRD and would take most of a render to parse.
func withoutSpec(document string) string {
	var all strings.Builder
	inSpec := false
	for _, line := range strings.SplitAfter(document, "\n") {
		if line != "" && !strings.ContainsRune(" \t\r\n#", rune(line[0])) {
			inSpec = strings.HasPrefix(line, "spec:")
		}
		if !inSpec {
			all.WriteString(line)
		}
	}
	return all.String()
}

func sameContent(one, other string) bool {
	if strings.TrimSpace(strings.TrimPrefix(one, "---")) == strings.TrimSpace(strings.TrimPrefix(other, "---")) {
		return true
	}
	var a, b any
	return yaml.Unmarshal([]byte(one), &a) == nil && yaml.Unmarshal([]byte(other), &b) == nil && reflect.DeepEqual(a, b)
}

// documentsOf splits YAML before each line that begins a document.
func documentsOf(text string) []string {
	var documents []string
	begin, at := 0, 0
	for _, line := range strings.SplitAfter(text, "\n") {
		if at > begin && beginsDocument(line) {
			documents = append(documents, text[begin:at])
			begin = at
		}
		at += len(line)
	}
	return append(documents, text[begin:])
}

func beginsDocument(line string) bool {
	rest, marked := strings.CutPrefix(line, "---")
	return marked && (rest == "" || strings.ContainsRune(" \t\r\n", rune(rest[0])))
}

// blank has the document's lines with nothing on them, but for the mark that begins it.
func blank(document string) string {
	mark := ""
	if beginsDocument(document) {
		mark = "---"
	}
	return mark + strings.Repeat("\n", strings.Count(document, "\n"))
}

// hasContent is false for comments and marks alone.
func hasContent(document string) bool {
	for _, line := range strings.Split(document, "\n") {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "---") {
			return true
		}
	}
	return false
}
