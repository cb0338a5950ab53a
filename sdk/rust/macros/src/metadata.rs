//! A package's metadata: read from its short YAML form or a whole document, checked, written as documents.

use serde_norway::{Mapping, Value};

const API_VERSION: &str = "mistletoe.dev/v1";
const KIND: &str = "MistPackage";

/// One key of the metadata and the shape that it must have. The order is that of the written document.
struct Field {
    key: &'static str,
    shape: Shape,
    /// The variable of Cargo that gives the default.
    default: Option<&'static str>,
}

#[derive(Clone, Copy)]
enum Shape {
    Version,
    Text,
    Mapping,
    List,
}

const SPEC_FIELDS: [Field; 9] = [
    Field { key: "version", shape: Shape::Version, default: Some("CARGO_PKG_VERSION") },
    Field { key: "description", shape: Shape::Text, default: Some("CARGO_PKG_DESCRIPTION") },
    Field { key: "home", shape: Shape::Text, default: Some("CARGO_PKG_HOMEPAGE") },
    Field { key: "maintainers", shape: Shape::List, default: Some("CARGO_PKG_AUTHORS") },
    Field { key: "inputs", shape: Shape::Mapping, default: None },
    Field { key: "exports", shape: Shape::Mapping, default: None },
    Field { key: "dependencies", shape: Shape::List, default: None },
    Field { key: "needs", shape: Shape::Mapping, default: None },
    Field { key: "requires", shape: Shape::List, default: None },
];

/// Metadata that keeps to the format.
#[derive(Debug)]
pub struct Metadata {
    metadata: Mapping,
    spec: Mapping,
}

