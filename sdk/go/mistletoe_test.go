package mistletoe

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"
)

type port struct {
	Name   string `json:"name"`
	Number uint16 `json:"number" minimum:"1"`
}

type inputs struct {
	Name     string            `json:"name" doc:"The name of the release"`
	Replicas int               `json:"replicas" default:"2" maximum:"100"`
	Kind     string            `json:"kind" enum:"a,b" default:"a"`
	Ports    []port            `json:"ports" default:"[]"`
	Labels   map[string]string `json:"labels,omitempty"`
	Size     *int              `json:"size"`
	Must     bool              `json:"must"`
	Values   any               `json:"values,omitempty"`
	hidden   int
}

func document(data string) string {
	return `{"apiVersion":"mistletoe.dev/v1","kind":"MistInput","data":` + data + `,"release":{"name":"shop","namespace":"prod"}}`
}

func TestSchemaComesFromTheStruct(t *testing.T) {
	text, err := marshal(Schema[inputs]())
	if err != nil {
		t.Fatal(err)
	}
	var got, want any
	expected := `{"type":"object","additionalProperties":false,"required":["must"],"properties":{
		"name":{"type":"string","description":"The name of the release"},
		"replicas":{"type":"integer","default":2,"maximum":100},
		"kind":{"type":"string","enum":["a","b"],"default":"a"},
		"ports":{"type":"array","default":[],"items":{"type":"object","additionalProperties":false,"required":["name","number"],
			"properties":{"name":{"type":"string"},"number":{"type":"integer","minimum":1}}}},
		"labels":{"type":"object","additionalProperties":{"type":"string"}},
		"size":{"type":"integer"},"must":{"type":"boolean"},"values":{}}}`
	if json.Unmarshal(text, &got) != nil || json.Unmarshal([]byte(expected), &want) != nil {
		t.Fatal("no JSON")
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %s", text)
	}
	if (inputs{}).hidden != 0 {
		t.Error("a field that nobody sees has a value")
	}
}

func TestMissingInputsHaveTheDefaultsOfTheirTags(t *testing.T) {
	type server struct {
		Host string `json:"host"`
		Port int    `json:"port" minimum:"1" default:"5432"`
	}
	type all struct {
		embeddedDefault
		Kind    string             `json:"kind" default:"a"`
		Servers []server           `json:"servers" default:"[{\"host\":\"pg\"}]"`
		ByName  map[string]*server `json:"byName,omitempty"`
		Backup  *server            `json:"backup"`
		Raw     json.RawMessage    `json:"raw" default:"{}"`
		Any     any                `json:"any,omitempty"`
	}
	read := func(data string) (in all) {
		if err := decode([]byte(data), &in); err != nil {
			t.Error(err)
		}
		return in
	}
	in := read(`{"any":[18446744073709551617]}`)
	if in.Zone != "eu" || in.Kind != "a" || in.Servers[0] != (server{"pg", 5432}) || in.Backup != nil || string(in.Raw) != "{}" {
		t.Errorf("%+v", in)
	}
	if fmt.Sprint(in.Any) != "[18446744073709551617]" {
		t.Error(in.Any)
	}
	in = read(`{"zone":"us","kind":"","servers":[{"port":1},{"host":"<"}],"byName":{"a":{}},"backup":{},"raw":null}`)
	if in.Zone != "us" || in.Kind != "" || in.Servers[0].Port != 1 || in.Servers[1] != (server{"<", 5432}) ||
		*in.ByName["a"] != (server{"", 5432}) || in.Backup.Port != 5432 || string(in.Raw) != "null" {
		t.Errorf("%+v", in)
	}
	if err := decode([]byte(`{"servers":{"port":1}}`), &in); err == nil || !strings.Contains(err.Error(), "`servers`") {
		t.Error(err)
	}
}

type embeddedDefault struct {
	Zone string `json:"zone" default:"eu"`
}

type embedded struct {
	Zone string `json:"zone"`
}

type Named struct {
	Area string `json:"area"`
}

