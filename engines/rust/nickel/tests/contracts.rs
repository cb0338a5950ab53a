//! What contracts ask, as schemas.

use guest::{Engine, Input, Object, Tree, Value, json};
use nickel::Nickel;

/// The contract `C` of a program, as it is described.
fn described(contract: &str) -> Value {
    let program = format!(
        r#"
        fun _ =>
          let C = {contract} in
          {{
            apiVersion = "mistletoe.dev/v1",
            kind = "Evaluation",
            contracts | not_exported = {{ spec | C }},
          }}
        "#
    );
    let engine = Nickel::start();
    let loaded = engine.load(Tree::from([("main.ncl", program.as_str())])).unwrap();
    let input =
        Input { data: Object::new(), release: Object::new(), capabilities: Object::new(), options: Object::new() };
    let rendered = engine.render(&loaded, &input).unwrap_or_else(|failure| panic!("{failure:?}"));
    let document: Value = parsed(&rendered.files["main.ncl"]);
    document["contracts"]["spec"].clone()
}

/// The engine writes YAML; guest reads it.
fn parsed(text: &str) -> Value {
    guest::yaml::parse(text, "main.ncl").unwrap_or_else(|failure| panic!("{failure:?}"))
}

fn schema(contract: &str) -> Value {
    let described = described(contract);
    assert_eq!(described["unsaid"], json!([]), "{described}");
    assert_eq!(described["faults"], json!([]), "{described}");
    described["schema"].clone()
}

#[test]
fn records_say_their_fields_documentation_defaults_and_which_are_optional() {
    let said = schema(
        r#"{
          image | String | doc "What runs",
          replicas | Number | default = 2,
          note | String | optional,
          tags | Array String | default = [],
          labels | { _ : String } | default = {},
          open | { a | Bool, .. } | default = { a = true },
        }"#,
    );
    assert_eq!(said["required"], json!(["image"]));
    let fields = &said["properties"];
    assert_eq!(fields["image"], json!({ "type": "string", "description": "What runs" }));
    assert_eq!(fields["replicas"], json!({ "type": "number", "default": 2 }));
    assert_eq!(fields["note"], json!({ "type": "string" }));
    assert_eq!(fields["tags"], json!({ "type": "array", "items": { "type": "string" }, "default": [] }));
    assert_eq!(
        fields["labels"],
        json!({ "type": "object", "additionalProperties": { "type": "string" }, "default": {} })
    );
    assert_eq!(fields["open"]["x-kubernetes-preserve-unknown-fields"], json!(true));
    assert_eq!(fields["open"]["required"], json!(["a"]));
}

