//! Certificates of members and clients.

use certificates::{Authority, Request, Usage, service_names, tls_secret};
use mistletoe::{Error, Value, json};

use crate::{Inputs, objects};

/// The certificates that members and clients present to one another.
#[derive(Default)]
pub struct Credentials {
    /// The Secrets that are made here, with their paths.
    pub objects: Vec<(String, Value)>,
    /// The Secrets that members mount: as servers, and among themselves.
    pub server_secret: String,
    pub peer_secret: String,
    pub ca_secret: String,
    pub root_secret: Option<String>,
    /// That of which members must be started again when it changes.
    pub content: Vec<Value>,
}

impl Credentials {
    /// # Errors
    ///
    /// The host gives no keys.
    pub fn new(inputs: &Inputs) -> Result<Self, Error> {
        let tls = &inputs.tls;
        match &tls.secret_name {
            _ if !tls.enabled => Ok(Self::default()),
            Some(given) => Ok(Self {
                server_secret: given.clone(),
                peer_secret: given.clone(),
                ca_secret: given.clone(),
                ..Self::default()
            }),
            None => Self::made(inputs),
        }
    }

    fn made(inputs: &Inputs) -> Result<Self, Error> {
        let Inputs { name, namespace, cluster_domain, .. } = inputs;
        let app = objects::app(inputs);
        let authority = Authority::of(name)?;
        let days = inputs.tls.valid_days.into();
        let members: Vec<String> = inputs.member_names().map(|member| inputs.member_fqdn(&member)).collect();
        let names = [service_names(name, namespace, cluster_domain), members.clone()].concat();
        let issue = |secret: &str, common_name: &str, usage: Usage, names: &[String]| {
            authority.issue(secret, &Request { common_name, usage, names, days })
        };
        let mut made = Self {
            server_secret: format!("{name}-server"),
            peer_secret: format!("{name}-peer"),
            ca_secret: format!("{name}-ca"),
            root_secret: Some(format!("{name}-root")),
            ..Self::default()
        };
        // A member that is called looks up where the caller's names lead, so these are no others than they need. As a
        // server it shows its certificate to itself too.
        let server =
            tls_secret(&app, &made.server_secret, &authority, &issue("tls/server", name, Usage::Peer, &names)?);
        let peer = tls_secret(&app, &made.peer_secret, &authority, &issue("tls/peer", name, Usage::Peer, &members)?);
        made.content = [&server, &peer].map(|secret| secret["stringData"].clone()).into();
        let ca = app.secret(&made.ca_secret, &json!({ "ca.crt": authority.certificate() }));
        made.objects = vec![("ca.yaml".into(), ca), ("server-tls.yaml".into(), server), ("peer-tls.yaml".into(), peer)];
        let users = inputs.users.iter().map(|user| (user.as_str(), objects::user_secret_name(inputs, user)));
        for (user, secret_name) in std::iter::once(("root", format!("{name}-root"))).chain(users) {
            let (path, secret) = if user == "root" {
                ("root.yaml".into(), "root".into())
            } else {
                (format!("user-{user}.yaml"), format!("user/{user}"))
            };
            let mut object = tls_secret(&app, &secret_name, &authority, &issue(&secret, user, Usage::Client, &[])?);
            object["stringData"]["endpoints"] = inputs.endpoints().join(",").into();
            made.objects.push((path, object));
        }
        Ok(made)
    }
}
