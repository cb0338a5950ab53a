// compare runs every recorded build (record.sh) through our engine and holds what it gives against what kustomize gave:
//
//	compare CASES [-v] [-run PATTERN] [-- COMMAND...]
//
// Without COMMAND the engine is called as a library. With it, COMMAND runs the engine as it is shipped (run-guest.mjs): it is
// given a line {"tree": directory, "input": document} for each case, and answers with a line {"result": text} or
// {"error": text}.
//
// Output must have the same bytes. Where kustomize refused, we must, with the words that kustomize uses for the same files
// on a disk (its tests keep most in memory, which words some errors differently); compare asks it for them.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"sort"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"

	"mistletoe.dev/engines/kustomize/engine"
)

type recordedCase struct {
	name           string
	directory      string
	Root           string `json:"root"`
	Reorder        string `json:"reorder"`
	LoadRestrictor string `json:"loadRestrictor"`
	ManagedbyLabel bool   `json:"enableManagedbyLabel"`
	Error          string `json:"error"`
	Output         string `json:"output"`
}

type outcome struct {
	Result  string            `json:"result"`
	Message string            `json:"message"`
	Files   map[string]string `json:"files"`
	Print   *string           `json:"print"`
	Missing []map[string]any  `json:"missing"`
	Where   *struct {
		File string `json:"file"`
		Line int    `json:"line"`
	} `json:"where"`
}

func main() { os.Exit(run()) }

// run returns the exit code, after what it started has ended.
func run() int {
	// kustomize warns of old fields on both, a hundred times over.
	log.SetOutput(io.Discard)
	os.Stderr, _ = os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	arguments := os.Args[1:]
	var command []string
	for i, argument := range arguments {
		if argument == "--" {
			command, arguments = arguments[i+1:], arguments[:i]
			break
		}
	}
	verbose, pattern := false, regexp.MustCompile("")
	var cases string
	for i := 0; i < len(arguments); i++ {
		switch arguments[i] {
		case "-v":
			verbose = true
		case "-run":
			i++
			pattern = regexp.MustCompile(arguments[i])
		default:
			cases = arguments[i]
		}
	}
	all, err := load(cases)
	if err != nil || len(all) == 0 {
		fmt.Println("compare: no recorded cases in", cases, err)
		return 2
	}
	var shipped *guest
	if command != nil {
		if shipped, err = start(command); err != nil {
			fmt.Println("compare:", err)
			return 2
		}
		defer shipped.end()
	}
	verdicts := map[string]int{}
	bad, placed, failed := 0, 0, 0
	for _, one := range all {
		if !pattern.MatchString(one.name) {
			continue
		}
		verdict, details, got := judge(one, shipped)
		verdicts[verdict]++
		if got.Result == "Err" {
			failed++
			if got.Where != nil {
				placed++
			}
		}
		if verdict == different {
			bad++
			fmt.Printf("%s: %s\n%s\n", one.name, verdict, details)
		} else if verbose {
			fmt.Printf("%s: %s\n", one.name, verdict)
			if got.Result == "Err" {
				fmt.Printf("    %s\n    at %+v\n", strings.ReplaceAll(got.Message, "\n", "\n    "), got.Where)
			}
		}
	}
	if len(verdicts) == 0 {
		fmt.Println("compare: no case's name matches", pattern)
		return 2
	}
	if shipped != nil {
		// The library has said what each address means.
	} else if addresses, wrong, err := compareAddresses(cases); err != nil {
		fmt.Println("compare:", err)
		bad++
	} else {
		for _, one := range wrong {
			fmt.Println(one)
		}
		fmt.Printf("%4d addresses mean what they mean to kustomize, %d don't\n", addresses-len(wrong), len(wrong))
		bad += len(wrong)
	}
	names := make([]string, 0, len(verdicts))
	for name := range verdicts {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Printf("%4d %s\n", verdicts[name], name)
	}
	fmt.Printf("%4d of %d refusals name the file\n", placed, failed)
	if bad > 0 {
		return 1
	}
	return 0
}

func load(cases string) ([]recordedCase, error) {
	entries, err := os.ReadDir(cases)
	var all []recordedCase
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(cases, entry.Name(), "case.json"))
		if err != nil {
			continue
		}
		one := recordedCase{name: entry.Name(), directory: filepath.Join(cases, entry.Name(), "tree")}
		if err := json.Unmarshal(text, &one); err != nil {
			return nil, fmt.Errorf("%s: %w", entry.Name(), err)
		}
		all = append(all, one)
	}
	return all, err
}

