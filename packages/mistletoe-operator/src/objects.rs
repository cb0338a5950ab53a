//! The Kubernetes objects.

use app_objects::{App, restricted};
use mistletoe::{Value, json};

use crate::{Inputs, LogFormat, PORT, Releases, WEBHOOK_PORT, files};

const RBAC: &str = "rbac.authorization.k8s.io";
/// Compiled code, packages, and what is remembered of them; nothing that a Pod needs to find again.
const HOME: &str = "/var/lib/mistletoe";
/// Of a volume, for what is no cache: pins, signers, lists of packages.
const ROOM_MIB: u32 = 512;
/// How many fetches of git run at a time: kFetchesAtOnce in src/registry/fetch_turn.h.
const FETCHES: u32 = 4;
/// The most that is fetched of one commit: kLargestPack in src/registry/git.h.
const LARGEST_PACK_MIB: u32 = 4096;
/// The limits of evaluating a blueprint: kEngineLimits in src/package/renderer_options.h.
const GUEST_MIB: u32 = 512;

/// The size of the volume. What is being written or read can't go from the caches, and a Pod whose volume is full is evicted.
/// So beside the caches and ROOM_MIB there is
/// - for packages, compiled code and renders the Pod's memory: they are written from there, and are in it meanwhile, however
///   many workers there are;
/// - for git, which writes to the disk itself, L + 2 × FETCHES × L, as fetch_turn.h says. L is the most that is fetched of one
///   commit, three eighths of the caches or less.
fn volume_mib(inputs: &Inputs) -> u32 {
    let commit = (inputs.cache_mib * 3).div_ceil(8).min(LARGEST_PACK_MIB);
    inputs.cache_mib + ROOM_MIB + inputs.memory_mib + (1 + 2 * FETCHES) * commit
}

/// This operator among the installs.
pub fn app(inputs: &Inputs) -> App<'_> {
    App { package: "mistletoe-operator", component: "operator", install: &inputs.name }
}

pub fn service_account(inputs: &Inputs) -> Value {
    json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": app(inputs).metadata(&inputs.name) })
}

fn rule(group: &str, resource: &str, verbs: &[&str]) -> Value {
    json!({ "apiGroups": [group], "resources": [resource], "verbs": verbs })
}

/// The right to act as the named accounts.
fn impersonation(inputs: &Inputs) -> Option<Value> {
    if inputs.accounts.is_empty() {
        return None;
    }
    let mut act = rule("", "serviceaccounts", &["impersonate"]);
    act["resourceNames"] = json!(inputs.accounts);
    Some(act)
}

/// The rights to Releases and their Events.
fn release_rules(inputs: &Inputs) -> Vec<Value> {
    let mut rules = vec![
        rule("mistletoe.dev", "releases", &["list", "watch", "patch"]),
        rule("mistletoe.dev", "releases/status", &["patch"]),
        rule("", "events", &["create"]),
    ];
    rules.extend(impersonation(inputs));
    rules
}

fn lease_verbs(inputs: &Inputs) -> &'static [&'static str] {
    if inputs.sharding { &["get", "list", "create", "update", "delete"] } else { &["get", "create", "update"] }
}

/// The rights to the webhook's keys, which are in a Secret of its own, and to write what converts in ConfigMaps.
fn conversion_rules(inputs: &Inputs) -> Vec<Value> {
    let mut keys = rule("", "secrets", &["get", "list", "watch", "update"]);
    keys["resourceNames"] = json!([format!("{}-webhook", inputs.name)]);
    // The API server knows no names of what isn't there yet.
    vec![rule("", "configmaps", &["create"]), keys, rule("", "secrets", &["create"])]
}

/// For probes and metrics, and for the API server if it converts.
pub fn service(inputs: &Inputs) -> Value {
    let mut service = app(inputs).service("http", PORT);
    if inputs.conversion && let Some(ports) = service["spec"]["ports"].as_array_mut() {
        ports.push(json!({ "name": "webhook", "port": 443, "targetPort": "webhook", "protocol": "TCP" }));
    }
    service
}

/// The rights to blueprints, their Events, the Leases, and the accounts of blueprints.
pub fn role(inputs: &Inputs) -> Value {
    let mut rules = vec![
        rule("", "configmaps", &["list", "watch", "patch"]),
        rule("coordination.k8s.io", "leases", lease_verbs(inputs)),
    ];
    if inputs.conversion {
        rules.extend(conversion_rules(inputs));
    }
    match inputs.releases {
        Releases::Own => rules.extend(release_rules(inputs)),
        Releases::None | Releases::All => {
            rules.push(rule("", "events", &["create"]));
            rules.extend(impersonation(inputs));
        }
    }
    json!({
        "apiVersion": format!("{RBAC}/v1"),
        "kind": "Role",
        "metadata": app(inputs).metadata(&inputs.name),
        "rules": rules,
    })
}

