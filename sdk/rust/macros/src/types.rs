//! Rust types of a package's schemas: one source says what people read, what the host checks and what the compiler checks.
//!
//! The part of JSON Schema that has a type in Rust becomes one: objects with `properties` are structs, other objects maps,
//! strings with `enum` are enums, `$ref` to `$defs` is a shared type. Everything else (unions, conditions) is a `Value`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_norway::{Mapping, Value};

/// The side of a call whose code uses the types.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Side {
    /// The package itself: a property with a default always has a value.
    Own,
    /// A package that calls it: a property that isn't required may be left out, and then the callee's default counts.
    Caller,
}

/// The types `Inputs` and `Exports`, each if there is a schema, and those of what they hold.
pub fn code(inputs: Option<&Value>, exports: Option<&Value>, side: Side) -> Result<String, String> {
    let mut code = String::new();
    for (schema, name, part) in [(inputs, "Inputs", Part::Inputs), (exports, "Exports", Part::Exports)] {
        let Some(schema) = schema else { continue };
        let mut types = Types { root: schema, side, part, code: String::new(), known: BTreeMap::new() };
        let schema_object = schema.as_mapping().ok_or_else(|| format!("the schema of `{name}` must be a mapping"))?;
        if schema_object.get("properties").is_none() {
            return Err(format!("the schema of `{name}` has no `properties` to make a type of"));
        }
        types.object(schema_object, name)?;
        code += &types.code;
    }
    Ok(code)
}

#[derive(Clone, Copy, PartialEq)]
enum Part {
    Inputs,
    Exports,
}

struct Types<'a> {
    root: &'a Value,
    side: Side,
    part: Part,
    code: String,
    /// The schema of each type that is written, or being written.
    known: BTreeMap<String, Value>,
}

struct Field {
    name: String,
    kind: String,
    key: String,
    doc: String,
    presence: Presence,
}

enum Presence {
    Required,
    /// Its default as JSON.
    Defaulted(String),
    /// A struct of which every field may be left out.
    Nested,
    Optional,
}

const DERIVES: &str = "#[derive(Clone, Debug, PartialEq, ::mistletoe::export::serde::Serialize, ::mistletoe::export::serde::Deserialize)]\n\
                       #[serde(crate = \"::mistletoe::export::serde\")]\n";

