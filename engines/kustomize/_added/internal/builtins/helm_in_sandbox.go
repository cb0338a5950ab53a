// What kustomize's inflator of Helm charts does outside of its own memory: run helm, and write files for it. Here it asks the
// engine instead (../../helmhost); ../../../stage.sh puts these methods in the place of kustomize's.

package builtins

import (
	"errors"
	"fmt"
	"path/filepath"

	"sigs.k8s.io/kustomize/api/helmhost"
)

// The values that kustomize has merged, by the name of the file that it would write.
var mergedValues = map[string][]byte{}

const valuesDirectory = "/values"

func (p *HelmChartInflationGeneratorPlugin) establishTmpDir() error {
	p.tmpDir = valuesDirectory
	return nil
}

func (p *HelmChartInflationGeneratorPlugin) cleanup() { clear(mergedValues) }

func (p *HelmChartInflationGeneratorPlugin) writeValuesBytes(text []byte) (string, error) {
	name := filepath.Join(valuesDirectory, p.Name)
	mergedValues[name] = text
	return name, nil
}

func (p *HelmChartInflationGeneratorPlugin) chartExistsLocally() (string, bool) {
	if directory := filepath.Join(p.absChartHome(), p.Name); helmhost.Program.HasChart(directory) {
		return directory, true
	}
	return "", false
}

// checkHelmVersion has nothing to check: the engine of charts is Helm 4.
func (p *HelmChartInflationGeneratorPlugin) checkHelmVersion() error { return nil }

func (p *HelmChartInflationGeneratorPlugin) runHelmCommand(arguments []string) ([]byte, error) {
	switch arguments[0] {
	case "pull":
		chart := helmhost.Chart{Repo: p.Repo, Name: p.Name, Version: p.Version, Devel: p.Devel}
		return nil, helmhost.Program.Pull(chart, p.absChartHome())
	case "template":
		return template(p)
	}
	return nil, fmt.Errorf("there is no `helm %s` in the sandbox", arguments[0])
}

func template(p *HelmChartInflationGeneratorPlugin) ([]byte, error) {
	merged, ok := mergedValues[p.ValuesFile]
	if !ok {
		return nil, errors.New("the values of the chart were not written")
	}
	values := [][]byte{merged}
	for _, name := range p.AdditionalValuesFiles {
		text, err := p.h.Loader().Load(name)
		if err != nil {
			return nil, err
		}
		values = append(values, text)
	}
	return helmhost.Program.Template(helmhost.Template{
		Chart:        filepath.Join(p.absChartHome(), p.Name),
		ReleaseName:  p.ReleaseName,
		NameTemplate: p.NameTemplate,
		Namespace:    p.Namespace,
		Values:       values,
		APIVersions:  p.ApiVersions,
		KubeVersion:  p.KubeVersion,
		IncludeCRDs:  p.IncludeCRDs,
		SkipTests:    p.SkipTests,
		NoHooks:      p.SkipHooks,
	})
}
