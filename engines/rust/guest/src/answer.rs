//! What an engine tells the host.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::package::Package;
use crate::tree::Tree;

/// A place in a file of the package; lines and columns count from 1, columns in characters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    pub file: String,
    pub line: Option<usize>,
    pub column: Option<usize>,
    /// The line itself: a host that has the package as a module has no files.
    pub text: Option<String>,
}

impl Place {
    pub fn file(file: impl Into<String>) -> Self {
        Self { file: file.into(), ..Self::default() }
    }

    pub fn at(file: impl Into<String>, line: usize, column: usize) -> Self {
        Self { file: file.into(), line: Some(line), column: Some(column), text: None }
    }

    /// Where byte `offset` of `text` is.
    pub fn of_offset(file: impl Into<String>, text: &str, offset: usize) -> Self {
        let before = &text.as_bytes()[..offset.min(text.len())];
        let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        Self::at(file, line, String::from_utf8_lossy(&before[start..]).chars().count() + 1)
    }
}

/// Why a package doesn't render: the library's words in full, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub message: String,
    pub place: Option<Place>,
}

impl Failure {
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), place: None }
    }

    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        self.place = Some(place);
        self
    }

    /// With the line that its place names, if the package has that.
    #[must_use]
    pub fn with_text(mut self, tree: &Tree) -> Self {
        if let Some(place) = &mut self.place
            && let (Some(line), Some(Ok(text))) = (place.line, tree.text(&place.file))
        {
            place.text = text.lines().nth(line.saturating_sub(1)).map(str::to_owned);
        }
        self
    }
}

/// Where the lines of a rendered file are from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// A file of the package.
    pub file: String,
    /// For each line of the rendered file its line there; 0: unknown, or from elsewhere.
    pub lines: Vec<usize>,
}

/// Kubernetes YAML by the path of the file that it was made from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rendered {
    pub files: BTreeMap<String, String>,
    /// By the rendered file; of each that is known. A line has one origin at most.
    pub origins: BTreeMap<String, Vec<Origin>>,
    /// Shown to the user at the end of an install.
    pub message: Option<String>,
}

impl Rendered {
    /// Adds the file that a template rendered, and for each of its lines the template's, or 0.
    pub fn add(&mut self, template: &str, text: String, lines: Vec<usize>) {
        if lines.iter().any(|line| *line > 0) {
            self.origins.insert(template.to_owned(), vec![Origin { file: template.to_owned(), lines }]);
        }
        self.files.insert(template.to_owned(), text);
    }
}

/// What a call is answered with.
pub enum Answer {
    Rendered(Rendered),
    Described(Box<Package>),
    Failed(Failure),
}

impl From<Failure> for Answer {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl Answer {
    /// The MistResult, a line of JSON.
    pub fn to_line(&self) -> String {
        let mut line =
            json!({ "apiVersion": "mistletoe.dev/v1", "kind": "MistResult", "data": self.data() }).to_string();
        line.push('\n');
        line
    }

    fn data(&self) -> Value {
        match self {
            Self::Rendered(rendered) => {
                let mut data = json!({ "result": "Ok", "files": rendered.files });
                if !rendered.origins.is_empty() {
                    data["origins"] =
                        rendered.origins.iter().map(|(file, origins)| (file, of_origins(origins))).collect();
                }
                if let Some(message) = &rendered.message {
                    data["message"] = json!(message);
                }
                data
            }
            Self::Described(package) => json!({ "result": "Ok", "package": package.to_json() }),
            Self::Failed(failure) => {
                let mut data = json!({ "result": "Err", "message": failure.message });
                if let Some(place) = &failure.place {
                    data["where"] = where_of(place);
                }
                data
            }
        }
    }
}

fn of_origins(origins: &[Origin]) -> Value {
    let all: Vec<_> = origins.iter().map(|each| json!({ "file": each.file, "lines": each.lines })).collect();
    if let [one] = all.as_slice() { one.clone() } else { Value::Array(all) }
}

fn where_of(place: &Place) -> Value {
    let mut found = json!({ "file": place.file });
    if let Some(text) = &place.text {
        found["text"] = json!(text);
    }
    for (key, number) in [("line", place.line), ("column", place.column)] {
        if let Some(number) = number {
            found[key] = json!(number);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_results_as_the_abi_says() {
        let rendered = Rendered {
            files: BTreeMap::from([("a.yaml".into(), "x".into())]),
            message: Some("hi".into()),
            ..Rendered::default()
        };
        assert_eq!(
            Answer::Rendered(rendered).to_line(),
            "{\"apiVersion\":\"mistletoe.dev/v1\",\"kind\":\"MistResult\",\
             \"data\":{\"result\":\"Ok\",\"files\":{\"a.yaml\":\"x\"},\"message\":\"hi\"}}\n"
        );
    }

    #[test]
    fn says_where_lines_are_from() {
        let origin = |file: &str, lines| Origin { file: file.into(), lines };
        let origins = BTreeMap::from([
            ("a".into(), vec![origin("a.j2", vec![1, 0])]),
            ("b".into(), vec![origin("m.ncl", vec![1, 0]), origin("l.ncl", vec![0, 7])]),
        ]);
        let line = Answer::Rendered(Rendered { origins, ..Rendered::default() }).to_line();
        let expected = concat!(
            r#""origins":{"a":{"file":"a.j2","lines":[1,0]},"#,
            r#""b":[{"file":"m.ncl","lines":[1,0]},{"file":"l.ncl","lines":[0,7]}]}"#
        );
        assert!(line.contains(expected), "{line}");
    }

    #[test]
    fn leaves_out_what_is_not_known_of_a_place() {
        let line = Answer::from(Failure::new("no").at(Place::file("a.yaml"))).to_line();
        assert!(line.contains(r#""message":"no","where":{"file":"a.yaml"}}"#), "{line}");
    }

    #[test]
    fn gives_the_line_of_a_place() {
        let tree = Tree::from([("a.yaml", "x\r\n  y\r\n")]);
        let line = |place| Answer::from(Failure::new("no").at(place).with_text(&tree)).to_line();
        assert!(line(Place::at("a.yaml", 2, 3)).contains(r#""text":"  y""#));
        assert!(!line(Place::at("a.yaml", 9, 3)).contains("text") && !line(Place::at("b", 1, 1)).contains("text"));
    }

    #[test]
    fn finds_lines_and_columns_in_characters() {
        assert_eq!(Place::of_offset("f", "aé\nüx", 0), Place::at("f", 1, 1));
        assert_eq!(Place::of_offset("f", "aé\nüx", 6), Place::at("f", 2, 2));
        assert_eq!(Place::of_offset("f", "a", 99), Place::at("f", 1, 2));
    }
}
