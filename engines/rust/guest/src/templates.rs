//! Which files of a package are rendered, which pass as they are, and which only serve others.
//!
//! What becomes Kubernetes objects lies in `manifests/` or `templates/` if the package has such a folder, else anywhere.
//! A name that begins with `_`, and everything in a folder named so or `partials`, only serves others.

use crate::answer::Failure;
use crate::tree::Tree;

const FOLDERS: [&str; 2] = ["manifests", "templates"];
const MANIFESTS: [&str; 3] = [".yaml", ".yml", ".json"];
/// Folders at the top of a package without the folders above, whose files are not for a cluster.
const OTHER_FOLDERS: [&str; 3] = ["docs", "scripts", "tests"];

/// A file that becomes Kubernetes objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    pub path: String,
    pub is_template: bool,
}

/// The folders in which templates are looked up, the package's top last: `""`.
pub fn folders(tree: &Tree) -> Vec<&'static str> {
    FOLDERS.into_iter().filter(|folder| tree.has_directory(folder)).chain([""]).collect()
}

/// The files that become objects, sorted. `suffixes` are those of templates, as `.j2`.
pub fn sources(tree: &Tree, suffixes: &[&str]) -> Result<Vec<Source>, Failure> {
    let folders: Vec<_> = FOLDERS.into_iter().filter(|folder| tree.has_directory(folder)).collect();
    let found: Vec<_> = tree
        .paths()
        .filter(|path| match path.split_once('/') {
            Some((folder, _)) if folders.is_empty() => !OTHER_FOLDERS.contains(&folder),
            Some((folder, _)) => folders.contains(&folder),
            None => folders.is_empty() && !is_about(path),
        })
        .filter(|path| !path.split('/').any(|part| part.starts_with('_') || part == "partials"))
        .filter_map(|path| source(path, suffixes))
        .collect();
    if found.is_empty() {
        let place = if folders.is_empty() { String::new() } else { format!(" in {}/", folders.join("/ and ")) };
        let names: Vec<_> = suffixes.iter().map(|suffix| format!("*.yaml{suffix}")).collect();
        return Err(Failure::new(format!(
            "the package has nothing to render{place}: no {}, *.yaml, *.yml or *.json",
            names.join(", ")
        )));
    }
    Ok(found)
}

fn source(path: &str, suffixes: &[&str]) -> Option<Source> {
    let is_manifest = |path: &str| MANIFESTS.iter().any(|ending| path.ends_with(ending));
    if let Some(stem) = suffixes.iter().find_map(|suffix| path.strip_suffix(suffix)) {
        let name = stem.rsplit('/').next().unwrap_or(stem);
        let renders = is_manifest(stem) || !name.contains('.');
        return renders.then(|| Source { path: path.to_owned(), is_template: true });
    }
    is_manifest(path).then(|| Source { path: path.to_owned(), is_template: false })
}

/// Files at the top that tell of the package, and values for its environments.
fn is_about(path: &str) -> bool {
    matches!(path, "mistletoe.yaml" | "K3.yaml" | "package.json") || path.starts_with("values")
}

/// The path that `name`, written in the template `from`, stands for: relative to it if it begins with `./` or `../`, else
/// below one of the folders. `None`: it leads out of the package.
pub fn resolve(tree: &Tree, folders: &[&str], name: &str, from: &str) -> Option<String> {
    let base = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    if name.starts_with("./") || name.starts_with("../") {
        return normalize(base, name);
    }
    let candidates: Vec<_> = folders.iter().filter_map(|folder| normalize(folder, name)).collect();
    candidates.iter().find(|path| tree.contains(path)).or(candidates.last()).cloned()
}

fn normalize(base: &str, name: &str) -> Option<String> {
    let mut parts: Vec<_> = base.split('/').filter(|part| !part.is_empty()).collect();
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUFFIXES: [&str; 2] = [".j2", ".tmpl"];

    fn paths<const N: usize>(files: [&str; N]) -> Vec<String> {
        sources(&Tree::from(files.map(|path| (path, ""))), &SUFFIXES)
            .unwrap()
            .into_iter()
            .map(|source| source.path + if source.is_template { "!" } else { "" })
            .collect()
    }

    #[test]
    fn takes_manifests_and_templates() {
        let found = paths([
            "K3.yaml",
            "manifests/a.yaml",
            "manifests/b.yaml.tmpl",
            "manifests/README.md",
            "manifests/nginx.conf.j2",
            "manifests/_x.yaml.j2",
            "manifests/partials/y.yaml.j2",
            "other/c.yaml",
        ]);
        assert_eq!(found, ["manifests/a.yaml", "manifests/b.yaml.tmpl!"]);
    }

    #[test]
    fn takes_everything_where_there_is_no_such_folder() {
        let found = paths(["mistletoe.yaml", "values.yaml", "values-prod.yaml", "a.j2", "x/b.json", "tests/c.yaml"]);
        assert_eq!(found, ["a.j2!", "x/b.json"]);
    }

    #[test]
    fn says_where_it_looked() {
        let failure = sources(&Tree::from([("manifests/a.txt", "")]), &SUFFIXES).unwrap_err();
        assert_eq!(
            failure.message,
            "the package has nothing to render in manifests/: no *.yaml.j2, *.yaml.tmpl, *.yaml, *.yml or *.json"
        );
    }

    #[test]
    fn resolves_names_within_the_package() {
        let tree = Tree::from([("templates/_a.j2", ""), ("lib/b.j2", "")]);
        let found = |name, from| resolve(&tree, &folders(&tree), name, from);
        assert_eq!(found("_a.j2", "templates/x").as_deref(), Some("templates/_a.j2"));
        assert_eq!(found("lib/b.j2", "templates/x").as_deref(), Some("lib/b.j2"));
        assert_eq!(found("../lib/b.j2", "templates/x").as_deref(), Some("lib/b.j2"));
        assert_eq!(found("./_a.j2", "templates/x").as_deref(), Some("templates/_a.j2"));
        assert_eq!(found("../../etc/passwd", "templates/x"), None);
        assert_eq!(found("/etc/passwd", "templates/x").as_deref(), Some("etc/passwd"));
    }
}
