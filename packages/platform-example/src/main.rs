//! A platform made of other packages: it calls a database and a web server, and hands what they export to a service.

use mistletoe::{MistOutput, MistResult, Value, call, json, mistletoe_package};
use serde::Deserialize;

mistletoe_package! { file = "mistletoe.yaml" }

#[derive(Deserialize)]
struct Inputs {
    name: String,
    replicas: u32,
    image: String,
}

#[derive(Deserialize)]
struct Database {
    secret: String,
}

#[derive(Deserialize)]
struct Web {
    service: String,
    port: u16,
}

impl Web {
    fn address(&self) -> String {
        format!("{}:{}", self.service, self.port)
    }
}

fn generate(inputs: Inputs) -> MistResult {
    let name = &inputs.name;
    let database = call("database", &json!({ "name": format!("{name}-db"), "server": { "enabled": true } }))?;
    let web = call(
        "web",
        &json!({ "name": format!("{name}-web"), "replicas": inputs.replicas, "message": format!("Welcome to {name}") }),
    )?;
    let (credentials, pages): (Database, Web) = (database.exports()?, web.exports()?);
    MistOutput::new()
        .with_files_from("database", &database)
        .with_files_from("web", &web)
        .with_object("service.yaml", &service(&inputs, &credentials, &pages))?
        .with_exports(&json!({ "databaseSecret": credentials.secret, "web": pages.address() }))
}

/// It is given the database by its Secret, never by the password itself.
fn service(inputs: &Inputs, database: &Database, web: &Web) -> Value {
    let labels = json!({ "app.kubernetes.io/name": "mic-a", "app.kubernetes.io/instance": inputs.name });
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": format!("{}-mic-a", inputs.name), "labels": labels },
        "spec": {
            "replicas": inputs.replicas,
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": {
                    "automountServiceAccountToken": false,
                    "securityContext": {
                        "runAsNonRoot": true,
                        "runAsUser": 65534,
                        "seccompProfile": { "type": "RuntimeDefault" },
                    },
                    "containers": [{
                        "name": "mic-a",
                        "image": inputs.image,
                        "command": ["sh", "-c", "while wget -q -O - \"http://$WEB\"; do sleep 60; done"],
                        "env": [
                            { "name": "WEB", "value": web.address() },
                            {
                                "name": "DATABASE_URL",
                                "valueFrom": { "secretKeyRef": { "name": database.secret, "key": "uri" } },
                            },
                        ],
                        "resources": {
                            "requests": { "cpu": "10m", "memory": "16Mi" },
                            "limits": { "memory": "64Mi" },
                        },
                        "securityContext": {
                            "allowPrivilegeEscalation": false,
                            "capabilities": { "drop": ["ALL"] },
                            "readOnlyRootFilesystem": true,
                        },
                    }],
                },
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_service_refers_to_the_secret_and_the_web_server() {
        let inputs = Inputs { name: "shop".into(), replicas: 2, image: "busybox".into() };
        let database = Database { secret: "shop-db".into() };
        let web = Web { service: "shop-web".into(), port: 80 };
        let container = &service(&inputs, &database, &web)["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(container["env"][0]["value"], "shop-web:80");
        assert_eq!(container["env"][1]["valueFrom"]["secretKeyRef"]["name"], "shop-db");
    }
}
