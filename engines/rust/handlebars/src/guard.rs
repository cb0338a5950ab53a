//! Bounds for what the library has none, an order for what it has none, and `@root` by itself.
//!
//! * Partials that call one another for ever: each counts itself in and out.
//! * Blocks and subexpressions nested so deeply that its parser's stack would not suffice.
//! * `{{> partial b=1 a=2}}` merges its named values in the order of a hash table, which an `each` in the partial would
//!   show: they are merged before, in the order of their names.
//! * `@root` alone is a variable of a loop for it, which there is none of; `@root/this` is what is meant.

use std::cell::Cell;
use std::collections::HashMap;

use guest::{Failure, Place};
use handlebars::template::{DecoratorTemplate, HelperTemplate, Parameter, Subexpression, TemplateElement};
use handlebars::{
    Context, Handlebars, Helper, HelperDef, HelperResult, JsonValue, Output, Path, RenderContext, RenderError,
    RenderErrorReason, ScopedJson, Template,
};

const MAX_PARTIALS: usize = 50;
const MAX_NESTING: usize = 100;

// No name that a template could write.
const ENTER: &str = "mist:enter";
const LEAVE: &str = "mist:leave";
const MERGE: &str = "mist:merge";
const GIVEN: &str = "mist:given";

thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Before each template: one that failed left its partials without counting itself out.
pub fn reset() {
    DEPTH.set(0);
}

pub fn add_to(registry: &mut Handlebars) {
    registry.register_helper(ENTER, Box::new(enter));
    registry.register_helper(LEAVE, Box::new(leave));
    registry.register_helper(MERGE, Box::new(Merge));
    registry.register_helper(GIVEN, Box::new(Given));
}

fn enter(_: &Helper, _: &Handlebars, _: &Context, _: &mut RenderContext, _: &mut dyn Output) -> HelperResult {
    DEPTH.set(DEPTH.get() + 1);
    if DEPTH.get() > MAX_PARTIALS {
        let message = format!("partials call one another more than {MAX_PARTIALS} levels deep: do they ever end?");
        return Err(RenderErrorReason::Other(message).into());
    }
    Ok(())
}

fn leave(_: &Helper, _: &Handlebars, _: &Context, _: &mut RenderContext, _: &mut dyn Output) -> HelperResult {
    DEPTH.set(DEPTH.get().saturating_sub(1));
    Ok(())
}

/// A context with named values laid over it, as the library does for a partial.
struct Merge;

impl HelperDef for Merge {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        registry: &'reg Handlebars<'reg>,
        _: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, RenderError> {
        check_made(helper, registry)?;
        let mut merged = match helper.param(0).map(|base| base.value()) {
            Some(JsonValue::Object(object)) => object.clone(),
            Some(JsonValue::Array(list)) => {
                list.iter().enumerate().map(|(place, item)| (place.to_string(), item.clone())).collect()
            }
            _ => guest::Object::new(),
        };
        // The library keeps these sorted.
        for (name, value) in helper.hash() {
            merged.insert((*name).to_owned(), value.value().clone());
        }
        Ok(ScopedJson::Derived(JsonValue::Object(merged)))
    }
}

/// What an expression made for a partial, which the library takes for nothing where it isn't there.
struct Given;

impl HelperDef for Given {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        registry: &'reg Handlebars<'reg>,
        _: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, RenderError> {
        check_made(helper, registry)?;
        Ok(ScopedJson::Derived(helper.param(0).map_or(JsonValue::Null, |given| given.value().clone())))
    }
}

fn check_made(helper: &Helper, registry: &Handlebars) -> Result<(), RenderError> {
    match helper.param(0) {
        Some(given) if registry.strict_mode() && given.is_value_missing() && given.relative_path().is_none() => {
            Err(RenderError::strict_error(None))
        }
        _ => Ok(()),
    }
}

