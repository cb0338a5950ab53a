// Added to kustomize's package git when its cases are recorded (see ../../../record.sh): every text of its own tests of addresses,
// with what its parser makes of it.

package git

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"testing"
)

func TestRecordAddresses(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "repospec_test.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	type recorded struct {
		Address      string
		Error        string `json:",omitempty"`
		Repo, Ref    string
		Path         string
		NoSubmodules bool
		TimeoutMs    int64
	}
	var all []recorded
	known := map[string]bool{}
	ast.Inspect(file, func(node ast.Node) bool {
		literal, ok := node.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(literal.Value)
		if err != nil || text == "" || known[text] {
			return true
		}
		known[text] = true
		one := recorded{Address: text}
		if spec, err := NewRepoSpecFromURL(text); err != nil {
			one.Error = err.Error()
		} else {
			one.Repo, one.Ref, one.Path = spec.CloneSpec(), spec.Ref, spec.KustRootPath
			one.NoSubmodules = !spec.Submodules
			if spec.Timeout != defaultTimeout {
				one.TimeoutMs = max(spec.Timeout.Milliseconds(), 1)
			}
		}
		all = append(all, one)
		return true
	})
	text, err := json.MarshalIndent(all, "", " ")
	if err == nil {
		err = os.WriteFile(os.Getenv("MIST_RECORD")+"/addresses.json", text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
