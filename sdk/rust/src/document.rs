//! The result document, as one line of JSON that every YAML reader reads alike.

use std::io;

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;
use serde_json::ser::{CompactFormatter, Formatter, Serializer as JsonSerializer};

use crate::{MistOutput, MistResult, yaml};

/// The two forms of the result document; they differ in `exports`.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum ApiVersion {
    V1Alpha1,
    V1,
}

impl ApiVersion {
    const fn as_str(self) -> &'static str {
        match self {
            Self::V1Alpha1 => "mistletoe.dev/v1alpha1",
            Self::V1 => "mistletoe.dev/v1",
        }
    }
}

/// Writes `result` as a `kind: MistResult` document; an error becomes its chain of causes.
pub(crate) fn write(api_version: ApiVersion, result: &MistResult) -> String {
    let data = match result {
        Ok(output) => Data {
            result: "Ok",
            message: output.message().map(str::to_owned),
            exports: output.exports().map(|exports| exports_value(api_version, exports)),
            files: Some(Files(output)),
        },
        Err(error) => Data { result: "Err", message: Some(format!("{error:#}")), exports: None, files: None },
    };
    let mut text = Vec::new();
    let mut serializer = JsonSerializer::with_formatter(&mut text, YamlSafe);
    Layout { api_version: api_version.as_str(), kind: "MistResult", data }
        .serialize(&mut serializer)
        .expect("strings and values always serialise into memory");
    String::from_utf8(text).expect("the JSON writer writes UTF-8")
}

/// In `v1alpha1` the exports are a YAML text, in `v1` any value; but a host reads a text as YAML, which its quotation is.
fn exports_value(api_version: ApiVersion, exports: &Value) -> Value {
    match api_version {
        ApiVersion::V1Alpha1 => yaml::to_string(exports).map_or(Value::Null, Value::String),
        ApiVersion::V1 => exports.as_str().map_or_else(|| exports.clone(), |text| yaml::quoted(text).into()),
    }
}

#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct Layout<'a> {
    api_version: &'static str,
    kind: &'static str,
    data: Data<'a>,
}

#[derive(serde::Serialize)]
struct Data<'a> {
    result: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<Files<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exports: Option<Value>,
}

struct Files<'a>(&'a MistOutput);

impl Serialize for Files<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (path, content) in self.0.files() {
            map.serialize_entry(path, content)?;
        }
        map.end()
    }
}

/// JSON without the characters that JSON allows in a string and YAML 1.1 doesn't, or folds as a line break.
pub(crate) struct YamlSafe;

impl Formatter for YamlSafe {
    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(needs_escape) {
            let (plain, tail) = rest.split_at(at);
            CompactFormatter.write_string_fragment(writer, plain)?;
            let mut tail = tail.chars();
            write!(writer, "\\u{:04x}", tail.next().map_or(0, u32::from))?;
            rest = tail.as_str();
        }
        CompactFormatter.write_string_fragment(writer, rest)
    }
}

/// Whether YAML 1.1 (section 5.1) counts `c` as not printable or as a line break; all are below U+10000.
pub(crate) fn needs_escape(c: char) -> bool {
    matches!(c, '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::{Context, anyhow};
    use serde_json::json;

    #[test]
    fn writes_an_output() {
        let result = MistOutput::new()
            .with_message("hi")
            .with_file("b.yaml", "x: 1\n")
            .with_file("a.yaml", "")
            .with_exports(&json!({"p": 1}));
        assert_eq!(
            write(ApiVersion::V1, &result),
            r#"{"apiVersion":"mistletoe.dev/v1","kind":"MistResult","data":{"result":"Ok","message":"hi","files":{"b.yaml":"x: 1\n","a.yaml":""},"exports":{"p":1}}}"#
        );
        assert!(write(ApiVersion::V1Alpha1, &result).ends_with(r#""exports":"p: 1\n"}}"#));
    }

    #[test]
    fn a_text_is_exported_as_its_quotation() {
        for (text, written) in [("on", r#""exports":"\"on\""}}"#), ("\u{85}\"", r#""exports":"\"\\u0085\\\"\""}}"#)] {
            let document = write(ApiVersion::V1, &MistOutput::new().with_exports(&text));
            assert!(document.ends_with(written), "{document}");
            let exports = serde_json::from_str::<Value>(&document).unwrap()["data"]["exports"].take();
            assert_eq!(serde_norway::from_str::<Value>(exports.as_str().unwrap()).unwrap(), text);
        }
    }

    #[test]
    fn writes_an_error_with_its_causes() {
        let result = Err(anyhow!("no port")).context("can't make the Service");
        assert_eq!(
            write(ApiVersion::V1Alpha1, &result),
            r#"{"apiVersion":"mistletoe.dev/v1alpha1","kind":"MistResult","data":{"result":"Err","message":"can't make the Service: no port"}}"#
        );
    }

    #[test]
    fn survives_a_yaml_reader_with_every_awkward_character() {
        let awkward: String = (0..0x3000)
            .chain([0xfeff, 0xfffd, 0xfffe, 0xffff, 0x10000, 0x1f600, 0x10ffff])
            .filter_map(char::from_u32)
            .collect();
        let text = write(ApiVersion::V1, &Ok(MistOutput::new().with_file("a", awkward.as_str())));
        let read: Value = serde_norway::from_str(&text).unwrap();
        assert_eq!(read["data"]["files"]["a"], awkward.as_str());
        assert_eq!(read, serde_json::from_str::<Value>(&text).unwrap());
    }
}
