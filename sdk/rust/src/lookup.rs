//! Reading from the cluster.
//!
//! ```
//! use mistletoe::{MistResult, MistOutput, json, lookup, lookup_all};
//!
//! fn generate(inputs: mistletoe::Value) -> MistResult {
//!     let settings = lookup("v1", "ConfigMap", "shared", "settings")?;
//!     let region = settings.as_ref().and_then(|map| map["data"]["region"].as_str()).unwrap_or("eu");
//!     let classes = lookup_all("networking.k8s.io/v1", "IngressClass", "")?;
//!     MistOutput::new().with_object("config.yaml", &json!({
//!         "apiVersion": "v1",
//!         "kind": "ConfigMap",
//!         "metadata": { "name": inputs["name"] },
//!         "data": { "region": region, "ingresses": classes.len().to_string() },
//!     }))
//! }
//! # generate(json!({ "name": "shop" })).unwrap();
//! ```
//!
//! A package sees the objects of its own release. `spec.needs.clusterRead` of its `mistletoe.yaml` declares everything else
//! that it reads, and its user grants it with `--allow-lookup`; an existing object without both is an error, and the render
//! fails whatever the package does with that error. Without a cluster, in `mistctl generate` and in the package's own
//! tests, there are no objects; [`testing::Host`](crate::testing::Host) may be given some. Only ABI `v1` has a host to ask.

use anyhow::bail;
use serde_json::{Value, json};

use crate::host;

/// The object; none if there is none of that name. `namespace` is empty for kinds that have none.
///
/// # Errors
///
/// The package may not read it, the cluster has no such kind, or it doesn't answer.
pub fn lookup(api_version: &str, kind: &str, namespace: &str, name: &str) -> anyhow::Result<Option<Value>> {
    // An empty name would ask for all of them.
    if name.is_empty() {
        bail!("lookup of a {kind} needs a name; lookup_all gives all of them");
    }
    let answer = ask(api_version, kind, namespace, name)?;
    Ok((!answer.is_null()).then_some(answer))
}

/// All objects of a kind in the namespace, or everywhere if it is empty; records of releases are not among them.
///
/// # Errors
///
/// As [`lookup`].
pub fn lookup_all(api_version: &str, kind: &str, namespace: &str) -> anyhow::Result<Vec<Value>> {
    match ask(api_version, kind, namespace, "")?["items"].take() {
        Value::Array(items) => Ok(items),
        _ => bail!("the host's answer has no `items`"),
    }
}

fn ask(api_version: &str, kind: &str, namespace: &str, name: &str) -> anyhow::Result<Value> {
    host::ask(&json!({ "op": "lookup", "apiVersion": api_version, "kind": kind, "namespace": namespace, "name": name }))
}
