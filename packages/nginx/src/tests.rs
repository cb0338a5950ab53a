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

fn config(values: Value) -> String {
    object(&rendered(values), "config.yaml")["data"]["nginx.conf"].as_str().unwrap().to_owned()
}

fn refused(mut values: Value) -> String {
    values["name"] = "web".into();
    format!("{:#}", Host::new().render(METADATA, generate, values).unwrap_err())
}

#[test]
fn files_are_where_their_paths_say() {
    let output = rendered(json!({ "site": { "files": { "index.html": "a", "a/b_c.css": "b", "a_/b.css": "c" } } }));
    let data = object(&output, "site.yaml")["data"].clone();
    let volumes = &object(&output, "servers.yaml")["spec"]["template"]["spec"]["volumes"];
    let items = volumes[2]["configMap"]["items"].as_array().unwrap();
    let found: Vec<(&str, &str)> = items
        .iter()
        .map(|item| (item["path"].as_str().unwrap(), data[item["key"].as_str().unwrap()].as_str().unwrap()))
        .collect();
    assert_eq!(found, [("a/b_c.css", "b"), ("a_/b.css", "c"), ("index.html", "a")]);
    assert!(config(json!({ "site": { "files": { "index.html": "a" } } })).contains("root /srv/www;"));
    assert!(config(json!({ "site": { "root": "/app" } })).contains("root /app;"));
}

#[test]
fn the_servers_are_replaced_when_what_they_serve_changes() {
    let annotations = |values: Value| {
        object(&rendered(values), "servers.yaml")["spec"]["template"]["metadata"]["annotations"].clone()
    };
    let before = annotations(json!({ "site": { "files": { "index.html": "a" } } }));
    assert_ne!(before, annotations(json!({ "site": { "files": { "index.html": "b" } } })));
    assert_ne!(before, annotations(json!({ "site": { "files": { "index.html": "a" } }, "maxBodyMiB": 2 })));
    assert_eq!(before, annotations(json!({ "site": { "files": { "index.html": "a" } }, "replicas": 5 })));
}

#[test]
fn a_service_of_the_namespace_is_named_in_full() {
    let to = |url: &str| config(json!({ "proxies": [{ "path": "/api", "to": url }] }));
    assert!(to("http://api:8080").contains("set $upstream_0 http://api.prod.svc.cluster.local:8080;"));
    assert!(to("http://api").contains("set $upstream_0 http://api.prod.svc.cluster.local;"));
    assert!(to("https://example.org").contains("set $upstream_0 https://example.org;"));
    assert!(to("https://example.org").contains("proxy_ssl_server_name on;"));
    assert!(to("http://api").contains("proxy_set_header Host $http_host;"));
    let other = config(json!({ "proxies": [{ "path": "/", "to": "https://example.org", "keepHost": false }] }));
    assert!(other.contains("proxy_set_header Host $proxy_host;"));
    assert!(to("http://[::1]:80").contains("set $upstream_0 http://[::1]:80;"));
}

#[test]
fn a_proxy_for_everything_leaves_no_site() {
    let config = config(
        json!({ "proxies": [{ "path": "/", "to": "http://api" }, { "path": "/v1", "to": "http://b", "stripPath": true }] }),
    );
    assert!(!config.contains("try_files"));
    assert!(config.contains("rewrite ^/v1(?:/(.*))?$ /$1 break;"));
}

#[test]
fn only_those_that_ask_others_may_leave() {
    let policy = |values: Value| object(&rendered(values), "network-policy.yaml")["spec"].clone();
    assert!(policy(json!({})).get("egress").is_none());
    assert_eq!(policy(json!({ "proxies": [{ "path": "/", "to": "http://api" }] }))["egress"], json!([{}]));
    assert_eq!(policy(json!({ "snippets": { "server": "location /x { fastcgi_pass a:1; }" } }))["egress"], json!([{}]));
    assert_eq!(policy(json!({}))["ingress"][0]["from"], json!([{ "namespaceSelector": {} }]));
    assert!(policy(json!({ "access": "everybody" }))["ingress"][0].get("from").is_none());
    let clients = policy(json!({ "access": "everybody", "clients": [{ "app": "a" }] }));
    assert_eq!(clients["ingress"][0]["from"], json!([{ "podSelector": { "matchLabels": { "app": "a" } } }]));
}

#[test]
fn http_is_redirected_where_https_is_required() {
    let tls =
        |required: bool| config(json!({ "tls": { "enabled": true, "required": required, "secretName": "given" } }));
    assert!(tls(true).contains("return 308 https://$host$request_uri;"));
    assert!(!tls(false).contains("308"));
    for required in [true, false] {
        assert_eq!(tls(required).matches("listen 8080;").count(), 1);
        assert_eq!(tls(required).matches("listen 8443 ssl;").count(), 1);
    }
}

#[test]
fn snippets_are_files_that_are_included_once() {
    let output =
        rendered(json!({ "snippets": { "http": "limit_req_zone $a zone=b:1m rate=1r/s;", "server": "  \n" } }));
    let data = object(&output, "config.yaml")["data"].clone();
    assert_eq!(data["http.conf"], "limit_req_zone $a zone=b:1m rate=1r/s;\n");
    assert!(data.get("server.conf").is_none());
    assert_eq!(data["nginx.conf"].as_str().unwrap().matches("include /etc/mistletoe/config/").count(), 1);
    let error = refused(json!({ "snippets": { "server": "}\nserver {" } }));
    assert!(error.contains("inputs.snippets.server isn't whole: line 1 closes"), "{error}");
}

#[test]
fn inputs_that_contradict_one_another_are_refused() {
    let both = json!({ "site": { "files": { "a": "b" }, "configMap": "c" } });
    assert!(refused(both).contains("both `files` and `configMap`"));
    let up = json!({ "site": { "files": { "a/../../b": "b" } } });
    assert!(refused(up).contains("`a/../../b` isn't the path"));
    let twice = json!({ "proxies": [{ "path": "/", "to": "http://a" }, { "path": "/", "to": "http://b" }] });
    assert!(refused(twice).contains("`/` twice"));
    let large = json!({ "site": { "files": { "a": "x".repeat(1_000_001) } } });
    assert!(refused(large).contains("1000002 bytes"));
}

#[test]
fn one_server_has_no_budget() {
    assert!(rendered(json!({ "replicas": 1 })).file("disruption-budget.yaml").is_none());
    assert!(rendered(json!({})).file("disruption-budget.yaml").is_some());
}
