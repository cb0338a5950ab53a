//! What a package says of itself: `mistletoe.yaml`, `K3.yaml`, `values.yaml`, `values.schema.json`.

use serde_json::{Value, json};

use crate::answer::{Failure, Place};
use crate::tree::Tree;
use crate::{Object, yaml};

/// What a package is, as far as it says so.
#[derive(Clone, Debug, Default)]
pub struct Package {
    pub name: Option<String>,
    pub version: Option<String>,
    pub description: Option<String>,
    pub home: Option<String>,
    pub maintainers: Vec<String>,
    /// The JSON Schema of its values: as given, or derived from its defaults.
    pub inputs: Option<Value>,
    /// Its values, unless the user gives others.
    pub defaults: Object,
    /// `spec.engineOptions` of `mistletoe.yaml`.
    pub options: Object,
    /// What its user should hear at each render.
    pub warnings: Vec<String>,
}

impl Package {
    pub fn read(tree: &Tree) -> Result<Self, Failure> {
        let mut package = Self::default();
        if let Some(k3) = object(tree, "K3.yaml")? {
            package.read_k3(k3, tree);
        }
        if let Some(document) = object(tree, "mistletoe.yaml")? {
            package.read_mistletoe(document);
        }
        match object(tree, "values.yaml")? {
            // A default of null is a value that may be given, nothing to remove.
            Some(values) if package.defaults.is_empty() => package.defaults = values,
            Some(values) => overlay(&mut package.defaults, values),
            None => {}
        }
        if package.inputs.is_none() {
            package.inputs = match tree.text("values.schema.json") {
                Some(text) => Some(read_schema(text?)?),
                None if package.defaults.is_empty() => None,
                None => Some(schema_of(&package.defaults)),
            };
        }
        Ok(package)
    }

    /// The Kubernetes Package Manager's file: <https://github.com/deis/helm>, before it had that name.
    fn read_k3(&mut self, mut k3: Object, tree: &Tree) {
        self.take_description(&mut k3);
        self.name = text(k3.get("name"));
        if let Some(Value::Object(values)) = k3.remove("values") {
            self.defaults = values;
        }
        for dependency in k3.get("dependencies").and_then(Value::as_array).into_iter().flatten() {
            let name = text(dependency.get("name")).unwrap_or_default();
            let version = text(dependency.get("version")).map(|version| format!(" ({version})")).unwrap_or_default();
            self.warnings.push(format!("this package needs {name}{version}, which has to be installed by itself"));
        }
        if tree.contains("scripts/pre-install.py") {
            self.warnings.push(
                "scripts/pre-install.py is not run: packages run nothing on this machine; give with -f what it would \
                 pass to the templates"
                    .into(),
            );
        }
    }

    fn read_mistletoe(&mut self, mut document: Object) {
        if let Some(name) = text(document.get("metadata").and_then(|metadata| metadata.get("name"))) {
            self.name = Some(name);
        }
        let Some(Value::Object(mut spec)) = document.remove("spec") else { return };
        self.take_description(&mut spec);
        if let Some(inputs) = spec.remove("inputs").filter(|inputs| !inputs.is_null()) {
            self.inputs = Some(inputs);
        }
        if let Some(Value::Object(options)) = spec.remove("engineOptions") {
            self.options = options;
        }
    }

    fn take_description(&mut self, from: &mut Object) {
        let take = |key: &str, to: &mut Option<String>| {
            if let Some(found) = text(from.get(key)) {
                *to = Some(found);
            }
        };
        take("version", &mut self.version);
        take("description", &mut self.description);
        take("home", &mut self.home);
        if let Some(Value::Array(maintainers)) = from.remove("maintainers") {
            self.maintainers = maintainers.iter().filter_map(maintainer).collect();
        }
    }

    /// The defaults, and over them what the user gave: objects are merged, null removes, everything else replaces.
    pub fn values(&self, data: &Object) -> Object {
        let mut values = self.defaults.clone();
        overlay(&mut values, data.clone());
        values
    }

