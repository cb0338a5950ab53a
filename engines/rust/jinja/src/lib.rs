//! The engine for Jinja templates: minijinja, by the author of Jinja2, brought to behave as Jinja2 does.
//!
//! What templates see and which files are rendered stands in the README of this engine; what its library lacks of Jinja2
//! is in [`filters`], [`globals`] and [`methods`].

mod errors;
mod filters;
mod globals;
mod methods;
mod nesting;
mod trace;

use std::borrow::Cow;
use std::sync::Arc;

use guest::templates::{Source, folders, resolve, sources};
use guest::{Engine, Failure, Input, Package, Rendered, Tree, host, json, random};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, Error, UndefinedBehavior, Value};
use trace::Trace;

guest::reactor!(Jinja);

/// What makes a file a template.
const SUFFIXES: [&str; 4] = [".j2", ".jinja", ".jinja2", ".tmpl"];
/// Instructions that one template may take: a second or two, a hundred times what large packages need.
const STEPS: u64 = 50_000_000;

pub struct Jinja;

pub struct Loaded {
    package: Package,
    tree: Arc<Tree>,
    environment: Environment<'static>,
    sources: Vec<Source>,
    /// Blanks beside tags are not cut.
    keeps_blanks: bool,
}

impl Engine for Jinja {
    type Loaded = Loaded;

    fn start() -> Self {
        // Its first use fills the library's tables.
        let _ = Environment::new();
        Self
    }

    fn load(&self, tree: Tree) -> Result<Loaded, Failure> {
        let package = Package::read(&tree)?;
        let tree = Arc::new(tree);
        let environment = environment(&package, &tree)?;
        let sources = sources(&tree, &SUFFIXES)?;
        for source in sources.iter().filter(|source| source.is_template) {
            environment.get_template(&source.path).map_err(|error| errors::failure(&error, &source.path))?;
        }
        let keeps_blanks = !package.flag("trimBlocks", false)? && !package.flag("lstripBlocks", false)?;
        Ok(Loaded { package, tree, environment, sources, keeps_blanks })
    }

    fn render(&self, loaded: &Loaded, input: &Input) -> Result<Rendered, Failure> {
        let Loaded { package, tree, sources, .. } = loaded;
        package.warnings.iter().for_each(|warning| host::warn(warning));
        let values = package.values(&input.data);
        let mut context = guest::Object::new();
        context.insert("release".into(), json!(input.release));
        context.insert("capabilities".into(), json!(input.capabilities));
        context.insert("package".into(), package.as_value());
        context.insert("values".into(), json!(values));
        context.extend(values);
        let context = Value::from(Serde(&context));
        let mut rendered = Rendered::default();
        for Source { path, is_template } in sources {
            if *is_template {
                random::use_stream(path);
                let (text, lines) =
                    traced(loaded, path, &context).map_err(|error| errors::failure(&error, path).with_text(tree))?;
                rendered.add(path, text, lines);
            } else {
                rendered.files.insert(path.clone(), tree.text(path).transpose()?.unwrap_or_default().to_owned());
            }
        }
        Ok(rendered)
    }

    fn describe(&self, loaded: &Loaded) -> Result<Package, Failure> {
        Ok(loaded.package.clone())
    }
}

/// The output of a template, and for each line of it the template's line, or 0.
fn traced(loaded: &Loaded, path: &str, context: &Value) -> Result<(String, Vec<usize>), Error> {
    let template = loaded.environment.get_template(path)?;
    let mut trace = Trace::new(&template, loaded.keeps_blanks);
    template.render_captured_to(context, &mut trace)?;
    Ok(trace.finish())
}

fn environment(package: &Package, tree: &Arc<Tree>) -> Result<Environment<'static>, Failure> {
    package.refuse_other_options(&["keepTrailingNewline", "lstripBlocks", "trimBlocks", "undefined"])?;
    let mut environment = Environment::new();
    environment.set_debug(true);
    environment.set_fuel(Some(STEPS));
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_undefined_behavior(match package.choice("undefined", &["strict", "lenient", "chainable"])? {
        "lenient" => UndefinedBehavior::Lenient,
        "chainable" => UndefinedBehavior::Chainable,
        _ => UndefinedBehavior::Strict,
    });
    let syntax = SyntaxConfig::builder()
        .trim_blocks(package.flag("trimBlocks", false)?)
        .lstrip_blocks(package.flag("lstripBlocks", false)?)
        .keep_trailing_newline(package.flag("keepTrailingNewline", false)?)
        .build()
        .map_err(|error| Failure::new(error.to_string()))?;
    environment.set_syntax(syntax);

    let folders = folders(tree);
    let files = Arc::clone(tree);
    environment.set_path_join_callback(move |name, from| match resolve(&files, &folders, name, from) {
        Some(path) => Cow::Owned(path),
        // No file has this name; the error will show it.
        None => Cow::Owned(format!("{name} (outside of the package)")),
    });
    let files = Arc::clone(tree);
    environment.set_loader(move |path| {
        // Jinja2 takes every way to end a line for a newline.
        let text = files.text(path).transpose().map_err(errors::carry)?;
        let text = text.map(|text| text.replace("\r\n", "\n").replace('\r', "\n"));
        text.map(|text| nesting::check(text, path)).transpose().map_err(errors::carry)
    });
    filters::add_to(&mut environment);
    globals::add_to(&mut environment, tree);
    environment.set_unknown_method_callback(methods::call);
    Ok(environment)
}
