//! The engine as a host sees it: packages in, files or failures out.

use guest::testing::lines_of;
use guest::{Engine, Failure, Input, Object, Place, Rendered, Tree, Value, json};
use handlebars_engine::HandlebarsEngine;

fn render<const N: usize>(files: [(&str, &str); N], data: Value) -> Result<Rendered, Failure> {
    let Value::Object(mut data) = data else { panic!("values are an object") };
    data.insert("name".into(), json!("shop"));
    let Value::Object(release) = json!({"name": "shop", "namespace": "prod", "revision": 1, "isUpgrade": false}) else {
        unreachable!()
    };
    let engine = HandlebarsEngine::start();
    let loaded = engine.load(Tree::from(files))?;
    engine.render(&loaded, &Input { data, release, capabilities: Object::new(), options: Object::new() })
}

fn text(template: &str, data: Value) -> String {
    render([("main.yaml.hbs", template)], data).unwrap().files.remove("main.yaml.hbs").unwrap()
}

fn failure(template: &str) -> Failure {
    render([("main.yaml.hbs", template)], json!({"x": 1, "o": {"a": 1}})).unwrap_err()
}

#[test]
fn renders_a_package() {
    let rendered = render(
        [
            ("mistletoe.yaml", "metadata: {name: web}\nspec: {version: 0.1.0, engine: handlebars}"),
            ("values.yaml", "replicas: 1\nlabels: {tier: front, app: x}"),
            ("partials/labels.hbs", "{{#each labels}}\n{{@key}}: {{this}}\n{{/each}}\n"),
            (
                "templates/web.yaml.hbs",
                "metadata:\n  labels:\n    {{> labels}}\nreplicas: {{replicas}}\nnamespace: {{release.namespace}}\n",
            ),
            ("templates/plain.yaml", "a: {{b}}\n"),
        ],
        json!({"replicas": 3}),
    )
    .unwrap();
    assert_eq!(
        rendered.files["templates/web.yaml.hbs"],
        "metadata:\n  labels:\n    tier: front\n    app: x\nreplicas: 3\nnamespace: prod\n"
    );
    assert_eq!(rendered.files["templates/plain.yaml"], "a: {{b}}\n");
    assert_eq!(rendered.files.len(), 2);
}

#[test]
fn nothing_is_escaped_for_html() {
    assert_eq!(text("{{a}} {{{a}}}", json!({"a": "<&\"'>"})), "<&\"'> <&\"'>");
}

#[test]
fn helpers_make_values_conditions_and_arguments() {
    let data = json!({"a": 1, "b": "x", "e": "", "n": null, "l": ["p", "q"], "o": {"k": [1, {"z": "yes"}]}, "t": true});
    let is = |template: &str, expected: &str| assert_eq!(text(template, data.clone()), expected, "{template}");
    is("{{#if (eq a 1)}}y{{/if}}{{#if (ne b \"x\")}}n{{/if}}{{#eq b \"x\"}}y{{else}}n{{/eq}}", "yy");
    is("{{and a b}} {{or e n}} {{not e}} {{#and a e}}y{{else}}n{{/and}} {{and a missing}}", "true false true n false");
    is("{{default e \"d\"}} {{default a 5}} {{default missing \"m\"}} {{coalesce n e b}}", "d 1 m x");
    is("{{toJson o}} {{upper b}} {{trunc \"abcdef\" 3}} {{len l}}", "{\"k\":[1,{\"z\":\"yes\"}]} X abc 2");
    is("k:{{nindent (toYaml o) 2}}", "k:\n  k:\n  - 1\n  - z: \"yes\"");
    is("{{indent \"a\\nb\" 2}}|{{nindent 2 \"a\"}}", "  a\n  b|\n  a");
    is("{{quote a}} {{squote \"it's\"}} {{quote \"a\\\"b\"}}", "\"1\" 'it''s' \"a\\\"b\"");
    is("{{quote \"a\u{85}b\u{7f}\"}}", "\"a\\u0085b\\u007f\"");
    is("{{b64encode b}} {{b64decode \"eA==\"}} {{trunc (sha256 \"\") 8}}", "eA== x e3b0c442");
    is(
        "{{lookup o \"k\"}} {{lookup l 1}} {{join l \"-\"}} {{concat b a}} {{replace b \"x\" \"y\"}}",
        "[1, [object]] q p-q x1 y",
    );
    is("{{#if (contains l \"p\")}}y{{/if}}{{#if (contains o \"k\")}}y{{/if}}{{contains b \"z\"}}", "yyfalse");
    is("{{add a 2}} {{add a 0.5}} {{gt a 0}} {{lookup (fromYaml \"a: [1, yes]\") \"a\"}}", "3 1.5 true [1, true]");
}

/// A place in the template, with its line.
fn at(line: usize, column: usize, text: &str) -> Option<Place> {
    Some(Place { text: Some(text.to_owned()), ..Place::at("main.yaml.hbs", line, column) })
}

