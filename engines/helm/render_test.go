package main

import (
	"os"
	"testing"
)

// BenchmarkRender renders the chart at $MIST_PACKAGE, loading it each time.
func BenchmarkRender(b *testing.B) {
	if os.Getenv("MIST_PACKAGE") == "" {
		b.Skip("MIST_PACKAGE names no chart")
	}
	for b.Loop() {
		in := &input{values: map[string]any{}, Release: releaseInfo{Name: "rel", Namespace: "default", Revision: 1}}
		in.Engine.Options = options{Print: true, KubeVersion: "1.37.0", Lookup: "empty", Random: "native"}
		if r := render(in); r.Result != "Ok" {
			b.Fatal(r.Message)
		}
	}
}
