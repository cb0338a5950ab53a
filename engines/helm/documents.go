package main

import (
	"strings"

	release "helm.sh/helm/v4/pkg/release/v1"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
	"sigs.k8s.io/yaml"
)

// asHelmSplits makes a template's output mean to a YAML reader what it means to Helm: Helm ends a document at three
// dashes even where text follows them at once, and skips a document with a hook that it doesn't know. Most output is
// left as it is.
func asHelmSplits(text string) string {
	if !strings.Contains(text, release.HookAnnotation) && !hasGluedSeparator(text) {
		return text
	}
	documents := releaseutil.SplitManifests(text)
	kept := make([]string, 0, len(documents))
	for i := range len(documents) {
		document := documents[releaseutil.ManifestKey(i)]
		if !hasUnknownHook(document) {
			kept = append(kept, document)
		}
	}
	if len(kept) == len(documents) && !hasGluedSeparator(text) {
		return text
	}
	return strings.Join(kept, "\n---\n")
}

// hasGluedSeparator finds a line that begins with three dashes and goes on with something else than a comment.
func hasGluedSeparator(text string) bool {
	for rest := "\n" + text; ; {
		_, after, found := strings.Cut(rest, "\n---")
		if !found {
			return false
		}
		after = strings.TrimLeft(after, " \t")
		if after != "" && !strings.ContainsRune("#\r\n", rune(after[0])) {
			return true
		}
		rest = after
	}
}

// hasUnknownHook says whether the manifest is a hook, and one of its events is none of Helm's.
func hasUnknownHook(manifest string) bool {
	if !strings.Contains(manifest, release.HookAnnotation) {
		return false
	}
	var head releaseutil.SimpleHead
	if yaml.Unmarshal([]byte(manifest), &head) != nil || head.Metadata == nil {
		return false
	}
	hooks, isHook := head.Metadata.Annotations[release.HookAnnotation]
	return isHook && !releaseutil.KnowsHooks(hooks)
}