/// Guards a partial.
pub fn guard(template: &mut Template) {
    guard_inner(template);
    for (name, place) in [(ENTER, 0), (LEAVE, template.elements.len() + 1)] {
        // The name is one that parses; a template that doesn't would be guarded by nothing.
        let Ok(mut one) = Template::compile(&format!("{{{{{name}}}}}")) else { return };
        let mapping = template.mapping.get(place.saturating_sub(2)).or(one.mapping.first()).cloned();
        template.elements.insert(place, one.elements.remove(0));
        if let Some(mapping) = mapping {
            template.mapping.insert(place.min(template.mapping.len()), mapping);
        }
    }
}

/// Guards what is defined inside of a template, gives its calls of partials an order, and says what `@root` is.
pub fn guard_inner(template: &mut Template) {
    for element in &mut template.elements {
        match element {
            TemplateElement::Expression(helper) | TemplateElement::HtmlExpression(helper) => say_root(helper),
            TemplateElement::HelperBlock(block) => {
                say_root(block);
                block.template.iter_mut().chain(&mut block.inverse).for_each(guard_inner);
            }
            TemplateElement::DecoratorBlock(block) => block.template.iter_mut().for_each(guard),
            TemplateElement::PartialExpression(partial) => order(partial),
            TemplateElement::PartialBlock(partial) => {
                order(partial);
                partial.template.iter_mut().for_each(guard_inner);
            }
            _ => {}
        }
    }
}

fn say_root(helper: &mut HelperTemplate) {
    [&mut helper.name].into_iter().chain(&mut helper.params).chain(helper.hash.values_mut()).for_each(say_root_in);
}

fn say_root_in(parameter: &mut Parameter) {
    match parameter {
        Parameter::Path(Path::Local((_, name, _))) if name == "root" => *parameter = parsed("@root/this"),
        Parameter::Subexpression(inner) => {
            if let TemplateElement::Expression(helper) = inner.element.as_mut() {
                say_root(helper);
            }
        }
        _ => {}
    }
}

fn order(partial: &mut DecoratorTemplate) {
    [&mut partial.name].into_iter().chain(&mut partial.params).chain(partial.hash.values_mut()).for_each(say_root_in);
    if partial.hash.len() < 2 {
        if let Some(made @ Parameter::Subexpression(_)) = partial.params.first_mut() {
            *made = call(GIVEN, made.clone(), HashMap::new());
        }
        return;
    }
    let hash: HashMap<String, Parameter> = partial.hash.clone();
    let context = partial.params.first().cloned().unwrap_or_else(|| parsed("this"));
    partial.params.clear();
    partial.params.push(call(MERGE, context, hash));
}

fn call(helper: &str, value: Parameter, hash: HashMap<String, Parameter>) -> Parameter {
    Parameter::Subexpression(Subexpression::new(Parameter::Name(helper.into()), vec![value], hash))
}

/// A path, as the library reads it.
fn parsed(path: &str) -> Parameter {
    match Template::compile(&format!("{{{{x {path}}}}}")).ok().and_then(|template| template.elements.into_iter().next())
    {
        Some(TemplateElement::Expression(helper)) => helper.params.into_iter().next(),
        _ => None,
    }
    .unwrap_or(Parameter::Literal(JsonValue::Null))
}

/// Refuses blocks, brackets and subexpressions of more levels than the parser's stack allows.
pub fn check_nesting(text: &str, path: &str) -> Result<(), Failure> {
    let (mut blocks, mut brackets) = (0_usize, 0_usize);
    let mut inside = false;
    for (place, c) in text.char_indices() {
        let rest = &text[place..];
        if rest.starts_with("{{") {
            (inside, brackets) = (true, 0);
            let tag = rest.trim_start_matches(['{', '~']);
            if tag.starts_with('#') {
                blocks += 1;
            } else if tag.starts_with('/') {
                blocks = blocks.saturating_sub(1);
            }
        } else if rest.starts_with("}}") {
            inside = false;
        } else if inside && matches!(c, '(' | '[') {
            brackets += 1;
        } else if inside && matches!(c, ')' | ']') {
            brackets = brackets.saturating_sub(1);
        }
        if blocks > MAX_NESTING || brackets > MAX_NESTING {
            let message = format!("this is more than {MAX_NESTING} levels deep");
            return Err(Failure::new(message).at(Place::of_offset(path, text, place)));
        }
    }
    Ok(())
}
