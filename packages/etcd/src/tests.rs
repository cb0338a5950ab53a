use mistletoe::testing::Host;
use mistletoe::{Value, json};

use super::*;

fn rendered(mut values: Value) -> MistOutput {
    values["name"] = "store".into();
    if values["tls"].is_null() {
        // Natively there is no host that gives keys; certificates that are made are in the golden files.
        values["tls"] = json!({ "enabled": false });
    }
    Host::new().in_namespace("prod").render(METADATA, generate, values).unwrap()
}

fn object(output: &MistOutput, path: &str) -> Value {
    serde_norway::from_str(output.file(path).unwrap()).unwrap()
}

fn flags(values: Value) -> Vec<String> {
    let members = object(&rendered(values), "members.yaml");
    let command = members["spec"]["template"]["spec"]["containers"][0]["command"].as_array().unwrap().clone();
    command.iter().map(|flag| flag.as_str().unwrap().to_owned()).collect()
}

fn refused(mut values: Value) -> String {
    values["name"] = "store".into();
    Host::new().render(METADATA, generate, values).unwrap_err().to_string()
}

fn given() -> Value {
    json!({ "enabled": true, "secretName": "given" })
}

#[test]
fn every_member_begins_with_the_same_list() {
    let flags = flags(json!({ "members": 3 }));
    let cluster = flags.iter().find_map(|flag| flag.strip_prefix("--initial-cluster=")).unwrap();
    let members: Vec<&str> = cluster.split(',').collect();
    assert_eq!(members.len(), 3);
    assert_eq!(members[2], "store-2=http://store-2.store-members.prod.svc.cluster.local:2380");
    assert!(flags.contains(&"--name=$(POD_NAME)".to_owned()));
    assert!(flags.contains(
        &"--initial-advertise-peer-urls=http://$(POD_NAME).store-members.prod.svc.cluster.local:2380".to_owned()
    ));
    assert!(flags.contains(&"--initial-cluster-state=new".to_owned()));
}

#[test]
fn three_members_start_at_once_and_find_one_another_before_they_are_ready() {
    let output = rendered(json!({ "members": 3 }));
    let members = object(&output, "members.yaml");
    assert_eq!(members["spec"]["replicas"], 3);
    assert_eq!(members["spec"]["podManagementPolicy"], "Parallel");
    let service = object(&output, "members-service.yaml");
    assert_eq!(service["spec"]["publishNotReadyAddresses"], true);
    assert_eq!(members["spec"]["serviceName"], service["metadata"]["name"]);
    let policy = object(&output, "network-policy.yaml");
    assert_eq!(policy["spec"]["egress"].as_array().unwrap().len(), 2);
    assert_eq!(object(&output, "disruption-budget.yaml")["spec"]["maxUnavailable"], 1);
}

#[test]
fn one_member_can_not_be_made_three_in_place() {
    assert!(object(&rendered(json!({})), "members.yaml")["spec"].get("podManagementPolicy").is_none());
    assert!(object(&rendered(json!({})), "network-policy.yaml")["spec"].get("egress").is_none());
}

#[test]
fn with_certificates_nobody_gets_in_without_one() {
    let flags = flags(json!({ "tls": given() }));
    for flag in ["--client-cert-auth=true", "--peer-client-cert-auth=true", "--listen-client-urls=https://0.0.0.0:2379"]
    {
        assert!(flags.contains(&flag.to_owned()), "{flag}");
    }
    let plain: Vec<&String> = flags.iter().filter(|flag| flag.contains("http://")).collect();
    assert_eq!(plain, ["--listen-metrics-urls=http://0.0.0.0:2381"]);
}

#[test]
fn without_certificates_it_says_so() {
    assert!(rendered(json!({})).message().unwrap().contains("nobody logs in"));
    assert!(rendered(json!({ "tls": given() })).message().unwrap().contains("the Secret given"));
}

#[test]
fn while_members_join_the_message_asks_to_set_the_state_back() {
    let message = |state: &str| rendered(json!({ "members": 3, "clusterState": state })).message().unwrap().to_owned();
    assert!(message("existing").contains("mistctl upgrade store -n prod --reuse-values --set clusterState=new --wait"));
    assert!(!message("new").contains("clusterState"));
    assert!(flags(json!({ "clusterState": "existing" })).contains(&"--initial-cluster-state=existing".to_owned()));
}

#[test]
fn the_steps_that_replace_a_member_keep_the_other_values() {
    let readme = include_str!("../README.md");
    let commands: Vec<&str> = readme.split('`').filter(|code| code.starts_with("mistctl upgrade")).collect();
    let steps = commands.iter().filter(|command| command.contains("--set"));
    assert_eq!(steps.clone().count(), 2);
    for command in steps {
        assert!(command.contains("--reuse-values"), "{command}");
    }
}

#[test]
fn users_need_an_authority_here() {
    for tls in [json!({ "enabled": false }), given()] {
        assert!(refused(json!({ "users": ["web"], "tls": tls })).contains("inputs.users need certificates"));
    }
}

#[test]
fn settings_replace_ours_except_those_that_others_rely_on() {
    let flags = flags(json!({ "settings": { "quota-backend-bytes": "1", "heartbeat-interval": "250" } }));
    assert!(flags.contains(&"--quota-backend-bytes=1".to_owned()));
    assert!(flags.contains(&"--heartbeat-interval=250".to_owned()));
    assert_eq!(flags.iter().filter(|flag| flag.contains("quota")).count(), 1);
    let error = refused(json!({ "settings": { "force-new-cluster": "true" }, "tls": { "enabled": false } }));
    assert!(error.contains("can't change `force-new-cluster`"), "{error}");
}

#[test]
fn a_member_that_reads_its_data_is_not_killed() {
    let members = object(&rendered(json!({})), "members.yaml");
    let probe = &members["spec"]["template"]["spec"]["containers"][0]["startupProbe"];
    let seconds = probe["periodSeconds"].as_u64().unwrap() * probe["failureThreshold"].as_u64().unwrap();
    assert!(seconds > 7 * 24 * 3600, "{probe}");
}

#[test]
fn figures_are_read_where_that_is_asked_for() {
    let rules = |values: Value| object(&rendered(values), "network-policy.yaml")["spec"]["ingress"].clone();
    assert_eq!(rules(json!({})).as_array().unwrap().len(), 1);
    let open = rules(json!({ "metrics": { "enabled": true, "namespace": "monitoring" } }));
    assert_eq!(
        open[1]["from"],
        json!([{ "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": "monitoring" } } }])
    );
    let members = object(&rendered(json!({ "metrics": { "enabled": true } })), "members.yaml");
    assert_eq!(members["spec"]["template"]["metadata"]["annotations"]["prometheus.io/port"], "2381");
}

#[test]
fn exports_name_each_member() {
    let output = rendered(json!({ "members": 3, "tls": given() }));
    let exports = output.exports().unwrap();
    assert_eq!(exports["endpoints"][1], "https://store-1.store-members.prod.svc.cluster.local:2379");
    assert_eq!(exports["caSecret"], json!({ "name": "given", "key": "ca.crt" }));
    assert!(exports.get("rootSecret").is_none());
}
