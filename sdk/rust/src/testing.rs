//! A host for a package's own tests: it renders the packages that this one calls, without `mistctl`.
//!
//! ```
//! use mistletoe::testing::Host;
//! use mistletoe::{MistOutput, MistResult, call, json};
//!
//! const DATABASE: &str = "{name: database, inputs: {type: object, properties: {port: {type: integer, default: 3306}}}}";
//!
//! fn database(inputs: mistletoe::Value) -> MistResult {
//!     MistOutput::new().with_exports(&json!({ "address": format!("{}:{}", inputs["name"], inputs["port"]) }))
//! }
//!
//! fn platform(inputs: mistletoe::Value) -> MistResult {
//!     let database = call("db", &json!({}))?;
//!     MistOutput::new().with_object("settings.yaml", &json!({ "address": database.exports::<mistletoe::Value>()? }))
//! }
//!
//! let host = Host::new().with_package("db", DATABASE, database);
//! let output = host.render("{name: platform}", platform, json!({ "name": "shop" }))?;
//! assert!(output.file("settings.yaml").unwrap().contains("shop-db"));
//! assert_eq!(host.calls()[0].input, json!({}));
//! # Ok::<(), mistletoe::Error>(())
//! ```
//!
//! It gives what a host gives: the defaults of the called package's schema, of which null takes one away, its install name, the
//! release's namespace. It refuses inputs that the schema doesn't declare or that are missing; types, patterns and bounds are checked by `mistctl`
//! alone (`mistctl package test`). Secrets are stand-ins that depend on their name, on the package's install and on how
//! often they were [rotated](Host::rotate).

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use anyhow::{Context as _, bail};
use serde_json::{Map, Value, json};

use crate::host::stand_in;
use crate::input::{Context, Release};
use crate::{Generate, MistInput, MistResult};

thread_local! {
    static CURRENT: RefCell<Option<Rc<State>>> = const { RefCell::new(None) };
}

/// The host requests of a package that [`Host::render`] renders.
#[derive(Default)]
pub struct Host {
    state: State,
}

/// A call of a package.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The name that its caller gives it.
    pub package: String,
    /// The name that its objects derive theirs from.
    pub install: String,
    /// As the caller gave it.
    pub input: Value,
}

#[derive(Clone, Default)]
struct State {
    packages: BTreeMap<String, Package>,
    namespace: Option<String>,
    rotations: BTreeMap<String, u32>,
    objects: Vec<Value>,
    calls: Rc<RefCell<Vec<Call>>>,
    /// The packages that are being rendered, by their install names.
    installs: Rc<RefCell<Vec<String>>>,
}

#[derive(Clone)]
struct Package {
    metadata: String,
    render: Rc<dyn Fn(MistInput) -> MistResult>,
}

impl Host {
    /// A host that knows no packages; the release is in the namespace `default`.
    pub fn new() -> Self {
        Self::default()
    }

    /// Answers calls of `name` with that function; `metadata` is the package's `mistletoe.yaml`.
    pub fn with_package<Args: 'static>(
        mut self,
        name: &str,
        metadata: &str,
        generate: impl Generate<Args> + 'static,
    ) -> Self {
        let package = Package { metadata: metadata.to_owned(), render: Rc::new(move |input| generate.generate(input)) };
        self.state.packages.insert(name.to_owned(), package);
        self
    }

    /// The release's namespace.
    pub fn in_namespace(mut self, namespace: &str) -> Self {
        self.state.namespace = Some(namespace.to_owned());
        self
    }

    /// An object of the cluster, for [`lookup`](crate::lookup) and [`lookup_all`](crate::lookup_all). The test's host checks
    /// neither `spec.needs.clusterRead` nor grants.
    pub fn with_object(mut self, object: Value) -> Self {
        self.state.objects.push(object);
        self
    }

    /// Gives the secret of that name another value, as `--rotate-secrets` does. Those of called packages are
    /// `INSTALL/NAME`.
    pub fn rotate(mut self, secret: &str) -> Self {
        *self.state.rotations.entry(secret.to_owned()).or_default() += 1;
        self
    }

    /// Renders a package with these values, `name` among them; `metadata` is its `mistletoe.yaml`.
    ///
    /// # Errors
    ///
    /// The package's own error, or a violation of its schema.
    pub fn render<Args>(&self, metadata: &str, generate: impl Generate<Args>, values: Value) -> MistResult {
        let release = values["name"].as_str().context("the values have no `name`")?.to_owned();
        self.state.calls.borrow_mut().clear();
        self.state.installs.borrow_mut().clear();
        let _entered = Entered::new(Rc::new(self.state.clone()));
        generate.generate(self.state.input(metadata, &release, values)?)
    }

    /// The calls of the last render, in order.
    pub fn calls(&self) -> Vec<Call> {
        self.state.calls.borrow().clone()
    }
}

