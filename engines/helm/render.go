package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"path"
	"slices"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
)

// render answers an input with what the chart renders to.
func render(in *input) result {
	r := rendering{in: in}
	if err := r.run(); err != nil {
		return result{Result: "Err", Message: err.Error(), Where: r.locate(err), Refused: r.refused}
	}
	r.result.Result = "Ok"
	return r.result
}

// rendering is a chart on its way to manifests: run does what `helm template` and `helm install` do before they print
// or write, step by step in their order, so that a chart that fails fails with the same words.
type rendering struct {
	in      *input
	chart   *chart.Chart
	origins origins
	caps    *common.Capabilities
	values  common.Values
	parts   []string           // keys of values that decide about dependencies
	files   map[string]string  // what the templates gave, by Helm's name for them
	traces  map[string]*tracer // by Helm's name
	refused []refusedValues
	result  result
}

func (r *rendering) run() error {
	var err error
	if r.caps, err = capabilitiesOf(r.in); err != nil {
		return err
	}
	if err = r.name(); err != nil {
		return err
	}
	if r.chart, err = theChart(); err != nil {
		return err
	}
	return r.runWithChart()
}

func (r *rendering) runWithChart() error {
	r.origins = originsOf(r.chart)
	if err := checkInstallable(r.chart); err != nil {
		return err
	}
	if err := r.prepareValues(); err != nil {
		return err
	}
	if wanted := r.chart.Metadata.KubeVersion; wanted != "" &&
		!chartutil.IsCompatibleRange(wanted, r.caps.KubeVersion.String()) {
		return fmt.Errorf("chart requires kubeVersion: %s which is incompatible with Kubernetes %s",
			wanted, r.caps.KubeVersion.Version)
	}
	if err := r.execute(); err != nil {
		return err
	}
	r.result.Message = takeNotes(r.chart, r.files, r.in.Engine.Options.RenderSubchartNotes)
	r.result.Unknown = r.unknownValues()
	return r.collect()
}

// name gives the release the name that a template makes, if there is one.
func (r *rendering) name() error {
	options := &r.in.Engine.Options
	if options.NameTemplate == "" {
		return nil
	}
	if options.Random != "native" {
		useRandomStream("name-template")
		defer useRandomStream("")
	}
	parsed, err := template.New("name-template").Funcs(sprig.TxtFuncMap()).Funcs(functions(false)).Parse(options.NameTemplate)
	if err != nil {
		return err
	}
	var text strings.Builder
	if err := parsed.Execute(&text, nil); err != nil {
		return err
	}
	r.in.Release.Name = text.String()
	return nil
}

// prepareValues decides which dependencies there are and merges everybody's values, the schemas permitting.
func (r *rendering) prepareValues() error {
	release := &r.in.Release
	if err := chartutil.ValidateReleaseName(release.Name); err != nil {
		return fmt.Errorf("release name check failed: release name %q: %w", release.Name, err)
	}
	r.parts = partsOf(r.chart)
	if err := chartutil.ProcessDependencies(r.chart, r.in.values); err != nil {
		r.refused = refusedTables(r.chart, r.in.values)
		return fmt.Errorf("chart dependencies processing failed: %w", err)
	}
	var err error
	r.values, err = util.ToRenderValuesWithSchemaValidation(r.chart, r.in.values, common.ReleaseOptions{
		Name:      release.Name,
		Namespace: release.Namespace,
		Revision:  release.Revision,
		IsInstall: !release.IsUpgrade,
		IsUpgrade: release.IsUpgrade,
	}, r.caps, r.in.Engine.Options.SkipSchemaValidation)
	if err != nil && strings.HasPrefix(err.Error(), schemaFailure) {
		r.refused = refusedBySchemas(r.chart, r.in.values)
	} else if err != nil {
		r.refused = refusedTables(r.chart, r.in.values)
	}
	return err
}

// execute renders all templates.
func (r *rendering) execute() error {
	engine.BeforeFile = r.enterFile
	e := engine.Engine{CustomTemplateFuncs: functions(r.in.Engine.Options.Lookup != "empty")}
	var err error
	r.files, err = e.RenderWithContext(context.Background(), r.chart, r.values)
	if r.in.Engine.Options.Random != "native" {
		useRandomStream("")
	}
	return err
}

// enterFile is called before each template file is executed.
func (r *rendering) enterFile(name string, out *strings.Builder) io.Writer {
	if r.in.Engine.Options.Random != "native" {
		useRandomStream(strings.TrimPrefix(name, r.chart.Name()+"/"))
	}
	return r.trace(name, out)
}

// checkInstallable refuses what `helm install` refuses before it looks at any values.
func checkInstallable(c *chart.Chart) error {
	if kind := c.Metadata.Type; kind != "" && kind != "application" {
		return fmt.Errorf("%s charts are not installable", kind)
	}
	if c.Metadata.Deprecated {
		slog.Warn("this chart is deprecated")
	}
	var missing []string
	for _, wanted := range c.Metadata.Dependencies {
		if !slices.ContainsFunc(c.Dependencies(), func(d *chart.Chart) bool { return d.Name() == wanted.Name }) {
			missing = append(missing, wanted.Name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("an error occurred while checking for chart dependencies. You may need to run "+
			"'helm dependency build' to fetch missing dependencies: found in Chart.yaml, but missing in "+
			"charts/ directory: %s", strings.Join(missing, ", "))
	}
	return nil
}

// capabilitiesOf are the cluster's, or Helm's defaults, with what the flags say instead.
func capabilitiesOf(in *input) (*common.Capabilities, error) {
	caps := common.DefaultCapabilities.Copy()
	if cluster := in.Capabilities; cluster != nil {
		if cluster.KubeVersion != "" {
			parsed, err := common.ParseKubeVersion(cluster.KubeVersion)
			if err != nil {
				return nil, fmt.Errorf("invalid kube version '%s': %w", cluster.KubeVersion, err)
			}
			// As from discovery: without the normalised version that a flag has.
			caps.KubeVersion = common.KubeVersion{
				Version: cluster.KubeVersion, Major: parsed.Major, Minor: parsed.Minor}
		}
		if cluster.APIVersions != nil {
			caps.APIVersions = cluster.APIVersions
		}
	}
	if flag := in.Engine.Options.KubeVersion; flag != "" {
		parsed, err := common.ParseKubeVersion(flag)
		if err != nil {
			return nil, fmt.Errorf("invalid kube version '%s': %w", flag, err)
		}
		caps.KubeVersion = *parsed
	}
	caps.APIVersions = slices.Concat(caps.APIVersions, in.Engine.Options.APIVersions)
	return caps, nil
}

const notesSuffix = "NOTES.txt"

// takeNotes removes every NOTES.txt from files and returns the chart's own, with its subcharts' if wanted.
func takeNotes(c *chart.Chart, files map[string]string, ofSubcharts bool) string {
	var notes []string
	for _, name := range sortedNames(files) {
		if !strings.HasSuffix(name, notesSuffix) {
			continue
		}
		if ofSubcharts || name == path.Join(c.Name(), "templates", notesSuffix) {
			notes = append(notes, files[name])
		}
		delete(files, name)
	}
	return strings.Join(notes, "\n")
}
