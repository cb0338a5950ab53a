//! An etcd of one member, or a cluster of three.
//!
//! Members find one another by the names that a headless Service gives them, also before they are ready. Each begins the
//! cluster with the same list of members; a member that has data ignores that list, and one that lost its data is refused
//! by the others until it is told to join (`clusterState: existing`). So no order of starts makes two clusters of one.
//! etcd makes that check only of members that are told to begin a cluster: while they are told to join, one that loses its
//! data comes back under its old ID with an empty log, which loses writes or ends the others. So that state is for the time
//! of a replacement alone, and the message says so.

mod credentials;
mod flags;
mod objects;

use mistletoe::{MistOutput, MistResult, ensure};

use credentials::Credentials;

mistletoe::types! { file = "mistletoe.yaml" }

/// The metadata of the package, for hosts in tests.
pub const METADATA: &str = include_str!("../mistletoe.yaml");

/// The port at which members answer clients.
pub const PORT: u16 = 2379;

impl Inputs {
    /// The name at which clients find a member.
    pub fn fqdn(&self) -> String {
        format!("{}.{}.svc.{}", self.name, self.namespace, self.cluster_domain)
    }

    fn member_count(&self) -> u32 {
        self.members.into()
    }

    /// The names of the members, which are those of their Pods.
    fn member_names(&self) -> impl Iterator<Item = String> {
        (0..self.member_count()).map(|number| format!("{}-{number}", self.name))
    }

    /// The name at which a member is found, also while it isn't ready.
    fn member_fqdn(&self, member: &str) -> String {
        format!("{member}.{}.{}.svc.{}", objects::members_name(self), self.namespace, self.cluster_domain)
    }

    /// The URL of each member, for clients.
    fn endpoints(&self) -> Vec<String> {
        let scheme = flags::scheme(self);
        self.member_names().map(|member| format!("{scheme}://{}:{PORT}", self.member_fqdn(&member))).collect()
    }
}

/// The objects and exports of one cluster.
///
/// # Errors
///
/// A setting is one that other objects rely on, users have no authority that could sign for them, or the host gives no keys.
pub fn generate(inputs: Inputs) -> MistResult {
    flags::check_settings(&inputs)?;
    ensure!(
        inputs.users.is_empty() || inputs.tls.enabled && inputs.tls.secret_name.is_none(),
        "inputs.users need certificates that are made here: enable `tls`, without `secretName`"
    );
    let credentials = Credentials::new(&inputs)?;
    let app = objects::app(&inputs);
    let mut output = MistOutput::new();
    for (path, secret) in &credentials.objects {
        output = output.with_object(path, secret)?;
    }
    output
        .with_object("members.yaml", &objects::members(&inputs, &credentials)?)?
        .with_object("service.yaml", &app.service("client", PORT))?
        .with_object("members-service.yaml", &objects::members_service(&inputs))?
        .with_object("network-policy.yaml", &objects::network_policy(&inputs))?
        .with_object("disruption-budget.yaml", &app.disruption_budget())?
        .with_message(message(&inputs, &credentials))
        .with_exports(&exports(&inputs, &credentials))
}

fn message(inputs: &Inputs, credentials: &Credentials) -> String {
    let access = access_message(inputs, credentials);
    match inputs.cluster_state {
        ClusterState::New => access,
        ClusterState::Existing => format!("{access}\n{}", joining_message(inputs)),
    }
}

/// For as long as members are told to join. The command keeps the other values, `members` among them.
fn joining_message(inputs: &Inputs) -> String {
    format!(
        "Set clusterState back to new as soon as all members are ready: until then, a member that loses its data comes back \
         without being refused, and writes that were answered may be lost. If {name} is a release of its own: mistctl \
         upgrade {name} -n {namespace} --reuse-values --set clusterState=new --wait",
        name = inputs.name,
        namespace = inputs.namespace
    )
}

fn access_message(inputs: &Inputs, credentials: &Credentials) -> String {
    let address = format!("etcd answers at {}://{}:{PORT}.", flags::scheme(inputs), inputs.fqdn());
    match (&credentials.root_secret, inputs.tls.enabled) {
        (Some(secret), _) => format!("{address} Clients need a certificate; root's is in the Secret {secret}"),
        (None, true) => {
            format!("{address} Clients need a certificate of the authority of the Secret {}", credentials.ca_secret)
        }
        (None, false) => {
            format!("{address} Everybody who can connect may do everything: nothing is encrypted, and nobody logs in")
        }
    }
}

fn exports(inputs: &Inputs, credentials: &Credentials) -> Exports {
    let tls = inputs.tls.enabled;
    let user = |username: &String| ExportedUser {
        username: username.clone(),
        secret: objects::user_secret_name(inputs, username),
    };
    Exports {
        fqdn: inputs.fqdn(),
        port: PORT,
        endpoints: inputs.endpoints(),
        pod_labels: objects::app(inputs).selector(),
        tls,
        ca_secret: tls.then(|| ExportedCaSecret::new(&credentials.ca_secret, "ca.crt")),
        root_secret: credentials.root_secret.clone(),
        users: inputs.users.iter().map(user).collect(),
    }
}

#[cfg(test)]
mod tests;