#[test]
fn what_lookup_does_not_find_is_missing_like_any_value() {
    let is = |template: &str, expected: &str| {
        assert_eq!(text(template, json!({"o": {"a": 1, "2": "two"}, "l": [5]})), expected, "{template}");
    };
    is("{{#if (lookup o \"zz\")}}y{{else}}n{{/if}}{{#unless (lookup nope \"a\")}}n{{/unless}}", "nn");
    is(
        "{{default (lookup o \"zz\") \"d\"}} {{coalesce (lookup l 3) (lookup o \"a\")}} {{or (lookup l 1)}}",
        "d 1 false",
    );
    is(
        "{{lookup @root \"name\"}} {{lookup o 2}} {{lookup l \"0\"}} {{lookup (lookup @root \"o\") \"a\"}}",
        "shop two 5 1",
    );
    let says = |template: &str, value: &str| {
        let message = failure(template).message;
        assert_eq!(message, format!("there is no value {value}: Failed to access variable in strict mode"));
    };
    says("{{lookup o \"zz\"}}", "zz in o");
    says("{{upper (lookup o \"zz\")}}", "zz in o");
    says("{{#each (lookup (lookup @root \"o\") \"zz\")}}{{/each}}", "zz");
    says("{{#with (lookup nope \"zz\")}}{{/with}}", "nope");
    says("{{lookup o nope}}", "nope");
    says("{{file (lookup o \"zz\")}}", "zz in o");
    says("{{> (lookup o \"zz\")}}", "zz in o");
    says("{{#*inline \"p\"}}{{/inline}}{{> p (lookup o \"zz\")}}", "zz in o");
    says("{{#*inline \"p\"}}{{/inline}}{{> p (lookup o \"zz\") a=1 b=2}}", "zz in o");
    assert_eq!(failure("{{eq 1 (lookup o \"zz\")}}").message, "value 2 of the helper eq isn't there");
    assert_eq!(failure("{{lookup o}}").message, "the helper lookup takes 2 values, here are 1");
}

#[test]
fn root_alone_is_all_values() {
    let is =
        |template: &str, expected: &str| assert_eq!(text(template, json!({"o": {"a": 1}})), expected, "{template}");
    is("{{#each o}}{{#with @root}}{{name}}{{/with}}{{/each}}", "shop");
    is("{{#each o}}{{#if (contains @root \"o\")}}{{trunc (toJson @root) 1}}{{/if}}{{/each}}", "{");
    is(
        "{{#*inline \"p\"}}{{name}}{{#if x}}{{x}}{{/if}}{{/inline}}{{#with o}}{{> p @root}}{{> p @root x=1}}{{/with}}",
        "shopshop1",
    );
    is("{{#with o}}{{#each @root.o}}{{@root.name}}{{@key}}{{/each}}{{/with}}", "shopa");
}

#[test]
fn a_missing_value_is_an_error_with_its_place() {
    let failure = failure("a: 1\nb: {{o.nope}}\n");
    assert_eq!(failure.message, "there is no value o.nope: Failed to access variable in strict mode");
    assert_eq!(failure.place, at(2, 4, "b: {{o.nope}}"));
    assert_eq!(text("{{#if nope}}y{{else}}n{{/if}}", json!({})), "n");
    let lenient = "spec: {engine: handlebars, engineOptions: {strict: false}}";
    let rendered = render([("mistletoe.yaml", lenient), ("a.hbs", "a: {{nope}}")], json!({}));
    assert_eq!(rendered.unwrap().files["a.hbs"], "a: ");
}

#[test]
fn errors_name_their_place() {
    let failure = render(
        [("a.yaml.hbs", "\n{{> part/x}}"), ("partials/part/x.hbs", "ok\n {{fail \"no such size\"}}")],
        json!({}),
    )
    .unwrap_err();
    let place = Place { text: Some(" {{fail \"no such size\"}}".into()), ..Place::at("partials/part/x.hbs", 2, 2) };
    assert_eq!((failure.message.as_str(), failure.place), ("no such size", Some(place)));
    let failure = self::failure("a\n{{#if x}}\nb");
    assert_eq!(failure.place.map(|place| place.file), Some("main.yaml.hbs".into()), "{}", failure.message);
    assert!(self::failure("{{nope 1}}").message.contains("Helper not found nope"));
    assert!(self::failure("{{> nope}}").message.contains("Partial not found nope"));
    assert_eq!(self::failure("{{quote 1 2}}").message, "the helper quote takes 1 values, here are 2");
    assert!(self::failure("{{file \"/etc/passwd\"}}").message.contains("the package has no file /etc/passwd"));
}

