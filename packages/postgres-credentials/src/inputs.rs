//! The inputs; `mistletoe.yaml` describes them for people and for the host, which checks them and fills in the defaults
//! before we see them.

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Inputs {
    pub name: String,
    pub namespace: String,
    pub user: String,
    pub database: String,
    pub host: String,
    pub port: u16,
    pub ssl_mode: String,
    pub password_length: usize,
    pub read_only_user: bool,
    pub server: Server,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    pub enabled: bool,
    pub image: String,
    pub storage: String,
}

impl Inputs {
    /// The server's name.
    pub fn server_name(&self) -> String {
        if self.host.is_empty() { format!("{}.{}.svc", self.name, self.namespace) } else { self.host.clone() }
    }

    /// The name of the Secret of the read-only user.
    pub fn read_only_name(&self) -> String {
        format!("{}-read-only", self.name)
    }
}
