//! `mistletoe-operator` in a cluster: replicas of which one works, or which share the namespaces, with the rights that the operator itself needs.
//!
//! The rights of blueprints are not among them: `mistctl blueprint rbac` prints those, for the accounts in `accounts`.

mod files;
mod objects;

use mistletoe::{MistOutput, MistResult, ensure};

mistletoe::types! { file = "mistletoe.yaml" }

/// The metadata of the package, for hosts in tests.
pub const METADATA: &str = include_str!("../mistletoe.yaml");

/// What `mistletoe-operator --crds` prints.
pub const RELEASE_DEFINITION: &str = include_str!("release.crd.yaml");

/// The port of its probes and metrics.
pub const PORT: u16 = 8080;

/// The port of its conversion webhook, for TLS.
pub const WEBHOOK_PORT: u16 = 9443;

/// The objects and exports of one operator.
///
/// # Errors
///
/// The default account is none of the accounts; Releases are selected, and none are kept; a guest may use all of the memory.
pub fn generate(inputs: Inputs) -> MistResult {
    if let Some(account) = &inputs.default_account {
        ensure!(
            inputs.accounts.contains(account),
            "inputs.defaultAccount is `{account}`, which inputs.accounts doesn't have"
        );
    }
    ensure!(
        inputs.release_selector.is_none() || inputs.releases != Releases::None,
        "inputs.releaseSelector selects among the Releases that the operator keeps: set inputs.releases to `own` or `all`"
    );
    if let Some(limit) = inputs.limit_memory_mib {
        ensure!(
            u32::from(limit) < inputs.memory_mib,
            "inputs.limitMemoryMiB is {limit}, which inputs.memoryMiB, {}, has no room for: the replica would be killed first",
            inputs.memory_mib
        );
    }
    let app = objects::app(&inputs);
    let mut output = MistOutput::new()
        .with_object("service-account.yaml", &objects::service_account(&inputs))?
        .with_object("role.yaml", &objects::role(&inputs))?
        .with_object("role-binding.yaml", &objects::role_binding(&inputs))?
        .with_object("deployment.yaml", &objects::deployment(&inputs))?
        .with_object("service.yaml", &objects::service(&inputs))?
        .with_object("network-policy.yaml", &objects::network_policy(&inputs))?;
    if inputs.replicas > 1 {
        output = output.with_object("disruption-budget.yaml", &app.disruption_budget())?;
    }
    if inputs.releases != Releases::None && inputs.release_crd {
        output = output.with_file("release-crd.yaml", RELEASE_DEFINITION);
    }
    if inputs.releases == Releases::All && !inputs.watch_namespaces.is_empty() {
        for namespace in &inputs.watch_namespaces {
            output = output
                .with_object(&format!("role-{namespace}.yaml"), &objects::watched_role(&inputs, namespace))?
                .with_object(&format!("role-binding-{namespace}.yaml"), &objects::watched_role_binding(&inputs, namespace))?;
        }
    } else if inputs.releases == Releases::All {
        output = output
            .with_object("cluster-role.yaml", &objects::cluster_role(&inputs))?
            .with_object("cluster-role-binding.yaml", &objects::cluster_role_binding(&inputs))?;
    }
    output
        .with_message(format!(
            "A blueprint is a ConfigMap in namespace {} with the label mistletoe.dev/blueprint=true. Its rights: mistctl \
             blueprint rbac ./BLUEPRINT {}",
            inputs.namespace,
            rights_flags(&inputs)
        ))
        .with_exports(&Exports { service_account: inputs.name.clone(), namespace: inputs.namespace.clone() })
}

/// For whom `mistctl blueprint rbac` prints the rights of a blueprint that names no account.
fn rights_flags(inputs: &Inputs) -> String {
    let run_as = inputs.default_account.as_ref().map_or(String::new(), |account| format!(" --run-as {account}"));
    let watched: String = inputs.watch_namespaces.iter().map(|namespace| format!(" --watch-namespace {namespace}")).collect();
    format!("-n {} --service-account {}{run_as}{watched}", inputs.namespace, inputs.name)
}

#[cfg(test)]
mod tests {
    use mistletoe::testing::Host;
    use mistletoe::{Value, json};

    use super::*;

    fn rendered(mut values: Value) -> MistResult {
        values["name"] = "operator".into();
        values["image"] = "registry.example/mistletoe-operator:0.1.0".into();
        Host::new().in_namespace("mistletoe").render(METADATA, generate, values)
    }

    fn object(output: &MistOutput, path: &str) -> Value {
        serde_norway::from_str(output.file(path).unwrap()).unwrap()
    }

    #[test]
    fn it_may_act_as_the_named_accounts_and_as_nobody_else() {
        let impersonates = |values: Value| {
            let role = object(&rendered(values).unwrap(), "role.yaml");
            let rules = role["rules"].as_array().unwrap().clone();
            rules.into_iter().filter(|rule| rule["verbs"] == json!(["impersonate"])).collect::<Vec<_>>()
        };
        assert!(impersonates(json!({})).is_empty());
        let rules = impersonates(json!({ "accounts": ["one", "two"] }));
        assert_eq!(rules.len(), 1);
        assert_eq!(rules[0]["resourceNames"], json!(["one", "two"]));
    }

