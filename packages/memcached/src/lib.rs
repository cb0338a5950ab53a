//! memcached servers, each with a name of its own.
//!
//! A key is on one server, which clients choose by the list of servers. So there is no address that any of them answers:
//! the Service is headless, and each Pod keeps its name when it is replaced.

mod objects;

use app_objects::clients;
use certificates::ServerTls;
use mistletoe::{Error, MistOutput, MistResult, ensure, json};

mistletoe::types! { file = "mistletoe.yaml" }

/// The metadata of the package, for hosts in tests.
pub const METADATA: &str = include_str!("../mistletoe.yaml");

/// The port at which servers answer.
pub const PORT: u16 = 11211;

impl Inputs {
    /// The name whose addresses are those of all servers.
    pub fn fqdn(&self) -> String {
        format!("{}.{}.svc.{}", self.name, self.namespace, self.cluster_domain)
    }

    fn server_fqdns(&self) -> impl Iterator<Item = String> {
        let fqdn = self.fqdn();
        (0..self.servers).map(move |number| format!("{}-{number}.{fqdn}", self.name))
    }
}

/// The objects and exports of the servers.
///
/// # Errors
///
/// An option is one that has an input of its own, or the host gives no keys.
pub fn generate(inputs: Inputs) -> MistResult {
    check_options(&inputs)?;
    let tls = tls(&inputs)?;
    let app = objects::app(&inputs);
    let mut output = MistOutput::new();
    if let Some(tls) = &tls {
        output = tls.add_to(output)?;
    }
    let from = json!({ "from": clients(&inputs.clients), "ports": [{ "port": "memcached", "protocol": "TCP" }] });
    output
        .with_object("servers.yaml", &objects::servers(&inputs, tls.as_ref())?)?
        .with_object("service.yaml", &objects::service(&inputs))?
        .with_object("network-policy.yaml", &app.policy(&[from], &[]))?
        .with_object("disruption-budget.yaml", &app.disruption_budget())?
        .with_message(format!("memcached answers at {}", servers(&inputs).join(", ")))
        .with_exports(&exports(&inputs, tls.as_ref()))
}

fn check_options(inputs: &Inputs) -> Result<(), Error> {
    for option in &inputs.extended_options {
        let name = option.split('=').next().unwrap_or(option);
        ensure!(
            !["ssl_chain_cert", "ssl_key", "ssl_keyformat"].contains(&name),
            "inputs.extendedOptions can't change `{name}`: `tls` does"
        );
    }
    Ok(())
}

fn tls(inputs: &Inputs) -> Result<Option<ServerTls>, Error> {
    let Inputs { namespace, cluster_domain, tls, .. } = inputs;
    if !tls.enabled {
        return Ok(None);
    }
    let place = (namespace.as_str(), cluster_domain.as_str());
    let (given, days) = (tls.secret_name.as_deref(), tls.valid_days.into());
    ServerTls::of_service(&objects::app(inputs), place, given, inputs.server_fqdns(), days).map(Some)
}

fn servers(inputs: &Inputs) -> Vec<String> {
    inputs.server_fqdns().map(|fqdn| format!("{fqdn}:{PORT}")).collect()
}

fn exports(inputs: &Inputs, tls: Option<&ServerTls>) -> Exports {
    Exports {
        fqdn: inputs.fqdn(),
        port: PORT,
        servers: servers(inputs),
        pod_labels: objects::app(inputs).selector(),
        tls: tls.is_some(),
        ca_secret: tls.map(|tls| ExportedCaSecret::new(&tls.ca_secret_name, "ca.crt")),
    }
}

#[cfg(test)]
mod tests {
    use mistletoe::Value;
    use mistletoe::testing::Host;

    use super::*;

    fn rendered(mut values: Value) -> MistOutput {
        values["name"] = "cache".into();
        Host::new().in_namespace("prod").render(METADATA, generate, values).unwrap()
    }

    fn object(output: &MistOutput, path: &str) -> Value {
        serde_norway::from_str(output.file(path).unwrap()).unwrap()
    }

    fn container(values: Value) -> Value {
        object(&rendered(values), "servers.yaml")["spec"]["template"]["spec"]["containers"][0].clone()
    }

    #[test]
    fn each_server_has_a_name_that_clients_can_list() {
        let output = rendered(json!({ "servers": 2 }));
        let servers = object(&output, "servers.yaml");
        let service = object(&output, "service.yaml");
        assert_eq!(servers["spec"]["replicas"], 2);
        assert_eq!(servers["spec"]["serviceName"], service["metadata"]["name"]);
        assert_eq!(service["spec"]["clusterIP"], "None");
        assert_eq!(
            output.exports().unwrap()["servers"],
            json!(["cache-0.cache.prod.svc.cluster.local:11211", "cache-1.cache.prod.svc.cluster.local:11211"])
        );
    }

    #[test]
    fn the_pod_may_use_more_memory_than_the_items() {
        let container = container(json!({ "memoryMiB": 1024 }));
        assert!(container["command"].to_string().contains("\"--memory-limit=1024\""));
        assert_eq!(container["resources"]["limits"]["memory"], "1344Mi");
    }

    #[test]
    fn a_full_server_evicts_unless_it_may_not() {
        let flag = |values| container(values)["command"].to_string().contains("\"--disable-evictions\"");
        assert!(!flag(json!({})) && flag(json!({ "whenFull": "refuse" })));
    }

    #[test]
    fn certificates_are_mounted_where_the_options_say() {
        let container =
            container(json!({ "tls": { "enabled": true, "secretName": "given" }, "extendedOptions": ["modern"] }));
        assert!(container["command"].to_string().contains(
            "\"--enable-ssl\",\"--extended=ssl_chain_cert=/etc/mistletoe/tls/tls.crt,ssl_key=/etc/mistletoe/tls/tls.key,modern\""
        ));
        assert_eq!(container["volumeMounts"][0]["mountPath"], "/etc/mistletoe/tls");
        let values = json!({ "name": "cache", "extendedOptions": ["ssl_key=/tmp/x"] });
        let error = Host::new().render(METADATA, generate, values).unwrap_err();
        assert!(error.to_string().contains("can't change `ssl_key`"), "{error}");
    }
}
