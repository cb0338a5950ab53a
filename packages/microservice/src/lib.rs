//! A small service that knows its peers, and may use a MariaDB database and a Redis server: what the platform example
//! is made of. What it logs in with it is handed by its caller, and keeps in a Secret of its own.

mod objects;

use mistletoe::{MistOutput, MistResult};

mistletoe::types! { file = "mistletoe.yaml" }

/// The metadata of the package, for hosts in tests.
pub const METADATA: &str = include_str!("../mistletoe.yaml");

/// The port at which it answers.
pub const PORT: u16 = 8080;

impl Inputs {
    /// The name at which clients find the service.
    pub fn fqdn(&self) -> String {
        format!("{}.{}.svc.{}", self.name, self.namespace, self.cluster_domain)
    }
}

/// The objects and exports of one service.
///
/// # Errors
///
/// An object can't be written.
pub fn generate(inputs: Inputs) -> MistResult {
    let app = objects::app(&inputs);
    let credentials = objects::credentials(&inputs);
    let mut output = MistOutput::new().with_object("program.yaml", &objects::program(&inputs))?;
    if let Some(credentials) = &credentials {
        output = output.with_object("credentials.yaml", credentials)?;
    }
    output = output
        .with_object("deployment.yaml", &objects::deployment(&inputs, credentials.as_ref())?)?
        .with_object("service.yaml", &app.service("http", PORT))?
        .with_object("network-policy.yaml", &objects::network_policy(&inputs))?;
    if inputs.replicas > 1 {
        output = output.with_object("disruption-budget.yaml", &app.disruption_budget())?;
    }
    output.with_exports(&Exports { fqdn: inputs.fqdn(), port: PORT })
}

#[cfg(test)]
mod tests {
    use mistletoe::testing::Host;
    use mistletoe::{Value, json};

    use super::*;

    fn rendered(mut values: Value) -> MistOutput {
        values["name"] = "web".into();
        Host::new().in_namespace("prod").render(METADATA, generate, values).unwrap()
    }

    fn object(output: &MistOutput, path: &str) -> Value {
        serde_norway::from_str(output.file(path).unwrap()).unwrap()
    }

    fn cache(password: &str) -> Value {
        json!({ "cache": { "host": "cache.prod.svc", "port": 6379, "username": "web", "password": password } })
    }

    #[test]
    fn a_password_is_in_its_secret_alone_and_rolls_the_pods() {
        let annotations = |output: &MistOutput| {
            object(output, "deployment.yaml")["spec"]["template"]["metadata"]["annotations"].clone()
        };
        let output = rendered(cache("a-password-of-the-caller"));
        assert_eq!(object(&output, "credentials.yaml")["stringData"]["CACHE_PASSWORD"], "a-password-of-the-caller");
        for (path, content) in output.files().filter(|(path, _)| *path != "credentials.yaml") {
            assert!(!content.contains("a-password-of"), "{path}");
        }
        assert_eq!(annotations(&output), annotations(&rendered(cache("a-password-of-the-caller"))));
        assert_ne!(annotations(&output), annotations(&rendered(cache("another-password-of-it"))));
    }

    #[test]
    fn without_databases_there_are_no_credentials() {
        let output = rendered(json!({ "replicas": 1 }));
        let paths: Vec<&str> = output.files().map(|(path, _)| path).collect();
        assert_eq!(paths, ["program.yaml", "deployment.yaml", "service.yaml", "network-policy.yaml"]);
    }

    #[test]
    fn peers_may_ask_each_other_and_nobody_else() {
        let policy = object(&rendered(json!({ "peers": ["web-b"] })), "network-policy.yaml");
        assert_eq!(
            policy["spec"]["ingress"][0]["from"][0]["podSelector"]["matchLabels"]["app.kubernetes.io/instance"],
            "web-b"
        );
        let alone = object(&rendered(json!({})), "network-policy.yaml");
        assert_eq!(alone["spec"]["ingress"], json!([]));
    }
}