    #[test]
    fn it_keeps_releases_where_it_is_told_to() {
        let output = rendered(json!({ "releases": "none" })).unwrap();
        assert!(output.file("release-crd.yaml").is_none() && output.file("cluster-role.yaml").is_none());
        let output = rendered(json!({ "releases": "own", "accounts": ["deployer"] })).unwrap();
        assert!(output.file("release-crd.yaml").is_some() && output.file("cluster-role.yaml").is_none());
        let rules = object(&output, "role.yaml")["rules"].clone();
        assert!(rules.as_array().unwrap().iter().any(|rule| rule["resources"] == json!(["releases/status"])), "{rules}");
        let output = rendered(json!({ "releases": "all", "accounts": ["deployer"] })).unwrap();
        let rules = object(&output, "cluster-role.yaml")["rules"].clone();
        let acts = |rule: &&Value| rule["verbs"] == json!(["impersonate"]);
        assert_eq!(rules.as_array().unwrap().iter().find(acts).unwrap()["resourceNames"], json!(["deployer"]));
    }

    #[test]
    fn it_converts_where_it_is_told_to() {
        let ports = |output: &MistOutput| object(output, "service.yaml")["spec"]["ports"].as_array().unwrap().len();
        let rules = |output: &MistOutput| object(output, "role.yaml")["rules"].to_string();
        let output = rendered(json!({})).unwrap();
        assert!(ports(&output) == 1 && !rules(&output).contains("secrets"));
        let output = rendered(json!({ "conversion": true })).unwrap();
        assert_eq!(object(&output, "service.yaml")["spec"]["ports"][1]["port"], json!(443));
        assert!(rules(&output).contains("operator-webhook"), "{}", rules(&output));
        let arguments = object(&output, "deployment.yaml")["spec"]["template"]["spec"]["containers"][0]["args"].clone();
        for flag in ["--webhook-listen=:9443", "--webhook-service=operator"] {
            assert!(arguments.as_array().unwrap().contains(&flag.into()), "{arguments}");
        }
        let ingress = object(&output, "network-policy.yaml")["spec"]["ingress"].to_string();
        assert!(ingress.contains("webhook"), "{ingress}");
    }

    #[test]
    fn in_some_namespaces_it_needs_no_cluster_role() {
        let values = json!({ "watchNamespaces": ["shop", "blog"], "releases": "all", "accounts": ["deployer"] });
        let output = rendered(values).unwrap();
        assert!(output.file("cluster-role.yaml").is_none() && output.file("cluster-role-binding.yaml").is_none());
        for namespace in ["shop", "blog"] {
            let role = object(&output, &format!("role-{namespace}.yaml"));
            assert_eq!((&role["kind"], &role["metadata"]["namespace"]), (&json!("Role"), &json!(namespace)));
            assert!(role["rules"].as_array().unwrap().iter().any(|rule| rule["resources"] == json!(["releases"])), "{role}");
            let binding = object(&output, &format!("role-binding-{namespace}.yaml"));
            assert_eq!(binding["roleRef"]["name"], role["metadata"]["name"]);
            assert_eq!(binding["subjects"][0]["namespace"], json!("mistletoe"));
        }
        let arguments = object(&output, "deployment.yaml")["spec"]["template"]["spec"]["containers"][0]["args"].clone();
        assert!(arguments.as_array().unwrap().contains(&"--watch-namespace=blog".into()), "{arguments}");
        let said = output.message().unwrap();
        assert!(said.ends_with("--watch-namespace shop --watch-namespace blog"), "{said}");
        // Without Releases the operator itself needs nothing there.
        let output = rendered(json!({ "watchNamespaces": ["shop"] })).unwrap();
        assert!(output.file("role-shop.yaml").is_none() && output.file("cluster-role.yaml").is_none());
    }

    #[test]
    fn several_operators_share_the_releases_of_a_cluster() {
        let values = json!({ "releases": "all", "releaseSelector": "team=a", "releaseCrd": false, "releaseWorkers": 4, "workers": 2 });
        let output = rendered(values).unwrap();
        assert!(output.file("release-crd.yaml").is_none() && output.file("cluster-role.yaml").is_some());
        let arguments = object(&output, "deployment.yaml")["spec"]["template"]["spec"]["containers"][0]["args"].clone();
        for flag in ["--release-selector=team=a", "--release-workers=4", "--workers=2"] {
            assert!(arguments.as_array().unwrap().contains(&flag.into()), "{arguments}");
        }
        let error = rendered(json!({ "releaseSelector": "team=a" })).unwrap_err();
        assert!(error.to_string().contains("inputs.releases"), "{error}");
    }

