//! Objects that several of the starting packages make alike: labels, Secrets, a Service, policies, workloads.

mod pods;

use std::collections::BTreeMap;

use mistletoe::secret::{Password, SecretText};
use mistletoe::{Context, Error, Value, ensure, json};

pub use pods::{ANY_TIME, DataVolume, clients, dns, exec_probe, http_probe, merged, pods_of, resources};

/// One install of a package, as its objects are labelled and named.
pub struct App<'a> {
    pub package: &'static str,
    pub component: &'static str,
    pub install: &'a str,
}

/// The labels that find the Pods of an install; the selector of a workload can't change, so these stay the same for ever.
pub fn selector(package: &str, install: &str) -> BTreeMap<String, String> {
    [("app.kubernetes.io/name", package), ("app.kubernetes.io/instance", install)]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into()
}

impl App<'_> {
    /// As [`selector`].
    pub fn selector(&self) -> BTreeMap<String, String> {
        selector(self.package, self.install)
    }

    pub fn labels(&self) -> BTreeMap<String, String> {
        let mut labels = self.selector();
        labels.insert("app.kubernetes.io/component".into(), self.component.into());
        labels.insert("app.kubernetes.io/managed-by".into(), "mistletoe".into());
        labels
    }

    pub fn metadata(&self, name: &str) -> Value {
        json!({ "name": name, "labels": self.labels() })
    }

    pub fn secret(&self, name: &str, data: &Value) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": self.metadata(name),
            "type": "Opaque",
            "stringData": data,
        })
    }

    pub fn config_map(&self, name: &str, data: &Value) -> Value {
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": self.metadata(name), "data": data })
    }

    /// The Service in front of it, with its port under the name that the container's port has.
    pub fn service(&self, port_name: &str, port: u16) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": self.metadata(self.install),
            "spec": {
                "selector": self.selector(),
                "ports": [{ "name": port_name, "port": port, "targetPort": port_name, "protocol": "TCP" }],
            },
        })
    }

    /// Only the Pods with these labels may connect, or all of the namespace if there are none; the server itself connects
    /// to nobody.
    pub fn server_policy(&self, clients: &[BTreeMap<String, String>], port_name: &str) -> Value {
        let rule = json!({ "from": pods::clients(clients), "ports": [{ "port": port_name, "protocol": "TCP" }] });
        self.policy(&[rule], &[])
    }

    /// One Pod at a time may be moved; with none, a drain would wait for ever.
    pub fn disruption_budget(&self) -> Value {
        json!({
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": self.metadata(self.install),
            "spec": {
                "maxUnavailable": 1,
                "unhealthyPodEvictionPolicy": "AlwaysAllow",
                "selector": { "matchLabels": self.selector() },
            },
        })
    }

    /// The template of the volume `data` of a StatefulSet.
    pub fn data_claim(&self, size: &str, storage_class: Option<&str>) -> Value {
        let mut spec = json!({ "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": size } } });
        if let Some(class) = storage_class {
            spec["storageClassName"] = class.into();
        }
        json!({ "metadata": { "name": "data", "labels": self.selector() }, "spec": spec })
    }
}

/// As the *restricted* Pod Security Standard wants it, with a root file system that nobody writes.
pub fn restricted() -> Value {
    json!({
        "allowPrivilegeEscalation": false,
        "capabilities": { "drop": ["ALL"] },
        "readOnlyRootFilesystem": true,
    })
}

/// Checks that names and certificates, which are of the input `namespace`, lead to the objects, which go to the release's.
/// A package checks it of its own release. Another package that calls it places the objects itself, as a crate's caller does;
/// in such a call, the install has another name than the release, which never happens else.
///
/// # Errors
///
/// They are of another namespace.
pub fn check_namespace(install: &str, namespace: &str, context: &Context) -> Result<(), Error> {
    let Some(release) = context.release.as_ref().filter(|release| release.name == install) else { return Ok(()) };
    ensure!(
        namespace == release.namespace,
        "inputs.namespace is `{namespace}`, but the objects go to the release's namespace `{}`: leave it unset, and \
         install the release in `{namespace}` if they belong there. An upgrade forgets a value that was given before with \
         --reuse-values --set namespace=null",
        release.namespace
    );
    Ok(())
}

/// The password that the inputs give, or the secret of that name.
///
/// # Errors
///
/// The host gives no secrets.
pub fn given_or_drawn(given: Option<&SecretText>, secret: &str) -> Result<SecretText, Error> {
    match given {
        Some(password) => Ok(password.clone()),
        None => Ok(Password::new(secret).length(32).get()?.into()),
    }
}

#[cfg(test)]
mod tests {
    use mistletoe::Release;

    use super::*;

    fn in_prod() -> Context {
        let release = Release { name: "shop".into(), namespace: "prod".into(), ..Release::default() };
        Context { release: Some(release), capabilities: None }
    }

    #[test]
    fn names_are_of_the_namespace_that_objects_go_to() {
        assert!(check_namespace("shop", "prod", &in_prod()).is_ok());
        let error = check_namespace("shop", "data", &in_prod()).unwrap_err().to_string();
        assert!(error.contains("`data`") && error.contains("`prod`"), "{error}");
        assert!(error.contains("--reuse-values --set namespace=null"), "{error}");
        assert!(check_namespace("shop", "data", &Context::default()).is_ok());
    }

    #[test]
    fn a_package_that_calls_another_places_its_objects() {
        assert!(check_namespace("shop-db", "data", &in_prod()).is_ok());
        assert!(check_namespace("shop-db", "prod", &in_prod()).is_ok());
    }
}
