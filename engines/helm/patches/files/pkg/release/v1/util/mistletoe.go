package util

import (
	"fmt"
	"strings"
)

// What Mistletoe adds to Helm's sorting (../../../../../helm.patch has the places that call it).

// ManifestKey is the key of the nth manifest in what SplitManifests returns, from 0.
func ManifestKey(n int) string { return fmt.Sprintf("manifest-%d", n) }

// KnowsHooks says whether every event of that annotation is one of Helm's.
func KnowsHooks(annotation string) bool {
	for hook := range strings.SplitSeq(annotation, ",") {
		if _, known := events[strings.ToLower(strings.TrimSpace(hook))]; !known {
			return false
		}
	}
	return true
}

// splitDocuments does what splitting at the regular expression `(?m)^---[ \t]*` does, without walking over every rune.
func splitDocuments(text string) []string {
	var documents []string
	begin := 0
	for at := 0; at >= 0 && at < len(text); {
		if strings.HasPrefix(text[at:], "---") {
			documents = append(documents, text[begin:at])
			begin = at + len("---")
			for begin < len(text) && (text[begin] == ' ' || text[begin] == '\t') {
				begin++
			}
			at = begin
		}
		next := strings.Index(text[at:], "\n---")
		if next < 0 {
			break
		}
		at += next + 1
	}
	return append(documents, text[begin:])
}
