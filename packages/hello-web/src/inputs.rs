//! The inputs; `mistletoe.yaml` describes them for people and for the host, which checks them before we see them.

use std::collections::BTreeMap;

use mistletoe::Value;
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Inputs {
    pub name: String,
    #[serde(default = "default_message")]
    pub message: String,
    #[serde(default = "default_replicas")]
    pub replicas: u32,
    #[serde(default = "default_image")]
    pub image: String,
    #[serde(default = "default_port")]
    pub port: u16,
    #[serde(default)]
    pub service_type: ServiceType,
    #[serde(default)]
    pub resources: Resources,
    #[serde(default)]
    pub features: Features,
}

#[derive(Clone, Copy, Default, Deserialize, Serialize)]
pub enum ServiceType {
    #[default]
    ClusterIP,
    NodePort,
    LoadBalancer,
}

/// Quantities by resource name; a text such as `250m` or a number.
type Quantities = BTreeMap<String, Value>;

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Resources {
    #[serde(default = "default_requests")]
    pub requests: Quantities,
    #[serde(default = "default_limits")]
    pub limits: Quantities,
}

impl Default for Resources {
    fn default() -> Self {
        Self { requests: default_requests(), limits: default_limits() }
    }
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Features {
    #[serde(default)]
    pub extra: bool,
}

fn default_message() -> String {
    "Hello from Mistletoe".into()
}

fn default_replicas() -> u32 {
    2
}

fn default_image() -> String {
    "nginxinc/nginx-unprivileged:1.29-alpine".into()
}

fn default_port() -> u16 {
    80
}

fn default_requests() -> Quantities {
    quantities(&[("cpu", "10m"), ("memory", "16Mi")])
}

fn default_limits() -> Quantities {
    quantities(&[("memory", "64Mi")])
}

fn quantities(pairs: &[(&str, &str)]) -> Quantities {
    pairs.iter().map(|&(name, quantity)| (name.to_owned(), quantity.into())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_those_of_the_schema() {
        let metadata: Value = serde_norway::from_str(include_str!("../mistletoe.yaml")).unwrap();
        let schema =
            |pointer: &str| metadata.pointer(&format!("/inputs/properties/{pointer}/default")).unwrap().clone();
        let inputs: Inputs = serde_norway::from_str("name: a").unwrap();
        assert_eq!(schema("message"), inputs.message);
        assert_eq!(schema("replicas"), inputs.replicas);
        assert_eq!(schema("image"), inputs.image);
        assert_eq!(schema("port"), inputs.port);
        assert_eq!(schema("serviceType"), mistletoe::json!(inputs.service_type));
        assert_eq!(schema("resources/properties/requests"), mistletoe::json!(inputs.resources.requests));
        assert_eq!(schema("resources/properties/limits"), mistletoe::json!(inputs.resources.limits));
        assert_eq!(schema("features/properties/extra"), inputs.features.extra);
    }
}