pub fn role_binding(inputs: &Inputs) -> Value {
    binding_to(inputs, &app(inputs).metadata(&inputs.name))
}

/// To the Role of that name and namespace.
fn binding_to(inputs: &Inputs, metadata: &Value) -> Value {
    json!({
        "apiVersion": format!("{RBAC}/v1"),
        "kind": "RoleBinding",
        "metadata": metadata,
        "roleRef": { "apiGroup": RBAC, "kind": "Role", "name": metadata["name"] },
        "subjects": [{ "kind": "ServiceAccount", "name": inputs.name, "namespace": inputs.namespace }],
    })
}

/// In a watched namespace, where the operator of another namespace may have a Role too.
fn watched_metadata(inputs: &Inputs, namespace: &str) -> Value {
    let mut metadata = app(inputs).metadata(&cluster_name(inputs));
    metadata["namespace"] = namespace.into();
    metadata
}

/// The rights to the Releases of one watched namespace, and to their accounts.
pub fn watched_role(inputs: &Inputs, namespace: &str) -> Value {
    json!({
        "apiVersion": format!("{RBAC}/v1"),
        "kind": "Role",
        "metadata": watched_metadata(inputs, namespace),
        "rules": release_rules(inputs),
    })
}

pub fn watched_role_binding(inputs: &Inputs, namespace: &str) -> Value {
    binding_to(inputs, &watched_metadata(inputs, namespace))
}

/// The name of what isn't in a namespace: two operators in different ones don't share it.
fn cluster_name(inputs: &Inputs) -> String {
    format!("{}-{}", inputs.namespace, inputs.name)
}

/// The rights to the Releases of all namespaces, to their accounts, to see that a namespace goes, and that a kind
/// comes.
pub fn cluster_role(inputs: &Inputs) -> Value {
    let mut rules = release_rules(inputs);
    rules.push(rule("", "namespaces", &["get"]));
    rules.push(rule("apiextensions.k8s.io", "customresourcedefinitions", &["list", "watch"]));
    json!({
        "apiVersion": format!("{RBAC}/v1"),
        "kind": "ClusterRole",
        "metadata": app(inputs).metadata(&cluster_name(inputs)),
        "rules": rules,
    })
}

pub fn cluster_role_binding(inputs: &Inputs) -> Value {
    json!({
        "apiVersion": format!("{RBAC}/v1"),
        "kind": "ClusterRoleBinding",
        "metadata": app(inputs).metadata(&cluster_name(inputs)),
        "roleRef": { "apiGroup": RBAC, "kind": "ClusterRole", "name": cluster_name(inputs) },
        "subjects": [{ "kind": "ServiceAccount", "name": inputs.name, "namespace": inputs.namespace }],
    })
}

pub fn deployment(inputs: &Inputs) -> Value {
    let home = json!({ "sizeLimit": format!("{}Mi", volume_mib(inputs)) });
    let mut volumes = vec![json!({ "name": "home", "emptyDir": home }), json!({ "name": "tmp", "emptyDir": {} })];
    volumes.extend(files::volumes(inputs));
    let mut spec = json!({
        "serviceAccountName": inputs.name,
        "enableServiceLinks": false,
        "securityContext": {
            "runAsNonRoot": true,
            "runAsUser": 65532,
            "runAsGroup": 65532,
            "fsGroup": 65532,
            "seccompProfile": { "type": "RuntimeDefault" },
        },
        "topologySpreadConstraints": app(inputs).spread(),
        "containers": [container(inputs)],
        "volumes": volumes,
    });
    if !inputs.image_pull_secrets.is_empty() {
        spec["imagePullSecrets"] = inputs.image_pull_secrets.iter().map(|name| json!({ "name": name })).collect();
    }
    if let Some(class) = &inputs.priority_class_name {
        spec["priorityClassName"] = class.as_str().into();
    }
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": app(inputs).metadata(&inputs.name),
        "spec": {
            "replicas": inputs.replicas,
            "selector": { "matchLabels": app(inputs).selector() },
            "strategy": strategy(inputs),
            "template": { "metadata": { "labels": app(inputs).labels() }, "spec": spec },
        },
    })
}

/// A leader of before doesn't know of replicas that share, nor they of it. Without sharding it is what the server fills in,
/// written out: a default belongs to nobody, so it would stay beside `Recreate`, which allows none.
fn strategy(inputs: &Inputs) -> Value {
    if inputs.sharding {
        return json!({ "type": "Recreate" });
    }
    json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": "25%", "maxUnavailable": "25%" } })
}

