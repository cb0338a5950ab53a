//! The engine for Handlebars templates: the crate `handlebars`, strict, without escaping for HTML, with the helpers that
//! manifests need. What templates see and which files are rendered stands in the README of this engine.

mod guard;
mod helpers;
mod trace;

use std::sync::Arc;

use guest::templates::{Source, sources};
use guest::{Engine, Failure, Input, Object, Package, Place, Rendered, Tree, host, json, random};
use handlebars::{Context, Handlebars, RenderError, RenderErrorReason, Template, TemplateError, no_escape};
use trace::Trace;

guest::reactor!(HandlebarsEngine);

/// What makes a file a template.
const SUFFIXES: [&str; 2] = [".hbs", ".handlebars"];
/// The folders whose templates are partials, by their path in it: at the top, and below the folders of templates.
const PARTIALS: [&str; 3] = ["partials/", "templates/partials/", "manifests/partials/"];

pub struct HandlebarsEngine;

pub struct Loaded {
    package: Package,
    tree: Arc<Tree>,
    registry: Handlebars<'static>,
    /// Names of partials are no paths; errors name the file.
    partials: Vec<(String, String)>,
    sources: Vec<Source>,
}

impl Engine for HandlebarsEngine {
    type Loaded = Loaded;

    fn start() -> Self {
        Self
    }

    fn load(&self, tree: Tree) -> Result<Loaded, Failure> {
        let package = Package::read(&tree)?;
        let tree = Arc::new(tree);
        package.refuse_other_options(&["strict"])?;
        let mut registry = Handlebars::new();
        registry.set_strict_mode(package.flag("strict", true)?);
        registry.register_escape_fn(no_escape);
        helpers::add_to(&mut registry, &tree);
        let sources = sources(&tree, &SUFFIXES)?;
        let partials = partials(&tree);
        for (name, path) in &partials {
            let mut template = compile(&tree, path, name)?;
            guard::guard(&mut template);
            registry.register_template(name, template);
        }
        for Source { path, .. } in sources.iter().filter(|source| source.is_template) {
            let mut template = compile(&tree, path, path)?;
            guard::guard_inner(&mut template);
            trace::add_marks(&mut template, tree.text(path).transpose()?.unwrap_or_default());
            registry.register_template(path, template);
        }
        Ok(Loaded { package, tree, registry, partials, sources })
    }

    fn render(&self, loaded: &Loaded, input: &Input) -> Result<Rendered, Failure> {
        loaded.package.warnings.iter().for_each(|warning| host::warn(warning));
        let values = loaded.package.values(&input.data);
        let mut context = Object::new();
        context.insert("release".into(), json!(input.release));
        context.insert("capabilities".into(), json!(input.capabilities));
        context.insert("package".into(), loaded.package.as_value());
        context.insert("values".into(), json!(values));
        context.extend(values);
        let context = Context::wraps(context).map_err(|error| Failure::new(error.to_string()))?;
        let mut rendered = Rendered::default();
        for Source { path, is_template } in &loaded.sources {
            if *is_template {
                guard::reset();
                random::use_stream(path);
                let mut trace = Trace::default();
                let written = loaded.registry.render_with_context_to_write(path, &context, &mut trace);
                written.map_err(|error| loaded.render_failure(&error, path))?;
                let (text, lines) = trace.finish();
                rendered.add(path, text, lines);
            } else {
                rendered.files.insert(path.clone(), loaded.tree.text(path).transpose()?.unwrap_or_default().to_owned());
            }
        }
        Ok(rendered)
    }

    fn describe(&self, loaded: &Loaded) -> Result<Package, Failure> {
        Ok(loaded.package.clone())
    }
}

impl Loaded {
    fn render_failure(&self, error: &RenderError, path: &str) -> Failure {
        let name = error.template_name.as_deref().unwrap_or(path);
        let file = self.partials.iter().find(|(partial, _)| partial == name).map_or(name, |(_, file)| file);
        let missing = |value: &str| format!("there is no value {value}: Failed to access variable in strict mode");
        let message = match error.reason() {
            RenderErrorReason::MissingVariable(Some(path)) => missing(path),
            RenderErrorReason::MissingVariable(None) => missing(&helpers::missed()),
            RenderErrorReason::PartialNotFound(name) if name.is_empty() => missing(&helpers::missed()),
            RenderErrorReason::ParamNotFoundForIndex(helper, place) => {
                format!("value {} of the helper {helper} isn't there", place + 1)
            }
            reason => reason.to_string(),
        };
        let place = Place { line: error.line_no, column: error.column_no, ..Place::file(file) };
        Failure::new(message).at(place).with_text(&self.tree)
    }
}

/// (name, path) of each.
fn partials(tree: &Tree) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for path in tree.paths() {
        let name = PARTIALS.iter().find_map(|folder| path.strip_prefix(folder));
        if let Some(name) = name.and_then(|name| SUFFIXES.iter().find_map(|suffix| name.strip_suffix(suffix)))
            && !found.iter().any(|(known, _)| known == name)
        {
            found.push((name.to_owned(), path.to_owned()));
        }
    }
    found
}

fn compile(tree: &Tree, path: &str, name: &str) -> Result<Template, Failure> {
    let text = tree.text(path).transpose()?.unwrap_or_default();
    guard::check_nesting(text, path)?;
    Template::compile_with_name(text, name.to_owned()).map_err(|error| syntax_failure(&error, path))
}

fn syntax_failure(error: &TemplateError, path: &str) -> Failure {
    let place = match error.pos() {
        Some((line, column)) => Place::at(path, line, column),
        None => Place::file(path),
    };
    Failure::new(error.reason().to_string()).at(place)
}