impl Types<'_> {
    /// The Rust type of a schema; `name` is what a type of its own would be called.
    fn kind(&mut self, schema: &Value, name: &str) -> Result<String, String> {
        let Some(schema) = schema.as_mapping() else { return Ok(VALUE.into()) };
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            let (target, target_name) = self.resolve(reference)?;
            return self.kind(&target, &target_name);
        }
        if ["oneOf", "anyOf", "allOf", "const", "if"].iter().any(|key| schema.contains_key(*key)) {
            return Ok(VALUE.into());
        }
        if let Some(words) = words(schema) {
            return self.words(&words, schema, name);
        }
        Ok(match schema.get("type").and_then(Value::as_str) {
            Some("string") if is_true(schema, "writeOnly") => "::mistletoe::secret::SecretText".into(),
            Some("string") => "String".into(),
            Some("boolean") => "bool".into(),
            Some("number") => "f64".into(),
            Some("integer") => integer(schema).into(),
            Some("array") => match schema.get("items") {
                Some(items) => format!("Vec<{}>", self.kind(items, &singular(name))?),
                None => format!("Vec<{VALUE}>"),
            },
            Some("object") if schema.contains_key("properties") => self.object(schema, name)?,
            Some("object") => match schema.get("additionalProperties") {
                Some(values @ Value::Mapping(_)) => {
                    format!("::std::collections::BTreeMap<String, {}>", self.kind(values, &singular(name))?)
                }
                _ => format!("::std::collections::BTreeMap<String, {VALUE}>"),
            },
            _ => VALUE.into(),
        })
    }

    fn resolve(&self, reference: &str) -> Result<(Value, String), String> {
        let found = reference
            .strip_prefix("#/$defs/")
            .and_then(|name| Some((self.root.get("$defs")?.get(name)?.clone(), self.type_name(&pascal(name)))));
        found.ok_or_else(|| format!("`$ref: {reference}` doesn't name a schema of `$defs`"))
    }

    fn type_name(&self, name: &str) -> String {
        match self.part {
            Part::Exports if name != "Exports" && !name.starts_with("Exported") => format!("Exported{name}"),
            _ => name.to_owned(),
        }
    }

    /// Whether the type isn't written yet.
    fn begin(&mut self, schema: &Mapping, name: &str) -> Result<bool, String> {
        let schema = Value::Mapping(schema.clone());
        match self.known.get(name) {
            Some(known) if *known == schema => Ok(false),
            Some(_) => Err(format!(
                "two schemas would be the type `{name}`; move them to `$defs`, where each has a name of its own"
            )),
            None => {
                self.known.insert(name.to_owned(), schema);
                Ok(true)
            }
        }
    }

    fn words(&mut self, words: &[&str], schema: &Mapping, name: &str) -> Result<String, String> {
        let name = self.type_name(name);
        if !self.begin(schema, &name)? {
            return Ok(name);
        }
        let mut variants = BTreeMap::new();
        let (mut lines, mut texts) = (String::new(), String::new());
        for word in words {
            let variant = pascal(word);
            if variant.is_empty() || variants.insert(variant.clone(), word).is_some() {
                return Err(format!("the value `{word}` of the enum `{name}` can't be the name of a variant"));
            }
            let _ = writeln!(lines, "#[doc = {:?}] #[serde(rename = {word:?})] {variant},", format!("`{word}`"));
            let _ = writeln!(texts, "Self::{variant} => {word:?},");
        }
        let _ = write!(
            self.code,
            "#[doc = {:?}]\n#[derive(Copy, Eq)]\n{DERIVES}pub enum {name} {{ {lines} }}
            impl {name} {{
                /// As the schema writes it.
                pub const fn as_str(self) -> &'static str {{ match self {{ {texts} }} }}
            }}\n",
            doc(schema, &name)
        );
        Ok(name)
    }

    fn object(&mut self, schema: &Mapping, name: &str) -> Result<String, String> {
        let name = self.type_name(name);
        if !self.begin(schema, &name)? {
            return Ok(name);
        }
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_sequence)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let mut fields = Vec::new();
        for (key, property) in schema.get("properties").and_then(Value::as_mapping).into_iter().flatten() {
            let key = key.as_str().ok_or_else(|| format!("a property of `{name}` isn't named by a text"))?;
            let kind = self.kind(property, &pascal(key))?;
            let presence = self.presence(&name, key, property, &kind, &required);
            let doc = property.as_mapping().map_or(String::new(), |property| doc(property, key));
            fields.push(Field { name: snake(key), kind, key: key.to_owned(), doc, presence });
        }
        let strict = self.side == Side::Own
            && self.part == Part::Inputs
            && schema.get("additionalProperties") == Some(&Value::Bool(false));
        self.code += &structure(&name, &doc(schema, &name), &fields, strict);
        Ok(name)
    }

    fn presence(&self, owner: &str, key: &str, property: &Value, kind: &str, required: &[&str]) -> Presence {
        let host_gives = self.part == Part::Inputs && owner == "Inputs" && matches!(key, "name" | "namespace");
        if host_gives {
            return if self.side == Side::Own { Presence::Required } else { Presence::Optional };
        }
        if required.contains(&key) {
            return Presence::Required;
        }
        if self.side == Side::Caller || self.part == Part::Exports {
            return Presence::Optional;
        }
        if let Some(default) = self.default_of(property) {
            return Presence::Defaulted(default);
        }
        let target = property.get("$ref").and_then(Value::as_str).and_then(|at| self.resolve(at).ok());
        let schema = target.as_ref().map_or(property, |(schema, _)| schema);
        if kind != VALUE && schema.get("properties").is_some() && self.has_defaults(schema) {
            return Presence::Nested;
        }
        Presence::Optional
    }

    fn default_of(&self, property: &Value) -> Option<String> {
        let default = property.get("default").cloned().or_else(|| {
            let reference = property.get("$ref")?.as_str()?;
            self.resolve(reference).ok()?.0.get("default").cloned()
        })?;
        serde_json::to_string(&default).ok()
    }

    /// A host makes such an object of nothing.
    fn has_defaults(&self, schema: &Value) -> bool {
        let none_required = schema.get("required").and_then(Value::as_sequence).is_none_or(Vec::is_empty);
        none_required
            && schema.get("properties").and_then(Value::as_mapping).into_iter().flatten().any(|(_, property)| {
                self.default_of(property).is_some()
                    || property.get("properties").is_some() && self.has_defaults(property)
            })
    }
}

const VALUE: &str = "::mistletoe::Value";

