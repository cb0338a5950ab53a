//! A Redis server with users that are as the inputs say.
//!
//! Users are lines of an ACL file in a Secret, which the server reads at each start: a changed password, or a user that is
//! gone, is a changed Secret and one restart of the server. The file holds digests of passwords only.

mod acl;
mod objects;

use app_objects::given_or_drawn;
use certificates::ServerTls;
use mistletoe::secret::SecretText;
use mistletoe::{Error, MistOutput, MistResult, ensure};

mistletoe::types! { file = "mistletoe.yaml" }

/// The metadata of the package, for hosts in tests.
pub const METADATA: &str = include_str!("../mistletoe.yaml");

/// The port at which the server answers.
pub const PORT: u16 = 6379;

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
    let accounts = accounts(&inputs)?;
    let admin = given_or_drawn(inputs.admin_password.as_ref(), "admin")?;
    let acl_file = acl::file(&admin, &accounts);
    let tls = tls(&inputs)?;
    let app = objects::app(&inputs);
    let mut output = MistOutput::new()
        .with_object("config.yaml", &objects::config(&inputs))?
        .with_object("admin.yaml", &objects::admin_secret(&inputs, &admin))?
        .with_object("users.yaml", &objects::users_secret(&inputs, &acl_file))?;
    for account in &accounts {
        let path = format!("user-{}.yaml", account.username);
        output = output.with_object(path, &objects::user_secret(&inputs, account, tls.as_ref()))?;
    }
    if let Some(tls) = &tls {
        output = tls.add_to(output)?;
    }
    output
        .with_object("server.yaml", &objects::server(&inputs, &acl_file, tls.as_ref())?)?
        .with_object("service.yaml", &app.service("redis", PORT))?
        .with_object("network-policy.yaml", &app.server_policy(&inputs.clients, "redis"))?
        .with_object("disruption-budget.yaml", &app.disruption_budget())?
        .with_message(message(&inputs))
        .with_exports(&exports(&inputs, tls.as_ref()))
}

/// How many times the data the volume should hold: the file and what was appended to it, and the next file beside them
/// while it is written.
const COPIES_ON_VOLUME: u32 = 3;

fn message(inputs: &Inputs) -> String {
    let access = format!(
        "Redis answers at {}:{PORT}. Users' names and passwords are in the Secrets {}-user-…",
        inputs.fqdn(),
        inputs.name
    );
    let Persistence { enabled, size, .. } = &inputs.persistence;
    let wanted = COPIES_ON_VOLUME * inputs.memory_mib;
    if !enabled || mebibytes(size).is_none_or(|mib| mib >= f64::from(wanted)) {
        return access;
    }
    format!(
        "{access}\nThe volume may fill up, and then writes fail: {} MiB of data need up to {wanted}Mi of it while they are \
         saved, and persistence.size is {size}",
        inputs.memory_mib
    )
}

/// A size as Kubernetes writes it, in MiB.
fn mebibytes(size: &str) -> Option<f64> {
    let digits = size.find(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(size.len());
    let (number, unit) = size.split_at(digits);
    let power = |letter: char| "MGTPE".find(letter).and_then(|place| i32::try_from(place + 2).ok());
    let bytes = match (unit.chars().next(), unit.ends_with('i')) {
        (None, _) => 1.0,
        (Some(letter), true) => 1024_f64.powi(power(letter)?),
        (Some(letter), false) => 1000_f64.powi(power(letter)?),
    };
    Some(number.parse::<f64>().ok()? * bytes / (1024.0 * 1024.0))
}

/// A user whose password is known.
struct Account<'a> {
    username: &'a str,
    password: SecretText,
    keys: &'a [String],
    access: Access,
}

fn accounts(inputs: &Inputs) -> Result<Vec<Account<'_>>, Error> {
    let mut accounts: Vec<Account> = Vec::new();
    for User { username, password: given, keys, access } in &inputs.users {
        ensure!(
            accounts.iter().all(|known| known.username != username),
            "inputs.users has `{username}` twice; a user has one password"
        );
        let password = given_or_drawn(given.as_ref(), &format!("user/{username}"))?;
        accounts.push(Account { username, password, keys, access: *access });
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
        secret: ExportedSecretKey::new(objects::user_secret_name(inputs, &user.username), "password"),
    };
    Exports {
        fqdn: inputs.fqdn(),
        port: PORT,
        pod_labels: objects::app(inputs).selector(),
        admin_secret: ExportedSecretKey::new(objects::admin_secret_name(inputs), "password"),
        tls: tls.is_some().then_some(true),
        ca_secret: tls.map(|tls| ExportedSecretKey::new(&tls.ca_secret_name, "ca.crt")),
        users: inputs.users.iter().map(user).collect(),
    }
}

#[cfg(test)]
mod tests {
    use mistletoe::secret::sha256;
    use mistletoe::testing::Host;
    use mistletoe::{Value, json};

    use super::*;

