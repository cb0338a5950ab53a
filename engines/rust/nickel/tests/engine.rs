//! The engine as a host sees it: packages in, files or failures out.

use guest::{Engine, Failure, Input, Object, Place, Rendered, Tree, Value, json};
use nickel::Nickel;

fn object(value: Value) -> Object {
    let Value::Object(object) = value else { panic!("this is not an object: {value}") };
    object
}

fn render<const N: usize>(files: [(&str, &str); N], data: Value) -> Result<Rendered, Failure> {
    let mut data = object(data);
    data.insert("name".into(), json!("shop"));
    let release = object(json!({"name": "shop", "namespace": "prod", "revision": 1, "isUpgrade": false}));
    let engine = Nickel::start();
    let loaded = engine.load(Tree::from(files))?;
    engine.render(&loaded, &Input { data, release, capabilities: Object::new(), options: Object::new() })
}

fn main(program: &str, data: Value) -> Result<Rendered, Failure> {
    render([("main.ncl", program)], data)
}

#[test]
fn a_program_is_a_function_of_its_values() {
    let program = r#"
      fun { name, replicas ? 1, .. } =>
        { apiVersion = "apps/v1", kind = "Deployment", metadata.name = name, spec.replicas = replicas }
    "#;
    let rendered = main(program, json!({"replicas": 3})).unwrap();
    assert_eq!(
        rendered.files["main.ncl"],
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: shop\nspec:\n  replicas: 3\n"
    );
}

#[test]
fn a_program_is_a_record_with_input_and_output() {
    let program = r#"
      {
        input | { name | String, replicas | Number | default = 1, image | { tag | String | default = "a", .. } | default = {} },
        release | { namespace | String, .. },
        output = {
          service = { apiVersion = "v1", kind = "Service", metadata = { name = input.name, namespace = release.namespace } },
          list = [{ apiVersion = "v1", kind = "A", x = input.image.tag }, { apiVersion = "v1", kind = "B", count = input.replicas }],
        },
      }
    "#;
    let rendered = main(program, json!({"image": {"tag": "b"}})).unwrap();
    assert_eq!(rendered.files.len(), 2);
    assert!(rendered.files["main.ncl/service"].contains("name: shop\n  namespace: prod"), "{rendered:?}");
    assert_eq!(
        rendered.files["main.ncl/list"],
        "apiVersion: v1\nkind: A\nx: b\n---\napiVersion: v1\ncount: 1\nkind: B\n"
    );
}

