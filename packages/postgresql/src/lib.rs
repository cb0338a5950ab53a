//! A PostgreSQL server with databases and users that are as the inputs say.
//!
//! Before the server answers anybody, an init container runs SQL that makes databases, users and rights those of the
//! inputs, on a data directory of any age. Passwords go there as SCRAM verifiers. A changed password is therefore a changed
//! Secret and one restart of the server; a user that is no longer among the inputs is dropped in the same way.

mod objects;
mod scram;
mod users;

use app_objects::given_or_drawn;
use certificates::ServerTls;
use mistletoe::secret::{self, SecretText};
use mistletoe::{Error, MistOutput, MistResult, ensure};

mistletoe::types! { file = "mistletoe.yaml" }

/// The metadata of the package, for hosts in tests.
pub const METADATA: &str = include_str!("../mistletoe.yaml");

/// The port at which the server answers.
pub const PORT: u16 = 5432;

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
/// Two users have one name, a setting is one that other objects rely on, or the host gives no secrets.
pub fn generate(inputs: Inputs) -> MistResult {
    check_settings(&inputs)?;
    let accounts = accounts(&inputs)?;
    let tls = tls(&inputs)?;
    let users_file = users::file(&accounts);
    let files = objects::config_files(&inputs);
    let app = objects::app(&inputs);
    let mut output = MistOutput::new()
        .with_object("config.yaml", &objects::config(&inputs, &files))?
        .with_object("users.yaml", &objects::users_secret(&inputs, &users_file))?;
    for account in &accounts {
        let path = format!("user-{}.yaml", account.username);
        output = output.with_object(path, &objects::user_secret(&inputs, account, tls.as_ref()))?;
    }
    if let Some(tls) = &tls {
        output = tls.add_to(output)?;
    }
    output
        .with_object("server.yaml", &objects::server(&inputs, &files, &users_file, tls.as_ref())?)?
        .with_object("service.yaml", &app.service("postgresql", PORT))?
        .with_object("network-policy.yaml", &app.server_policy(&inputs.clients, "postgresql"))?
        .with_object("disruption-budget.yaml", &app.disruption_budget())?
        .with_message(format!(
            "PostgreSQL answers at {}:{PORT}. Users' names and passwords are in the Secrets {}-user-…",
            inputs.fqdn(),
            inputs.name
        ))
        .with_exports(&exports(&inputs, tls.as_ref()))
}

/// Settings that other objects rely on, and what reads other files.
const FIXED_SETTINGS: [&str; 16] = [
    "config_file",
    "data_directory",
    "external_pid_file",
    "hba_file",
    "ident_file",
    "include",
    "include_dir",
    "include_if_exists",
    "listen_addresses",
    "password_encryption",
    "port",
    "ssl",
    "ssl_cert_file",
    "ssl_key_file",
    "unix_socket_directories",
    "unix_socket_permissions",
];

fn check_settings(inputs: &Inputs) -> Result<(), Error> {
    for name in inputs.settings.keys() {
        ensure!(
            !FIXED_SETTINGS.contains(&name.as_str()),
            "inputs.settings can't change `{name}`: other objects rely on it"
        );
    }
    Ok(())
}

/// A user whose password is known.
struct Account<'a> {
    username: &'a str,
    password: SecretText,
    /// As the server stores it.
    verifier: String,
    database: &'a str,
    access: Access,
}

fn accounts(inputs: &Inputs) -> Result<Vec<Account<'_>>, Error> {
    let mut accounts: Vec<Account> = Vec::new();
    if inputs.users.is_empty() {
        return Ok(accounts);
    }
    let salt = secret::bytes("salt", 32)?;
    for User { username, password: given, database, access } in &inputs.users {
        ensure!(
            accounts.iter().all(|known| known.username != username),
            "inputs.users has `{username}` twice; a user has one password and one database"
        );
        let password = given_or_drawn(given.as_ref(), &format!("user/{username}"))?;
        let verifier = scram::verifier(&password, &scram::salt(&salt, username));
        accounts.push(Account { username, password, verifier, database, access: *access });
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
        tls: tls.is_some(),
        ca_secret: tls.map(|tls| ExportedSecretKey::new(&tls.ca_secret_name, "ca.crt")),
        users: inputs.users.iter().map(user).collect(),
    }
}

#[cfg(test)]
mod tests;
