//! Kubernetes YAML that people like to read and every YAML reader understands alike.
//!
//! Block style; `apiVersion`, `kind`, `name`, `namespace`, `metadata` first in each mapping, the rest in the order in
//! which they were serialised; texts of several lines as literal blocks. A string is plain only where YAML 1.1, YAML 1.2
//! and the resolvers of kubectl and Helm agree that it is one: `1_000`, `on`, `0777` or `12:30:45` come out quoted.

use std::fmt::Write as _;

use serde::Serialize;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Number;

use crate::document::{YamlSafe, needs_escape};
use crate::finite;

/// Keys that come first in every mapping; order means nothing in YAML, so this serves the reader alone.
const LEADING_KEYS: [&str; 5] = ["apiVersion", "kind", "name", "namespace", "metadata"];

/// Words that some YAML reader takes for a boolean or null, in lower case.
const RESERVED_WORDS: [&str; 10] = ["null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan"];

/// Writes `value` as one YAML document that ends with a line break.
///
/// Fails where JSON would: on a mapping whose keys aren't strings or numbers, and on a type's own refusal. And on numbers that
/// aren't finite, of which `json!` makes null before anybody could see them.
pub fn to_string<T: Serialize + ?Sized>(value: &T) -> anyhow::Result<String> {
    finite::check(value)?;
    // By way of JSON text, because that alone keeps the order of fields without another serialiser.
    let mut node: Node = serde_json::from_str(&serde_json::to_string(value)?)?;
    node.lead_with_identity();
    let mut writer = Writer(String::new());
    writer.document(&node);
    Ok(writer.0)
}

enum Node {
    Null,
    Bool(bool),
    Number(Number),
    String(String),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

impl Node {
    fn lead_with_identity(&mut self) {
        match self {
            Node::List(items) => items.iter_mut().for_each(Node::lead_with_identity),
            Node::Map(entries) => {
                entries.sort_by_key(|(key, _)| {
                    LEADING_KEYS.iter().position(|leading| leading == key).unwrap_or(LEADING_KEYS.len())
                });
                entries.iter_mut().for_each(|(_, node)| node.lead_with_identity());
            }
            Node::Null | Node::Bool(_) | Node::Number(_) | Node::String(_) => {}
        }
    }
}

struct Writer(String);

impl Writer {
    fn document(&mut self, node: &Node) {
        match node {
            Node::Map(entries) if !entries.is_empty() => self.map(entries, 0),
            Node::List(items) if !items.is_empty() => self.list(items, 0),
            node => self.inline(node, 0),
        }
    }

    fn map(&mut self, entries: &[(String, Node)], indent: usize) {
        for (index, (key, node)) in entries.iter().enumerate() {
            if index > 0 {
                self.indent(indent);
            }
            self.text(key);
            self.0.push(':');
            match node {
                Node::Map(inner) if !inner.is_empty() => {
                    self.break_line(indent + 2);
                    self.map(inner, indent + 2);
                }
                Node::List(items) if !items.is_empty() => {
                    self.break_line(indent);
                    self.list(items, indent);
                }
                node => {
                    self.0.push(' ');
                    self.inline(node, indent);
                }
            }
        }
    }

    fn list(&mut self, items: &[Node], indent: usize) {
        for (index, node) in items.iter().enumerate() {
            if index > 0 {
                self.indent(indent);
            }
            self.0.push_str("- ");
            match node {
                Node::Map(inner) if !inner.is_empty() => self.map(inner, indent + 2),
                Node::List(inner) if !inner.is_empty() => self.list(inner, indent + 2),
                node => self.inline(node, indent),
            }
        }
    }

    /// Writes what starts on the current line, up to and with its line break.
    fn inline(&mut self, node: &Node, indent: usize) {
        match node {
            Node::Null => self.0.push_str("null"),
            Node::Bool(value) => self.0.push_str(if *value { "true" } else { "false" }),
            Node::Number(number) => self.0.push_str(&written(number)),
            Node::String(text) if is_literal(text) => return self.literal(text, indent + 2),
            Node::String(text) => self.text(text),
            Node::List(_) => self.0.push_str("[]"),
            Node::Map(_) => self.0.push_str("{}"),
        }
        self.0.push('\n');
    }

    fn text(&mut self, text: &str) {
        if is_plain(text) {
            self.0.push_str(text);
        } else {
            self.0.push_str(&quoted(text));
        }
    }

