//! The package's files, read once, in sorted order.

use std::collections::BTreeMap;
use std::path::Path;

use crate::answer::{Failure, Place};

/// Files by their path in the package, `/` between its parts.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    files: BTreeMap<String, Vec<u8>>,
}

impl Tree {
    /// Reads a directory with everything below it, but for what begins with a dot.
    pub fn read(directory: &Path) -> Result<Self, Failure> {
        let mut tree = Self::default();
        let mut open = vec![(directory.to_path_buf(), String::new())];
        while let Some((directory, path)) = open.pop() {
            let refuse = |error: std::io::Error| {
                Failure::new(format!("the directory {}/ of the package can't be read: {error}", path))
            };
            for entry in std::fs::read_dir(&directory).map_err(refuse)? {
                let entry = entry.map_err(refuse)?;
                let name = entry.file_name().into_string().map_err(|name| {
                    Failure::new(format!("the name of {:?} in the package is no UTF-8", name.to_string_lossy()))
                })?;
                if name.starts_with('.') {
                    continue;
                }
                let path = if path.is_empty() { name } else { format!("{path}/{name}") };
                if entry.file_type().map_err(refuse)?.is_dir() {
                    open.push((entry.path(), path));
                } else {
                    let bytes = std::fs::read(entry.path())
                        .map_err(|error| Failure::new(format!("{path} can't be read: {error}")))?;
                    tree.files.insert(path, bytes);
                }
            }
        }
        Ok(tree)
    }

    /// All paths, sorted.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    pub fn contains(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    pub fn has_directory(&self, path: &str) -> bool {
        let prefix = format!("{path}/");
        self.files.range(prefix.clone()..).next().is_some_and(|(path, _)| path.starts_with(&prefix))
    }

    /// The text of a file, without a byte order mark; `None` if there is no such file.
    pub fn text(&self, path: &str) -> Option<Result<&str, Failure>> {
        let bytes = self.files.get(path)?;
        Some(match std::str::from_utf8(bytes) {
            Ok(text) if text.contains('\0') => {
                let place = Place::of_offset(path, text, text.find('\0').unwrap_or_default());
                Err(Failure::new(format!("{path} holds a NUL byte, so it is not text")).at(place))
            }
            Ok(text) => Ok(text.strip_prefix('\u{feff}').unwrap_or(text)),
            Err(error) => {
                let valid = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
                let place = Place::of_offset(path, &valid, valid.len());
                let byte = bytes[error.valid_up_to()];
                Err(Failure::new(format!(
                    "{path} is no UTF-8 text: byte 0x{byte:02X} at offset {}",
                    error.valid_up_to()
                ))
                .at(place))
            }
        })
    }
}

impl<const N: usize> From<[(&str, &str); N]> for Tree {
    fn from(files: [(&str, &str); N]) -> Self {
        files.into_iter().map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec())).collect()
    }
}

impl FromIterator<(String, Vec<u8>)> for Tree {
    fn from_iter<T: IntoIterator<Item = (String, Vec<u8>)>>(files: T) -> Self {
        Self { files: files.into_iter().collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_directories() {
        // Cargo sets this when it runs the test. `env!` would be the checkout that filled the shared build cache.
        let root = std::env::var_os("CARGO_MANIFEST_DIR").unwrap();
        let tree = Tree::read(&Path::new(&root).join("src")).unwrap();
        assert!(tree.contains("tree.rs") && tree.has_directory("yaml") && !tree.has_directory("yam"));
        assert!(tree.contains("yaml/read.rs"));
    }

    #[test]
    fn says_where_a_file_is_no_text() {
        let tree: Tree =
            [("a".into(), b"x\ny\xff".to_vec()), ("b".into(), b"\0".to_vec()), ("c".into(), b"\xef\xbb\xbfz".to_vec())]
                .into_iter()
                .collect();
        let failure = tree.text("a").unwrap().unwrap_err();
        assert_eq!(failure.message, "a is no UTF-8 text: byte 0xFF at offset 3");
        assert_eq!(failure.place, Some(Place::at("a", 2, 2)));
        assert!(tree.text("b").unwrap().unwrap_err().message.contains("NUL"));
        assert_eq!(tree.text("c").unwrap().unwrap(), "z");
        assert!(tree.text("d").is_none());
    }
}