const (
	sameOutput  = "same output"
	sameRefusal = "refused with the same words"
	inMemory    = "refused with the same words as on a disk, accepted only by the in-memory file system of the test"
	plugin      = "needs a plugin that is a program or a container, which we refuse"
	helm        = "has a Helm chart, which the engine leaves to its host (charts.py)"
	network     = "needs something remote, and says what"
	different   = "DIFFERENT"
)

func judge(one recordedCase, shipped *guest) (verdict, details string, got outcome) {
	got, err := ours(one, shipped)
	if err != nil {
		return different, err.Error(), got
	}
	if got.Missing != nil {
		return network, "", got
	}
	if one.Error == "" && got.Result == "Ok" {
		text := releasedAs.ReplaceAllString(*got.Print, "kustomize-(test)")
		if text == one.Output && got.Files["kustomize.yaml"] == *got.Print {
			return sameOutput, "", got
		}
		return different, "expected:\n" + one.Output + "got:\n" + text, got
	}
	switch {
	case strings.Contains(got.Message, "there is no host that renders charts"), strings.Contains(got.Message, "charts can't be fetched from there yet"):
		return helm, "", got
	case strings.Contains(got.Message, "--enable-alpha-plugins"):
		return plugin, "", got
	case got.Result == "Ok":
		return different, "expected the error:\n" + one.Error + "\ngot:\n" + *got.Print, got
	}
	said := outside.ReplaceAllString(got.Message, "lstat …:")
	var words string
	// Of several things that are wrong kustomize names any, in the order of a map, some of them rarely: it is asked again.
	for range 500 {
		if words, err = onDisk(one); err != nil {
			return different, err.Error() + "\nwe say:\n" + got.Message, got
		}
		words = outside.ReplaceAllString(words, "lstat …:")
		switch {
		case words == said && one.Error == "":
			return inMemory, "", got
		case words == said:
			return sameRefusal, "", got
		}
	}
	return different, "expected the error:\n" + words + "\ngot the error:\n" + got.Message, got
}

// The shipped engine carries a release of kustomize, the tests' harness "(test)".
var releasedAs = regexp.MustCompile(`kustomize-v[0-9.]+`)

// compareAddresses names every address of kustomize's tests as a base, and holds what the engine says is missing against
// what kustomize's parser made of it.
func compareAddresses(cases string) (count int, wrong []string, err error) {
	text, err := os.ReadFile(filepath.Join(cases, "addresses.json"))
	if err != nil {
		return 0, nil, err
	}
	var all []struct {
		Address, Error, Repo, Ref, Path string
		NoSubmodules                    bool
		TimeoutMs                       int64
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return 0, nil, err
	}
	if len(all) == 0 {
		return 0, nil, errors.New("addresses.json has no addresses: has kustomize moved its test of them?")
	}
	engine.Prepare()
	for _, one := range all {
		directory, err := os.MkdirTemp("", "kustomize-address-")
		if err != nil {
			return 0, nil, err
		}
		defer os.RemoveAll(directory)
		quoted, _ := json.Marshal(one.Address)
		kustomization := fmt.Sprintf("resources: [%s]\n", quoted)
		if err := os.WriteFile(filepath.Join(directory, "kustomization.yaml"), []byte(kustomization), 0o644); err != nil {
			return 0, nil, err
		}
		var remotes []map[string]any
		var got outcome
		for range 3 { // what may be a file is asked for as one first, and isn't there
			if got, err = ask(directory, map[string]any{"remotes": remotes}, nil); err != nil {
				return 0, nil, fmt.Errorf("%s: %w", one.Address, err)
			}
			if len(got.Missing) != 1 || got.Missing[0]["url"] == nil {
				break
			}
			remotes = append(remotes, map[string]any{"url": got.Missing[0]["url"], "absent": true})
		}
		want := map[string]any{}
		for key, value := range map[string]string{"repo": one.Repo, "ref": one.Ref, "path": one.Path} {
			if value != "" {
				want[key] = value
			}
		}
		if one.NoSubmodules {
			want["noSubmodules"] = true
		}
		if one.TimeoutMs != 0 {
			want["timeoutMs"] = float64(one.TimeoutMs)
		}
		count++
		if one.Error != "" {
			if len(got.Missing) != 0 {
				wrong = append(wrong, fmt.Sprintf("%q: kustomize says %s; the engine misses %v", one.Address, one.Error, got.Missing))
			}
		} else if len(got.Missing) != 1 || !reflect.DeepEqual(got.Missing[0], want) {
			wrong = append(wrong, fmt.Sprintf("%q: kustomize means %v; the engine misses %v %s", one.Address, want, got.Missing, got.Message))
		}
	}
	return count, wrong, nil
}

