//! The output of a package.

use anyhow::Context as _;
use serde::Serialize;
use serde_json::{Value, json};

use crate::{finite, yaml};

/// The result of `generate`: an output, or any error, which becomes the message of an `Err` result.
pub type MistResult = anyhow::Result<MistOutput>;

/// The files of a successful render.
///
/// Files keep the order in which they were first set. Each is Kubernetes YAML, one document or several.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MistOutput {
    message: Option<String>,
    files: Vec<(String, String)>,
    exports: Option<Value>,
    edges: Vec<Value>,
}

/// A source of files: a called package ([`Called`](crate::Called), [`Answer`](crate::Answer)), or the output of a
/// package that is a crate, whose function was called.
pub trait Files {
    /// The files as (path, YAML).
    fn files(&self) -> impl Iterator<Item = (&str, &str)>;
}

impl Files for MistOutput {
    fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files()
    }
}

/// Where declared edges are written.
const ORDER_FILE: &str = "mist-order.yaml";

impl MistOutput {
    /// An output without files.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the file at `path`, a relative path such as `web/service.yaml`, replacing what was there.
    pub fn set_file(&mut self, path: impl Into<String>, content: impl Into<String>) {
        let (path, content) = (path.into(), content.into());
        match self.files.iter_mut().find(|(known, _)| *known == path) {
            Some((_, old)) => *old = content,
            None => self.files.push((path, content)),
        }
    }

    /// [`set_file`](Self::set_file) for chains.
    pub fn with_file(mut self, path: impl Into<String>, content: impl Into<String>) -> Self {
        self.set_file(path, content);
        self
    }

    /// Sets one file for each pair.
    pub fn with_files<P: Into<String>, C: Into<String>>(mut self, files: impl IntoIterator<Item = (P, C)>) -> Self {
        for (path, content) in files {
            self.set_file(path, content);
        }
        self
    }

    /// Adds the files of a package that was called, or of another output, each below `folder`.
    pub fn with_files_from(self, folder: &str, from: &impl Files) -> Self {
        self.with_files(from.files().map(|(path, content)| (format!("{folder}/{path}"), content)))
    }

    /// Sets the file at `path` to one object, written by [`yaml::to_string`].
    ///
    /// Safer than a text template: no value can change the structure of the document.
    /// Fails when the object can't be serialised, or has a number that isn't finite (of which `json!` makes null before).
    ///
    /// ```
    /// use mistletoe::{MistOutput, json};
    ///
    /// let output = MistOutput::new().with_object("config.yaml", &json!({
    ///     "apiVersion": "v1",
    ///     "kind": "ConfigMap",
    ///     "metadata": { "name": "config" },
    ///     "data": { "answer": "yes" },
    /// }))?;
    /// assert_eq!(
    ///     output.file("config.yaml"),
    ///     Some("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: config\ndata:\n  answer: \"yes\"\n"),
    /// );
    /// # Ok::<(), mistletoe::Error>(())
    /// ```
    pub fn with_object(self, path: impl Into<String>, object: &impl Serialize) -> MistResult {
        let path = path.into();
        let content = yaml::to_string(object).with_context(|| format!("can't write the file {path}"))?;
        Ok(self.with_file(path, content))
    }

    /// Declares that `object` comes after `target`: nothing is written to it before `target` is there, and it is removed
    /// first.
    ///
    /// `object` is `KIND[.GROUP]/[NAMESPACE/]NAME` of an object of this output, `target` one in the form of the annotation
    /// `mistletoe.dev/after`: `KIND/NAME`, with `@ready` behind it to wait until it is ready, `?` if it may be missing, and
    /// `outside:` in front if it is not part of the release. Declarations are the file `mist-order.yaml`.
    ///
    /// ```
    /// use mistletoe::MistOutput;
    ///
    /// let output = MistOutput::new()
    ///     .after("Deployment/web", "Job/migrate@ready")
    ///     .after("Job/migrate", "StatefulSet/db@ready");
    /// assert_eq!(
    ///     output.file("mist-order.yaml"),
    ///     Some("apiVersion: mistletoe.dev/v1\nkind: MistOrder\nedges:\n\
    ///           - after: Job/migrate@ready\n  object: Deployment/web\n\
    ///           - after: StatefulSet/db@ready\n  object: Job/migrate\n"),
    /// );
    /// ```
    pub fn after(self, object: impl Into<String>, target: impl Into<String>) -> Self {
        self.with_edge("after", object.into(), target.into())
    }