    /// As templates see it.
    pub fn as_value(&self) -> Value {
        // What isn't known isn't there, so that a strict template says so.
        let known = [("name", &self.name), ("version", &self.version)];
        known.into_iter().filter_map(|(key, value)| Some((key, value.as_ref()?.as_str()))).collect()
    }

    /// As `inspect` answers.
    pub fn to_json(&self) -> Value {
        let mut json = json!({ "maintainers": self.maintainers, "inputs": self.inputs });
        for (key, value) in
            [("name", &self.name), ("version", &self.version), ("description", &self.description), ("home", &self.home)]
        {
            if let Some(value) = value {
                json[key] = json!(value);
            }
        }
        json
    }

    /// An option that is true or false.
    pub fn flag(&self, name: &str, default: bool) -> Result<bool, Failure> {
        match self.options.get(name) {
            None => Ok(default),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(other) => Err(refuse_option(format!("the option {name} of the engine is true or false, not {other}"))),
        }
    }

    /// An option that is one of a few words.
    pub fn choice<'a>(&self, name: &str, words: &[&'a str]) -> Result<&'a str, Failure> {
        let Some(given) = self.options.get(name) else { return Ok(words[0]) };
        words.iter().find(|word| given == *word).copied().ok_or_else(|| {
            refuse_option(format!("the option {name} of the engine is one of {}, not {given}", words.join(", ")))
        })
    }

    /// Refuses options that the engine doesn't have: a mistyped one would be as if it weren't there.
    pub fn refuse_other_options(&self, known: &[&str]) -> Result<(), Failure> {
        match self.options.keys().find(|name| !known.contains(&name.as_str())) {
            Some(name) => {
                Err(refuse_option(format!("the engine has no option {name}; its options are {}", known.join(", "))))
            }
            None => Ok(()),
        }
    }
}

fn refuse_option(message: String) -> Failure {
    Failure::new(message).at(Place::file("mistletoe.yaml"))
}

/// Lays one object over another.
pub fn overlay(under: &mut Object, over: Object) {
    for (key, value) in over {
        match (under.get_mut(&key), value) {
            (_, Value::Null) => {
                under.shift_remove(&key);
            }
            (Some(Value::Object(under)), Value::Object(over)) => overlay(under, over),
            (Some(Value::Null) | None, Value::Object(over)) => {
                let mut new = Object::new();
                overlay(&mut new, over);
                under.insert(key, Value::Object(new));
            }
            (_, value) => {
                under.insert(key, value);
            }
        }
    }
}

fn object(tree: &Tree, path: &str) -> Result<Option<Object>, Failure> {
    tree.text(path).map(|text| yaml::parse_object(text?, path)).transpose()
}

