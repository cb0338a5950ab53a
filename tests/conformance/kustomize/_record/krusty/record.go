// Added to kustomize's package krusty when its own tests run (see ../../record.sh): every build that a test asks for is
// written down, with the files that it was given and what it gave. Its Run was renamed to runUnrecorded.

package krusty

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

type recordedCase struct {
	Test           string `json:"test"`
	Root           string `json:"root"`
	Reorder        string `json:"reorder"`
	LoadRestrictor string `json:"loadRestrictor"`
	ManagedbyLabel bool   `json:"enableManagedbyLabel"`
	PluginsEnabled bool   `json:"pluginsEnabled"`
	HelmEnabled    bool   `json:"helmEnabled"`
	Error          string `json:"error,omitempty"`
	Output         string `json:"output,omitempty"`
}

var (
	recordLock  sync.Mutex
	recordCount = map[string]int{}
)

// Run builds and records.
func (b *Kustomizer) Run(fSys filesys.FileSystem, path string) (resmap.ResMap, error) {
	test := callingTest()
	top, inside := treeOf(fSys, path)
	var files map[string][]byte
	if test != "" && top != "" {
		files = readTree(fSys, top)
	}
	// A build alters what it was given options for; take them before.
	record := recordedCase{
		Test: test, Root: inside, Reorder: string(b.options.Reorder),
		LoadRestrictor: b.options.LoadRestrictions.String(), ManagedbyLabel: b.options.AddManagedbyLabel,
		PluginsEnabled: b.options.PluginConfig.PluginRestrictions == types.PluginRestrictionsNone,
		HelmEnabled:    b.options.PluginConfig.HelmConfig.Enabled,
	}
	m, err := b.runUnrecorded(fSys, path)
	if files == nil {
		return m, err
	}
	if err != nil {
		record.Error = err.Error()
	} else if text, yamlErr := m.AsYaml(); yamlErr != nil {
		record.Error = yamlErr.Error()
	} else {
		record.Output = string(text)
	}
	write(record, files)
	return m, err
}

// callingTest is the name of the test function, with its subtests' functions.
func callingTest() string {
	counters := make([]uintptr, 64)
	frames := runtime.CallersFrames(counters[:runtime.Callers(2, counters)])
	for {
		frame, more := frames.Next()
		if at := strings.Index(frame.Function, ".Test"); at >= 0 {
			return frame.Function[at+1:]
		}
		if !more {
			return ""
		}
	}
}

// treeOf gives the directory that holds everything a test made, and the path of the build below it.
func treeOf(fSys filesys.FileSystem, path string) (top, inside string) {
	if fmt.Sprintf("%T", fSys) != "filesys.fsOnDisk" {
		return "/", strings.TrimPrefix(filepath.Clean("/"+path), "/")
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", ""
	}
	temporary := os.TempDir() + "/"
	top = absolute
	if rest, ok := strings.CutPrefix(absolute, temporary); ok {
		first, _, _ := strings.Cut(rest, "/")
		top = temporary + first
	}
	inside, _ = filepath.Rel(top, absolute)
	if inside == "." {
		inside = ""
	}
	return top, inside
}

func readTree(fSys filesys.FileSystem, top string) map[string][]byte {
	files := map[string][]byte{}
	_ = fSys.Walk(top, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return nil
		}
		if content, err := fSys.ReadFile(path); err == nil {
			below := path
			if filepath.IsAbs(path) {
				below, _ = filepath.Rel(top, path)
			}
			files[below] = content
		}
		return nil
	})
	return files
}

func write(record recordedCase, files map[string][]byte) {
	recordLock.Lock()
	defer recordLock.Unlock()
	recordCount[record.Test]++
	directory := filepath.Join(os.Getenv("MIST_RECORD"),
		fmt.Sprintf("%s-%d", strings.ReplaceAll(record.Test, "/", "_"), recordCount[record.Test]))
	text, err := json.MarshalIndent(record, "", " ")
	must(err)
	must(os.MkdirAll(filepath.Join(directory, "tree"), 0o755))
	must(os.WriteFile(filepath.Join(directory, "case.json"), text, 0o644))
	for name, content := range files {
		at := filepath.Join(directory, "tree", name)
		must(os.MkdirAll(filepath.Dir(at), 0o755))
		must(os.WriteFile(at, content, 0o644))
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
