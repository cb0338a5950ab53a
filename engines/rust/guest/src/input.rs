//! What the host asks for: the MistInput document.

use serde_json::Value;

use crate::answer::Failure;
use crate::{Object, json};

/// A request to render, or to describe the package.
#[derive(Clone, Debug, Default)]
pub struct Input {
    /// The user's values, with `name`, the name of the install.
    pub data: Object,
    /// `name`, `namespace`, `revision` (from 0), `isUpgrade`; the last two always present.
    pub release: Object,
    /// `kubeVersion`, `apiVersions`; empty when nobody knows.
    pub capabilities: Object,
    /// Settings of the engine that the host gives; those of the package are in [`crate::Package::options`].
    pub options: Object,
}

impl Input {
    /// Reads the document that the host writes.
    pub fn parse(text: &[u8]) -> Result<Self, Failure> {
        let refuse = |why: &dyn std::fmt::Display| Failure::new(format!("the input document can't be read: {why}"));
        let mut document: Value = serde_json::from_slice(text).map_err(|error| refuse(&error))?;
        if document["kind"] != "MistInput" {
            return Err(refuse(&"it is not a MistInput"));
        }
        let mut take = |path: &[&str]| -> Result<Object, Failure> {
            let found = path.iter().try_fold(&mut document, |value, key| value.get_mut(*key));
            match found.map(Value::take) {
                None | Some(Value::Null) => Ok(Object::new()),
                Some(Value::Object(object)) => Ok(object),
                Some(_) => Err(refuse(&format!("{} is not an object", path.join(".")))),
            }
        };
        let mut input = Self {
            data: take(&["data"])?,
            release: take(&["release"])?,
            capabilities: take(&["capabilities"])?,
            options: take(&["engine", "options"])?,
        };
        input.release.entry("revision").or_insert(json!(0));
        input.release.entry("isUpgrade").or_insert(json!(false));
        Ok(input)
    }

    /// Whether the package is to be described instead of rendered.
    pub fn is_inspection(&self) -> bool {
        self.options.get("inspect") == Some(&Value::Bool(true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_host_writes() {
        let input = Input::parse(
            br#"{"apiVersion":"mistletoe.dev/v1","kind":"MistInput","data":{"b":1,"a":2.0},
                 "release":{"name":"web","namespace":"shop"},"engine":{"name":"jinja","options":{"inspect":true}}}"#,
        )
        .unwrap();
        assert_eq!(input.data.keys().collect::<Vec<_>>(), ["b", "a"]);
        assert!(input.data["b"].is_i64() && input.data["a"].is_f64());
        assert_eq!(input.release["revision"], 0);
        assert!(input.is_inspection() && input.capabilities.is_empty());
    }

    #[test]
    fn refuses_other_documents() {
        let said = |text: &str| Input::parse(text.as_bytes()).unwrap_err().message;
        assert!(said("").starts_with("the input document can't be read: EOF"));
        assert!(said("[]").ends_with("it is not a MistInput"));
        assert!(said(r#"{"kind":"MistInput","data":[]}"#).ends_with("data is not an object"));
        assert!(said(&format!(r#"{{"kind":"MistInput","data":{}"#, "[".repeat(100_000))).contains("recursion limit"));
    }
}
