//! The Secrets with a server's certificate.

use app_objects::App;
use mistletoe::{Error, MistOutput, MistResult, Value, json};

use crate::{Authority, Issued, Request, Usage};

/// Where a server's certificate is.
pub struct ServerTls {
    /// The Secret with `tls.crt` and `tls.key`.
    pub secret_name: String,
    /// The Secret with `ca.crt`, and its content if it is made here.
    pub ca_secret_name: String,
    pub ca: Option<String>,
    objects: Vec<(&'static str, Value)>,
}

/// The names of a server behind the Service `service`, as its clients may write them.
pub fn service_names(service: &str, namespace: &str, domain: &str) -> Vec<String> {
    vec![
        service.to_owned(),
        format!("{service}.{namespace}"),
        format!("{service}.{namespace}.svc"),
        format!("{service}.{namespace}.svc.{domain}"),
        "localhost".to_owned(),
        "127.0.0.1".to_owned(),
        "::1".to_owned(),
    ]
}

impl ServerTls {
    /// Of a Secret that the inputs name, or else with a certificate that is made here for the install's Service, whose
    /// namespace and cluster domain these are, and for more names.
    ///
    /// # Errors
    ///
    /// The host gives no keys, or a name can't be in a certificate.
    pub fn of_service(
        app: &App,
        (namespace, domain): (&str, &str),
        given: Option<&str>,
        more_names: impl IntoIterator<Item = String>,
        days: u32,
    ) -> Result<Self, Error> {
        if let Some(given) = given {
            return Ok(Self {
                secret_name: given.to_owned(),
                ca_secret_name: given.to_owned(),
                ca: None,
                objects: Vec::new(),
            });
        }
        let mut names = service_names(app.install, namespace, domain);
        names.extend(more_names);
        let authority = Authority::of(app.install)?;
        let request = Request { common_name: app.install, usage: Usage::Server, names: &names, days };
        let issued = authority.issue("tls/server", &request)?;
        let (secret_name, ca_secret_name) = (format!("{}-tls", app.install), format!("{}-ca", app.install));
        let objects = vec![
            ("ca.yaml", app.secret(&ca_secret_name, &json!({ "ca.crt": authority.certificate() }))),
            ("tls.yaml", tls_secret(app, &secret_name, &authority, &issued)),
        ];
        Ok(Self { secret_name, ca_secret_name, ca: Some(authority.certificate().to_owned()), objects })
    }

    /// The Secrets that are made here.
    ///
    /// # Errors
    ///
    /// An object can't be written.
    pub fn add_to(&self, mut output: MistOutput) -> MistResult {
        for (path, object) in &self.objects {
            output = output.with_object(*path, object)?;
        }
        Ok(output)
    }

    /// That of which the server must be started again when it changes.
    pub fn content(&self) -> Value {
        self.objects.iter().map(|(_, object)| object["stringData"].clone()).collect()
    }

    /// The volume `tls`, which only the server's group may read.
    pub fn volume(&self) -> Value {
        json!({ "name": "tls", "secret": { "secretName": self.secret_name, "defaultMode": 0o440 } })
    }
}

/// A Secret with a certificate, its key and the authority's certificate, in the form that Ingresses and others know.
pub fn tls_secret(app: &App, name: &str, authority: &Authority, issued: &Issued) -> Value {
    let data = json!({ "ca.crt": authority.certificate(), "tls.crt": issued.certificate, "tls.key": issued.key });
    let mut secret = app.secret(name, &data);
    secret["type"] = "kubernetes.io/tls".into();
    secret
}
