//! etcd's command line: https://etcd.io/docs/latest/op-guide/configuration/
//!
//! It is part of the Pods, so a changed flag replaces them, one after the other. The image needs no shell.

use std::collections::BTreeMap;

use mistletoe::{Error, ensure};

use crate::objects::{DATA, PEER_TLS, TLS};
use crate::{Inputs, PORT};

pub const PEER_PORT: u16 = 2380;
pub const METRICS_PORT: u16 = 2381;

/// Flags that other objects rely on.
const FIXED: [&str; 25] = [
    "advertise-client-urls",
    "auto-tls",
    "cert-file",
    "client-cert-auth",
    "config-file",
    "data-dir",
    "discovery",
    "discovery-srv",
    "force-new-cluster",
    "initial-advertise-peer-urls",
    "initial-cluster",
    "initial-cluster-state",
    "initial-cluster-token",
    "key-file",
    "listen-client-http-urls",
    "listen-client-urls",
    "listen-metrics-urls",
    "listen-peer-urls",
    "name",
    "peer-auto-tls",
    "peer-cert-file",
    "peer-client-cert-auth",
    "peer-key-file",
    "peer-trusted-ca-file",
    "trusted-ca-file",
];

pub fn check_settings(inputs: &Inputs) -> Result<(), Error> {
    for name in inputs.settings.keys() {
        ensure!(!FIXED.contains(&name.as_str()), "inputs.settings can't change `{name}`: other objects rely on it");
    }
    Ok(())
}

pub fn scheme(inputs: &Inputs) -> &'static str {
    if inputs.tls.enabled { "https" } else { "http" }
}

/// The command of a member; the kubelet puts the Pod's name into it.
pub fn command(inputs: &Inputs) -> Vec<String> {
    const NAME: &str = "$(POD_NAME)";
    let scheme = scheme(inputs);
    let peer = |member: &str| format!("{scheme}://{}:{PEER_PORT}", inputs.member_fqdn(member));
    let cluster: Vec<String> = inputs.member_names().map(|member| format!("{member}={}", peer(&member))).collect();
    let mut flags: BTreeMap<&str, String> = [
        ("advertise-client-urls", format!("{scheme}://{}:{PORT}", inputs.member_fqdn(NAME))),
        ("auto-compaction-mode", "periodic".to_owned()),
        ("auto-compaction-retention", inputs.keep_history.clone()),
        ("data-dir", format!("{DATA}/data")),
        ("initial-advertise-peer-urls", peer(NAME)),
        ("initial-cluster", cluster.join(",")),
        ("initial-cluster-state", inputs.cluster_state.as_str().to_owned()),
        ("initial-cluster-token", format!("{}/{}", inputs.namespace, inputs.name)),
        ("listen-client-urls", format!("{scheme}://0.0.0.0:{PORT}")),
        // For probes, which have no certificate. It serves figures and health, no data.
        ("listen-metrics-urls", format!("http://0.0.0.0:{METRICS_PORT}")),
        ("listen-peer-urls", format!("{scheme}://0.0.0.0:{PEER_PORT}")),
        ("name", NAME.to_owned()),
        ("quota-backend-bytes", (u64::from(inputs.quota_mib) * 1024 * 1024).to_string()),
    ]
    .into();
    if inputs.tls.enabled {
        flags.extend([
            ("cert-file", format!("{TLS}/tls.crt")),
            ("client-cert-auth", "true".to_owned()),
            ("key-file", format!("{TLS}/tls.key")),
            ("peer-cert-file", format!("{PEER_TLS}/tls.crt")),
            ("peer-client-cert-auth", "true".to_owned()),
            ("peer-key-file", format!("{PEER_TLS}/tls.key")),
            ("peer-trusted-ca-file", format!("{PEER_TLS}/ca.crt")),
            ("tls-min-version", "TLS1.2".to_owned()),
            ("trusted-ca-file", format!("{TLS}/ca.crt")),
        ]);
    }
    flags.extend(inputs.settings.iter().map(|(name, value)| (name.as_str(), value.clone())));
    let flags = flags.iter().map(|(name, value)| format!("--{name}={value}"));
    std::iter::once("etcd".to_owned()).chain(flags).collect()
}