#[test]
fn named_values_of_a_partial_have_an_order() {
    let files = [("a.hbs", "{{> p e=5 d=4 c=3 b=2 a=1}}"), ("partials/p.hbs", "{{#each this}}{{@key}}{{/each}}{{a}}")];
    for _ in 0..20 {
        let rendered = render(files, json!({"z": 1})).unwrap().files.remove("a.hbs").unwrap();
        assert!(rendered.ends_with("nameabcde1"), "{rendered}");
    }
    let rendered = render(
        [("a.hbs", "{{#with o}}{{> p this b=2 a=1}}{{/with}}"), ("partials/p.hbs", "{{toJson this}}")],
        json!({"o": {"x": 0}}),
    );
    assert_eq!(rendered.unwrap().files["a.hbs"], r#"{"x":0,"a":1,"b":2}"#);
}

#[test]
fn hostile_templates_end_with_an_error() {
    let recursion = render(
        [("a.hbs", "{{> p}}"), ("partials/p.hbs", "{{#if x}}{{> q}}{{/if}}"), ("partials/q.hbs", "{{> p}}")],
        json!({"x": 1}),
    );
    assert!(recursion.unwrap_err().message.contains("do they ever end?"));
    let inline = "{{#*inline \"i\"}}{{> j}}{{/inline}}{{#*inline \"j\"}}{{> i}}{{/inline}}{{> i}}";
    assert!(failure(inline).message.contains("do they ever end?"));
    assert!(failure(&"{{#if x}}".repeat(10_000)).message.contains("levels deep"));
    assert!(
        failure(&format!("{{{{x {}1{}}}}}", "(not ".repeat(10_000), ")".repeat(10_000)))
            .message
            .contains("levels deep")
    );
    assert!(failure(&format!("{{{{x {}}}}}", "[".repeat(10_000))).message.contains("levels deep"));
    assert!(failure("{{indent \"a\" 1000000000}}").message.contains("up to 10000"));
    // The limit of the depth belongs to one template.
    assert_eq!(
        text("{{#each l}}{{#*inline \"p\"}}.{{/inline}}{{> p}}{{/each}}", json!({"l": vec![0; 200]})),
        ".".repeat(200)
    );
}

#[test]
fn says_what_the_package_is() {
    let engine = HandlebarsEngine::start();
    let loaded = engine.load(Tree::from([("values.yaml", "n: 1"), ("a.hbs", "x: 1")])).unwrap();
    let package = engine.describe(&loaded).unwrap().to_json();
    assert_eq!(package["inputs"]["properties"]["n"], json!({"type": "integer", "default": 1}));
}

#[test]
fn knows_which_line_wrote_what() {
    let template =
        "a: 1\n{{#if x}}\nb: {{x}}\n{{else if y}}\nno: 1\n{{/if}}\n{{#each l}}\n- {{this}}\n{{/each}}\n{{t}}\nend: 1\n";
    let data = json!({"x": 1, "y": 1, "l": [1, 2], "t": "m: 1\nn: 2"});
    let rendered = render([("a.yaml.hbs", template)], data).unwrap();
    let expected = [("a: 1", 1), ("b: 1", 3), ("- 1", 8), ("- 2", 8), ("m: 1", 10), ("n: 2", 10), ("end: 1", 11)];
    assert_eq!(lines_of(&rendered, "a.yaml.hbs"), expected);
    let rendered = render([("a.yaml.hbs", template)], json!({"x": 0, "y": 1, "l": [], "t": ""})).unwrap();
    assert_eq!(lines_of(&rendered, "a.yaml.hbs"), [("a: 1", 1), ("no: 1", 5), ("end: 1", 11)]);
}

#[test]
fn what_a_partial_writes_has_the_line_that_calls_it() {
    let files = [
        ("partials/p.hbs", "x: 1\ny: {{z}}\n"),
        ("partials/q.hbs", "q: 1\n{{> @partial-block}}\nr: 1\n"),
        (
            "a.yaml.hbs",
            "a: 1\n  {{> p}}\n{{#*inline \"i\"}}\ni: 1\n{{/inline}}\nb: {{~z~}}\n\n c\n{{> i}}\n{{#> q}}\nin: 1\n{{/q}}\nend: 1\n",
        ),
    ];
    let rendered = render(files, json!({"z": 1})).unwrap();
    let expected = [
        ("a: 1", 1),
        ("x: 1", 2),
        ("y: 1", 2),
        ("b:1c", 6),
        ("i: 1", 9),
        ("q: 1", 10),
        ("in: 1", 10),
        ("r: 1", 10),
        ("end: 1", 13),
    ];
    assert_eq!(lines_of(&rendered, "a.yaml.hbs"), expected);
}

#[test]
fn lines_of_a_template_with_escapes_are_not_known() {
    let rendered = render([("a.yaml.hbs", "a: \\{{b}}\nc: 1\n")], json!({})).unwrap();
    assert!(rendered.origins.is_empty(), "{rendered:?}");
}
