// Command kstatus writes the corpus that src/apply's readiness rules are compared with: one JSON object a line,
// what the library that Flux, Helm 4 and cli-utils wait with says of an object. See README.md.
//
//	go run . > corpus.jsonl
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// record is one line of the corpus.
type record struct {
	Object object `json:"object"`
	Status string `json:"status"` // Current, InProgress, Failed, Terminating
	Reason string `json:"reason,omitempty"`
}

func main() {
	out := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for _, o := range cases() {
		r, err := answer(o)
		if err != nil {
			fail(err)
		}
		if err := encoder.Encode(r); err != nil {
			fail(err)
		}
	}
	if err := out.Flush(); err != nil {
		fail(err)
	}
}

func answer(o object) (record, error) {
	// As it comes from a server: integers are int64.
	text, err := json.Marshal(o)
	if err != nil {
		return record{}, err
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(text); err != nil {
		return record{}, fmt.Errorf("%s: %w", text, err)
	}
	result, err := status.Compute(u)
	if err != nil {
		return record{}, fmt.Errorf("%s: %w", text, err)
	}
	r := record{Object: o, Status: string(result.Status)}
	if len(result.Conditions) > 0 {
		r.Reason = result.Conditions[0].Reason
	}
	return r, nil
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "kstatus:", err)
	os.Exit(1)
}
