use mistletoe::testing::Host;
use mistletoe::{Value, json};

use super::*;

fn rendered(host: Host, mut values: Value) -> MistOutput {
    values["name"] = "db".into();
    host.in_namespace("prod").render(METADATA, generate, values).unwrap()
}

fn object(output: &MistOutput, path: &str) -> Value {
    serde_norway::from_str(output.file(path).unwrap()).unwrap()
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_else(|| panic!("{pointer} of {object}"))
}

fn refused(mut values: Value) -> String {
    values["name"] = "db".into();
    Host::new().render(METADATA, generate, values).unwrap_err().to_string()
}

fn users() -> Value {
    json!({ "users": [
        { "username": "web", "database": "shop", "password": "given-by-the-caller" },
        { "username": "report", "database": "shop", "access": "readOnly" },
    ]})
}

#[test]
fn a_user_has_one_password_of_which_the_server_has_the_verifier() {
    let output = rendered(Host::new(), users());
    let sql = object(&output, "users.yaml");
    for (user, password) in [("web", Some("given-by-the-caller")), ("report", None)] {
        let secret = object(&output, &format!("user-{user}.yaml"));
        let found = text(&secret, "/stringData/password");
        assert_eq!(password.unwrap_or(found), found);
        assert_eq!(
            text(&secret, "/stringData/uri"),
            format!("postgresql://{user}:{found}@db.prod.svc.cluster.local:5432/shop")
        );
        let line = text(&sql, "/stringData/users.sql")
            .lines()
            .find(|line| line.starts_with(&format!("ALTER ROLE \"{user}\" LOGIN ")))
            .unwrap();
        let verifier = line.split('\'').nth(1).unwrap();
        // The salt stands in it.
        let salt = verifier.split([':', '$']).nth(2).unwrap();
        assert_eq!(salt.len(), 24);
        let host_salt = host_salt();
        assert_eq!(verifier, scram::verifier(&found.into(), &scram::salt(&host_salt, user)));
    }
}

/// The salt that the stand-in of a host gives to this release.
fn host_salt() -> Vec<u8> {
    fn ask(_: Value) -> MistResult {
        MistOutput::new().with_exports(&secret::bytes("salt", 32)?)
    }
    let output = Host::new().render("{name: ask}", ask, json!({ "name": "db" })).unwrap();
    output.exports().unwrap().as_array().unwrap().iter().map(|byte| byte.as_u64().unwrap() as u8).collect()
}

#[test]
fn passwords_are_only_in_the_secrets_of_their_users() {
    let output = rendered(Host::new(), users());
    for user in ["web", "report"] {
        let own = format!("user-{user}.yaml");
        let secret = object(&output, &own);
        let password = text(&secret, "/stringData/password");
        for (path, content) in output.files() {
            assert!(!content.contains(password) || path == own, "{path}");
        }
        assert!(!output.message().unwrap().contains(password));
        assert!(!output.exports().unwrap().to_string().contains(password));
    }
}

#[test]
fn the_server_restarts_for_its_users_and_its_settings_alone() {
    let annotations = |host: Host, change: fn(&mut Value)| {
        let mut values = users();
        change(&mut values);
        object(&rendered(host, values), "server.yaml")["spec"]["template"]["metadata"]["annotations"].clone()
    };
    let before = annotations(Host::new(), |_| {});
    assert_eq!(before, annotations(Host::new(), |values| values["clients"] = json!([{ "app": "web" }])));
    assert_ne!(before, annotations(Host::new(), |values| values["maxConnections"] = 200.into()));
    assert_ne!(before, annotations(Host::new(), |values| values["users"][0]["database"] = "other".into()));
    assert_ne!(before, annotations(Host::new(), |values| values["users"][1]["access"] = "owner".into()));
    assert_ne!(before, annotations(Host::new().rotate("user/report"), |_| {}));
    assert_eq!(before, annotations(Host::new().rotate("user/web"), |_| {}), "its password was given");
}

#[test]
fn the_service_and_the_policies_find_the_pod() {
    let output = rendered(Host::new(), json!({ "clients": [{ "app": "a" }, { "app": "b" }] }));
    let labels = &object(&output, "server.yaml")["spec"]["template"]["metadata"]["labels"];
    for (path, pointer) in [
        ("service.yaml", "/spec/selector"),
        ("network-policy.yaml", "/spec/podSelector/matchLabels"),
        ("disruption-budget.yaml", "/spec/selector/matchLabels"),
        ("server.yaml", "/spec/selector/matchLabels"),
    ] {
        for (key, value) in object(&output, path).pointer(pointer).unwrap().as_object().unwrap() {
            assert_eq!(&labels[key], value, "{path}");
        }
    }
    let from = &object(&output, "network-policy.yaml")["spec"]["ingress"][0]["from"];
    assert_eq!(from[1], json!({ "podSelector": { "matchLabels": { "app": "b" } } }));
}