fn structure(name: &str, doc: &str, fields: &[Field], strict: bool) -> String {
    let (mut lines, mut defaults, mut arguments, mut values) =
        (String::new(), String::new(), String::new(), String::new());
    for Field { name: field, kind, key, doc, presence } in fields {
        let default_name = format!("default_of_{}", field.trim_start_matches("r#"));
        let (kind, attributes) = match presence {
            Presence::Required => {
                let text = kind == "String";
                let _ = write!(arguments, "{field}: {}, ", if text { "impl Into<String>" } else { kind });
                let _ = write!(values, "{field}{}, ", if text { format!(": {field}.into()") } else { String::new() });
                (kind.clone(), String::new())
            }
            Presence::Defaulted(json) => {
                let _ = write!(values, "{field}: Self::{default_name}(), ");
                let _ = writeln!(
                    defaults,
                    "fn {default_name}() -> {kind} {{
                        ::mistletoe::export::serde_json::from_str({json:?}).expect(\"the default of the schema fits its type\")
                    }}"
                );
                (kind.clone(), format!("default = \"{name}::{default_name}\""))
            }
            Presence::Nested => {
                let _ = write!(values, "{field}: Default::default(), ");
                (kind.clone(), "default".into())
            }
            Presence::Optional => {
                let _ = write!(values, "{field}: None, ");
                (format!("Option<{kind}>"), "default, skip_serializing_if = \"Option::is_none\"".into())
            }
        };
        let separator = if attributes.is_empty() { "" } else { ", " };
        let _ =
            writeln!(lines, "#[doc = {doc:?}] #[serde(rename = {key:?}{separator}{attributes})] pub {field}: {kind},");
    }
    let strict = if strict { "#[serde(deny_unknown_fields)]\n" } else { "" };
    let default = if arguments.is_empty() {
        format!("impl Default for {name} {{ fn default() -> Self {{ Self::new() }} }}\n")
    } else {
        String::new()
    };
    format!(
        "#[doc = {doc:?}]\n{DERIVES}{strict}pub struct {name} {{ {lines} }}
        impl {name} {{
            /// With what is required; everything else as the schema has it.
            #[allow(clippy::new_without_default, clippy::too_many_arguments)]
            pub fn new({arguments}) -> Self {{ Self {{ {values} }} }}
            {defaults}
        }}
        {default}"
    )
}

/// The words of an enum of strings.
fn words(schema: &Mapping) -> Option<Vec<&str>> {
    schema.get("enum")?.as_sequence()?.iter().map(Value::as_str).collect()
}

fn is_true(schema: &Mapping, key: &str) -> bool {
    schema.get(key) == Some(&Value::Bool(true))
}

/// The smallest usual type that holds what the bounds allow.
fn integer(schema: &Mapping) -> &'static str {
    let bound = |key: &str| schema.get(key).and_then(Value::as_i64);
    match (bound("minimum"), bound("maximum")) {
        (Some(0..), Some(..=0xffff)) => "u16",
        (Some(0..), Some(..=0xffff_ffff)) => "u32",
        (Some(0..), _) => "u64",
        _ => "i64",
    }
}

fn doc(schema: &Mapping, name: &str) -> String {
    match schema.get("description").or_else(|| schema.get("title")).and_then(Value::as_str) {
        Some(text) => text.to_owned(),
        None => format!("`{name}` of the schema."),
    }
}

/// Letters and digits of each word, each word with a capital.
pub fn pascal(text: &str) -> String {
    let mut name = String::new();
    let mut begins = true;
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            if name.is_empty() && c.is_ascii_digit() {
                name.push('N');
            }
            name.push(if begins { c.to_ascii_uppercase() } else { c });
            begins = false;
        } else {
            begins = true;
        }
    }
    if name == "Self" { "Self_".into() } else { name }
}

/// A Rust identifier in snake case.
pub fn snake(text: &str) -> String {
    let mut name = String::new();
    let mut after_small = false;
    for (at, c) in text.char_indices() {
        // A last capital belongs to its word: memoryMiB.
        if c.is_ascii_uppercase() && after_small && at + 1 < text.len() {
            name.push('_');
        }
        after_small = c.is_ascii_lowercase() || c.is_ascii_digit();
        name.push(if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' });
    }
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        name.insert(0, '_');
    }
    match name.as_str() {
        "self" | "super" | "crate" | "_" => name + "_",
        word if KEYWORDS.contains(&word) => format!("r#{name}"),
        _ => name,
    }
}

const KEYWORDS: [&str; 46] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn", "else", "enum",
    "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod", "move",
    "mut", "override", "priv", "pub", "ref", "return", "static", "struct", "trait", "true", "try", "type", "typeof",
    "unsafe", "unsized", "use", "virtual", "where",
];