fn text(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// `Ada <ada@example.com>`, however it was written.
fn maintainer(value: &Value) -> Option<String> {
    let name = text(Some(value)).or_else(|| text(value.get("name")));
    let address = text(value.get("email")).or_else(|| text(value.get("url")));
    match (name, address) {
        (Some(name), Some(address)) => Some(format!("{name} <{address}>")),
        (name, address) => name.or(address),
    }
}

fn read_schema(text: &str) -> Result<Value, Failure> {
    serde_json::from_str(text).map_err(|error| {
        Failure::new(format!("values.schema.json is not JSON: {error}")).at(Place::at(
            "values.schema.json",
            error.line(),
            error.column(),
        ))
    })
}

/// A JSON Schema that the defaults fit, with them inside; it allows other keys, and any type where the default is null.
pub fn schema_of(defaults: &Object) -> Value {
    let properties: Object = defaults.iter().map(|(key, value)| (key.clone(), property(value))).collect();
    json!({ "type": "object", "properties": properties })
}

fn property(value: &Value) -> Value {
    let kind = match value {
        Value::Null => return json!({ "default": null }),
        Value::Object(object) if !object.is_empty() => return schema_of(object),
        Value::Object(_) => "object",
        Value::Array(_) => "array",
        Value::String(_) => "string",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
    };
    json!({ "type": kind, "default": value })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<const N: usize>(files: [(&str, &str); N]) -> Package {
        Package::read(&Tree::from(files)).unwrap()
    }

    #[test]
    fn reads_k3() {
        let package = read([
            (
                "K3.yaml",
                "name: ponycorn\nhome: http://x\nversion: 1.0.3\ndescription: The server\nmaintainers:\n\
                 - Matt <m@x>\n- {name: Ada, email: a@x}\ndependencies:\n- {name: nginx, version: 1.9 < x <= 1.10}\n\
                 values: {replicas: 1, image: {tag: a}}\n",
            ),
            ("values.yaml", "image: {name: web}"),
            ("scripts/pre-install.py", ""),
        ]);
        assert_eq!(package.name.as_deref(), Some("ponycorn"));
        assert_eq!(package.maintainers, ["Matt <m@x>", "Ada <a@x>"]);
        assert_eq!(json!(package.defaults), json!({"replicas": 1, "image": {"tag": "a", "name": "web"}}));
        assert!(package.warnings[0].contains("nginx (1.9 < x <= 1.10)"));
        assert!(package.warnings[1].starts_with("scripts/pre-install.py"));
        assert_eq!(package.to_json()["inputs"]["properties"]["image"]["properties"]["tag"]["default"], "a");
    }

    #[test]
    fn reads_mistletoe_yaml() {
        let package = read([(
            "mistletoe.yaml",
            "apiVersion: mistletoe.dev/v1\nkind: MistPackage\nmetadata: {name: shop}\n\
             spec: {version: 0.1.0, inputs: {type: object}, engine: jinja, engineOptions: {trimBlocks: true}}",
        )]);
        assert_eq!((package.name.as_deref(), package.version.as_deref()), (Some("shop"), Some("0.1.0")));
        assert_eq!(package.inputs, Some(json!({"type": "object"})));
        assert!(package.flag("trimBlocks", false).unwrap());
        assert!(package.refuse_other_options(&["a", "b"]).unwrap_err().message.ends_with("its options are a, b"));
        assert!(package.choice("trimBlocks", &["a"]).unwrap_err().message.contains("is one of a, not true"));
    }

    #[test]
    fn lays_values_over_defaults() {
        let package = read([("values.yaml", "a: {b: 1, c: 2}\nd: [1]\ne: null\nf: 1")]);
        let Value::Object(data) = json!({"a": {"b": null, "x": {"y": null}}, "d": [2], "e": 5, "f": null, "name": "n"})
        else {
            unreachable!()
        };
        assert_eq!(json!(package.values(&data)), json!({"a": {"c": 2, "x": {}}, "d": [2], "e": 5, "name": "n"}));
    }

    #[test]
    fn derives_a_schema() {
        let package = read([("values.yaml", "a: 1\nb: 1.5\nc: x\nd: {}\ne: [1]\nf: null\ng: {h: yes}")]);
        assert_eq!(
            package.inputs.unwrap()["properties"],
            json!({
                "a": {"type": "integer", "default": 1}, "b": {"type": "number", "default": 1.5},
                "c": {"type": "string", "default": "x"}, "d": {"type": "object", "default": {}},
                "e": {"type": "array", "default": [1]}, "f": {"default": null},
                "g": {"type": "object", "properties": {"h": {"type": "boolean", "default": true}}},
            })
        );
    }

    #[test]
    fn names_the_place_of_what_is_wrong() {
        let failure = Package::read(&Tree::from([("values.yaml", "a: 1\na: 2")])).unwrap_err();
        assert_eq!(failure.place, Some(Place::at("values.yaml", 2, 1)));
        let failure = Package::read(&Tree::from([("values.schema.json", "{\n]")])).unwrap_err();
        assert_eq!(failure.place, Some(Place::at("values.schema.json", 2, 1)));
    }
}