    /// Declares that `object` comes before `target`; see [`after`](Self::after).
    pub fn before(self, object: impl Into<String>, target: impl Into<String>) -> Self {
        self.with_edge("before", object.into(), target.into())
    }

    fn with_edge(mut self, direction: &'static str, object: String, target: String) -> Self {
        self.edges.push(json!({ "object": object, direction: target }));
        let document = json!({ "apiVersion": "mistletoe.dev/v1", "kind": "MistOrder", "edges": self.edges });
        // Texts in lists in an object: nothing that can't be written.
        let content = yaml::to_string(&document).expect("strings can be written as YAML");
        self.with_file(ORDER_FILE, content)
    }

    /// Sets the text that the user sees after the render, such as how to go on.
    pub fn set_message(&mut self, message: impl Into<String>) {
        self.message = Some(message.into());
    }

    /// [`set_message`](Self::set_message) for chains.
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.set_message(message);
        self
    }

    /// Sets what packages that call this one may read.
    ///
    /// Fails when the value can't be serialised.
    pub fn with_exports(mut self, exports: &impl Serialize) -> MistResult {
        self.exports = Some(finite::to_value(exports).context("can't write the exports")?);
        Ok(self)
    }

    /// The text for the user, if there is one.
    pub fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    /// The content of the file at `path`.
    pub fn file(&self, path: &str) -> Option<&str> {
        self.files().find(|(known, _)| *known == path).map(|(_, content)| content)
    }

    /// All files as (path, content), in the order of their first setting.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, content)| (path.as_str(), content.as_str()))
    }

    /// The exports for other packages, if there are any.
    pub fn exports(&self) -> Option<&Value> {
        self.exports.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keeps_the_order_of_files_and_replaces_in_place() {
        let output = MistOutput::new().with_file("b", "1").with_file("a", "2").with_file("b", "3");
        assert_eq!(output.files().collect::<Vec<_>>(), [("b", "3"), ("a", "2")]);
        assert_eq!(output.file("c"), None);
    }

    #[test]
    fn takes_files_from_a_map() {
        let map = std::collections::BTreeMap::from([("b.yaml", "2"), ("a.yaml", "1")]);
        let output = MistOutput::new().with_files(map);
        assert_eq!(output.files().collect::<Vec<_>>(), [("a.yaml", "1"), ("b.yaml", "2")]);
    }

    #[test]
    fn names_the_file_that_can_not_be_written() {
        let object = std::collections::BTreeMap::from([(vec![1], 1)]);
        let error = MistOutput::new().with_object("x.yaml", &object).unwrap_err();
        assert!(format!("{error:#}").starts_with("can't write the file x.yaml: "), "{error:#}");
    }

    #[test]
    fn numbers_that_are_not_finite_are_refused() {
        let object = std::collections::BTreeMap::from([("replicas", f64::NAN)]);
        let error = MistOutput::new().with_object("x.yaml", &object).unwrap_err();
        let rest = "replicas is NaN, which neither JSON nor YAML has";
        assert_eq!(format!("{error:#}"), format!("can't write the file x.yaml: {rest}"));
        let error = MistOutput::new().with_exports(&object).unwrap_err();
        assert_eq!(format!("{error:#}"), format!("can't write the exports: {rest}"));
    }

    #[test]
    fn declares_edges_in_one_file() {
        let output = MistOutput::new().after("A/a", "B/b").with_file("a", "1").before("C/x/c", "outside:D/d@absent?");
        let order: Value = serde_norway::from_str(output.file("mist-order.yaml").unwrap()).unwrap();
        assert_eq!(
            order["edges"],
            json!([{"object": "A/a", "after": "B/b"}, {"object": "C/x/c", "before": "outside:D/d@absent?"}])
        );
        assert_eq!(output.files().count(), 2);
    }

    #[test]
    fn carries_message_and_exports() {
        let output = MistOutput::new().with_message("done").with_exports(&json!({"port": 80})).unwrap();
        assert_eq!(output.message(), Some("done"));
        assert_eq!(output.exports(), Some(&json!({"port": 80})));
    }
}