#[test]
fn contracts_that_answer_the_probe_and_those_of_the_library_are_said() {
    let said = schema(
        r#"
        let Saying = fun least schema =>
          std.contract.custom
            (fun _label value =>
              if std.is_string value && value == "mistletoe.dev/what-do-you-say" then
                'Ok { "mistletoe.dev/schema" = schema }
              else if std.is_number value && std.number.is_integer value && value >= least && value <= 65535 then
                'Ok value
              else
                'Error { message = "mistletoe.dev/refused" })
        in
        let Port = Saying 1 { type = "integer", minimum = 1, maximum = 65535 } in
        {
          port | Port,
          both | Number | Port | Saying 1024 { type = "integer", minimum = 1024 },
          list | Array Port,
          map | { _ | Port },
          typed | { _ : Port },
          records | Array { port | Port, name | std.string.NonEmpty },
          nat | std.number.Nat,
          level | std.enum.TagOrString | [| 'low, 'high |] | default = 'low,
          nested.deep.port | Port | default = 80,
        }
        "#,
    );
    let port = json!({ "type": "integer", "minimum": 1, "maximum": 65535 });
    let fields = &said["properties"];
    assert_eq!(fields["port"], port);
    assert_eq!(
        fields["both"],
        json!({ "type": "integer", "minimum": 1, "maximum": 65535, "allOf": [{ "minimum": 1024 }] })
    );
    assert_eq!(fields["list"], json!({ "type": "array", "items": port }));
    assert_eq!(fields["map"], json!({ "type": "object", "additionalProperties": port }));
    assert_eq!(fields["typed"], fields["map"]);
    assert_eq!(fields["records"]["items"]["properties"]["port"], port);
    assert_eq!(fields["records"]["items"]["properties"]["name"], json!({ "type": "string", "minLength": 1 }));
    assert_eq!(fields["nat"], json!({ "type": "integer", "minimum": 0 }));
    assert_eq!(fields["level"], json!({ "type": "string", "enum": ["low", "high"], "default": "low" }));
    assert_eq!(fields["nested"]["default"], json!({}));
    assert_eq!(fields["nested"]["properties"]["deep"]["properties"]["port"]["default"], json!(80));
}

#[test]
fn what_is_opaque_is_named_with_its_place() {
    let said = described(
        r#"{
          even | Number | std.contract.from_predicate (fun n => n % 2 == 0),
          list | Array (std.contract.Equal 1),
          tag | [| 'a |],
        }"#,
    );
    assert_eq!(said["schema"]["properties"]["even"], json!({ "type": "number" }));
    let places: Vec<_> = said["unsaid"].as_array().unwrap().iter().map(|each| each["path"].clone()).collect();
    assert_eq!(places, [json!("even"), json!("list[]")], "{said}");
    assert_eq!(said["faults"][0]["path"], "tag");
}

#[test]
fn a_default_that_breaks_its_own_contract_is_a_fault() {
    let said = described(r#"{ size | Number | default = "a" }"#);
    assert_eq!(said["faults"][0]["path"], "size");
    assert!(said["faults"][0]["what"].as_str().unwrap().contains("size"), "{said}");
}

#[test]
fn whether_nothing_may_be_set_is_said() {
    assert_eq!(described(r#"{ a | Number | default = 1, b | String | optional }"#)["takes_empty"], true);
    assert_eq!(described("{ a | String }")["takes_empty"], false);
    let one_of = "std.contract.all_of [{ a | String | optional }, std.contract.from_predicate (fun r => \
                  std.record.has_field \"a\" r)]";
    assert_eq!(described(one_of)["takes_empty"], false);
}

/// The default of a CRD is a constant, and an instance may set what it was computed from.
#[test]
fn a_default_that_is_computed_from_what_an_instance_may_set_is_a_fault() {
    let said = described(
        r#"{
          host | String | default = "shop.local",
          url | String | default = "https://%{host}/",
          part = { path | String | default = "/", whole | String | default = "%{path}?", away | String | default = host },
          name | String | optional,
          title | String | default = name,
          about | String | default = part.path,
          items | Array { a | String, b | String | default = a },
          fixed = 2,
          twice | Number | default = fixed * 2,
        }"#,
    );
    let mut faults: Vec<_> = said["faults"]
        .as_array()
        .unwrap()
        .iter()
        .map(|each| {
            let what = each["what"].as_str().unwrap();
            let from = what.strip_prefix("its default is computed from ").and_then(|rest| rest.split(',').next());
            (each["path"].as_str().unwrap(), from.unwrap_or(what))
        })
        .collect();
    faults.sort_unstable();
    assert_eq!(
        faults,
        [
            ("about", "part.path"),
            ("items[].b", "items[].a"),
            ("part.away", "host"),
            ("part.whole", "part.path"),
            ("title", "name"),
            ("url", "host"),
        ],
        "{said}"
    );
    let fields = &said["schema"]["properties"];
    assert_eq!(fields["url"], json!({ "type": "string" }));
    assert_eq!(fields["host"]["default"], "shop.local");
    assert_eq!(fields["part"]["properties"]["path"]["default"], "/");
    assert_eq!(fields["twice"], json!({ "type": "number", "default": 4 }));
    // As the CRDs of blueprints that are in use have it.
    let frozen = &said["frozen"]["properties"];
    assert_eq!(frozen["url"], json!({ "type": "string", "default": "https://shop.local/" }));
    assert_eq!(frozen["part"]["properties"]["away"]["default"], "shop.local");
    assert_eq!(frozen["title"], json!({ "type": "string" }), "name has no value");
    assert!(said["faults"].as_array().unwrap().iter().all(|fault| fault["computed"] == true), "{said}");
}

#[test]
fn without_computed_defaults_nothing_is_frozen() {
    assert_eq!(described("{ host | String | default = \"a\" }")["frozen"], json!(null));
    let said = described("{ host | String | default = 3 }");
    assert_eq!(said["frozen"], json!(null), "another fault: {said}");
    assert_eq!(said["faults"][0]["computed"], json!(null), "{said}");
}

/// A schema of one of its parts would refuse what the others accept.
#[test]
fn a_contract_that_accepts_more_than_the_one_that_answers_is_opaque() {
    let said = described(
        r#"
        let Int =
          std.contract.custom
            (fun _label value =>
              if std.is_string value && value == "mistletoe.dev/what-do-you-say" then
                'Ok { "mistletoe.dev/schema" = { type = "integer" } }
              else if std.is_number value && std.number.is_integer value then
                'Ok value
              else
                'Error { message = "mistletoe.dev/refused" })
        in
        let IntOrBool =
          std.contract.custom
            (fun label value => if std.is_bool value then 'Ok value else std.contract.check Int label value)
        in
        {
          union | std.contract.any_of [Int, std.contract.Equal "all"],
          dispatch | IntOrBool,
          list | Array IntOrBool,
          map | { _ : IntOrBool },
          same | std.contract.custom (fun label value => std.contract.check Int label value),
        }
        "#,
    );
    let mut places: Vec<_> =
        said["unsaid"].as_array().unwrap().iter().map(|each| each["path"].as_str().unwrap()).collect();
    places.sort_unstable();
    assert_eq!(places, ["dispatch", "list[]", "map.*", "union"], "{said}");
    assert_eq!(said["schema"]["properties"]["same"], json!({ "type": "integer" }));
}

#[test]
fn a_record_within_itself_ends_there() {
    let said = described(
        "let rec Tree = { name | String, left | Tree | optional, right | Tree | optional } in { tree | Tree }",
    );
    let left = &said["schema"]["properties"]["tree"]["properties"]["left"];
    assert_eq!(left["type"], "object", "{said}");
    assert_eq!(said["unsaid"][0]["path"], "tree.left");
}

/// mistletoe-contracts.ncl, as blueprints import it by way of mistletoe.ncl.
fn contracts_library() -> &'static str {
    let header = include_str!("../../../../src/blueprint/contracts_library.h");
    let text = header.split_once("R\"ncl(").and_then(|(_, rest)| rest.split_once(")ncl\""));
    text.expect("the header has the library as a raw string").0
}

#[test]
fn a_rule_of_the_library_says_its_cel_and_a_message_of_one_line() {
    let said = described(&format!(
        r#"
        let m = {} in
        {{
          a | String | m.Rule {{ cel = "self.size() > 3" }},
          b | String | m.Rule {{ cel = "self != ''", message = "must be\n  set", holds = fun text => text != "" }},
          c | Array (m.Rule {{ cel = "self in\n[1, 2]", message = " " }}),
        }}
        "#,
        contracts_library()
    ));
    assert_eq!(said["unsaid"], json!([]), "{said}");
    let fields = &said["schema"]["properties"];
    let rules = |rule: &str, message: &str| json!([{ "rule": rule, "message": message }]);
    assert_eq!(fields["a"]["type"], "string");
    let validations = "x-kubernetes-validations";
    assert_eq!(fields["a"][validations], rules("self.size() > 3", "must meet the rule self.size() > 3"));
    assert_eq!(fields["b"][validations], rules("self != ''", "must be set"));
    assert_eq!(fields["c"]["items"][validations], rules("self in\n[1, 2]", "must meet the rule self in [1, 2]"));
    let mut beyond: Vec<_> =
        said["beyond"].as_array().unwrap().iter().map(|each| each["path"].as_str().unwrap()).collect();
    beyond.sort_unstable();
    assert_eq!(beyond, ["a", "c[]"], "{said}");
}

#[test]
fn a_pattern_or_an_enumeration_that_no_value_can_meet_is_a_fault() {
    let said = described(&format!(
        r#"
        let m = {} in
        {{
          good | m.Pattern "^[a-z]\\d{{2}}$",
          open | m.Pattern "[",
          ahead | Array (m.Pattern "(?=a)"),
          numbers | m.Enum [1, 2],
          words | m.Enum ["a"] | m.MaxLength 3,
        }}
        "#,
        contracts_library()
    ));
    assert_eq!(said["unsaid"], json!([]), "{said}");
    let faults = said["faults"].as_array().unwrap();
    let mut places: Vec<_> = faults.iter().map(|fault| fault["path"].as_str().unwrap()).collect();
    places.sort_unstable();
    assert_eq!(places, ["ahead[]", "numbers", "open"], "{said}");
    assert!(faults.iter().all(|fault| fault["late"] == true), "{said}");
    let open = faults.iter().find(|fault| fault["path"] == "open").unwrap();
    assert!(open["what"].as_str().unwrap().ends_with("know: ["), "{said}");
    // As the CRDs of blueprints that are in use have it.
    assert_eq!(said["schema"]["properties"]["numbers"], json!({ "type": "string", "enum": [1, 2] }));
    assert_eq!(said["frozen"], json!(null));
}

#[test]
fn a_default_of_null_is_a_fault() {
    let said = described(&format!(
        "let m = {} in {{ a | m.Nullable String | default = null, b | m.Nullable String | default = \"x\" }}",
        contracts_library()
    ));
    let faults = said["faults"].as_array().unwrap();
    assert_eq!(faults.len(), 1, "{said}");
    assert_eq!((&faults[0]["path"], &faults[0]["late"]), (&json!("a"), &json!(true)));
}