func TestSchemaSaysHowATypeIsRead(t *testing.T) {
	type types struct {
		embedded
		Named `json:"named"`
		Raw   json.RawMessage   `json:"raw"`
		Time  *time.Time        `json:"time"`
		Limit *big.Float        `json:"limit"`
		Hosts map[string]net.IP `json:"hosts,omitempty"`
		Dash  int               `json:"-,"`
		Left  int               `json:"-"`
		Texts []*encodedText    `json:"texts" default:"[\"a\"]"`
		One   encodedText       `json:"one" default:"a"`
		Bytes []byte            `json:"bytes" default:"AQI="`
		Array [2]byte           `json:"array,omitempty"`
		Exact json.Number       `json:"exact" default:"1.50"`
	}
	text, err := marshal(Schema[types]())
	if err != nil {
		t.Fatal(err)
	}
	want := `{"additionalProperties":false,"properties":{"-":{"type":"integer"},` +
		`"array":{"items":{"minimum":0,"type":"integer"},"type":"array"},"bytes":{"default":"AQI=","type":"string"},` +
		`"exact":{"default":1.50,"type":"number"},` +
		`"hosts":{"additionalProperties":{"type":"string"},"type":"object"},"limit":{"type":"string"},` +
		`"named":{"additionalProperties":false,"properties":{"area":{"type":"string"}},"required":["area"],"type":"object"},` +
		`"one":{"default":"a","type":"string"},"raw":{},"texts":{"default":["a"],"items":{"type":"string"},"type":"array"},` +
		`"time":{},"zone":{"type":"string"}},"required":["zone","named","raw","-"],"type":"object"}`
	if string(text) != want {
		t.Errorf("got %s", text)
	}
	var in types
	if err := decode([]byte(`{}`), &in); err != nil || string(in.Bytes) != "\x01\x02" || in.Exact != "1.50" {
		t.Errorf("%v %+v", err, in)
	}
}

// server checks what it reads, from the object of its fields.
type server struct {
	Host string `json:"host"`
	Port int    `json:"port" default:"5432"`
}

func (s *server) UnmarshalJSON(text []byte) error {
	type plain server
	if err := json.Unmarshal(text, (*plain)(s)); err != nil {
		return err
	}
	s.Host = strings.ToLower(s.Host)
	return nil
}

func TestAStructWithTagsHasASchemaAlsoIfItReadsItself(t *testing.T) {
	type all struct {
		Servers []server `json:"servers"`
	}
	text, err := marshal(Schema[all]()["properties"])
	want := `{"servers":{"items":{"additionalProperties":false,"properties":{"host":{"type":"string"},` +
		`"port":{"default":5432,"type":"integer"}},"required":["host"],"type":"object"},"type":"array"}}`
	if err != nil || string(text) != want {
		t.Errorf("%v %s", err, text)
	}
	var in all
	if err := decode([]byte(`{"servers":[{"host":"PG"}]}`), &in); err != nil || in.Servers[0] != (server{"pg", 5432}) {
		t.Errorf("%v %+v", err, in)
	}
}

// encodedByte is one of its kind that isn't read as a number.
type encodedByte byte

func (b *encodedByte) UnmarshalText(text []byte) error {
	*b = encodedByte(len(text))
	return nil
}

func TestBytesThatReadThemselvesAreAList(t *testing.T) {
	if schema := schemaOf(reflect.TypeFor[[]encodedByte]()); schema["type"] != "array" {
		t.Error(schema)
	}
}

type encodedText struct{ text string }

func (e *encodedText) UnmarshalText(text []byte) error {
	e.text = string(text)
	return nil
}

func TestAnswersWhatItIsAsked(t *testing.T) {
	generate := func(in inputs, context Context) (*Output, error) {
		return NewOutput().WithMessage(in.Name+" in "+context.Release.Namespace).WithFile("b", "\u2028").WithFile("a", "1").WithFile("b", "2"), nil
	}
	got := string(respond(generate, []byte(document(`{"name":"shop"}`))))
	want := `{"apiVersion":"mistletoe.dev/v1","kind":"MistResult","data":{"result":"Ok","message":"shop in prod","files":{"b":"2","a":"1"}}}` + "\n"
	if got != want {
		t.Errorf("got %s", got)
	}
	if got := string(respond(generate, []byte(`{"kind":"MistDescribe"}`))); !strings.Contains(got, `"package":{"inputs":{`) {
		t.Errorf("got %s", got)
	}
}

func TestAnExportedTextIsReadAsItself(t *testing.T) {
	for want, exports := range map[string]any{
		`"exports":"\"on \\u0085\\\"\""}`: "on \u0085\"",
		`"exports":"\"0123\""}`:           "0123",
		`"exports":["on"]}`:               []string{"on"},
	} {
		if text := string(resultDocument(NewOutput().WithExports(exports), nil)); !strings.Contains(text, want) {
			t.Errorf("%s lacks %s", text, want)
		}
	}
}

func TestErrorsBecomeResults(t *testing.T) {
	for data, want := range map[string]string{
		`{"name":"shop"}`:               "can't make the Service: no port",
		`{"ports":[{"number":"many"}]}`: "the input `ports.number` doesn't fit this package: it is a string, not a uint16",
	} {
		_, err := Render(func(inputs) (*Output, error) {
			return nil, fmt.Errorf("can't make the Service: %w", errors.New("no port"))
		}, document(data))
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v", data, err)
		}
	}
	_, err := Render(func(inputs) (*Output, error) { return NewOutput().WithObject("x.yaml", make(chan int)), nil }, document(`{}`))
	if err == nil || !strings.HasPrefix(err.Error(), "can't write the file x.yaml: ") {
		t.Errorf("%v", err)
	}
}