    #[test]
    fn a_guest_reaches_its_limit_before_the_replica_does() {
        let flags = |values: Value| {
            let output = rendered(values).unwrap();
            let arguments = object(&output, "deployment.yaml")["spec"]["template"]["spec"]["containers"][0]["args"].clone();
            let all: Vec<String> = arguments.as_array().unwrap().iter().map(|each| each.as_str().unwrap().into()).collect();
            all.into_iter().filter(|each| each.starts_with("--limit-")).collect::<Vec<_>>()
        };
        assert!(flags(json!({})).is_empty());
        assert_eq!(flags(json!({ "memoryMiB": 512 })), ["--limit-memory=256"]);
        assert_eq!(flags(json!({ "limitMemoryMiB": 900, "limitSeconds": 90 })), ["--limit-memory=900", "--limit-time=90s"]);
        let error = rendered(json!({ "limitMemoryMiB": 1024 })).unwrap_err();
        assert!(error.to_string().contains("inputs.memoryMiB"), "{error}");
    }

    #[test]
    fn the_default_account_is_one_of_the_accounts() {
        let error = rendered(json!({ "accounts": ["one"], "defaultAccount": "two" })).unwrap_err();
        assert!(error.to_string().contains("`two`"), "{error}");
        let output = rendered(json!({ "accounts": ["two"], "defaultAccount": "two" })).unwrap();
        let arguments = object(&output, "deployment.yaml")["spec"]["template"]["spec"]["containers"][0]["args"].clone();
        assert!(arguments.as_array().unwrap().contains(&"--default-service-account=two".into()), "{arguments}");
        let said = output.message().unwrap();
        assert!(said.ends_with("-n mistletoe --service-account operator --run-as two"), "{said}");
    }

    #[test]
    fn files_of_secrets_and_config_maps_are_where_the_variables_say() {
        let output = rendered(json!({ "registryCredentials": "pull", "trustPolicy": "signers" })).unwrap();
        let pod = object(&output, "deployment.yaml")["spec"]["template"]["spec"].clone();
        let container = pod["containers"][0].clone();
        let has = |list: &Value, item: Value| list.as_array().unwrap().contains(&item);
        let item = json!({ "key": ".dockerconfigjson", "path": "config.json" });
        let secret = json!({ "secretName": "pull", "defaultMode": 0o440, "items": [item] });
        assert!(has(&pod["volumes"], json!({ "name": "docker", "secret": secret })), "{pod}");
        let mount = json!({ "name": "docker", "mountPath": "/etc/mistletoe/docker", "readOnly": true });
        assert!(has(&container["volumeMounts"], mount), "{pod}");
        assert!(has(&container["env"], json!({ "name": "DOCKER_CONFIG", "value": "/etc/mistletoe/docker" })), "{pod}");
        // The keys that trust.yaml names are beside it.
        assert!(has(&pod["volumes"], json!({ "name": "trust", "configMap": { "name": "signers" } })), "{pod}");
        let policy = json!({ "name": "MIST_TRUST_LOCATION", "value": "/etc/mistletoe/trust/trust.yaml" });
        assert!(has(&container["env"], policy), "{pod}");
        assert!(!pod.to_string().contains("subPath"), "{pod}");
    }

    #[test]
    fn all_of_its_strategy_is_its_own() {
        let strategy = |sharding: bool| {
            object(&rendered(json!({ "sharding": sharding })).unwrap(), "deployment.yaml")["spec"]["strategy"].clone()
        };
        assert_eq!(strategy(false)["rollingUpdate"], json!({ "maxSurge": "25%", "maxUnavailable": "25%" }));
        assert_eq!(strategy(true), json!({ "type": "Recreate" }));
    }

    #[test]
    fn its_caches_leave_room_on_its_volume() {
        // 1024 + 512 + 1024 + 9 × 384, and so on; of one commit there are never more than 4096.
        let cases = [
            (json!({}), "1024Mi", "6016Mi"),
            (json!({ "cacheMiB": 256 }), "256Mi", "2656Mi"),
            (json!({ "memoryMiB": 2048, "releaseWorkers": 1000 }), "1024Mi", "7040Mi"),
            (json!({ "cacheMiB": 1_048_576, "memoryMiB": 65536 }), "1048576Mi", "1151488Mi"),
        ];
        for (values, limit, size) in cases {
            let pod = object(&rendered(values).unwrap(), "deployment.yaml")["spec"]["template"]["spec"].clone();
            let variable = json!({ "name": "MIST_CACHE_LIMIT", "value": limit });
            assert!(pod["containers"][0]["env"].as_array().unwrap().contains(&variable), "{pod}");
            assert_eq!(pod["volumes"][0], json!({ "name": "home", "emptyDir": { "sizeLimit": size } }));
        }
    }

    #[test]
    fn one_replica_has_no_disruption_budget() {
        assert!(rendered(json!({ "replicas": 1 })).unwrap().file("disruption-budget.yaml").is_none());
        assert!(rendered(json!({})).unwrap().file("disruption-budget.yaml").is_some());
    }
}
