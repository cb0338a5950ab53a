//! A MariaDB server with databases and users that are as the inputs say.
//!
//! Users and passwords are written as SQL into a Secret, which the server reads at each start, before it answers anybody. A changed password is therefore a changed Secret and one restart of the server;
//! a user that is no longer among the inputs loses its access in the same way.

mod objects;
mod sql;

use std::collections::BTreeMap;

use app_objects::given_or_drawn;
use certificates::ServerTls;
use mistletoe::secret::SecretText;
use mistletoe::{Error, MistOutput, MistResult, ensure};

mistletoe::types! { file = "mistletoe.yaml" }

/// The metadata of the package, for hosts in tests.
pub const METADATA: &str = include_str!("../mistletoe.yaml");

/// The port at which the server answers.
pub const PORT: u16 = 3306;

impl Inputs {
    /// The name at which clients find the server.
    pub fn fqdn(&self) -> String {
        format!("{}.{}.svc.{}", self.name, self.namespace, self.cluster_domain)
    }
}

/// The objects and exports of one server.
///
/// # Errors
///
/// Two users have one name, or the host gives no secrets.
pub fn generate(inputs: Inputs) -> MistResult {
    check_settings(&inputs)?;
    let accounts = accounts(&inputs)?;
    let root = given_or_drawn(inputs.root_password.as_ref(), "root")?;
    let users_file = sql::users_file(&root, &accounts);
    let tls = tls(&inputs)?;
    let app = objects::app(&inputs);
    let mut output = MistOutput::new()
        .with_object("config.yaml", &objects::config(&inputs))?
        .with_object("root.yaml", &objects::root_secret(&inputs, &root))?
        .with_object("users.yaml", &objects::users_secret(&inputs, &users_file))?;
    for account in &accounts {
        let path = format!("user-{}.yaml", account.username);
        output = output.with_object(path, &objects::user_secret(&inputs, account, tls.as_ref()))?;
    }
    if let Some(tls) = &tls {
        output = tls.add_to(output)?;
    }
    output
        .with_object("server.yaml", &objects::server(&inputs, &users_file, tls.as_ref())?)?
        .with_object("service.yaml", &app.service("mariadb", PORT))?
        .with_object("network-policy.yaml", &app.server_policy(&inputs.clients, "mariadb"))?
        .with_object("disruption-budget.yaml", &app.disruption_budget())?
        .with_message(format!(
            "MariaDB answers at {}:{PORT}. Users' names and passwords are in the Secrets {}-user-…",
            inputs.fqdn(),
            inputs.name
        ))
        .with_exports(&exports(&inputs, tls.as_ref()))
}

/// Checks the settings that other objects rely on.
const FIXED_SETTINGS: [&str; 6] = ["datadir", "init-file", "pid-file", "port", "skip-name-resolve", "socket"];
/// And with `tls`, what it decides.
const TLS_SETTINGS: [&str; 4] = ["require-secure-transport", "ssl-ca", "ssl-cert", "ssl-key"];

/// The user's settings by the names that the server's documentation prefers: it takes `_` for `-`.
fn settings(inputs: &Inputs) -> BTreeMap<String, String> {
    inputs.settings.iter().map(|(name, value)| (name.replace('_', "-"), value.clone())).collect()
}

fn check_settings(inputs: &Inputs) -> Result<(), Error> {
    for name in settings(inputs).keys() {
        ensure!(
            !FIXED_SETTINGS.contains(&name.as_str()),
            "inputs.settings can't change `{name}`: other objects rely on it"
        );
        ensure!(
            !inputs.tls.enabled || !TLS_SETTINGS.contains(&name.as_str()),
            "inputs.settings can't change `{name}`: inputs.tls does"
        );
    }
    Ok(())
}

/// A user whose password is known.
struct Account<'a> {
    username: &'a str,
    password: SecretText,
    database: &'a str,
    access: Access,
}

fn accounts(inputs: &Inputs) -> Result<Vec<Account<'_>>, Error> {
    let mut accounts: Vec<Account> = Vec::new();
    for User { username, password: given, database, access } in &inputs.users {
        ensure!(
            accounts.iter().all(|known| known.username != username),
            "inputs.users has `{username}` twice; a user has one password and one database"
        );
        let password = given_or_drawn(given.as_ref(), &format!("user/{username}"))?;
        accounts.push(Account { username, password, database, access: *access });
    }
    Ok(accounts)
}

fn tls(inputs: &Inputs) -> Result<Option<ServerTls>, Error> {
    let Inputs { namespace, cluster_domain, tls, .. } = inputs;
    if !tls.enabled {
        return Ok(None);
    }
    let place = (namespace.as_str(), cluster_domain.as_str());
    let (given, days) = (tls.secret_name.as_deref(), tls.valid_days.into());
    ServerTls::of_service(&objects::app(inputs), place, given, [], days).map(Some)
}