func TestNumbersThatAreNotFiniteAreRefusedWithTheirPath(t *testing.T) {
	type inner struct {
		Size float32 `json:"size"`
	}
	type object struct {
		inner
		Ports []map[string]float64 `json:"ports,omitempty"`
		Next  *object
	}
	const rest = ", which neither JSON nor YAML has"
	for want, value := range map[string]any{
		"size is NaN":               object{inner: inner{float32(math.NaN())}},
		"ports[1].port is Infinity": object{Ports: []map[string]float64{{"a": 1}, {"a": 2, "port": math.Inf(1)}}},
		"Next.size is -Infinity":    &object{Next: &object{inner: inner{float32(math.Inf(-1))}}},
		"spec.a is NaN":             map[string]any{"spec": map[string]any{"b": math.Inf(1), "a": math.NaN()}},
		"the value is NaN":          math.NaN(),
	} {
		if _, err := ToYAML(value); err == nil || err.Error() != want+rest {
			t.Errorf("%s: %v", want, err)
		}
	}
	nan := map[string]float64{"size": math.NaN()}
	_, err := Render(func(inputs) (*Output, error) { return NewOutput().WithObject("x.yaml", nan), nil }, document(`{}`))
	if err == nil || err.Error() != "can't write the file x.yaml: size is NaN"+rest {
		t.Errorf("%v", err)
	}
	if text := string(resultDocument(NewOutput().WithExports(nan), nil)); !strings.Contains(text, "can't write the exports: size is NaN"+rest) {
		t.Error(text)
	}
	if _, err := Call("db", nan); err == nil || err.Error() != "can't write the input of db: size is NaN"+rest {
		t.Errorf("%v", err)
	}
}

func TestWritesYAMLAsTheOtherSDKs(t *testing.T) {
	type object struct {
		Zone int    `json:"zone"`
		Kind string `json:"kind"`
		Area []any  `json:"area"`
	}
	for want, value := range map[string]any{
		"kind: K\nzone: 1\narea: []\n":               object{1, "K", []any{}},
		"a: |\n  x\n\n   y\n":                        map[string]string{"a": "x\n\n y\n"},
		"- - 1\n  - null\n- b: \"yes\"\n  c: 250m\n": []any{[]any{1, nil}, map[string]any{"c": "250m", "b": "yes"}},
		"\"\\u0085<&>\"\n":                           "\u0085<&>",
		"{}\n":                                       map[string]int{},
	} {
		if got, err := ToYAML(value); err != nil || got != want {
			t.Errorf("got %q, not %q (%v)", got, want, err)
		}
	}
}

func TestNumbersKeepTheirDigits(t *testing.T) {
	called := Called{RawExports: []byte(`{"id":9007199254740993,"size":100000.0}`)}
	var exports map[string]any
	if err := called.Exports(&exports); err != nil {
		t.Fatal(err)
	}
	if text, err := ToYAML(exports); err != nil || text != "id: 9007199254740993\nsize: 100000.0\n" {
		t.Error(text, err)
	}
	var object struct{ Metadata any }
	if err := decodeAnswer([]byte(`{"metadata":{"generation":9007199254740993}}`), &object); err != nil {
		t.Fatal(err)
	}
	if text, err := ToYAML(object.Metadata); err != nil || text != "generation: 9007199254740993\n" {
		t.Error(text, err)
	}
	if text, err := ToYAML([]float64{100000, 1e20, 1e21, 1e-5, 1e-7}); err != nil ||
		text != "- 100000\n- 100000000000000000000\n- 1e+21\n- 0.00001\n- 1e-7\n" {
		t.Error(text, err)
	}
}

func TestSecretsHaveStandIns(t *testing.T) {
	one, err := Password("db")
	if other, _ := Password("api"); err != nil || len(one) != 24 || one == other {
		t.Errorf("%q, %q, %v", one, other, err)
	}
	if salt, _ := Base64("salt", 16); len(salt) != 24 || !strings.HasSuffix(salt, "==") {
		t.Errorf("%q", salt)
	}
	if _, err := Ed25519("key"); err == nil || !strings.Contains(err.Error(), "no host here") {
		t.Errorf("%v", err)
	}
	if _, err := Call("db", nil); err == nil {
		t.Error("somebody answers a call")
	}
}

func TestWithoutAClusterThereAreNoObjects(t *testing.T) {
	var object map[string]any
	if found, err := Lookup("v1", "ConfigMap", "shared", "settings", &object); found || err != nil {
		t.Error(found, err)
	}
	if _, err := Lookup("v1", "ConfigMap", "shared", "", &object); err == nil {
		t.Error("an empty name would ask for all of them")
	}
	objects := []map[string]any{{}}
	if err := LookupAll("v1", "ConfigMap", "", &objects); err != nil || len(objects) != 0 {
		t.Error(objects, err)
	}
}
