package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// keysOf gives each line of a result's file whose key begins with `k`, as "k3@7": key and line of the template.
func keysOf(t *testing.T, got result, name string) []string {
	t.Helper()
	if got.Result != "Ok" {
		t.Fatal(got.Message)
	}
	from, known := got.Origins[name]
	if !known {
		t.Fatalf("nothing is known of %s: %v", name, got.Origins)
	}
	var keys []string
	for i, line := range strings.Split(got.Files[name], "\n") {
		at := i + 1
		if from.Lines != nil {
			at = from.Lines[i]
		}
		if key, _, found := strings.Cut(strings.TrimLeft(line, " -"), ":"); found && strings.HasPrefix(key, "k") {
			keys = append(keys, fmt.Sprintf("%s@%d", key, at))
		}
	}
	return keys
}

func TestEveryLineHasItsLineInTheTemplate(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"comments and conditions": {"{{/* two\nlines */}}\n{{- if true }}\nk1: a\n{{- else }}\nk2: a\n{{- end }}\nk3: a\n", "k1@4 k3@8"},
		"a loop of several lines": {"k0:\n{{- range until 2 }}\n- k1: {{ . }}\n  k2: b\n{{- end }}\nk3: c\n", "k0@1 k1@3 k2@4 k1@3 k2@4 k3@6"},
		"what is included":        {"k1: a\n{{ include \"two\" . }}\nk2: b\n", "k1@1 k8@2 k9@2 k2@3"},
		"a template in place":     {"k1: a\n{{ template \"two\" . }}\nk2: b\n", "k1@1 k8@2 k9@2 k2@3"},
		"values as YAML":          {"k1:\n  {{- toYaml .Values.map | nindent 2 }}\nk2: b\n", "k1@1 k8@2 k9@2 k2@3"},
		"actions without a text between": {
			"k1: a\n{{- $x := 1 -}}\n{{- print \"\\n\" -}}\n{{- print \"k2: b\\n\" -}}\n\n{{- print \"k3: c\\n\" }}\nk4: d\n",
			"k1@1 k2@4 k3@6 k4@7"},
		"an action of several lines":  {"k1: a\n{{ include \"two\" (dict\n  \"a\" 1\n) }}\nk2: b\n", "k1@1 k8@2 k9@2 k2@5"},
		"its own definition":          {"{{ define \"own\" }}\nk1: a{{ end }}\nk2: b\n{{ template \"own\" }}\n", "k2@3 k1@2"},
		"a text that is a template":   {"k1: a\n{{ tpl \"k2: {{ 1 }}\\nk3: b\" . }}\nk4: c\n", "k1@1 k2@2 k3@2 k4@3"},
		"a separator that Helm glues": {"k1: a\n---k2: b\n", "k1@1 k2@2"},
		"a document that Helm skips": {
			"k1: a\n---\nmetadata: {annotations: {helm.sh/hook: crd-install}}\n---\n\nk2: b\n", "k1@1 k2@6"},
		"a value on the next line": {"k1:\n  {{- if true }} a\n  {{- end }}\nk2: b\n", "k1@1 k2@4"},
		"carriage returns":         {"k1: a\r\n{{- if true }}\r\nk2: b\r\n{{- end }}\r\n", "k1@1 k2@3"},
	}
	helper := "{{- define \"two\" -}}\nk8: 1\nk9: 2\n{{- end -}}\n"
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for _, below := range []string{"", "charts/sub/"} {
				files := map[string]string{below + "templates/_h.tpl": helper, below + "templates/x.yaml": test.text,
					below + "values.yaml": "map: {k8: 1, k9: 2}\n"}
				if below != "" {
					files["charts/sub/Chart.yaml"] = "apiVersion: v2\nname: sub\nversion: 1.2.0\n"
				}
				got := renderFiles(t, files, nil)
				if keys := strings.Join(keysOf(t, got, "shop/"+below+"templates/x.yaml"), " "); keys != test.want {
					t.Errorf("%q: %s, not %s, in\n%s", below, keys, test.want, got.Files["shop/"+below+"templates/x.yaml"])
				}
				if file := got.Origins["shop/"+below+"templates/x.yaml"].File; file != below+"templates/x.yaml" {
					t.Error(file)
				}
			}
		})
	}
}

func TestDefinitionsOfACRDFileAreWhereTheyStand(t *testing.T) {
	got := renderFiles(t, map[string]string{"crds/d.yaml": "a: b\nk1: c\n"}, nil)
	if keys := keysOf(t, got, "shop/crds/d.yaml"); !slices.Equal(keys, []string{"k1@2"}) || got.Origins["shop/crds/d.yaml"].File != "crds/d.yaml" {
		t.Error(keys, got.Origins)
	}
}

// Templates are drawn in which each key occurs once, as text: the line that is named must have it.
func TestTheNamedLineHasTheKeyThatIsText(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		text := drawTemplate(random, new(int), 3)
		got := renderFiles(t, map[string]string{"templates/x.yaml": text}, nil)
		if got.Result != "Ok" {
			t.Fatalf("%s in\n%s", got.Message, text)
		}
		if got.Files["shop/templates/x.yaml"] == "" {
			continue
		}
		lines := strings.Split(text, "\n")
		for _, key := range keysOf(t, got, "shop/templates/x.yaml") {
			name, at, _ := strings.Cut(key, "@")
			if !strings.Contains(lines[number(at)-1], name+":") {
				t.Fatalf("%s isn't at line %s of\n%s", name, at, text)
			}
		}
	}
}

func drawTemplate(random *rand.Rand, keys *int, depth int) string {
	var out strings.Builder
	open := func() string { return []string{"{{ ", "{{- "}[random.IntN(2)] }
	shut := func() string { return []string{" }}", " -}}"}[random.IntN(2)] }
	for range 1 + random.IntN(4) {
		*keys++
		key := fmt.Sprintf("k%dk: ", *keys)
		switch choice := random.IntN(8); {
		case choice < 3 || depth == 0:
			out.WriteString("{{ \"\\n\" }}" + key + "{{ 1 }}\n")
		case choice == 3:
			out.WriteString([]string{"{{/* a\n b */}}\n", "{{- /* a\n b */ -}}\n"}[random.IntN(2)])
		case choice == 4:
			out.WriteString("{{ \"\\n\" }}" + key + "\n" + open() + "list 1 2 | toYaml | nindent 2" + " }}\n")
		case choice == 5:
			out.WriteString(open() + "$x := 1" + shut() + "\n" + open() + "print \"\\n\"" + shut() + "\n\n")
		default:
			block := []string{"if true", "if false", "range until 3", "with 1"}[random.IntN(4)]
			out.WriteString(open() + block + shut() + "\n\n" + drawTemplate(random, keys, depth-1) +
				[]string{"", open() + "else" + shut() + "\n" + drawTemplate(random, keys, depth-1)}[random.IntN(2)] +
				open() + "end" + shut() + "\n\n")
		}
	}
	return out.String()
}