#[test]
fn every_volume_that_is_mounted_is_there() {
    for values in [
        json!({}),
        json!({ "persistence": { "enabled": false } }),
        json!({ "tls": { "enabled": true, "secretName": "given" } }),
    ] {
        let server = object(&rendered(Host::new(), values), "server.yaml");
        let pod = &server["spec"]["template"]["spec"];
        let claims = server["spec"]["volumeClaimTemplates"].as_array().into_iter().flatten();
        let claims = claims.map(|claim| &claim["metadata"]["name"]);
        let volumes = pod["volumes"].as_array().unwrap().iter().map(|volume| &volume["name"]);
        let names: Vec<&Value> = claims.chain(volumes).collect();
        for container in ["initContainers", "containers"] {
            for mount in pod[container][0]["volumeMounts"].as_array().unwrap() {
                assert_eq!(names.iter().filter(|&&name| *name == mount["name"]).count(), 1, "{mount}");
            }
        }
    }
}

#[test]
fn the_tuning_follows_the_memory() {
    let file = |values: Value| {
        let config = object(&rendered(Host::new(), values), "config.yaml");
        text(&config, "/data/postgresql.conf").to_owned()
    };
    let small = file(json!({}));
    assert!(small.contains("shared_buffers = '128MB'\n") && small.contains("work_mem = '1310kB'\n"), "{small}");
    let large = file(json!({ "memoryMiB": 65536, "maxConnections": 500 }));
    assert!(large.contains("maintenance_work_mem = '2048MB'\n") && large.contains("= '49152MB'\n"), "{large}");
    assert!(file(json!({ "memoryMiB": 256, "maxConnections": 10000 })).contains("work_mem = '1024kB'\n"));
}

#[test]
fn settings_replace_ours_except_those_that_others_rely_on() {
    let config = object(
        &rendered(Host::new(), json!({ "settings": { "max_connections": "7", "log_line_prefix": "a\\b'c" } })),
        "config.yaml",
    );
    let file = text(&config, "/data/postgresql.conf");
    assert!(file.contains("\nmax_connections = '7'\n") && !file.contains("= '100'"), "{file}");
    assert!(file.contains("\nlog_line_prefix = 'a\\\\b''c'\n"), "{file}");
    assert!(refused(json!({ "settings": { "include": "/tmp/x" } })).contains("can't change `include`"));
}

#[test]
fn a_given_certificate_is_mounted_and_unencrypted_clients_are_refused_unless_they_may() {
    let render = |required: bool| {
        let tls = json!({ "enabled": true, "required": required, "secretName": "from-elsewhere" });
        rendered(Host::new(), json!({ "tls": tls, "users": users()["users"] }))
    };
    let output = render(true);
    assert!(output.file("config.yaml").unwrap().contains("hostssl all all all scram-sha-256\n"));
    assert!(!render(false).file("config.yaml").unwrap().contains("hostssl"));
    assert!(output.file("server.yaml").unwrap().contains("secretName: from-elsewhere\n"));
    assert!(text(&object(&output, "user-web.yaml"), "/stringData/uri").ends_with("/shop?sslmode=require"));
    assert_eq!(output.exports().unwrap()["caSecret"], json!({ "name": "from-elsewhere", "key": "ca.crt" }));
}

#[test]
fn a_user_stands_once_in_the_inputs() {
    let twice = json!({ "users": [{ "username": "web", "database": "a" }, { "username": "web", "database": "b" }] });
    assert!(refused(twice).contains("`web` twice"));
}

#[test]
fn exports_are_of_the_form_that_callers_read() {
    let output = rendered(Host::new(), users());
    let exports = output.exports().unwrap();
    assert_eq!(
        exports["users"][0],
        json!({ "username": "web", "database": "shop", "secret": { "name": "db-user-web", "key": "password" } })
    );
    assert_eq!((&exports["fqdn"], &exports["tls"]), (&json!("db.prod.svc.cluster.local"), &json!(false)));
    assert!(exports.get("caSecret").is_none());
}