    /// Writes a literal block (YAML 1.1, section 9.3.1); its chomping indicator keeps the line breaks at the end exact.
    fn literal(&mut self, text: &str, indent: usize) {
        let body = text.trim_end_matches('\n');
        self.0.push_str(match text.len() - body.len() {
            0 => "|-",
            1 => "|",
            _ => "|+",
        });
        self.0.push('\n');
        for line in body.split('\n') {
            if !line.is_empty() {
                self.indent(indent);
            }
            self.0.push_str(line);
            self.0.push('\n');
        }
        self.0.extend(std::iter::repeat_n('\n', (text.len() - body.len()).saturating_sub(1)));
    }

    fn break_line(&mut self, indent: usize) {
        self.0.push('\n');
        self.indent(indent);
    }

    fn indent(&mut self, indent: usize) {
        write!(self.0, "{:indent$}", "").expect("writing to a String can't fail");
    }
}

/// `text` as JSON that is YAML, too.
pub(crate) fn quoted(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, YamlSafe);
    text.serialize(&mut serializer).expect("a string always serialises into memory");
    String::from_utf8(bytes).expect("the JSON writer writes UTF-8")
}

/// As ECMAScript writes a number, from its shortest digits: with an exponent below 1e-6 and from 1e21 on.
fn written(number: &Number) -> String {
    let Some(value) = number.as_f64().filter(|_| number.is_f64()) else { return number.to_string() };
    let scientific = format!("{:e}", value.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let digits = mantissa.replace('.', "");
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let sign = if value < 0.0 { "-" } else { "" };
    if !(-6..=20).contains(&exponent) {
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        return format!("{sign}{first}{point}{rest}e{exponent:+}");
    }
    let Ok(before) = usize::try_from(exponent + 1) else {
        return format!("{sign}0.{}{digits}", "0".repeat(exponent.unsigned_abs() as usize - 1));
    };
    match digits.split_at_checked(before) {
        Some(("", part)) => format!("{sign}0.{part}"),
        Some((whole, "")) => format!("{sign}{whole}"),
        Some((whole, part)) => format!("{sign}{whole}.{part}"),
        None => format!("{sign}{digits:0<before$}"),
    }
}

/// Whether every YAML reader takes the unquoted text for this very string.
fn is_plain(text: &str) -> bool {
    is_plain_words(text) || is_quantity(text)
}

/// A letter or slash, then nothing special.
fn is_plain_words(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || " -_./:@%+,=".contains(c))
        && !text.contains(": ")
        && !text.ends_with([' ', ':'])
        && !RESERVED_WORDS.contains(&text.to_ascii_lowercase().as_str())
}

/// A Kubernetes quantity with a suffix that no YAML number has, such as `250m` or `64Mi`.
fn is_quantity(text: &str) -> bool {
    let suffix = text.trim_start_matches(|c: char| c.is_ascii_digit());
    suffix.len() < text.len()
        && matches!(suffix, "m" | "k" | "M" | "G" | "T" | "P" | "Ki" | "Mi" | "Gi" | "Ti" | "Pi" | "Ei")
}

