//! A small web server that shows a message: Deployment, Service and ConfigMap, and a second ConfigMap on request.

mod inputs;
mod objects;

use inputs::Inputs;
use mistletoe::{MistOutput, MistResult, json, mistletoe_package};

mistletoe_package! { file = "mistletoe.yaml" }

fn generate(inputs: Inputs) -> MistResult {
    let content = objects::content(&inputs);
    let extra = inputs.features.extra.then(|| objects::extra(&inputs));
    let mut output = MistOutput::new()
        .with_object("content.yaml", &content)?
        .with_object("deployment.yaml", &objects::deployment(&inputs, &content, extra.as_ref()))?
        .with_object("service.yaml", &objects::service(&inputs))?
        .with_exports(&json!({ "service": inputs.name, "port": inputs.port }))?
        .with_message(format!(
            "To see the page: kubectl port-forward service/{} 8080:{}, then http://localhost:8080",
            inputs.name, inputs.port
        ));
    if let Some(extra) = &extra {
        output = output.with_object("extra.yaml", extra)?;
    }
    Ok(output)
}

#[cfg(test)]
mod tests {
    use mistletoe::{Value, render};

    use super::*;

    fn rendered(data: &str) -> MistOutput {
        render(generate, &format!("{{apiVersion: mistletoe.dev/v1, kind: MistInput, data: {data}}}")).unwrap()
    }

    fn object(output: &MistOutput, path: &str) -> Value {
        serde_norway::from_str(output.file(path).unwrap()).unwrap()
    }

    fn paths(output: &MistOutput) -> Vec<&str> {
        output.files().map(|(path, _)| path).collect()
    }

    #[test]
    fn makes_three_objects_by_default() {
        let output = rendered("{name: shop}");
        assert_eq!(paths(&output), ["content.yaml", "deployment.yaml", "service.yaml"]);
        let deployment = object(&output, "deployment.yaml");
        assert_eq!(deployment["metadata"]["name"], "shop");
        assert_eq!(deployment["spec"]["replicas"], 2);
        assert_eq!(
            deployment["spec"]["selector"]["matchLabels"],
            object(&output, "service.yaml")["spec"]["selector"],
            "the Service finds the Pods"
        );
    }

    #[test]
    fn rolls_the_pods_when_what_they_serve_changes() {
        let checksum = |data: &str| {
            object(&rendered(data), "deployment.yaml")["spec"]["template"]["metadata"]["annotations"].clone()
        };
        assert_eq!(checksum("{name: shop}"), checksum("{name: shop, replicas: 3, port: 81}"));
        assert_ne!(checksum("{name: shop}"), checksum("{name: shop, message: Bye}"));
        assert_ne!(checksum("{name: shop}"), checksum("{name: shop, features: {extra: true}}"));
    }

    #[test]
    fn adds_a_config_map_on_request() {
        let output = rendered("{name: shop, features: {extra: true}}");
        assert!(paths(&output).contains(&"extra.yaml"));
        let volumes = &object(&output, "deployment.yaml")["spec"]["template"]["spec"]["volumes"];
        assert_eq!(volumes[0]["projected"]["sources"][1]["configMap"]["name"], "shop-extra");
    }

    #[test]
    fn shows_the_message_as_text() {
        let output = rendered(r#"{name: shop, message: "<script> & \"co\""}"#);
        let page = object(&output, "content.yaml")["data"]["index.html"].as_str().unwrap().to_owned();
        assert!(page.contains("<p>&lt;script&gt; &amp; &quot;co&quot;</p>"), "{page}");
    }

    #[test]
    fn names_a_value_that_does_not_fit() {
        let error = render(
            generate,
            "{apiVersion: mistletoe.dev/v1, kind: MistInput, data: {name: shop, features: {extar: true}}}",
        )
        .unwrap_err();
        assert!(error.to_string().starts_with("the input `features.extar` doesn't fit this package"), "{error}");
    }

    #[test]
    fn reads_as_people_would_write_it() {
        assert_eq!(
            rendered("{name: shop}").file("service.yaml"),
            Some(
                "apiVersion: v1
kind: Service
metadata:
  name: shop
  labels:
    app.kubernetes.io/component: web
    app.kubernetes.io/instance: shop
    app.kubernetes.io/managed-by: mistletoe
    app.kubernetes.io/name: hello-web
spec:
  ports:
  - name: http
    port: 80
    protocol: TCP
    targetPort: http
  selector:
    app.kubernetes.io/instance: shop
    app.kubernetes.io/name: hello-web
  type: ClusterIP
"
            )
        );
    }
}
