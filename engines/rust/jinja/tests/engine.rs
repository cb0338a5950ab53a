//! The engine as a host sees it: packages in, files or failures out.

use guest::testing::lines_of;
use guest::{Engine, Failure, Input, Object, Place, Rendered, Tree, Value, json};
use jinja::Jinja;

fn render<const N: usize>(files: [(&str, &str); N], data: Value) -> Result<Rendered, Failure> {
    let Value::Object(mut data) = data else { panic!("values are an object") };
    data.insert("name".into(), json!("shop"));
    let Value::Object(release) = json!({"name": "shop", "namespace": "prod", "revision": 1, "isUpgrade": false}) else {
        unreachable!()
    };
    let engine = Jinja::start();
    let loaded = engine.load(Tree::from(files))?;
    engine.render(&loaded, &Input { data, release, capabilities: Object::new(), options: Object::new() })
}

fn text(template: &str, data: Value) -> String {
    render([("main.yaml.j2", template)], data).unwrap().files.remove("main.yaml.j2").unwrap()
}

fn failure(template: &str) -> Failure {
    render([("main.yaml.j2", template)], json!({"x": 1})).unwrap_err()
}

#[test]
fn renders_a_kpm_package() {
    let rendered = render(
        [
            ("K3.yaml", "name: pony\nversion: 1.0.3\nvalues: {replicas: 1}\n"),
            ("values.yaml", "image: {name: web, tag: \"1\"}"),
            ("manifests/_labels.yaml.tmpl", "app: {{ name }}"),
            (
                "manifests/web.yaml.tmpl",
                "{% include '_labels.yaml.tmpl' %} {{ replicas }} {{ image.name }}:{{ image.tag }} \
                 {{ release.namespace }} {{ package.version }} {{ values.replicas }}\n",
            ),
            ("manifests/plain.yaml", "kind: {{ not a template }}\n"),
        ],
        json!({"replicas": 3, "image": {"tag": "2"}}),
    )
    .unwrap();
    assert_eq!(rendered.files["manifests/web.yaml.tmpl"], "app: shop 3 web:2 prod 1.0.3 3");
    assert_eq!(rendered.files["manifests/plain.yaml"], "kind: {{ not a template }}\n");
    assert_eq!(rendered.files.len(), 2);
}

#[test]
fn values_hide_the_names_of_the_engine() {
    assert_eq!(text("{{ release }}", json!({"release": "stable"})), "stable");
}

#[test]
fn a_name_without_value_is_an_error_by_default() {
    let failure = failure("a: 1\nb: {{ x.y.z }}\n");
    assert!(failure.message.starts_with("undefined value"), "{failure:?}");
    assert!(failure.message.contains("x.y"), "{failure:?}");
    assert_eq!(failure.place, Some(Place { text: Some("b: {{ x.y.z }}".into()), ..Place::at("main.yaml.j2", 2, 8) }));
    let options = |word: &str| format!("spec: {{engine: jinja, engineOptions: {{undefined: {word}}}}}");
    let with = |word: &str| {
        render([("mistletoe.yaml", options(word).as_str()), ("a.yaml.j2", "a: {{ nope }}{{ nope.nope }}")], json!({}))
    };
    assert!(with("strict").is_err() && with("lenient").is_err());
    assert_eq!(with("chainable").unwrap().files["a.yaml.j2"], "a: ");
    assert!(with("loose").unwrap_err().message.contains("one of strict, lenient, chainable"));
}

#[test]
fn options_are_those_of_jinja2() {
    let template = "a\n  {% if true %}\nb\n  {% endif %}\nc\n";
    assert_eq!(text(template, json!({})), "a\n  \nb\n  \nc");
    let options = "spec: {engineOptions: {trimBlocks: true, lstripBlocks: true, keepTrailingNewline: true}}";
    let rendered = render([("mistletoe.yaml", options), ("a.yaml.j2", template)], json!({})).unwrap();
    assert_eq!(rendered.files["a.yaml.j2"], "a\nb\nc\n");
    let failure = render([("mistletoe.yaml", "spec: {engineOptions: {trim: 1}}")], json!({})).unwrap_err();
    assert!(failure.message.contains("no option trim"), "{failure:?}");
}

#[test]
fn a_syntax_error_names_its_place() {
    let failure = failure("a: 1\nb: {{ x +\n");
    assert_eq!(failure.place.as_ref().and_then(|place| place.line), Some(2), "{failure:?}");
    assert!(failure.message.starts_with("syntax error: "), "{failure:?}");
}