fn exports(inputs: &Inputs, tls: Option<&ServerTls>) -> Exports {
    let user = |user: &User| ExportedUser {
        username: user.username.clone(),
        database: user.database.clone(),
        secret: ExportedSecretKey::new(objects::user_secret_name(inputs, &user.username), "password"),
    };
    Exports {
        fqdn: inputs.fqdn(),
        port: PORT,
        pod_labels: objects::app(inputs).selector(),
        root_secret: ExportedSecretKey::new(objects::root_secret_name(inputs), "password"),
        tls: tls.is_some().then_some(true),
        ca_secret: tls.map(|tls| ExportedSecretKey::new(&tls.ca_secret_name, "ca.crt")),
        users: inputs.users.iter().map(user).collect(),
    }
}

#[cfg(test)]
mod tests {
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

    fn users() -> Value {
        json!({ "users": [
            { "username": "web", "database": "shop", "password": "given-by-the-caller" },
            { "username": "report", "database": "shop", "access": "readOnly" },
        ]})
    }

    #[test]
    fn a_user_has_one_password_in_its_secret_and_in_the_server_s() {
        let output = rendered(Host::new(), users());
        let sql = object(&output, "users.yaml");
        for (user, password) in [("web", Some("given-by-the-caller")), ("report", None)] {
            let secret = object(&output, &format!("user-{user}.yaml"));
            let found = text(&secret, "/stringData/password");
            assert_eq!(password.unwrap_or(found), found);
            assert!(text(&sql, "/stringData/users.sql").contains(&format!("'{user}'@'%' IDENTIFIED BY '{found}'")));
            assert_eq!(
                text(&secret, "/stringData/uri"),
                format!("mysql://{user}:{found}@db.prod.svc.cluster.local:3306/shop")
            );
        }
    }

    #[test]
    fn passwords_are_only_in_secrets() {
        let output = rendered(Host::new(), users());
        let root = object(&output, "root.yaml");
        let mine = object(&output, "user-report.yaml");
        for password in
            ["given-by-the-caller", text(&root, "/stringData/password"), text(&mine, "/stringData/password")]
        {
            for (path, content) in output.files() {
                assert!(!content.contains(password) || content.contains("\nkind: Secret\n"), "{path}");
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
        assert_ne!(before, annotations(Host::new().rotate("user/report"), |_| {}));
        assert_ne!(before, annotations(Host::new().rotate("root"), |_| {}));
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
    fn without_persistence_there_is_no_claim() {
        let server = object(&rendered(Host::new(), json!({ "persistence": { "enabled": false } })), "server.yaml");
        assert!(server["spec"].get("volumeClaimTemplates").is_none());
        assert!(server.to_string().contains(r#"{"emptyDir":{},"name":"data"}"#));
    }

    #[test]
    fn a_server_that_repairs_its_data_is_not_killed_and_has_time_to_end() {
        let pod =
            |values: Value| object(&rendered(Host::new(), values), "server.yaml")["spec"]["template"]["spec"].clone();
        let small = pod(json!({}));
        let probe = &small["containers"][0]["startupProbe"];
        let seconds = probe["periodSeconds"].as_u64().unwrap() * probe["failureThreshold"].as_u64().unwrap();
        assert!(seconds > 7 * 24 * 3600, "{probe}");
        for (memory, grace) in [(512, 120), (16384, 1024), (1_048_576, 3600)] {
            assert_eq!(pod(json!({ "memoryMiB": memory }))["terminationGracePeriodSeconds"], grace, "{memory}");
        }
    }

    #[test]
    fn a_user_stands_once_in_the_inputs() {
        let twice = json!({ "name": "db", "users": [
            { "username": "web", "database": "a" }, { "username": "web", "database": "b" }] });
        let error = Host::new().render(METADATA, generate, twice).unwrap_err();
        assert!(error.to_string().contains("`web` twice"), "{error}");
    }

    #[test]
    fn settings_replace_ours_except_those_that_others_rely_on() {
        let config = object(&rendered(Host::new(), json!({ "settings": { "max_connections": "7" } })), "config.yaml");
        let file = text(&config, "/data/my.cnf");
        assert!(file.contains("\nmax-connections = 7\n") && !file.contains("= 150"), "{file}");
        let fixed = json!({ "name": "db", "settings": { "init_file": "/tmp/x" } });
        let error = Host::new().render(METADATA, generate, fixed).unwrap_err();
        assert!(error.to_string().contains("can't change `init-file`"), "{error}");
    }

    #[test]
    fn exports_are_of_the_form_that_callers_read() {
        let output = rendered(Host::new(), users());
        assert_eq!(
            output.exports().unwrap()["users"][0],
            json!({ "username": "web", "database": "shop", "secret": { "name": "db-user-web", "key": "password" } })
        );
        assert_eq!(output.exports().unwrap()["fqdn"], "db.prod.svc.cluster.local");
    }
}
