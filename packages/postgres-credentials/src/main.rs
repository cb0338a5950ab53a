//! Users of a PostgreSQL database with passwords that stay: a Secret for each, and the server too if wanted.

mod inputs;
mod objects;

use inputs::Inputs;
use mistletoe::secret::Password;
use mistletoe::{MistOutput, MistResult, json, log, mistletoe_package};
use objects::User;

mistletoe_package! { file = "mistletoe.yaml" }

fn generate(inputs: Inputs) -> MistResult {
    let password = |name| Password::new(name).length(inputs.password_length).get();
    let mut exports = json!({ "secret": inputs.name });
    let user = User { name: &inputs.user, password: &password("user")? };
    let mut output =
        MistOutput::new().with_object("credentials.yaml", &objects::credentials(&inputs, &inputs.name, &user))?;
    if inputs.read_only_user {
        let name = inputs.read_only_name();
        let user = User { name: &format!("{}_read_only", inputs.user), password: &password("read-only")? };
        output = output.with_object("read-only.yaml", &objects::credentials(&inputs, &name, &user))?;
        exports["readOnlySecret"] = name.into();
    }
    if inputs.server.enabled {
        if !inputs.host.is_empty() {
            log::warn(format!("the Secret names the host {}, not the server that server.enabled adds", inputs.host));
        }
        output = output
            .with_object("scripts.yaml", &objects::scripts(&inputs))?
            .with_object("superuser.yaml", &objects::superuser(&inputs, &password("superuser")?))?
            .with_object("server.yaml", &objects::server(&inputs))?
            .with_object("service.yaml", &objects::service(&inputs))?;
    }
    output.set_message(format!(
        "Refer to the Secret {} with envFrom or secretKeyRef: username, password, database, host, port, uri, pgpass",
        inputs.name
    ));
    output.with_exports(&exports)
}

#[cfg(test)]
mod tests {
    use mistletoe::{Value, render};

    use super::*;

    // As a host gives them: with the schema's defaults.
    fn rendered(data: &str) -> MistOutput {
        let defaults = "name: shop, namespace: prod, user: app, database: app, host: '', port: 5432, sslMode: prefer, \
                        passwordLength: 32, readOnlyUser: false, server: {enabled: false, image: postgres, storage: 1Gi}";
        let mut all: Value = serde_norway::from_str(&format!("{{{defaults}}}")).unwrap();
        let given: Value = serde_norway::from_str(data).unwrap();
        all.as_object_mut().unwrap().extend(given.as_object().unwrap().clone());
        render(generate, &json!({ "apiVersion": "mistletoe.dev/v1", "kind": "MistInput", "data": all }).to_string())
            .unwrap()
    }

    fn object(output: &MistOutput, path: &str) -> Value {
        serde_norway::from_str(output.file(path).unwrap()).unwrap()
    }

    fn paths(output: &MistOutput) -> Vec<&str> {
        output.files().map(|(path, _)| path).collect()
    }

    #[test]
    fn the_uri_holds_what_the_other_keys_say() {
        let secret = object(&rendered("{port: 5433, sslMode: require}"), "credentials.yaml");
        let data = &secret["stringData"];
        let password = data["password"].as_str().unwrap();
        assert_eq!(password.len(), 32);
        assert_eq!(data["uri"], format!("postgresql://app:{password}@shop.prod.svc:5433/app?sslmode=require"));
        assert_eq!(data["pgpass"], format!("shop.prod.svc:5433:app:app:{password}\n"));
    }

    #[test]
    fn another_user_changes_nothing_of_the_first() {
        let (one, two) = (rendered("{}"), rendered("{readOnlyUser: true}"));
        assert_eq!(paths(&two), ["credentials.yaml", "read-only.yaml"]);
        assert_eq!(one.file("credentials.yaml"), two.file("credentials.yaml"));
        let data = &object(&two, "read-only.yaml")["stringData"];
        assert_eq!(data["username"], "app_read_only");
        assert_ne!(data["password"], object(&one, "credentials.yaml")["stringData"]["password"]);
        assert_eq!(two.exports().unwrap()["readOnlySecret"], "shop-read-only");
    }

    #[test]
    fn the_server_reads_every_password_from_its_secret() {
        let output = rendered("{readOnlyUser: true, server: {enabled: true, image: postgres, storage: 2Gi}}");
        let server = object(&output, "server.yaml");
        let container = &server["spec"]["template"]["spec"]["containers"][0];
        let secrets: Vec<&str> = container["env"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|variable| variable["valueFrom"]["secretKeyRef"]["name"].as_str())
            .collect();
        assert_eq!(secrets, ["shop-superuser", "shop", "shop-read-only"]);
        for secret in ["superuser.yaml", "credentials.yaml", "read-only.yaml"] {
            let password = object(&output, secret)["stringData"]["password"].as_str().unwrap().to_owned();
            for file in ["server.yaml", "scripts.yaml"] {
                assert!(!output.file(file).unwrap().contains(&password), "{file} holds the password of {secret}");
            }
        }
        assert_eq!(server["spec"]["selector"]["matchLabels"], object(&output, "service.yaml")["spec"]["selector"]);
        assert!(output.file("scripts.yaml").unwrap().contains("app_read_only"));
    }

    #[test]
    fn the_message_holds_no_password() {
        let output = rendered("{}");
        let secret = object(&output, "credentials.yaml");
        assert!(!output.message().unwrap().contains(secret["stringData"]["password"].as_str().unwrap()));
    }
}