impl Metadata {
    /// Reads the short form (`name`, `labels` and what a document has under `spec`) or a whole document.
    /// `variable` looks up what Cargo says of the crate.
    pub fn parse(yaml: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<Self, String> {
        let root: Value = serde_norway::from_str(yaml).map_err(|error| format!("the metadata is not YAML: {error}"))?;
        let Value::Mapping(mut root) = root else {
            return Err("the metadata must be a mapping with at least `name`".into());
        };
        let (mut metadata, given) = if root.contains_key("kind") || root.contains_key("apiVersion") {
            take_document(&mut root)?
        } else {
            let metadata = take(&mut root, &["name", "labels"]);
            (metadata, std::mem::take(&mut root))
        };
        check_name(&metadata)?;
        check_labels(&mut metadata)?;
        Ok(Self { metadata, spec: complete(given, variable)? })
    }

    /// The document for the custom section `mistletoe.package`.
    pub fn package_document(&self) -> String {
        let mut spec = self.spec.clone();
        spec.retain(|_, value| !value.is_null());
        document(API_VERSION, &self.metadata, Some(spec))
    }

    /// The schema of `inputs` or `exports`, if there is one.
    pub fn schema(&self, part: &str) -> Option<&Value> {
        self.spec.get(part)
    }

    /// Its description, if it has one.
    pub fn description(&self) -> Option<&str> {
        self.spec.get("description")?.as_str()
    }

    /// Its own names of the packages that it calls.
    pub fn dependency_names(&self) -> Vec<String> {
        let declared = self.spec.get("dependencies").and_then(Value::as_sequence);
        declared.into_iter().flatten().filter_map(|each| Some(each.get("name")?.as_str()?.to_owned())).collect()
    }

    /// The document that `__mistletoe_info` returns, as the first hosts know it.
    pub fn info_document(&self) -> String {
        document("mistletoe.dev/v1alpha1", &self.metadata, None)
    }
}

fn document(api_version: &str, metadata: &Mapping, spec: Option<Mapping>) -> String {
    let mut root = Mapping::new();
    root.insert("apiVersion".into(), api_version.into());
    root.insert("kind".into(), KIND.into());
    root.insert("metadata".into(), Value::Mapping(metadata.clone()));
    root.extend(spec.map(|spec| ("spec".into(), Value::Mapping(spec))));
    let json = serde_json::to_string(&root).expect("checked metadata has only keys that are strings");
    ascii(&json)
}

/// JSON of ASCII alone, which every reader of YAML takes for the same.
fn ascii(json: &str) -> String {
    let mut text = String::new();
    for c in json.chars() {
        if c.is_ascii() && c != '\u{7f}' {
            text.push(c);
        } else {
            let mut units = [0; 2];
            text.extend(c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        }
    }
    text
}

fn take(from: &mut Mapping, keys: &[&str]) -> Mapping {
    keys.iter().filter_map(|key| from.shift_remove_entry(*key)).collect()
}

fn take_document(root: &mut Mapping) -> Result<(Mapping, Mapping), String> {
    for (key, expected) in [("apiVersion", API_VERSION), ("kind", KIND)] {
        match root.shift_remove(key) {
            Some(Value::String(value)) if value == expected => {}
            Some(value) => return Err(format!("`{key}` must be `{expected}`, found {}", show(&value))),
            None => return Err(format!("a whole document needs `{key}: {expected}`")),
        }
    }
    let mut part = |key: &str| match root.shift_remove(key) {
        Some(Value::Mapping(part)) => Ok(part),
        None => Ok(Mapping::new()),
        Some(value) => Err(format!("`{key}` must be a mapping, found {}", show(&value))),
    };
    let (metadata, spec) = (part("metadata")?, part("spec")?);
    refuse_others(root, "", &["apiVersion", "kind", "metadata", "spec"])?;
    let mut others = metadata.clone();
    take(&mut others, &["name", "labels"]);
    refuse_others(&others, "metadata.", &["name", "labels"])?;
    Ok((metadata, spec))
}

fn refuse_others(rest: &Mapping, prefix: &str, known: &[&str]) -> Result<(), String> {
    match rest.keys().next() {
        None => Ok(()),
        Some(key) => Err(format!("unknown key `{prefix}{}`; known are {}", plain(key), known.join(", "))),
    }
}

fn check_name(metadata: &Mapping) -> Result<(), String> {
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    match metadata.get("name") {
        None => Err("the metadata lacks `name`".into()),
        Some(Value::String(name))
            if edge(name.chars().next())
                && edge(name.chars().last())
                && name.len() <= 253
                && name.chars().all(|c| edge(Some(c)) || c == '-' || c == '.') =>
        {
            Ok(())
        }
        Some(value) => Err(format!(
            "`name` must be lower-case letters, digits, '-' and '.', with a letter or digit at both ends, found {}",
            show(value)
        )),
    }
}

fn check_labels(metadata: &mut Mapping) -> Result<(), String> {
    match metadata.get("labels") {
        None => Ok(()),
        Some(Value::Null) => {
            metadata.shift_remove("labels");
            Ok(())
        }
        Some(Value::Mapping(labels)) => match labels.iter().find(|(key, value)| !key.is_string() || !value.is_string())
        {
            None => Ok(()),
            Some((key, value)) => {
                Err(format!("the label `{}` must be a text, found {}; quote it", plain(key), show(value)))
            }
        },
        Some(value) => Err(format!("`labels` must be a mapping, found {}", show(value))),
    }
}

fn complete(mut given: Mapping, variable: &dyn Fn(&str) -> Option<String>) -> Result<Mapping, String> {
    let mut spec = Mapping::new();
    for field in SPEC_FIELDS {
        let value = given.shift_remove(field.key).filter(|value| !value.is_null());
        let value = value.or_else(|| default_value(&field, variable));
        if let Some(value) = value {
            check_shape(&field, &value)?;
            check_keys(field.key, &value)?;
            spec.insert(field.key.into(), value);
        }
    }
    let mut known = vec!["name", "labels"];
    known.extend(SPEC_FIELDS.iter().map(|field| field.key));
    refuse_others(&given, "", &known)?;
    Ok(spec)
}

fn default_value(field: &Field, variable: &dyn Fn(&str) -> Option<String>) -> Option<Value> {
    let text = variable(field.default?).filter(|text| !text.is_empty())?;
    Some(match field.shape {
        Shape::List => Value::Sequence(text.split(':').map(maintainer).collect()),
        _ => Value::String(text),
    })
}

/// Cargo writes authors as `Name <email>`.
fn maintainer(author: &str) -> Value {
    let (name, email) = author.trim_end_matches('>').split_once('<').unwrap_or((author, ""));
    let mut entry = Mapping::new();
    entry.insert("name".into(), name.trim().into());
    if !email.is_empty() {
        entry.insert("email".into(), email.trim().into());
    }
    Value::Mapping(entry)
}

fn check_shape(field: &Field, value: &Value) -> Result<(), String> {
    let (fits, expected) = match field.shape {
        Shape::Version => (value.as_str().is_some_and(is_semver), "a version like 1.2.3 (SemVer 2)"),
        Shape::Text => (value.is_string(), "a text"),
        Shape::Mapping => (value.is_mapping(), "a mapping"),
        Shape::List => (value.is_sequence(), "a list"),
    };
    if fits { Ok(()) } else { Err(format!("`{}` must be {expected}, found {}", field.key, show(value))) }
}

/// JSON has only keys that are strings.
fn check_keys(path: &str, value: &Value) -> Result<(), String> {
    match value {
        Value::Mapping(mapping) => mapping.iter().try_for_each(|(key, value)| match key {
            Value::String(key) => check_keys(&format!("{path}.{key}"), value),
            key => Err(format!("the key {} in `{path}` must be a text; quote it", show(key))),
        }),
        Value::Sequence(items) => {
            items.iter().enumerate().try_for_each(|(index, value)| check_keys(&format!("{path}[{index}]"), value))
        }
        Value::Tagged(tagged) => Err(format!("`{path}` has the tag {}, which JSON can't say", tagged.tag)),
        _ => Ok(()),
    }
}

fn is_semver(text: &str) -> bool {
    let (text, build) = text.split_once('+').map_or((text, None), |(text, build)| (text, Some(build)));
    let (core, pre) = text.split_once('-').map_or((text, None), |(core, pre)| (core, Some(pre)));
    let is_number = |part: &str| {
        !part.is_empty() && part.bytes().all(|c| c.is_ascii_digit()) && (part == "0" || !part.starts_with('0'))
    };
    let is_word = |part: &str| !part.is_empty() && part.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-');
    let is_pre = |part: &str| is_word(part) && (is_number(part) || !part.bytes().all(|c| c.is_ascii_digit()));
    core.split('.').count() == 3
        && core.split('.').all(is_number)
        && pre.is_none_or(|pre| pre.split('.').all(is_pre))
        && build.is_none_or(|build| build.split('.').all(is_word))
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| show(value), str::to_owned)
}

fn show(value: &Value) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "something that JSON can't say".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(yaml: &str) -> Result<Metadata, String> {
        Metadata::parse(yaml, &|_| None)
    }

