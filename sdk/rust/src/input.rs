//! The input document: what the host gives to a package.

use anyhow::{Context as _, anyhow, ensure};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

const KIND: &str = "MistInput";
const UNREADABLE: &str = "the input document can't be read";
const API_VERSIONS: [&str; 2] = ["mistletoe.dev/v1alpha1", "mistletoe.dev/v1"];

/// A parsed `kind: MistInput` document.
#[derive(Clone, Debug, PartialEq)]
pub struct MistInput {
    /// The values; `data.name` is the name of the install.
    pub data: Map<String, Value>,
    /// Everything that the host says beyond the values; empty in `v1alpha1`.
    pub context: Context,
}

/// The surroundings of a package, as a host of ABI `v1` describes them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Context {
    /// The release that is being rendered.
    pub release: Option<Release>,
    /// The capabilities of the cluster.
    pub capabilities: Option<Capabilities>,
}

/// The release that a package is rendered for.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Release {
    /// That of the whole release; of a called package, `data.name` is its own.
    pub name: String,
    /// The namespace that objects without one go to.
    pub namespace: String,
    /// The number of the revision; only for packages whose metadata says `needs.release`.
    #[serde(default)]
    pub revision: Option<u64>,
    /// Whether an earlier revision exists; only for packages whose metadata says `needs.release`.
    #[serde(default)]
    pub is_upgrade: Option<bool>,
}

/// The capabilities of a cluster.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Capabilities {
    /// The version of the API server, for example `v1.36.1`.
    #[serde(default)]
    pub kube_version: String,
    /// The group-versions that it serves, for example `apps/v1`.
    #[serde(default)]
    pub api_versions: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Layout {
    api_version: String,
    kind: String,
    data: Map<String, Value>,
    #[serde(default)]
    release: Option<Release>,
    #[serde(default)]
    capabilities: Option<Capabilities>,
}

impl MistInput {
    /// Reads an input document from YAML or JSON.
    ///
    /// Fails, naming the place, when the text is no such document or of an unknown `apiVersion`.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        if text.trim_start().starts_with('{')
            && let Ok(layout) = serde_json::from_str(text)
        {
            return Self::from_layout(layout);
        }
        Self::from_layout(serde_norway::from_str(text).context(UNREADABLE)?)
    }

    /// Reads an input document that is known to be JSON, as it is in ABI `v1`.
    ///
    /// A module that only calls this contains no YAML reader.
    pub fn parse_json(text: &str) -> anyhow::Result<Self> {
        Self::from_layout(serde_json::from_str(text).context(UNREADABLE)?)
    }

    /// Converts the values to the package's own type, naming the path of the value that doesn't fit.
    pub fn data_into<T: DeserializeOwned>(&self) -> anyhow::Result<T> {
        serde_path_to_error::deserialize(Value::Object(self.data.clone())).map_err(|error| {
            match error.path().to_string().as_str() {
                "." => anyhow!("the inputs don't fit this package: {}", error.inner()),
                path => anyhow!("the input `{path}` doesn't fit this package: {}", error.inner()),
            }
        })
    }

    fn from_layout(layout: Layout) -> anyhow::Result<Self> {
        ensure!(layout.kind == KIND, "the input document has kind `{}`, expected `{KIND}`", layout.kind);
        ensure!(
            API_VERSIONS.contains(&layout.api_version.as_str()),
            "the input document has apiVersion `{}`, this package understands {}",
            layout.api_version,
            API_VERSIONS.join(" and ")
        );
        Ok(Self { data: layout.data, context: Context { release: layout.release, capabilities: layout.capabilities } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    struct Ports {
        ports: Vec<Port>,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    struct Port {
        number: u16,
    }

    fn input(data: &str) -> MistInput {
        MistInput::parse(&format!("{{apiVersion: mistletoe.dev/v1, kind: MistInput, data: {data}}}")).unwrap()
    }

    #[test]
    fn reads_the_original_yaml_form() {
        let input = MistInput::parse(
            "apiVersion: mistletoe.dev/v1alpha1\nkind: MistInput\ndata:\n  name: my-nginx\n  replicas: 2\n",
        )
        .unwrap();
        assert_eq!(input.data["name"], "my-nginx");
        assert_eq!(input.data["replicas"], 2);
        assert_eq!(input.context, Context::default());
    }

    #[test]
    fn reads_release_and_capabilities() {
        let input = MistInput::parse_json(
            r#"{"apiVersion":"mistletoe.dev/v1","kind":"MistInput","data":{"name":"a"},"future":1,
                "release":{"name":"a","namespace":"shop"},
                "capabilities":{"kubeVersion":"v1.36.1","apiVersions":["v1","apps/v1"]}}"#,
        )
        .unwrap();
        let release = input.context.release.unwrap();
        assert_eq!((release.name.as_str(), release.namespace.as_str()), ("a", "shop"));
        assert_eq!(release.is_upgrade, None);
        assert_eq!(input.context.capabilities.unwrap().api_versions, ["v1", "apps/v1"]);
    }

    #[test]
    fn refuses_other_documents() {
        for (text, expected) in [
            ("{apiVersion: v1, kind: MistInput, data: {}}", "apiVersion `v1`"),
            ("{apiVersion: mistletoe.dev/v1, kind: Pod, data: {}}", "kind `Pod`"),
            ("{apiVersion: mistletoe.dev/v1, kind: MistInput}", "missing field `data`"),
            ("{apiVersion: mistletoe.dev/v1, kind: MistInput, data: [1]}", "data: invalid type: sequence"),
            ("{", "the input document can't be read"),
            ("", "the input document can't be read"),
        ] {
            let message = format!("{:#}", MistInput::parse(text).unwrap_err());
            assert!(message.contains(expected), "{text}: {message}");
        }
    }

    #[test]
    fn names_the_path_of_a_value_that_does_not_fit() {
        let error = input("{ports: [{number: 80}, {number: many}]}").data_into::<Ports>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "the input `ports[1].number` doesn't fit this package: invalid type: string \"many\", expected u16"
        );
        let error = input("{}").data_into::<Ports>().unwrap_err();
        assert_eq!(error.to_string(), "the inputs don't fit this package: missing field `ports`");
    }
}