#[test]
fn an_error_in_an_included_template_is_where_it_is() {
    let failure = render([("a.yaml.j2", "\n{% include './part.j2' %}"), ("part.j2", "ok\n\n {{ 1 / 0 }}")], json!({}))
        .unwrap_err();
    assert_eq!(failure.place, Some(Place { text: Some(" {{ 1 / 0 }}".into()), ..Place::at("part.j2", 3, 5) }));
    assert!(failure.message.ends_with("\nfrom a.yaml.j2:2"), "{failure:?}");
}

#[test]
fn nothing_outside_of_the_package_can_be_included() {
    for name in ["../secret", "./../../etc/passwd", "/etc/passwd", "nope"] {
        let failure = failure(&format!("{{% include '{name}' %}}"));
        assert!(failure.message.contains("non-existing template"), "{failure:?}");
    }
    assert!(failure("{{ file('/etc/passwd') }}").message.contains("the package has no file /etc/passwd"));
}

#[test]
fn filters_for_manifests() {
    let data = json!({"o": {"b": [1, {"c": "yes"}], "a": "x\ny\n"}, "text": "héllo"});
    assert_eq!(text("{{ o|to_yaml|indent(2) }}", data.clone()), "b:\n  - 1\n  - c: \"yes\"\n  a: |\n    x\n    y");
    assert_eq!(text("{{ o|to_json }}", data.clone()), r#"{"b":[1,{"c":"yes"}],"a":"x\ny\n"}"#);
    assert_eq!(text("{{ text|b64encode }} {{ text|b64encode|b64decode }}", data.clone()), "aMOpbGxv héllo");
    assert_eq!(text("{{ ''|sha256 }}", json!({}))[..8], *"e3b0c442");
    assert_eq!(text("{{ 'a: [1, yes]'|from_yaml }} {{ '[1]'|from_json }}", json!({})), "{'a': [1, True]} [1]");
    assert_eq!(text("{{ 'it\\'s \"x\"'|quote }}", json!({})), r#""it's \"x\"""#);
    assert_eq!(text("{{ x|quote }}", json!({"x": "a\u{85}b\u{7f}"})), r#""a\u0085b\u007f""#);
    assert_eq!(text("{{ '~a/%7E'|urlencode }} {{ {'k~': '~/'}|urlencode }}", json!({})), "~a/%257E k~=~%2F");
    assert!(failure("{{ ''|required('give an image') }}").message.contains("give an image"));
    assert!(failure("{{ raise('no such size') }}").message.contains("no such size"));
    assert!(failure("{{ 'a: [1'|from_yaml }}").message.contains("(line 2 of the text)"));
}

#[test]
fn files_that_are_no_text_say_so() {
    let tree: Tree = [("a.yaml.j2".to_owned(), b"a: \xff".to_vec())].into_iter().collect();
    let failure = Jinja::start().load(tree).err().unwrap();
    assert_eq!(failure.message, "a.yaml.j2 is no UTF-8 text: byte 0xFF at offset 3");
    assert_eq!(failure.place, Some(Place::at("a.yaml.j2", 1, 4)));
    let tree = Tree::from([("a.yaml.j2", "a: \0")]);
    assert!(Jinja::start().load(tree).err().unwrap().message.contains("NUL"));
}

#[test]
fn hostile_templates_end_with_an_error() {
    let endless = "{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}{% endfor %}\
                   {% endfor %}{% endfor %}";
    assert!(failure(endless).message.contains("does it ever end?"));
    let recursion = failure("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}");
    assert!(recursion.message.contains("recursion limit exceeded"), "{recursion:?}");
    assert!(recursion.message.len() < 4000, "{}", recursion.message.len());
    assert!(failure("{% include './main.yaml.j2' %}").message.contains("recursion limit exceeded"));
    assert!(failure(&"{% if x %}".repeat(10_000)).message.contains("recursion"));
    assert!(failure(&format!("{{{{ {}1{} }}}}", "(".repeat(10_000), ")".repeat(10_000))).message.contains("recursion"));
    assert!(failure(&format!("{{{{ {}1 }}}}", "-".repeat(100_000))).message.contains("operators"));
    assert!(failure("{{ range(1000000000)|list }}").message.contains("range"));
    assert!(failure("{{ 'x' * 1000000000000 }}").message.len() < 200);
    assert!(failure("{{ 'x'.zfill(1000000000) }}").message.contains("too long"));
    assert!(failure(&format!("{{{{ 1{} }}}}", "+1".repeat(100_000))).message.contains("operators"));
}

#[test]
fn a_value_reaches_output_in_the_order_of_its_file() {
    let rendered = render(
        [("values.yaml", "z: {b: 1, a: 2}\na: 1"), ("a.yaml.j2", "{{ values|to_json }}{{ z }}")],
        json!({"new": 1}),
    );
    assert_eq!(
        rendered.unwrap().files["a.yaml.j2"],
        r#"{"z":{"b":1,"a":2},"a":1,"new":1,"name":"shop"}{'b': 1, 'a': 2}"#
    );
}

#[test]
fn says_what_the_package_is() {
    let engine = Jinja::start();
    let files = [("K3.yaml", "name: pony\nversion: 1.0.3"), ("values.yaml", "n: 1"), ("manifests/a.json", "{}")];
    let package = engine.describe(&engine.load(Tree::from(files)).unwrap()).unwrap().to_json();
    assert_eq!((&package["name"], &package["version"]), (&json!("pony"), &json!("1.0.3")));
    assert_eq!(package["inputs"]["properties"]["n"], json!({"type": "integer", "default": 1}));
}

#[test]
fn knows_which_line_wrote_what() {
    let template =
        "a: 1\n{% if x %}\nb: {{ x }}\n{% endif %}\n{% for p in l %}\n- {{ p }}\n{% endfor %}\n{{ t }}\nend: 1\n";
    let data = json!({"x": 1, "l": [1, 2], "t": "m: 1\nn: 2"});
    let rendered = render([("a.yaml.j2", template)], data).unwrap();
    let expected = [("a: 1", 1), ("b: 1", 3), ("- 1", 6), ("- 2", 6), ("m: 1", 8), ("n: 2", 8), ("end: 1", 9)];
    assert_eq!(lines_of(&rendered, "a.yaml.j2"), expected);
}

#[test]
fn knows_lines_where_blanks_are_cut() {
    let template = "{%- for k in l -%}\n{{ k }}: {{ k -}}\n\n{{ t }}\n{% endfor -%}\n\n{{- t }}{# x\n #}\n{{- t }}";
    let rendered = render([("a.yaml.j2", template)], json!({"l": ["a", "b"], "t": "\n- x\n- y"})).unwrap();
    let round = [("- x", 4), ("- y", 4)];
    // The lines behind a loop aren't sure.
    let expected = [
        [("a: a", 2)].as_slice(),
        &round,
        &[("b: b", 2)],
        &round,
        &[("- x", 0), ("- y", 0)],
        &[("- x", 0), ("- y", 0)],
    ];
    assert_eq!(lines_of(&rendered, "a.yaml.j2"), expected.concat());
}

#[test]
fn what_others_write_has_the_line_that_named_them() {
    let files = [
        ("_l.j2", "x: 1\ny: {{ 1 + 1 }}"),
        ("_base.j2", "top: 1\n{% block b %}{% endblock %}\nbottom: 1"),
        ("_m.j2", "{% macro m(a) %}m: {{ a }}\nn: 1{% endmacro %}"),
        ("a.j2", "{% from '_m.j2' import m %}\na: 1\n{% include '_l.j2' %}\nb: {% include '_l.j2' %}\n{{ m(1) }}\n"),
        ("c.j2", "{% include '_l.j2' %}\n{% include '_l.j2' %}{% include '_l.j2' %}"),
        ("b.j2", "{% extends '_base.j2' %}\n{% block b %}\nmid: 1\n{% endblock %}"),
    ];
    let rendered = render(files, json!({})).unwrap();
    let expected = [("a: 1", 2), ("x: 1", 3), ("y: 2", 3), ("b: x: 1", 4), ("y: 2", 4), ("m: 1", 5), ("n: 1", 5)];
    assert_eq!(lines_of(&rendered, "a.j2"), expected);
    // Where one ends and the other begins isn't sure.
    let expected = [("x: 1", 1), ("y: 2", 1), ("x: 1", 0), ("y: 2x: 1", 0), ("y: 2", 0)];
    assert_eq!(lines_of(&rendered, "c.j2"), expected);
    assert_eq!(lines_of(&rendered, "b.j2"), [("top: 1", 1), ("mid: 1", 3), ("bottom: 1", 1)]);
}