/// Whether a literal block shows the text exactly; its first line decides the indentation, so it can't be blank.
fn is_literal(text: &str) -> bool {
    text.trim_end_matches('\n').contains('\n')
        && !text.starts_with(|c: char| c.is_whitespace())
        && !text.chars().any(|c| (c.is_control() && c != '\n' && c != '\t') || needs_escape(c))
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Number(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(Number::from_f64(value).map_or(Node::Null, Node::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Node::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Node, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = access.next_entry()? {
            entries.push(entry);
        }
        Ok(Node::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use indoc::indoc;
    use serde_json::{Value, json};

    #[test]
    fn writes_an_object_as_people_do() {
        #[derive(Serialize)]
        struct Container {
            image: &'static str,
            name: &'static str,
            args: Vec<&'static str>,
            env: Vec<Value>,
            resources: Value,
        }
        let container = Container {
            image: "registry.example/web:1.2",
            name: "web",
            args: vec!["--port=80", "-v", "", "a: b"],
            env: vec![],
            resources: json!({}),
        };
        let object = json!({
            "spec": { "replicas": 2, "containers": [container], "matrix": [[1, 2], [null, true, 1.5]] },
            "metadata": { "labels": { "app.kubernetes.io/name": "web" }, "name": "web" },
            "kind": "Thing", "apiVersion": "example.com/v1",
        });
        // The struct went through json!, whose mappings are sorted.
        assert_eq!(
            to_string(&object).unwrap(),
            indoc! {r#"
                apiVersion: example.com/v1
                kind: Thing
                metadata:
                  name: web
                  labels:
                    app.kubernetes.io/name: web
                spec:
                  containers:
                  - name: web
                    args:
                    - "--port=80"
                    - "-v"
                    - ""
                    - "a: b"
                    env: []
                    image: registry.example/web:1.2
                    resources: {}
                  matrix:
                  - - 1
                    - 2
                  - - null
                    - true
                    - 1.5
                  replicas: 2
            "#}
        );
    }

    #[test]
    fn keeps_the_order_of_struct_fields() {
        #[derive(Serialize)]
        struct Fields {
            zone: u8,
            kind: &'static str,
            area: u8,
        }
        assert_eq!(to_string(&Fields { zone: 1, kind: "K", area: 2 }).unwrap(), "kind: K\nzone: 1\narea: 2\n");
    }

    #[test]
    fn quotes_what_any_reader_could_take_for_something_else() {
        for text in [
            "",
            "~",
            "null",
            "Null",
            "yes",
            "No",
            "ON",
            "off",
            "y",
            "N",
            "true",
            "FALSE",
            "nan",
            "NaN",
            ".nan",
            ".inf",
            "-.inf",
            "0777",
            "0o17",
            "0x1F",
            "1_000",
            "1e3",
            "12:30:45",
            "2001-12-14",
            "1.0",
            "-",
            "--- a",
            "<<",
            "=",
            "*a",
            "&a",
            "!a",
            "%a",
            "@a",
            "`a",
            "#a",
            "a #b",
            "a: b",
            "a:",
            " a",
            "a ",
            "[a",
            "{a",
            "a]",
            "\"a",
            "'a",
            "a\tb",
            "é",
            "a\u{85}b",
            "\u{feff}a",
            "\r",
            "a\r\nb",
            "?",
            "|",
            ">",
        ] {
            let written = to_string(text).unwrap();
            assert!(written.starts_with('"') && written.ends_with("\"\n"), "{text:?} became {written:?}");
        }
    }

    #[test]
    fn leaves_common_words_plain() {
        for text in [
            "web",
            "v1",
            "a b",
            "/etc/nginx",
            "250m",
            "64Mi",
            "nginx:1.27@sha256:0a",
            "app.kubernetes.io/name",
            "a=b,c%",
        ] {
            assert_eq!(to_string(text).unwrap(), format!("{text}\n"));
        }
    }

    #[test]
    fn round_trips_texts_of_several_lines() {
        for text in [
            "a\nb",
            "a\nb\n",
            "a\nb\n\n\n",
            "a\n\n  b\n\tc\n",
            "\na\nb",
            " a\nb",
            "\n",
            "\n\n",
            "a\n",
            "a\nb \n",
            "#a\nb\n",
            "---\na\n",
            "a\n---\nb\n",
            "...\nx",
            "a\nb\u{85}c",
            "a\nb\r",
            "- a\n- b",
            "a\n\u{1}b",
            "a\n \n",
            "a\n \nb",
        ] {
            for value in
                [json!(text), json!({"k": text, "l": 1}), json!([text, {"k": text}, [text]]), json!({text: text})]
            {
                let written = to_string(&value).unwrap();
                let read: Value = serde_norway::from_str(&written).unwrap_or_else(|e| panic!("{written}: {e}"));
                assert_eq!(read, value, "{written}");
            }
        }
        assert_eq!(to_string(&json!({"k": "a\n\n b\n"})).unwrap(), "k: |\n  a\n\n   b\n");
    }

    #[test]
    fn writes_numbers_exactly() {
        let value = json!([u64::MAX, i64::MIN, 0, -1, 0.1, 1e300]);
        let written = to_string(&value).unwrap();
        assert!(written.starts_with("- 18446744073709551615\n- -9223372036854775808\n"), "{written}");
        assert_eq!(serde_norway::from_str::<Value>(&written).unwrap(), value);
    }

    #[test]
    fn writes_the_numbers_of_the_other_sdks() {
        for (number, text) in [
            (100000.0, "100000"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (-1.5e300, "-1.5e+300"),
            (123_456_789_012_345_680_000.0, "123456789012345680000"),
            (0.1, "0.1"),
            (-0.00001, "-0.00001"),
            (0.000001, "0.000001"),
            (1e-7, "1e-7"),
            (1234.5, "1234.5"),
            (0.0, "0"),
            (-0.0, "0"),
        ] {
            assert_eq!(to_string(&number).unwrap(), format!("{text}\n"));
        }
    }

    #[test]
    fn writes_empty_documents() {
        assert_eq!(to_string(&json!({})).unwrap(), "{}\n");
        assert_eq!(to_string(&json!([])).unwrap(), "[]\n");
        assert_eq!(to_string(&json!(null)).unwrap(), "null\n");
    }
}