fn container(inputs: &Inputs) -> Value {
    let memory = format!("{}Mi", inputs.memory_mib);
    // A volume is writable for everybody, and nobody else is in the Pod.
    let mut environment = vec![
        json!({ "name": "MIST_HOME_LOCATION", "value": HOME }),
        json!({ "name": "MIST_SAFE_DIRECTORY", "value": HOME }),
        json!({ "name": "MIST_CACHE_LIMIT", "value": format!("{}Mi", inputs.cache_mib) }),
    ];
    environment.extend(files::environment(inputs));
    let mut mounts = vec![json!({ "name": "home", "mountPath": HOME }), json!({ "name": "tmp", "mountPath": "/tmp" })];
    mounts.extend(files::mounts(inputs));
    let mut ports = vec![json!({ "name": "http", "containerPort": PORT, "protocol": "TCP" })];
    if inputs.conversion {
        ports.push(json!({ "name": "webhook", "containerPort": WEBHOOK_PORT, "protocol": "TCP" }));
    }
    json!({
        "name": "operator",
        "image": inputs.image,
        "command": ["mistletoe-operator"],
        "args": arguments(inputs),
        "env": environment,
        "ports": ports,
        "readinessProbe": { "httpGet": { "path": "/readyz", "port": "http" }, "periodSeconds": 5 },
        "livenessProbe": { "httpGet": { "path": "/healthz", "port": "http" }, "periodSeconds": 10, "failureThreshold": 6 },
        "resources": { "requests": { "cpu": inputs.cpu, "memory": "128Mi" }, "limits": { "memory": memory } },
        "securityContext": restricted(),
        "volumeMounts": mounts,
    })
}

fn arguments(inputs: &Inputs) -> Vec<String> {
    let mut arguments = vec![
        format!("--namespace={}", inputs.namespace),
        format!("--listen=:{PORT}"),
        if inputs.sharding { "--sharding" } else { "--leader-elect" }.into(),
        format!("--lease-duration={}s", inputs.lease_seconds),
    ];
    arguments.extend(inputs.default_account.iter().map(|account| format!("--default-service-account={account}")));
    arguments.extend(inputs.otlp_endpoint.iter().map(|url| format!("--otlp-endpoint={url}")));
    arguments.extend(inputs.watch_namespaces.iter().map(|namespace| format!("--watch-namespace={namespace}")));
    match inputs.releases {
        Releases::None => {}
        Releases::Own => arguments.push("--releases=own".into()),
        Releases::All => arguments.push("--releases=all".into()),
    }
    arguments.extend(inputs.release_selector.iter().map(|labels| format!("--release-selector={labels}")));
    arguments.extend(inputs.release_workers.iter().map(|number| format!("--release-workers={number}")));
    arguments.extend(inputs.workers.iter().map(|number| format!("--workers={number}")));
    arguments.extend(memory_limit(inputs).map(|mib| format!("--limit-memory={mib}")));
    arguments.extend(inputs.limit_seconds.iter().map(|seconds| format!("--limit-time={seconds}s")));
    if inputs.conversion {
        arguments.push(format!("--webhook-listen=:{WEBHOOK_PORT}"));
        arguments.push(format!("--webhook-service={}", inputs.name));
    }
    if inputs.log_format == LogFormat::Json {
        arguments.push("--log-format=json".into());
    }
    if inputs.verbose {
        arguments.push("--verbose".into());
    }
    arguments
}

/// The limits of a guest of the sandbox, where they aren't the operator's own defaults. A guest has to reach its limit before the
/// Pod reaches that of its memory, which would end the replica, and not the guest.
fn memory_limit(inputs: &Inputs) -> Option<u32> {
    let fits = inputs.memory_mib / 2;
    inputs.limit_memory_mib.map(u32::from).or_else(|| (fits < GUEST_MIB).then_some(fits))
}

/// Anybody may read probes and metrics; nobody can name the API server, which asks the webhook. It connects to the API server, whose address no policy can name.
pub fn network_policy(inputs: &Inputs) -> Value {
    let mut ports = vec![json!({ "port": "http", "protocol": "TCP" })];
    if inputs.conversion {
        ports.push(json!({ "port": "webhook", "protocol": "TCP" }));
    }
    json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": app(inputs).metadata(&inputs.name),
        "spec": {
            "podSelector": { "matchLabels": app(inputs).selector() },
            "policyTypes": ["Ingress"],
            "ingress": [{ "ports": ports }],
        },
    })
}
