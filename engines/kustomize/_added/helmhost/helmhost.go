// Package helmhost is how the engine stands in for the helm program: kustomize's inflator of charts asks Program for what it
// would run. Added to kustomize's api by ../../stage.sh.
package helmhost

// Program does what kustomize runs helm for.
var Program interface {
	// HasChart says whether there is a directory at a path.
	HasChart(path string) bool
	// Pull is `helm pull --untar --untardir into`.
	Pull(chart Chart, into string) error
	// Template is `helm template`; it gives what that prints.
	Template(Template) ([]byte, error)
}

// Chart is one of a repository.
type Chart struct {
	Repo, Name, Version string
	Devel               bool
}

// Template has the arguments of `helm template`.
type Template struct {
	Chart        string // path of a directory
	ReleaseName  string
	NameTemplate string
	Namespace    string
	Values       [][]byte // the contents of the values files, in their order
	APIVersions  []string
	KubeVersion  string
	IncludeCRDs  bool
	SkipTests    bool
	NoHooks      bool
}
