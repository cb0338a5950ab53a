package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/strvals"
)

const releaseName = "rel"

// outcome is what one side says about a case.
type outcome struct {
	printed string
	failure string // empty when it rendered
	crashed bool   // it ended without a word
}

// peer runs `helm template`.
func peer(helm string, c testCase) (outcome, error) {
	command := exec.Command(helm, append([]string{"template", releaseName, c.chart}, c.flags...)...)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	command.Dir = chartsDirectory
	command.Env = []string{"HOME=" + os.TempDir(), "KUBECONFIG=/dev/null", "TZ=UTC", "PATH=" + os.Getenv("PATH")}
	err := command.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); !exited {
		return outcome{printed: stdout.String()}, err
	}
	_, message, said := strings.Cut("\n"+stderr.String(), "\nError: ")
	if !said {
		return outcome{crashed: true}, nil
	}
	message = strings.TrimSuffix(strings.TrimSuffix(message, "\n"), "\n\nUse --debug flag to render out invalid YAML")
	return outcome{failure: withoutPath(message, c.chart)}, nil
}

// withoutPath makes an error of the peer name files relative to the chart, as the engine does.
func withoutPath(message, chart string) string {
	if strings.HasSuffix(chart, ".tgz") {
		return strings.ReplaceAll(message, chart, filepath.Base(chart))
	}
	return strings.ReplaceAll(strings.ReplaceAll(message, chart+"/", ""), chart, ".")
}

// engine runs the engine, compiled as a program of this machine.
func engine(program string, prepared bool, c testCase) (outcome, error) {
	input, err := engineInput(c)
	if err != nil {
		return outcome{failure: err.Error()}, nil
	}
	directory := c.chart
	if strings.HasSuffix(c.chart, ".tgz") {
		// All that there is at /package, as mistctl shows it to the engine.
		if directory, err = os.MkdirTemp("", "helm-conformance"); err != nil {
			return outcome{}, err
		}
		defer os.RemoveAll(directory)
		if err := os.Symlink(c.chart, filepath.Join(directory, filepath.Base(c.chart))); err != nil {
			return outcome{}, err
		}
	}
	command := exec.Command(program)
	command.Env = []string{"MIST_PACKAGE=" + directory, "TZ=UTC"}
	if prepared {
		command.Env = append(command.Env, "MIST_PREPARE=yes")
	}
	command.Stdin = bytes.NewReader(input)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	stdout, err := command.Output()
	if err != nil {
		return outcome{}, fmt.Errorf("%w: %s", err, stderr.String())
	}
	var answer struct {
		Data struct{ Result, Message, Print string } `json:"data"`
	}
	if err := json.Unmarshal(stdout, &answer); err != nil {
		return outcome{}, err
	}
	switch answer.Data.Result {
	case "Ok":
		return outcome{printed: answer.Data.Print}, nil
	case "Err":
		return outcome{failure: answer.Data.Message}, nil
	}
	return outcome{}, fmt.Errorf("result %q", answer.Data.Result)
}

// mistctl runs `mistctl generate -o helm`, the engine in its sandbox. A failure is everything it says.
func mistctl(program, home string, c testCase) (outcome, error) {
	arguments := []string{"generate", releaseName, "--package", c.chart, "-o", "helm", "--clock", "now", "--no-render-cache"}
	command := exec.Command(program, append(arguments, c.flags...)...)
	command.Dir = chartsDirectory
	command.Env = []string{"HOME=" + home, "MIST_HOME_LOCATION=" + home, "TZ=UTC", "PATH=" + os.Getenv("PATH")}
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); !exited {
		return outcome{printed: stdout.String()}, err
	}
	return outcome{failure: stderr.String()}, nil
}

// engineInput is the MistInput that mistctl would write for these flags.
func engineInput(c testCase) ([]byte, error) {
	values, options := map[string]any{}, map[string]any{"print": true}
	for flags := c.flags; len(flags) > 0; flags = flags[1:] {
		var err error
		value := func() string { flags = flags[1:]; return flags[0] }
		switch flags[0] {
		case "-f":
			for _, name := range strings.Split(value(), ",") {
				var text []byte
				if text, err = os.ReadFile(filepath.Join(chartsDirectory, name)); err != nil {
					break
				}
				var file map[string]any
				if file, err = loader.LoadValues(bytes.NewReader(text)); err != nil {
					err = fmt.Errorf("failed to parse %s: %w", name, err) // as Helm's MergeValues says it
					break
				}
				values = loader.MergeMaps(values, file)
			}
		case "--set":
			err = strvals.ParseInto(value(), values)
		case "--set-string":
			err = strvals.ParseIntoString(value(), values)
		case "--include-crds":
			options["includeCrds"] = true
		case "--skip-crds":
			options["skipCrds"] = true
		case "--skip-tests":
			options["skipTests"] = true
		case "--is-upgrade":
			options["isUpgrade"] = true
		case "--skip-schema-validation":
			options["skipSchemaValidation"] = true
		case "--kube-version":
			options["kubeVersion"] = value()
		case "--api-versions":
			options["apiVersions"] = strings.Split(value(), ",")
		case "--show-only":
			patterns, _ := options["showOnly"].([]string)
			options["showOnly"] = append(patterns, value())
		default:
			return nil, fmt.Errorf("unknown flag %s", flags[0])
		}
		if err != nil {
			return nil, err
		}
	}
	return json.Marshal(map[string]any{
		"apiVersion": "mistletoe.dev/v1",
		"kind":       "MistInput",
		"data":       numbers(values),
		"release":    map[string]any{"name": releaseName, "namespace": "default"},
		"engine": map[string]any{
			"name": "helm", "options": options},
	})
}

// numbers writes every float64 so that it is one again when read: with a point or an exponent.
func numbers(value any) any {
	switch v := value.(type) {
	case float64:
		text := strconv.FormatFloat(v, 'g', -1, 64)
		if v == math.Trunc(v) && !strings.ContainsAny(text, "e.") {
			text += ".0"
		}
		return json.RawMessage(text)
	case map[string]any:
		for key, member := range v {
			v[key] = numbers(member)
		}
	case []any:
		for i, element := range v {
			v[i] = numbers(element)
		}
	}
	return value
}
