//! Files of Secrets and ConfigMaps that the operator reads for Releases: credentials, registries, signers, authorities.
//!
//! Each is a volume of its own, never a single file in one (`subPath`): such a file stays as it was when the Pod began.
//! A Pod doesn't begin before its objects and their keys are there.

use mistletoe::{Value, json};

use crate::Inputs;

/// Where they are, each in a directory with the name of its volume.
const ROOT: &str = "/etc/mistletoe";
/// Root owns the files of a volume, and the Pod's group reads them.
const SECRET_MODE: u32 = 0o440;

enum Kind {
    Secret,
    ConfigMap,
}

struct Source {
    volume: &'static str,
    kind: Kind,
    object: fn(&Inputs) -> Option<&str>,
    /// The key, and the name of its file; none: all keys are files, and have their own names.
    item: Option<(&'static str, &'static str)>,
    /// Environment variables that point there, each with the path below the directory.
    variables: &'static [(&'static str, &'static str)],
}

static SOURCES: [Source; 6] = [
    Source {
        volume: "docker",
        kind: Kind::Secret,
        object: |inputs| inputs.registry_credentials.as_deref(),
        item: Some((".dockerconfigjson", "config.json")),
        variables: &[("DOCKER_CONFIG", "")],
    },
    Source {
        volume: "git",
        kind: Kind::Secret,
        object: |inputs| inputs.git_credentials.as_deref(),
        item: None,
        variables: &[("HOME", "")],
    },
    Source {
        volume: "helm",
        kind: Kind::Secret,
        object: |inputs| inputs.chart_credentials.as_deref(),
        item: Some(("repositories.yaml", "repositories.yaml")),
        variables: &[("HELM_REPOSITORY_CONFIG", "/repositories.yaml")],
    },
    Source {
        volume: "configuration",
        kind: Kind::ConfigMap,
        object: |inputs| inputs.configuration.as_deref(),
        item: Some(("config.yaml", "config.yaml")),
        variables: &[("MIST_CONFIG_LOCATION", "/config.yaml")],
    },
    // With the keys that the policy names.
    Source {
        volume: "trust",
        kind: Kind::ConfigMap,
        object: |inputs| inputs.trust_policy.as_deref(),
        item: None,
        variables: &[("MIST_TRUST_LOCATION", "/trust.yaml")],
    },
    // git doesn't know the variable of the others.
    Source {
        volume: "certificates",
        kind: Kind::ConfigMap,
        object: |inputs| inputs.certificates.as_deref(),
        item: Some(("ca.crt", "ca.crt")),
        variables: &[("SSL_CERT_FILE", "/ca.crt"), ("GIT_SSL_CAINFO", "/ca.crt")],
    },
];

impl Source {
    fn directory(&self) -> String {
        format!("{ROOT}/{}", self.volume)
    }

    fn volume(&self, object: &str) -> Value {
        let (kind, mut from) = match self.kind {
            Kind::Secret => ("secret", json!({ "secretName": object, "defaultMode": SECRET_MODE })),
            Kind::ConfigMap => ("configMap", json!({ "name": object })),
        };
        if let Some((key, path)) = self.item {
            from["items"] = json!([{ "key": key, "path": path }]);
        }
        json!({ "name": self.volume, kind: from })
    }

    fn mount(&self) -> Value {
        json!({ "name": self.volume, "mountPath": self.directory(), "readOnly": true })
    }

    fn environment(&self) -> impl Iterator<Item = Value> {
        let directory = self.directory();
        self.variables.iter().map(move |(name, rest)| json!({ "name": name, "value": format!("{directory}{rest}") }))
    }
}

/// Those that the inputs name, each with its object.
fn given(inputs: &Inputs) -> impl Iterator<Item = (&'static Source, &str)> {
    SOURCES.iter().filter_map(move |source| Some((source, (source.object)(inputs)?)))
}

pub fn volumes(inputs: &Inputs) -> impl Iterator<Item = Value> {
    given(inputs).map(|(source, object)| source.volume(object))
}

pub fn mounts(inputs: &Inputs) -> impl Iterator<Item = Value> {
    given(inputs).map(|(source, _)| source.mount())
}

pub fn environment(inputs: &Inputs) -> impl Iterator<Item = Value> {
    given(inputs).flat_map(|(source, _)| source.environment())
}