func ours(one recordedCase, shipped *guest) (got outcome, err error) {
	if shipped == nil {
		// As each build of the module finds it, whatever the one before did to kustomize's state.
		openapi.ResetOpenAPI()
		engine.Prepare()
	}
	return ask(one.directory, map[string]any{
		"root": one.Root, "print": true, "reorder": one.Reorder, "loadRestrictor": one.LoadRestrictor,
		"enableManagedbyLabel": one.ManagedbyLabel,
	}, shipped)
}

// ask gives a directory to the engine, or to its library.
func ask(directory string, options map[string]any, shipped *guest) (got outcome, err error) {
	document, err := json.Marshal(map[string]any{
		"apiVersion": "mistletoe.dev/v1", "kind": "MistInput", "data": map[string]any{"name": "x"},
		"engine": map[string]any{"name": "kustomize", "options": options},
	})
	if err != nil {
		return got, err
	}
	var text []byte
	if shipped == nil {
		tree, err := engine.LoadTree(os.DirFS(directory))
		if err != nil {
			return got, err
		}
		text = engine.Generate(tree, document)
	} else if text, err = shipped.ask(directory, document); err != nil {
		return got, err
	}
	var result struct {
		Data outcome `json:"data"`
	}
	err = json.Unmarshal(text, &result)
	return result.Data, err
}

// guest is a process that runs the engine as it is shipped.
type guest struct {
	process *exec.Cmd
	input   io.WriteCloser
	answers *bufio.Reader
}

func start(command []string) (*guest, error) {
	process := exec.Command(command[0], command[1:]...)
	process.Stderr = os.Stdout
	input, err := process.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &guest{process, input, bufio.NewReader(output)}, process.Start()
}

func (g *guest) end() {
	g.input.Close()
	g.process.Wait()
}

// ask gives one case to the engine.
func (g *guest) ask(tree string, document []byte) ([]byte, error) {
	line, err := json.Marshal(map[string]any{"tree": tree, "input": json.RawMessage(document)})
	if err != nil {
		return nil, err
	}
	if _, err := g.input.Write(append(line, '\n')); err != nil {
		return nil, err
	}
	if line, err = g.answers.ReadBytes('\n'); err != nil {
		return nil, fmt.Errorf("the process of the engine gave no answer: %w (%v)", err, g.process.Wait())
	}
	var answer struct{ Result, Error string }
	if err := json.Unmarshal(line, &answer); err != nil {
		return nil, err
	}
	if answer.Error != "" {
		return nil, errors.New(answer.Error)
	}
	return []byte(answer.Result), nil
}

// onDisk is what kustomize says to the same files on a disk. A panic is one of the things that it says.
func onDisk(one recordedCase) (words string, err error) {
	defer func() {
		if problem := recover(); problem != nil {
			words = fmt.Sprintf("kustomize gave up unexpectedly: %v", problem)
		}
	}()
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOption(one.Reorder)
	if one.LoadRestrictor == types.LoadRestrictionsNone.String() {
		options.LoadRestrictions = types.LoadRestrictionsNone
	}
	options.AddManagedbyLabel = one.ManagedbyLabel
	openapi.ResetOpenAPI()
	top, err := filepath.EvalSymlinks(one.directory)
	if err != nil {
		return "", err
	}
	resources, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), filepath.Join(top, one.Root))
	if err == nil {
		_, err = resources.AsYaml()
	}
	if err == nil {
		return "", fmt.Errorf("kustomize refused this in its test (%s) and accepts it on a disk", one.Error)
	}
	words = strings.ReplaceAll(err.Error(), top, engine.TreeMount)
	return engine.Readable(strings.ReplaceAll(words, filepath.Dir(top), "")), nil
}

// Tests with absolute paths: what exists of them is not the same here and there.
var outside = regexp.MustCompile(`lstat /tmp[^:]*:`)