/// Makes a host that of this thread, until it is dropped.
struct Entered(Option<Rc<State>>);

impl Entered {
    fn new(state: Rc<State>) -> Self {
        Self(CURRENT.replace(Some(state)))
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// The answer of this thread's host; none if there is no host, or if the answer doesn't depend on one.
pub(crate) fn answer(request: &Value) -> Option<Value> {
    let state = CURRENT.with_borrow(Clone::clone)?;
    match request["op"].as_str()? {
        "package.call" => Some(match state.call(request) {
            Ok(answer) => json!({ "ok": answer }),
            Err(error) => json!({ "error": { "kind": "Invalid", "message": format!("{error:#}") } }),
        }),
        "secret.get" => Some(state.secret(request)),
        "lookup" => Some(json!({ "ok": state.lookup(request) })),
        _ => None,
    }
}

impl State {
    fn call(&self, request: &Value) -> anyhow::Result<Value> {
        let name = request["package"].as_str().unwrap_or_default();
        let Some(package) = self.packages.get(name) else { bail!("the test's host knows no package `{name}`") };
        let caller = self.installs.borrow().last().cloned().unwrap_or_default();
        let input = request["input"].clone();
        let install = input["name"].as_str().map_or_else(|| format!("{caller}-{name}"), str::to_owned);
        self.calls.borrow_mut().push(Call { package: name.to_owned(), install: install.clone(), input: input.clone() });
        let output = self
            .input(&package.metadata, &install, input)
            .and_then(|input| {
                let result = (package.render)(input);
                self.installs.borrow_mut().pop();
                result
            })
            .with_context(|| name.to_owned())?;
        let files: Map<String, Value> =
            output.files().map(|(path, content)| (path.to_owned(), content.into())).collect();
        Ok(json!({ "files": files, "exports": output.exports(), "message": output.message().unwrap_or_default() }))
    }

    fn input(&self, metadata: &str, install: &str, values: Value) -> anyhow::Result<MistInput> {
        let metadata: Value = serde_norway::from_str(metadata).context("the metadata can't be read")?;
        let schema = metadata.pointer("/inputs").or_else(|| metadata.pointer("/spec/inputs")).unwrap_or(&Value::Null);
        let namespace = self.namespace.clone().unwrap_or_else(|| "default".to_owned());
        let mut data = with_defaults(schema, values);
        data["name"] = install.into();
        if schema["properties"]["namespace"].is_object() && data["namespace"].is_null() {
            data["namespace"] = namespace.as_str().into();
        }
        check(schema, &data, install)?;
        let Value::Object(data) = data else { bail!("the input isn't an object") };
        self.installs.borrow_mut().push(install.to_owned());
        let release = self.installs.borrow().first().cloned().unwrap_or_default();
        let release = Release { name: release, namespace, ..Release::default() };
        Ok(MistInput { data, context: Context { release: Some(release), capabilities: None } })
    }

    fn lookup(&self, request: &Value) -> Value {
        let asked = |key: &str| request[key].as_str().unwrap_or_default();
        let at = |object: &Value, key: &str| object["metadata"][key].as_str().unwrap_or_default().to_owned();
        let mut of_kind = self.objects.iter().filter(|object| {
            object["apiVersion"] == asked("apiVersion")
                && object["kind"] == asked("kind")
                && (at(object, "namespace") == asked("namespace")
                    || asked("name").is_empty() && asked("namespace").is_empty())
        });
        if asked("name").is_empty() {
            return json!({ "items": of_kind.collect::<Vec<_>>() });
        }
        of_kind.find(|object| at(object, "name") == asked("name")).cloned().unwrap_or_default()
    }

    fn secret(&self, request: &Value) -> Value {
        let name = request["name"].as_str().unwrap_or_default();
        let installs = self.installs.borrow();
        let full = match installs.as_slice() {
            [_, .., called] => format!("{called}/{name}"),
            _ => name.to_owned(),
        };
        let release = installs.first().map_or("", String::as_str);
        let rotation = self.rotations.get(&full).copied().unwrap_or(0);
        let mut request = request.clone();
        request["name"] = format!("{release}/{full}/{rotation}").into();
        stand_in::answer(&request)
    }
}

/// The values laid over the defaults of the schema, and those filled into objects that lack them, as a host does.
fn with_defaults(schema: &Value, values: Value) -> Value {
    let mut defaults = Defaults { root: schema, open: Vec::new() };
    let mut data = defaults.of(schema).unwrap_or_else(|| json!({}));
    merge_into(&mut data, values.clone());
    defaults.fill(schema, &mut data, &values);
    data
}

/// Objects merge member by member, everything else is replaced, null removes.
fn merge_into(base: &mut Value, over: Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                if value.is_null() {
                    base.remove(&key);
                } else if let Some(mine) = base.get_mut(&key) {
                    merge_into(mine, value);
                } else {
                    base.insert(key, value);
                }
            }
        }
        (base, over) => *base = over,
    }
}

