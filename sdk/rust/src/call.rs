//! Calling other packages: what `spec.dependencies` declares, rendered by the host.
//!
//! ```no_run
//! use mistletoe::{MistOutput, MistResult, call, json};
//! use serde::Deserialize;
//!
//! #[derive(Deserialize)]
//! struct Database {
//!     host: String,
//!     port: u16,
//! }
//!
//! fn generate(name: &str) -> MistResult {
//!     // `mariadb` is a name of spec.dependencies.
//!     let called = call("mariadb", &json!({ "name": format!("{name}-db"), "users": ["app"] }))?;
//!     let database: Database = called.exports()?;
//!     MistOutput::new()
//!         .with_files_from("mariadb", &called)
//!         .with_object("settings.yaml", &json!({
//!             "apiVersion": "v1",
//!             "kind": "ConfigMap",
//!             "metadata": { "name": name },
//!             "data": { "database": format!("{}:{}", database.host, database.port) },
//!         }))
//! }
//! ```
//!
//! [`dependency!`](crate::dependency) makes the types of a call from the called package's schema, so that a misspelt input
//! doesn't compile:
//!
//! ```text
//! mistletoe::dependency!("mariadb", file = "../mariadb/mistletoe.yaml");
//!
//! let database = mariadb::call(&mariadb::Inputs { users: Some(users), ..Default::default() })?;
//! let address = format!("{}:{}", database.exports.fqdn, database.exports.port);
//! ```
//!
//! The called package gets a sandbox of its own, and secrets that depend on what it is and on its `name`, never on who
//! calls it: whoever calls the same package with the same `name` gets the same passwords. Without `name` in the input it
//! is the caller's name and the dependency's, `shop-mariadb`.
//!
//! Only ABI `v1` has a host to ask. Natively there is none that could render other packages, but in tests
//! [`testing::Host`](crate::testing::Host).

use std::collections::BTreeMap;

use anyhow::Context;
use serde::Deserialize;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::output::Files;
use crate::{finite, host};

/// The answer of a called package.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Called {
    #[serde(skip)]
    package: String,
    files: BTreeMap<String, String>,
    #[serde(default)]
    exports: Value,
    #[serde(default)]
    message: String,
}

impl Called {
    /// Its files as (path, YAML). [`MistOutput::with_files_from`](crate::MistOutput::with_files_from) takes them all.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, content)| (path.as_str(), content.as_str()))
    }

    /// Its exports as the caller's own type; an error names what doesn't fit.
    ///
    /// # Errors
    ///
    /// The exports aren't of that form.
    pub fn exports<T: DeserializeOwned>(&self) -> anyhow::Result<T> {
        serde_path_to_error::deserialize(&self.exports).map_err(|error| {
            anyhow::anyhow!("the exports of {} don't fit at `{}`: {}", self.package, error.path(), error.inner())
        })
    }

    /// Its message to the user; empty if there is none.
    pub fn message(&self) -> &str {
        &self.message
    }
}

/// The answer of a called package with typed exports, as a client of [`dependency!`](crate::dependency) returns it.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer<E> {
    /// Its exports.
    pub exports: E,
    called: Called,
}

impl<E: DeserializeOwned> Answer<E> {
    /// Renders the package that `spec.dependencies` calls `package`.
    ///
    /// # Errors
    ///
    /// As [`call`] and [`Called::exports`].
    pub fn of(package: &str, input: &impl Serialize) -> anyhow::Result<Self> {
        let called = call(package, input)?;
        Ok(Self { exports: called.exports()?, called })
    }
}

impl<E> Answer<E> {
    /// Its message to the user; empty if there is none.
    pub fn message(&self) -> &str {
        self.called.message()
    }
}

impl<E> Files for Answer<E> {
    fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.called.files()
    }
}

impl Files for Called {
    fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files()
    }
}

/// Renders the package that `spec.dependencies` calls `package`, with `input` as its `data`.
///
/// # Errors
///
/// The package isn't declared; it refuses the input or fails by itself: the error names the path of packages.
pub fn call(package: &str, input: &impl Serialize) -> anyhow::Result<Called> {
    let input = finite::to_value(input).with_context(|| format!("can't write the input of {package}"))?;
    let answer = host::ask(&json!({ "op": "package.call", "package": package, "input": input }))?;
    let mut called: Called =
        serde_json::from_value(answer).with_context(|| format!("can't read what {package} gave"))?;
    called.package = package.to_owned();
    Ok(called)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(exports: Value) -> Called {
        Called {
            package: "db".into(),
            files: [("a.yaml".to_owned(), "a: 1\n".to_owned())].into(),
            exports,
            message: String::new(),
        }
    }

    #[test]
    fn reads_exports_as_a_type_and_names_what_does_not_fit() {
        #[derive(Debug, Deserialize, PartialEq)]
        struct Ports {
            ports: Vec<u16>,
        }
        assert_eq!(called(json!({"ports": [1]})).exports::<Ports>().unwrap(), Ports { ports: vec![1] });
        let error = called(json!({"ports": [1, "x"]})).exports::<Ports>().unwrap_err().to_string();
        assert!(error.starts_with("the exports of db don't fit at `ports[1]`: "), "{error}");
    }

    #[test]
    fn files_of_a_called_package_get_a_folder() {
        let output = crate::MistOutput::new().with_files_from("db", &called(Value::Null));
        assert_eq!(output.files().collect::<Vec<_>>(), [("db/a.yaml", "a: 1\n")]);
    }

    #[test]
    fn there_is_nobody_to_call_natively() {
        assert!(call("db", &json!({})).unwrap_err().to_string().contains("no host here"));
    }
}