fn singular(name: &str) -> String {
    match name {
        _ if name.ends_with("ies") => format!("{}y", &name[..name.len() - 3]),
        _ if name.ends_with("sses") => name[..name.len() - 2].to_owned(),
        _ if name.ends_with('s') && !name.ends_with("ss") => name[..name.len() - 1].to_owned(),
        _ => format!("{name}Item"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn types(inputs: &str, side: Side) -> Result<String, String> {
        code(Some(&serde_norway::from_str(inputs).unwrap()), None, side)
            .map(|code| code.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn chooses_the_type_that_the_bounds_allow() {
        let field = |schema: &str| {
            let code = types(&format!("{{required: [a], properties: {{a: {schema}}}}}"), Side::Own).unwrap();
            let (_, rest) = code.split_once("pub a: ").unwrap();
            rest.split_once(", }").unwrap().0.to_owned()
        };
        for (schema, expected) in [
            ("{type: string}", "String"),
            ("{type: string, writeOnly: true}", "::mistletoe::secret::SecretText"),
            ("{type: integer, minimum: 1, maximum: 65535}", "u16"),
            ("{type: integer, minimum: 0, maximum: 65536}", "u32"),
            ("{type: integer, minimum: 0}", "u64"),
            ("{type: integer}", "i64"),
            ("{type: [string, integer]}", VALUE),
            ("{oneOf: [{type: string}]}", VALUE),
            ("true", VALUE),
            ("{type: array, items: {type: string}}", "Vec<String>"),
            ("{type: object, additionalProperties: {type: string}}", "::std::collections::BTreeMap<String, String>"),
            ("{type: object}", "::std::collections::BTreeMap<String, ::mistletoe::Value>"),
        ] {
            assert_eq!(field(schema), expected, "{schema}");
        }
    }

    #[test]
    fn a_default_is_the_package_s_own_and_its_caller_may_leave_it_out() {
        let schema = "{properties: {name: {type: string}, port: {type: integer, default: 80}, note: {type: string}}}";
        let own = types(schema, Side::Own).unwrap();
        assert!(own.contains("pub name: String") && own.contains("pub port: i64"), "{own}");
        assert!(own.contains("pub note: Option<String>"), "{own}");
        let caller = types(schema, Side::Caller).unwrap();
        assert!(caller.contains("pub name: Option<String>") && caller.contains("pub port: Option<i64>"), "{caller}");
        assert!(!caller.contains("deny_unknown_fields"));
    }

    #[test]
    fn names_of_types_come_from_properties_and_definitions() {
        let code = types(
            "{properties: {users: {type: array, items: {properties: {sslMode: {enum: [verify-ca, off]}}, type: object}},
               one: {$ref: '#/$defs/port'}, two: {$ref: '#/$defs/port'}},
              $defs: {port: {type: object, properties: {type: {type: string}}}}}",
            Side::Own,
        )
        .unwrap();
        for part in
            ["pub struct User ", "pub enum SslMode ", "VerifyCa", "pub struct Port ", "pub r#type: ", "pub ssl_mode: "]
        {
            assert!(code.contains(part), "{part}: {code}");
        }
        assert_eq!(code.matches("pub struct Port ").count(), 1);
    }

    #[test]
    fn says_what_has_no_type() {
        for (schema, expected) in [
            ("{type: object}", "has no `properties`"),
            ("{properties: {a: {$ref: '#/$defs/b'}}}", "`$ref: #/$defs/b` doesn't name a schema"),
            ("{properties: {a: {enum: [x, X]}}}", "can't be the name of a variant"),
            (
                "{properties: {a: {type: object, properties: {p: {enum: [x]}}}, b: {type: object, properties: {p: {enum: [y]}}}}}",
                "two schemas would be the type `P`",
            ),
        ] {
            let message = types(schema, Side::Own).unwrap_err();
            assert!(message.contains(expected), "{schema}: {message}");
        }
    }

    #[test]
    fn names_are_identifiers() {
        for (text, expected) in [
            ("sslMode", "ssl_mode"),
            ("mic-a", "mic_a"),
            ("type", "r#type"),
            ("2nd", "_2nd"),
            ("self", "self_"),
            ("memoryMiB", "memory_mib"),
        ] {
            assert_eq!(snake(text), expected);
        }
        assert_eq!(pascal("verify-ca"), "VerifyCa");
        assert_eq!(pascal("8k"), "N8k");
        assert_eq!(singular("Entries"), "Entry");
        assert_eq!(singular("Address"), "AddressItem");
    }
}