    #[test]
    fn reads_the_original_form() {
        let metadata = parse("name: namespace-example\nlabels:\n  mistletoe.dev/group: mistletoe-examples\n").unwrap();
        assert_eq!(
            metadata.info_document(),
            r#"{"apiVersion":"mistletoe.dev/v1alpha1","kind":"MistPackage","metadata":{"name":"namespace-example","labels":{"mistletoe.dev/group":"mistletoe-examples"}}}"#
        );
    }

    #[test]
    fn takes_defaults_from_cargo() {
        let metadata = Metadata::parse("name: a\ndescription: mine", &|name| {
            Some(match name {
                "CARGO_PKG_VERSION" => "1.2.3".into(),
                "CARGO_PKG_DESCRIPTION" => "cargo's".into(),
                "CARGO_PKG_AUTHORS" => "Ann Ö <ann@example.com>:Bob".into(),
                _ => String::new(),
            })
        });
        assert_eq!(
            metadata.unwrap().package_document(),
            r#"{"apiVersion":"mistletoe.dev/v1","kind":"MistPackage","metadata":{"name":"a"},"spec":{"version":"1.2.3","description":"mine","maintainers":[{"name":"Ann \u00d6","email":"ann@example.com"},{"name":"Bob"}]}}"#
        );
    }

    #[test]
    fn keeps_the_order_of_a_schema() {
        let metadata = parse("{name: a, inputs: {type: object, properties: {zone: {}, area: {}}}}").unwrap();
        assert!(metadata.package_document().contains(r#"{"type":"object","properties":{"zone":{},"area":{}}}"#));
    }

    #[test]
    fn keeps_the_features_that_the_package_needs() {
        let metadata = parse("{name: a, requires: [lookup, order]}").unwrap();
        assert!(metadata.package_document().ends_with(r#""spec":{"requires":["lookup","order"]}}"#));
    }

    #[test]
    fn reads_a_whole_document() {
        let metadata =
            parse("{apiVersion: mistletoe.dev/v1, kind: MistPackage, metadata: {name: a}, spec: {version: 1.0.0}}")
                .unwrap();
        assert!(metadata.package_document().contains(r#""metadata":{"name":"a"},"spec":{"version":"1.0.0"}"#));
    }

    #[test]
    fn says_what_is_wrong() {
        for (yaml, expected) in [
            ("", "must be a mapping"),
            ("a: [", "not YAML"),
            ("labels: {}", "lacks `name`"),
            ("name: A", "lower-case"),
            ("name: 1", "found 1"),
            ("name: a-", "both ends"),
            ("{name: a, labels: {on: 1}}", "the label `on` must be a text, found 1"),
            ("{name: a, labels: [1]}", "`labels` must be a mapping"),
            ("{name: a, version: 1.0}", "`version` must be a version like 1.2.3 (SemVer 2), found 1.0"),
            ("{name: a, inptus: {}}", "unknown key `inptus`; known are name, labels, version"),
            ("{name: a, inputs: {1: 2}}", "the key 1 in `inputs` must be a text"),
            ("{name: a, inputs: []}", "`inputs` must be a mapping, found []"),
            ("{name: a, needs: {x: !y z}}", "`needs.x` has the tag !y"),
            ("{apiVersion: v1, kind: MistPackage}", "`apiVersion` must be `mistletoe.dev/v1`"),
            ("{apiVersion: mistletoe.dev/v1, kind: MistPackage, data: 1}", "unknown key `data`"),
            ("{apiVersion: mistletoe.dev/v1, kind: MistPackage, metadata: {nam: 1}}", "unknown key `metadata.nam`"),
        ] {
            let message = parse(yaml).unwrap_err();
            assert!(message.contains(expected), "{yaml}: {message}");
        }
    }

    #[test]
    fn knows_versions() {
        for good in ["0.1.2", "1.0.0-rc.1", "1.0.0-0a+b.001", "10.20.30+x"] {
            assert!(is_semver(good), "{good}");
        }
        for bad in ["1", "1.2", "01.2.3", "1.2.3-", "1.2.3-01", "1.2.3+", "v1.2.3", "1.2.3.4", "1.2.3-a..b", "1.2.-3"] {
            assert!(!is_semver(bad), "{bad}");
        }
    }
}
