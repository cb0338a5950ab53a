//! nginx for a static site, as a reverse proxy, or both.
//!
//! The image needs no entry point of its own: a script writes down what only the Pod knows (its name servers, whether it has
//! IPv6) and becomes nginx. Names of other servers are looked up when a request needs them, so that nginx starts before
//! they do and follows them.

mod config;
mod objects;
mod snippet;

use certificates::ServerTls;
use mistletoe::{Error, ErrorContext as _, MistOutput, MistResult, ensure};

mistletoe::types! { file = "mistletoe.yaml" }

/// The metadata of the package, for hosts in tests.
pub const METADATA: &str = include_str!("../mistletoe.yaml");

/// The ports of the Service.
pub const PORT: u16 = 80;
pub const TLS_PORT: u16 = 443;

/// The size of files that fit into a ConfigMap, with room for its other fields.
const MOST_FILES_BYTES: usize = 1_000_000;

impl Inputs {
    /// The name at which clients find the servers.
    pub fn fqdn(&self) -> String {
        format!("{}.{}.svc.{}", self.name, self.namespace, self.cluster_domain)
    }

    fn port(&self) -> u16 {
        if self.tls.enabled { TLS_PORT } else { PORT }
    }

    fn url(&self) -> String {
        format!("{}://{}", if self.tls.enabled { "https" } else { "http" }, self.fqdn())
    }
}

/// The objects and exports of the servers.
///
/// # Errors
///
/// Inputs contradict one another, a snippet isn't whole, or the host gives no keys.
pub fn generate(inputs: Inputs) -> MistResult {
    check(&inputs)?;
    let tls = tls(&inputs)?;
    let files = config::files(&inputs);
    let app = objects::app(&inputs);
    let mut output = MistOutput::new().with_object("config.yaml", &objects::config(&inputs, &files))?;
    if !inputs.site.files.is_empty() {
        output = output.with_object("site.yaml", &objects::site(&inputs))?;
    }
    if let Some(tls) = &tls {
        output = tls.add_to(output)?;
    }
    output = output
        .with_object("servers.yaml", &objects::servers(&inputs, &files, tls.as_ref())?)?
        .with_object("service.yaml", &objects::service(&inputs))?
        .with_object("network-policy.yaml", &objects::network_policy(&inputs))?;
    if inputs.replicas > 1 {
        output = output.with_object("disruption-budget.yaml", &app.disruption_budget())?;
    }
    output.with_message(format!("nginx answers at {}", inputs.url())).with_exports(&exports(&inputs, tls.as_ref()))
}

fn check(inputs: &Inputs) -> Result<(), Error> {
    let site = &inputs.site;
    ensure!(
        site.files.is_empty() || site.config_map.is_none(),
        "inputs.site has both `files` and `configMap`; the site can come from one of them"
    );
    for path in site.files.keys() {
        ensure!(
            path.split('/').all(|part| !part.starts_with("..") && part != "."),
            "inputs.site.files: `{path}` isn't the path of a file below the site's root"
        );
    }
    let size: usize = site.files.iter().map(|(path, text)| path.len() + text.len()).sum();
    ensure!(
        size <= MOST_FILES_BYTES,
        "inputs.site.files has {size} bytes, and a ConfigMap holds {MOST_FILES_BYTES} of them: put the files into an image, \
         and name their folder as `site.root`"
    );
    for (i, proxy) in inputs.proxies.iter().enumerate() {
        ensure!(
            inputs.proxies[..i].iter().all(|known| known.path != proxy.path),
            "inputs.proxies has `{}` twice; one server answers a path",
            proxy.path
        );
    }
    for (name, snippet) in [("http", &inputs.snippets.http), ("server", &inputs.snippets.server)] {
        snippet::check(snippet).with_context(|| format!("inputs.snippets.{name} isn't whole"))?;
    }
    Ok(())
}

fn tls(inputs: &Inputs) -> Result<Option<ServerTls>, Error> {
    let Inputs { namespace, cluster_domain, tls, .. } = inputs;
    if !tls.enabled {
        return Ok(None);
    }
    let place = (namespace.as_str(), cluster_domain.as_str());
    let (given, days) = (tls.secret_name.as_deref(), tls.valid_days.into());
    ServerTls::of_service(&objects::app(inputs), place, given, tls.names.clone(), days).map(Some)
}

fn exports(inputs: &Inputs, tls: Option<&ServerTls>) -> Exports {
    Exports {
        fqdn: inputs.fqdn(),
        port: inputs.port(),
        url: inputs.url(),
        pod_labels: objects::app(inputs).selector(),
        tls: tls.is_some(),
        ca_secret: tls.map(|tls| ExportedCaSecret::new(&tls.ca_secret_name, "ca.crt")),
    }
}

#[cfg(test)]
mod tests;