/// The defaults of a schema, by the rules of `src/encoding/schema.cc`.
struct Defaults<'a> {
    root: &'a Value,
    /// The schemas around the one that is looked at: one that contains itself has no end.
    open: Vec<&'a Value>,
}

impl<'a> Defaults<'a> {
    const DEEPEST: usize = 64;
    /// Schemas that one and the same object has to fit.
    const MOST_PARTS: usize = 200;

    fn target(&self, schema: &'a Value) -> Option<&'a Value> {
        self.root.pointer(schema["$ref"].as_str()?.strip_prefix('#')?)
    }

    fn of(&mut self, schema: &'a Value) -> Option<Value> {
        if self.open.len() > Self::DEEPEST || self.open.iter().any(|open| std::ptr::eq(*open, schema)) {
            return None;
        }
        self.open.push(schema);
        let found = self.find(schema);
        self.open.pop();
        found
    }

    fn find(&mut self, schema: &'a Value) -> Option<Value> {
        let mut given = schema.get("default").cloned();
        if given.is_none()
            && let Some(target) = self.target(schema)
        {
            given = self.of(target);
        }
        let Some(properties) = schema["properties"].as_object() else { return given };
        let is_given = given.is_some();
        let mut object = match given {
            None => Map::new(),
            Some(Value::Object(object)) => object,
            Some(other) => return Some(other),
        };
        for (key, property) in properties {
            if !object.contains_key(key)
                && let Some(value) = self.of(property)
            {
                object.insert(key.clone(), value);
            }
        }
        let mut required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let is_whole = !object.is_empty() && required.all(|key| object.contains_key(key));
        (is_given || is_whole || self.open.len() == 1).then_some(Value::Object(object))
    }

    /// Into the objects that are there; `given` has null where a default was taken away.
    fn fill(&mut self, schema: &'a Value, value: &mut Value, given: &Value) {
        let outer = self.open.len();
        let mut next = Some(schema);
        while let Some(schema) = next
            && self.open.len() < outer + Self::DEEPEST
        {
            self.open.push(schema);
            next = self.target(schema);
        }
        let only_own = self.has_conditions(schema);
        while self.open.len() > outer {
            self.fill_by(self.open[self.open.len() - 1], only_own, value, given);
            self.open.pop();
        }
    }

    /// `only_own`: only what has a default of its own is added, no object that its properties' defaults make.
    fn fill_by(&mut self, schema: &'a Value, only_own: bool, value: &mut Value, given: &Value) {
        match value {
            // A list is given as a whole: null in it takes nothing away.
            Value::Array(items) => {
                let first = schema["prefixItems"].as_array().map_or(&[][..], Vec::as_slice);
                for (i, item) in items.iter_mut().enumerate() {
                    self.fill(first.get(i).unwrap_or(&schema["items"]), item, &Value::Null);
                }
            }
            Value::Object(object) => {
                for (key, property) in schema["properties"].as_object().into_iter().flatten() {
                    if !only_own || object.contains_key(key) || self.has_default(property) {
                        self.fill_member(key, property, object, given.get(key));
                    }
                }
                // Only the validator knows which members a pattern describes.
                let has_patterns = schema["patternProperties"].as_object().is_some_and(|patterns| !patterns.is_empty());
                if schema["additionalProperties"].is_object() && !has_patterns {
                    for (key, value) in object.iter_mut().filter(|(key, _)| schema["properties"].get(key).is_none()) {
                        self.fill(&schema["additionalProperties"], value, &given[key]);
                    }
                }
            }
            _ => {}
        }
    }

    /// Itself, by a reference, or by a part of `allOf`, which is also how one schema extends another.
    fn has_conditions(&self, schema: &'a Value) -> bool {
        let mut parts = vec![schema];
        let mut next = 0;
        while let Some(&part) = parts.get(next) {
            let further = part["allOf"].as_array().map_or(&[][..], Vec::as_slice);
            if has_alternatives(part) || parts.len() + further.len() > Self::MOST_PARTS {
                return true;
            }
            for part in self.target(part).into_iter().chain(further) {
                if !parts.iter().any(|known| std::ptr::eq(*known, part)) {
                    parts.push(part);
                }
            }
            next += 1;
        }
        false
    }

    /// Itself, or by a reference.
    fn has_default(&self, schema: &'a Value) -> bool {
        std::iter::successors(Some(schema), |schema| self.target(schema))
            .take(Self::DEEPEST)
            .any(|schema| schema.get("default").is_some())
    }

    fn fill_member(&mut self, key: &str, property: &'a Value, object: &mut Map<String, Value>, given: Option<&Value>) {
        let is_taken_away = given.is_some_and(Value::is_null);
        match object.get_mut(key) {
            // Null stays in an object that had no defaults to be laid over.
            Some(Value::Null) if is_taken_away && self.of(property).is_some() => {
                object.remove(key);
            }
            Some(value) => self.fill(property, value, given.unwrap_or(&Value::Null)),
            None if given.is_none() => {
                if let Some(default) = self.of(property) {
                    object.insert(key.to_owned(), default);
                }
            }
            None => {}
        }
    }
}

/// An object that nobody gave could be one too many there, choose the alternative, or make others required.
fn has_alternatives(schema: &Value) -> bool {
    const WORDS: [&str; 8] =
        ["oneOf", "anyOf", "not", "if", "dependentRequired", "dependentSchemas", "dependencies", "maxProperties"];
    WORDS.iter().any(|word| schema.get(word).is_some())
}

fn check(schema: &Value, data: &Value, install: &str) -> anyhow::Result<()> {
    let Some(properties) = schema["properties"].as_object() else { return Ok(()) };
    for key in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if data[key].is_null() {
            bail!("the input `{key}` of {install} is missing");
        }
    }
    if schema["additionalProperties"] == false {
        for key in data.as_object().into_iter().flat_map(Map::keys) {
            if key != "name" && !properties.contains_key(key) {
                bail!("{install} has no input `{key}`");
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MistOutput, call, secret};

    const DATABASE: &str = "
name: database
inputs:
  type: object
  additionalProperties: false
  required: [user]
  properties:
    namespace: {type: string}
    user: {type: string}
    port: {$ref: '#/$defs/port'}
    server: {type: object, properties: {size: {type: integer, default: 3}}}
    backup:
      type: object
      required: [bucket]
      properties: {bucket: {type: string}, keep: {type: integer, default: 7}}
    users: {type: array, items: {$ref: '#/$defs/user'}}
    pools: {type: object, additionalProperties: {$ref: '#/$defs/user'}}
  $defs:
    user: {type: object, properties: {name: {type: string}, admin: {type: boolean, default: false}}}
    port: {type: integer, default: 3306}
";

    fn database(inputs: Value) -> MistResult {
        MistOutput::new().with_file("a.yaml", secret::password("root")?).with_exports(&inputs)
    }

    fn platform(inputs: Value) -> MistResult {
        let mut output = MistOutput::new().with_file("own", secret::password("root")?);
        for input in inputs["calls"].as_array().unwrap() {
            let called = call("db", input)?;
            output = output
                .with_files_from(called.exports::<Value>()?["name"].as_str().unwrap(), &called)
                .with_exports(&called.exports::<Value>()?)?;
        }
        Ok(output)
    }

    fn host() -> Host {
        Host::new().with_package("db", DATABASE, database).in_namespace("prod")
    }

    fn rendered(host: &Host, calls: Value) -> MistResult {
        host.render("{name: platform}", platform, json!({ "name": "shop", "calls": calls }))
    }

    #[test]
    fn a_called_package_gets_what_a_host_gives() {
        let host = host();
        let output = rendered(&host, json!([{ "user": "app" }])).unwrap();
        assert_eq!(
            output.exports().unwrap(),
            &json!({ "name": "shop-db", "namespace": "prod", "user": "app", "port": 3306, "server": { "size": 3 } })
        );
        assert_eq!(
            host.calls(),
            [Call { package: "db".into(), install: "shop-db".into(), input: json!({ "user": "app" }) }]
        );
    }

    #[test]
    fn objects_that_are_given_in_part_are_filled() {
        let exports = |mut call: Value| {
            call["user"] = "app".into();
            rendered(&host(), json!([call])).unwrap().exports().unwrap().clone()
        };
        let call = json!({ "backup": { "bucket": "b" }, "users": [{ "name": "ann" }], "pools": { "a": {} } });
        let filled = exports(call);
        assert_eq!(filled["backup"], json!({ "bucket": "b", "keep": 7 }));
        assert_eq!(filled["users"], json!([{ "name": "ann", "admin": false }]));
        assert_eq!(filled["pools"], json!({ "a": { "admin": false } }));
        assert_eq!(exports(json!({ "backup": { "bucket": "b", "keep": null } }))["backup"], json!({ "bucket": "b" }));
        let bare = exports(json!({ "port": null, "server": { "size": null } }));
        assert_eq!((bare.get("port"), bare.get("backup"), &bare["server"]), (None, None, &json!({})));
    }

    #[test]
    fn no_object_is_made_that_a_condition_asks_about() {
        let schema = |condition: Value| {
            let mut db = json!({ "required": ["host"], "properties": {
                "host": {}, "tls": { "properties": { "issuer": { "default": "le" } } }, "port": { "$ref": "#/$defs/port" },
            } });
            db.as_object_mut().unwrap().extend(condition.as_object().unwrap().clone());
            json!({
                "$defs": { "port": { "default": 5432 }, "one": { "oneOf": [{ "required": ["tls"] }, { "required": ["host"] }] } },
                "properties": { "db": db },
            })
        };
        for condition in [
            json!({ "allOf": [{ "if": { "required": ["tls"] }, "then": { "required": ["ca"] } }] }),
            json!({ "dependentRequired": { "tls": ["ca"] } }),
            json!({ "dependentSchemas": { "tls": { "required": ["ca"] } } }),
            json!({ "dependencies": { "tls": ["ca"] } }),
            json!({ "$ref": "#/$defs/one" }),
            json!({ "allOf": [{ "$ref": "#/$defs/one" }] }),
        ] {
            let filled = with_defaults(&schema(condition.clone()), json!({ "db": { "host": "pg" } }));
            assert_eq!(filled, json!({ "db": { "host": "pg", "port": 5432 } }), "{condition}");
        }
        let plain = json!({ "allOf": [{ "$ref": "#/$defs/port" }, { "properties": { "host": { "oneOf": [{}] } } }] });
        let whole = json!({ "db": { "host": "pg", "tls": { "issuer": "le" }, "port": 5432 } });
        assert_eq!(with_defaults(&schema(plain), json!({ "db": { "host": "pg" } })), whole);
        let behind = json!({
            "$defs": { "db": { "required": ["host"], "properties": { "tls": { "properties": { "issuer": { "default": "le" } } } } } },
            "properties": { "db": { "$ref": "#/$defs/db", "maxProperties": 1 } },
        });
        assert_eq!(with_defaults(&behind, json!({ "db": { "host": "pg" } })), json!({ "db": { "host": "pg" } }));
    }

    #[test]
    fn items_and_members_are_filled_by_the_schema_that_describes_them() {
        let schema = json!({ "properties": {
            "pair": { "prefixItems": [{ "properties": { "a": { "default": 1 } } }], "items": { "properties": { "b": { "default": 2 } } } },
            "some": { "patternProperties": { "^x": {} }, "additionalProperties": { "properties": { "a": { "default": 1 } } } },
            "none": { "patternProperties": {}, "additionalProperties": { "properties": { "a": { "default": 1 } } } },
        } });
        let filled = with_defaults(&schema, json!({ "pair": [{}, {}], "some": { "x": {} }, "none": { "x": {} } }));
        assert_eq!(
            filled,
            json!({ "pair": [{ "a": 1 }, { "b": 2 }], "some": { "x": {} }, "none": { "x": { "a": 1 } } })
        );
    }

    #[test]
    fn inputs_that_do_not_fit_are_refused() {
        let refused = |calls| format!("{:#}", rendered(&host(), calls).unwrap_err());
        assert!(refused(json!([{}])).contains("the input `user` of shop-db is missing"));
        assert!(refused(json!([{ "user": "a", "prot": 1 }])).contains("shop-db has no input `prot`"));
        let error = Host::new().render("{name: a}", platform, json!({ "name": "a", "calls": [{}] })).unwrap_err();
        assert!(error.to_string().contains("knows no package `db`"), "{error}");
    }

    #[test]
    fn lookups_find_the_objects_of_the_test() {
        fn looker(inputs: Value) -> MistResult {
            let one = crate::lookup("v1", "ConfigMap", "prod", "settings")?;
            let counts: Vec<usize> = ["prod", "dev", ""]
                .into_iter()
                .map(|namespace| Ok(crate::lookup_all("v1", "ConfigMap", namespace)?.len()))
                .collect::<anyhow::Result<_>>()?;
            assert!(crate::lookup("v1", "ConfigMap", "prod", "").is_err());
            MistOutput::new().with_exports(&json!([inputs["name"], one.map(|map| map["data"].clone()), counts]))
        }
        let map = |namespace: &str, name: &str| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "namespace": namespace, "name": name }, "data": { "a": "1" } });
        let render = |host: Host| {
            host.render("{name: looker}", looker, json!({ "name": "shop" })).unwrap().exports().unwrap().clone()
        };
        let host = Host::new().with_object(map("dev", "settings")).with_object(map("prod", "other"));
        assert_eq!(render(host), json!(["shop", null, [1, 1, 2]]));
        let host = Host::new().with_object(map("dev", "settings")).with_object(map("prod", "settings"));
        assert_eq!(render(host), json!(["shop", { "a": "1" }, [1, 1, 2]]));
        assert_eq!(render(Host::new()), json!(["shop", null, [0, 0, 0]]));
    }

    #[test]
    fn secrets_belong_to_an_install_and_rotate_alone() {
        let calls = || json!([{ "user": "a" }, { "name": "other", "user": "a" }]);
        let (first, again) = (rendered(&host(), calls()).unwrap(), rendered(&host(), calls()).unwrap());
        assert_eq!(first, again);
        let rotated = rendered(&host().rotate("other/root"), calls()).unwrap();
        for (file, stays) in [("own", true), ("shop-db/a.yaml", true), ("other/a.yaml", false)] {
            assert_eq!(first.file(file) == rotated.file(file), stays, "{file}");
        }
        assert_ne!(first.file("own"), first.file("other/a.yaml"));
    }

    #[test]
    fn outside_a_render_there_is_no_host() {
        rendered(&host(), json!([{ "user": "a" }])).unwrap();
        assert!(call("db", &json!({ "user": "a" })).unwrap_err().to_string().contains("no host here"));
    }
}
