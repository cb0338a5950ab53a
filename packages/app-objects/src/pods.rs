//! Workloads and what their Pods have alike.

use std::collections::BTreeMap;

use mistletoe::secret::fingerprint;
use mistletoe::{Error, Value, json};

use crate::App;

/// A volume for each Pod of a StatefulSet.
pub struct DataVolume<'a> {
    /// Else the data is lost with the Pod.
    pub persistent: bool,
    pub size: &'a str,
    pub storage_class: Option<&'a str>,
}

impl App<'_> {
    /// The template of Pods that run as one user, as the *restricted* Pod Security Standard wants it. They are replaced
    /// when `content` changes, or `spec`.
    ///
    /// # Errors
    ///
    /// `content` can't be serialised.
    pub fn pod_template(&self, content: &Value, user: u32, spec: Value) -> Result<Value, Error> {
        let common = json!({
            "automountServiceAccountToken": false,
            "enableServiceLinks": false,
            "securityContext": {
                "runAsNonRoot": true,
                "runAsUser": user,
                "runAsGroup": user,
                "fsGroup": user,
                "fsGroupChangePolicy": "OnRootMismatch",
                "seccompProfile": { "type": "RuntimeDefault" },
            },
        });
        Ok(json!({
            "metadata": {
                "labels": self.labels(),
                "annotations": { "checksum/content": fingerprint(content)? },
            },
            "spec": merged(common, spec),
        }))
    }

    /// A StatefulSet whose Pods have the volume `data`, if they need one.
    pub fn stateful_set(&self, service: &str, replicas: u32, mut template: Value, data: Option<&DataVolume>) -> Value {
        let mut spec = json!({
            "serviceName": service,
            "replicas": replicas,
            "selector": { "matchLabels": self.selector() },
        });
        match data {
            Some(data) if data.persistent => {
                spec["volumeClaimTemplates"] = json!([self.data_claim(data.size, data.storage_class)]);
            }
            Some(_) => {
                let mut volumes = template["spec"]["volumes"].as_array().cloned().unwrap_or_default();
                volumes.push(json!({ "name": "data", "emptyDir": {} }));
                template["spec"]["volumes"] = volumes.into();
            }
            None => {}
        }
        spec["template"] = template;
        json!({ "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": self.metadata(self.install), "spec": spec })
    }

    /// Pods of this install on one node each, as far as there are nodes.
    pub fn spread(&self) -> Value {
        json!([{
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": { "matchLabels": self.selector() },
        }])
    }

    /// A NetworkPolicy for the Pods, with these rules; no rule for a direction allows nothing.
    pub fn policy(&self, ingress: &[Value], egress: &[Value]) -> Value {
        let mut spec = json!({
            "podSelector": { "matchLabels": self.selector() },
            "policyTypes": ["Ingress", "Egress"],
        });
        for (key, rules) in [("ingress", ingress), ("egress", egress)] {
            if !rules.is_empty() {
                spec[key] = rules.into();
            }
        }
        json!({
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": self.metadata(self.install),
            "spec": spec,
        })
    }
}

/// Pods of the namespace with one of these sets of labels, or all of them if there are none.
pub fn clients(labels: &[BTreeMap<String, String>]) -> Value {
    if labels.is_empty() {
        return json!([{ "podSelector": {} }]);
    }
    labels.iter().map(|labels| json!({ "podSelector": { "matchLabels": labels } })).collect()
}

/// Pods of one namespace, or of all.
pub fn pods_of(namespace: Option<&str>) -> Value {
    match namespace {
        Some(name) => json!([{ "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": name } } }]),
        None => json!([{ "namespaceSelector": {} }]),
    }
}

/// Answers to questions about names.
pub fn dns() -> Value {
    json!({ "ports": [{ "port": 53, "protocol": "UDP" }, { "port": 53, "protocol": "TCP" }] })
}

/// `base` with the keys of `own` added, or in the place of its own.
pub fn merged(mut base: Value, own: Value) -> Value {
    if let (Value::Object(base), Value::Object(own)) = (&mut base, own) {
        base.extend(own);
    }
    base
}

/// The failures that a startup probe allows a server which repairs its data before it answers: weeks. Killed in the middle,
/// it would begin again and never end; a process that ended by itself is started again without a probe.
pub const ANY_TIME: u32 = 1_000_000;

/// A probe that runs a program.
pub fn exec_probe(command: &[&str], period: u32, failures: u32) -> Value {
    json!({ "exec": { "command": command }, "periodSeconds": period, "timeoutSeconds": 5, "failureThreshold": failures })
}

/// A probe that asks a port for a page.
pub fn http_probe(port: &str, path: &str, period: u32, failures: u32) -> Value {
    json!({
        "httpGet": { "port": port, "path": path },
        "periodSeconds": period,
        "timeoutSeconds": 5,
        "failureThreshold": failures,
    })
}

/// A processor's part is reserved; memory is reserved, and no more of it can be had.
pub fn resources(cpu: &str, memory_mib: u64) -> Value {
    let memory = format!("{memory_mib}Mi");
    json!({ "requests": { "cpu": cpu, "memory": memory }, "limits": { "memory": memory } })
}