    fn rendered(host: Host, mut values: Value) -> MistOutput {
        values["name"] = "cache".into();
        host.in_namespace("prod").render(METADATA, generate, values).unwrap()
    }

    fn object(output: &MistOutput, path: &str) -> Value {
        serde_norway::from_str(output.file(path).unwrap()).unwrap()
    }

    fn users() -> Value {
        json!({ "users": [{ "username": "web", "password": "given-by-the-caller" }, { "username": "jobs" }] })
    }

    #[test]
    fn the_server_has_the_digest_of_what_the_user_has() {
        let output = rendered(Host::new(), users());
        let acl = object(&output, "users.yaml")["stringData"]["users.acl"].as_str().unwrap().to_owned();
        for (user, given) in [("web", Some("given-by-the-caller")), ("jobs", None)] {
            let secret = object(&output, &format!("user-{user}.yaml"))["stringData"].clone();
            let password = secret["password"].as_str().unwrap();
            assert_eq!(given.unwrap_or(password), password);
            assert!(acl.contains(&format!("user {user} on #{} ", sha256(password))), "{acl}");
            assert_eq!(secret["uri"], format!("redis://{user}:{password}@cache.prod.svc.cluster.local:6379"));
            for (path, content) in output.files().filter(|(path, _)| *path != format!("user-{user}.yaml")) {
                assert!(!content.contains(password), "{path}");
            }
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
        assert_ne!(before, annotations(Host::new(), |values| values["memoryMiB"] = 256.into()));
        assert_ne!(before, annotations(Host::new(), |values| values["users"][0]["access"] = "readOnly".into()));
        assert_ne!(before, annotations(Host::new().rotate("user/jobs"), |_| {}));
        assert_ne!(before, annotations(Host::new().rotate("admin"), |_| {}));
    }

    #[test]
    fn a_user_stands_once_in_the_inputs() {
        let twice = json!({ "name": "cache", "users": [{ "username": "web" }, { "username": "web" }] });
        let error = Host::new().render(METADATA, generate, twice).unwrap_err();
        assert!(error.to_string().contains("`web` twice"), "{error}");
    }

    #[test]
    fn a_cache_without_a_volume_saves_nothing() {
        let output = rendered(Host::new(), json!({ "persistence": { "enabled": false } }));
        assert!(object(&output, "server.yaml")["spec"].get("volumeClaimTemplates").is_none());
        assert!(output.file("config.yaml").unwrap().contains("appendonly no\n"));
        assert!(rendered(Host::new(), json!({})).file("config.yaml").unwrap().contains("appendonly yes\n"));
    }

    /// Whether a probe accepts an answer of the server: runs its script with the answer in place of the question.
    fn passes(probe: &Value, answer: &str) -> bool {
        let script = probe["exec"]["command"][2].as_str().unwrap();
        let (before, rest) = script.split_once("$(").unwrap();
        let (_, after) = rest.split_once(')').unwrap();
        let status = std::process::Command::new("sh").args(["-c", &format!("{before}{answer}{after}")]).status();
        status.unwrap().success()
    }

    #[test]
    fn a_server_that_can_not_save_is_neither_killed_nor_cut_off() {
        let container = |values: Value| {
            object(&rendered(Host::new(), values), "server.yaml")["spec"]["template"]["spec"]["containers"][0].clone()
        };
        for container in [container(json!({})), container(json!({ "tls": { "enabled": true, "secretName": "given" } }))]
        {
            let full = "MISCONF Errors writing to the AOF file: No space left on device";
            for (answer, alive, ready) in [
                ("PONG", true, true),
                (full, true, true),
                ("LOADING Redis is loading the dataset in memory", true, false),
                ("BUSY Redis is busy running a script", true, false),
                ("", false, false),
                ("NOAUTH Authentication required.", false, false),
            ] {
                assert_eq!(passes(&container["startupProbe"], answer), alive, "{answer}");
                assert_eq!(passes(&container["livenessProbe"], answer), alive, "{answer}");
                assert_eq!(passes(&container["readinessProbe"], answer), ready, "{answer}");
            }
        }
    }

    #[test]
    fn sizes_are_read_as_kubernetes_writes_them() {
        for (size, mib) in [("1Gi", 1024.0), ("1.5Mi", 1.5), ("1048576", 1.0), ("2Ti", 2_097_152.0)] {
            assert_eq!(mebibytes(size), Some(mib), "{size}");
        }
        assert!(mebibytes("1G").is_some_and(|mib| mib > 953.0 && mib < 954.0));
    }

    #[test]
    fn a_volume_that_the_data_can_fill_is_told() {
        let told = |values: Value| rendered(Host::new(), values).message().unwrap().contains("may fill up");
        assert!(!told(json!({})));
        assert!(told(json!({ "memoryMiB": 512 })));
        assert!(!told(json!({ "memoryMiB": 512, "persistence": { "size": "1536Mi" } })));
        assert!(!told(json!({ "memoryMiB": 512, "persistence": { "enabled": false } })));
    }
}