#[test]
fn what_is_evaluated_early_changes_nothing() {
    let program = r#"
      let base = { replicas | Number = 1 + 1 } in
      fun { name, .. } => { apiVersion = "v1", kind = "A", metadata.name = name, count = base.replicas }
    "#;
    let expected = main(program, json!({})).unwrap().files["main.ncl"].clone();
    assert!(expected.contains("count: 2"), "{expected}");
    for early in
        [r#"(import "main.ncl") { name = "early" }"#, r#"(import "main.ncl") {}"#, r#"std.fail_with "no""#, "{"]
    {
        let rendered = render([("main.ncl", program), ("mistletoe-early.ncl", early)], json!({})).unwrap();
        assert_eq!(rendered.files["main.ncl"], expected, "{early}");
    }
    // Errors are the same with and without it.
    let broken = r#"let base = { replicas | Number = "many" } in fun { .. } => { kind = base.replicas }"#;
    let early = r#"(import "main.ncl") {}"#;
    let alone = main(broken, json!({})).unwrap_err();
    let after = render([("main.ncl", broken), ("mistletoe-early.ncl", early)], json!({})).unwrap_err();
    assert_eq!(format!("{after:?}"), format!("{alone:?}"));
}

#[test]
fn imports_come_from_the_package() {
    let rendered = render(
        [
            (
                "main.ncl",
                "let lib = import \"lib/a.ncl\" in\n\
                 lib.object & { data = import \"data.yaml\", text = import \"x.conf\" as 'Text }",
            ),
            (
                "lib/a.ncl",
                "{ object = { apiVersion = \"v1\", kind = \"ConfigMap\", name = (import \"../b.json\").name } }",
            ),
            ("b.json", "{\"name\": \"b\"}"),
            ("data.yaml", "k: [1]"),
            ("x.conf", "a=1\n"),
        ],
        json!({}),
    )
    .unwrap();
    let text = &rendered.files["main.ncl"];
    assert!(text.contains("name: b") && text.contains("data:\n  k:\n  - 1"), "{text}");
    assert!(text.contains("text: \"a=1\\n\""), "{text}");
}

#[test]
fn nothing_outside_of_the_package_can_be_imported() {
    for path in ["../secret.ncl", "/etc/nope.json", "nope.ncl"] {
        let failure = main(&format!("import \"{path}\""), json!({})).unwrap_err();
        assert!(failure.message.contains("could not find import"), "{}", failure.message);
        assert!(failure.message.contains("served from the package"), "{}", failure.message);
        assert_eq!(failure.place, Some(Place::at("main.ncl", 1, 1)));
    }
}

#[test]
fn errors_are_the_librarys_diagnostics_with_their_place() {
    let contract = "{ input | { name | String, replicas | Number }, output = input }";
    let failure = main(contract, json!({"replicas": "three"})).unwrap_err();
    assert!(failure.message.starts_with("contract broken by"), "{}", failure.message);
    assert!(failure.message.contains("three") && !failure.message.contains("/package"), "{}", failure.message);
    let failure = main("{\n  a = 1 + \"x\",\n}", json!({})).unwrap_err();
    assert_eq!(failure.place.as_ref().map(|place| (place.file.as_str(), place.line)), Some(("main.ncl", Some(2))));
    let failure = main("{ a = ", json!({})).unwrap_err();
    assert!(failure.message.contains("unexpected end of file"), "{}", failure.message);
    assert_eq!(failure.place.map(|place| place.file), Some("main.ncl".into()));
}

#[test]
fn what_is_no_object_is_refused_with_its_name() {
    let said = |program: &str| main(program, json!({})).unwrap_err().message;
    assert!(said("1").ends_with("it is 1"), "{}", said("1"));
    assert!(said("{ a = [{ b = 1 }] }").ends_with("item 1 of the field a is a record without apiVersion and kind (b)"));
    assert!(render([("other.ncl", "1")], json!({})).unwrap_err().message.contains("no main.ncl"));
}

#[test]
fn inputs_come_from_the_contract() {
    let program = r#"
      { input | {
          name | String,
          replicas | Number | doc "How many" | default = 2,
          image | String,
          size | std.enum.TagOrString | [| 'Small, 'Large |] | default = 'Small,
          tags | Array String | optional,
          nested | { port | Number | default = 80 } | default = {},
        },
        output = {} }
    "#;
    let load = |program: &str| {
        let engine = Nickel::start();
        let loaded = engine.load(Tree::from([("main.ncl", program)])).unwrap();
        engine.describe(&loaded).unwrap().inputs
    };
    let inputs = load(program).unwrap();
    assert_eq!(inputs["properties"]["replicas"], json!({"type": "number", "description": "How many", "default": 2}));
    assert_eq!(inputs["properties"]["size"], json!({"enum": ["Small", "Large"], "default": "Small"}));
    assert_eq!(inputs["properties"]["tags"], json!({"type": "array", "items": {"type": "string"}}));
    assert_eq!(inputs["properties"]["nested"]["properties"]["port"], json!({"type": "number", "default": 80}));
    assert_eq!(inputs["required"], json!(["image"]));
    assert_eq!(load("fun input => {}"), None);
}

#[test]
fn hostile_programs_end_with_an_error() {
    let failure = main(&"[".repeat(100_000), json!({})).unwrap_err();
    assert!(failure.message.contains("levels deep"), "{}", failure.message);
    let failure = main("let rec x = x + 1 in x", json!({})).unwrap_err();
    assert!(failure.message.contains("infinite recursion"), "{}", failure.message);
}

/// Each line of a file, with its line in that file of the package.
fn lines<'a>(rendered: &'a Rendered, path: &str, file: &str) -> Vec<(&'a str, usize)> {
    let origin = rendered.origins[path].iter().find(|origin| origin.file == file).unwrap();
    let lines = origin.lines.iter().copied().chain(std::iter::repeat(0));
    rendered.files[path].lines().map(str::trim).zip(lines).filter(|(_, line)| *line > 0).collect()
}

#[test]
fn knows_where_fields_are_defined() {
    let program = "\
{
  input | { name | String, replicas | Number | default = 1 },
  output = {
    web = {
      apiVersion = \"apps/v1\",
      kind = \"Deployment\",
      metadata.name = input.name,
      spec = {
        replicas = input.replicas,
        list = [
          { name = \"a\" },
          input.name,
          \"b\",
        ],
      },
    },
  },
}
";
    let rendered = main(program, json!({})).unwrap();
    let expected = [
        ("apiVersion: apps/v1", 5),
        ("kind: Deployment", 6),
        ("metadata:", 7),
        ("name: shop", 7),
        ("spec:", 8),
        ("list:", 10),
        ("- name: a", 11),
        ("- shop", 10),
        ("- b", 13),
        ("replicas: 1", 9),
    ];
    assert_eq!(lines(&rendered, "main.ncl/web", "main.ncl"), expected);
}

#[test]
fn knows_where_merged_fields_are_from() {
    let library = "\
{
  web = fun n => {
    apiVersion = \"v1\",
    kind = \"A\",
    spec = { a | default = 1, b = n },
  },
}
";
    let program = "\
let lib = import \"lib.ncl\" in
let own = { kind = \"B\", x | default = 0 } in
[
  lib.web 2,
  lib.web 3
  & {
    spec.a = 5,
    spec.c = 6,
  },
  own & { apiVersion = \"v1\" },
]
";
    let rendered = render([("main.ncl", program), ("lib.ncl", library)], json!({})).unwrap();
    let in_library = [("apiVersion: v1", 3), ("kind: A", 4), ("spec:", 5), ("a: 1", 5), ("b: 2", 5)];
    assert_eq!(lines(&rendered, "main.ncl", "lib.ncl"), in_library);
    let in_main = [
        ("apiVersion: v1", 5),
        ("kind: A", 5),
        ("spec:", 5),
        ("a: 5", 7),
        ("b: 3", 5),
        ("c: 6", 8),
        ("apiVersion: v1", 10),
        ("kind: B", 2),
        ("x: 0", 2),
    ];
    assert_eq!(lines(&rendered, "main.ncl", "main.ncl"), in_main);
}
