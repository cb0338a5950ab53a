//! Helpers that manifests need. Those of the library stay as they are: `if`, `unless`, `each`, `with`, `eq`, `ne`, `gt`,
//! `gte`, `lt`, `lte`, `len`; but for `lookup`.

use std::cell::RefCell;
use std::sync::Arc;

use guest::{Tree, host, json, text, yaml};
use handlebars::{
    Context, Handlebars, Helper, HelperDef, HelperResult, JsonRender, JsonTruthy, JsonValue, Output, PathAndJson,
    RenderContext, RenderError, RenderErrorReason, Renderable, ScopedJson,
};

type Arguments<'a, 'rc> = &'a Helper<'rc>;

/// A helper that makes a value of its arguments: printed by itself, an argument in parentheses, a condition as a block.
struct Maker {
    name: &'static str,
    /// How many values it takes, at least and at most.
    takes: (usize, usize),
    /// Whether it may be given what isn't there.
    lenient: bool,
    make: fn(Arguments) -> Result<JsonValue, String>,
}

/// The table of them.
const MAKERS: [Maker; 27] = [
    Maker { name: "and", takes: (1, 99), lenient: true, make: and },
    Maker { name: "or", takes: (1, 99), lenient: true, make: or },
    Maker { name: "not", takes: (1, 1), lenient: true, make: |given| Ok(json!(!is_true(given, 0))) },
    Maker { name: "default", takes: (2, 2), lenient: true, make: default },
    Maker { name: "required", takes: (2, 2), lenient: true, make: required },
    Maker { name: "coalesce", takes: (1, 99), lenient: true, make: coalesce },
    Maker { name: "toYaml", takes: (1, 1), lenient: false, make: |given| Ok(json!(yaml::to_yaml(value(given, 0)))) },
    Maker { name: "toJson", takes: (1, 1), lenient: false, make: |given| Ok(json!(value(given, 0).to_string())) },
    Maker { name: "fromYaml", takes: (1, 1), lenient: false, make: from_yaml },
    Maker { name: "fromJson", takes: (1, 1), lenient: false, make: from_json },
    Maker { name: "indent", takes: (2, 2), lenient: false, make: |given| indent(given, true) },
    Maker { name: "nindent", takes: (2, 2), lenient: false, make: nindent },
    Maker { name: "quote", takes: (1, 1), lenient: false, make: |given| Ok(json!(yaml::quote(&shown(given, 0)))) },
    Maker { name: "squote", takes: (1, 1), lenient: false, make: squote },
    Maker {
        name: "b64encode",
        takes: (1, 1),
        lenient: false,
        make: |given| Ok(json!(text::base64_encode(&shown(given, 0)))),
    },
    Maker {
        name: "b64decode",
        takes: (1, 1),
        lenient: false,
        make: |given| text::base64_decode(&shown(given, 0)).map(JsonValue::from),
    },
    Maker { name: "sha256", takes: (1, 1), lenient: false, make: |given| Ok(json!(text::sha256(&shown(given, 0)))) },
    Maker { name: "upper", takes: (1, 1), lenient: false, make: |given| Ok(json!(shown(given, 0).to_uppercase())) },
    Maker { name: "lower", takes: (1, 1), lenient: false, make: |given| Ok(json!(shown(given, 0).to_lowercase())) },
    Maker { name: "trim", takes: (1, 1), lenient: false, make: |given| Ok(json!(shown(given, 0).trim())) },
    Maker { name: "trunc", takes: (2, 2), lenient: false, make: trunc },
    Maker { name: "replace", takes: (3, 3), lenient: false, make: replace },
    Maker { name: "join", takes: (2, 2), lenient: false, make: join },
    Maker { name: "concat", takes: (1, 99), lenient: false, make: concat },
    Maker { name: "contains", takes: (2, 2), lenient: false, make: contains },
    Maker { name: "add", takes: (2, 99), lenient: false, make: add },
    Maker { name: "fail", takes: (1, 1), lenient: false, make: |given| Err(shown(given, 0)) },
];

pub fn add_to(registry: &mut Handlebars, tree: &Arc<Tree>) {
    crate::guard::add_to(registry);
    crate::trace::add_to(registry);
    for maker in MAKERS {
        registry.register_helper(maker.name, Box::new(maker));
    }
    registry.register_helper("lookup", Box::new(Lookup));
    registry.register_helper("file", Box::new(File(Arc::clone(tree))));
    registry.register_helper("log", Box::new(log));
}

impl HelperDef for Maker {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        given: &Helper<'rc>,
        registry: &'reg Handlebars<'reg>,
        _: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, RenderError> {
        check_count(given, self.takes)?;
        if !self.lenient {
            check_given(given, registry)?;
        }
        (self.make)(given).map(ScopedJson::Derived).map_err(|message| RenderErrorReason::Other(message).into())
    }

    fn call<'reg: 'rc, 'rc>(
        &self,
        given: &Helper<'rc>,
        registry: &'reg Handlebars<'reg>,
        context: &'rc Context,
        render: &mut RenderContext<'reg, 'rc>,
        out: &mut dyn Output,
    ) -> HelperResult {
        if !given.is_block() {
            return Printed(self).call(given, registry, context, render, out);
        }
        let made = self.call_inner(given, registry, context, render)?;
        let template = if made.as_json().is_truthy(false) { given.template() } else { given.inverse() };
        template.map_or(Ok(()), |template| template.render(registry, context, render, out))
    }
}

fn check_count(given: Arguments, (least, most): (usize, usize)) -> Result<(), RenderError> {
    let count = given.params().len();
    if (least..=most).contains(&count) {
        return Ok(());
    }
    let takes = if least == most { least.to_string() } else { format!("{least} or more") };
    let message = format!("the helper {} takes {takes} values, here are {count}", given.name());
    Err(RenderErrorReason::Other(message).into())
}

/// In strict mode, that all values are there.
fn check_given(given: Arguments, registry: &Handlebars) -> Result<(), RenderError> {
    match given.params().iter().find(|given| given.is_value_missing()) {
        Some(missing) if registry.strict_mode() => Err(RenderError::strict_error(missing.relative_path())),
        _ => Ok(()),
    }
}

thread_local! {
    /// What `lookup` didn't find last. The library's errors name a path, and what it gives has none.
    static MISSED: RefCell<String> = const { RefCell::new(String::new()) };
}

/// For the message of an error about a value without a path.
pub fn missed() -> String {
    MISSED.with_borrow(Clone::clone)
}

/// `{{lookup collection key}}`. What it doesn't find isn't there, for whoever is given it to decide about; the library's
/// own is an error at once, also in `{{#if (lookup …)}}`.
struct Lookup;

impl HelperDef for Lookup {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        given: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        _: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, RenderError> {
        check_count(given, (2, 2))?;
        let key = shown(given, 1);
        let found = match value(given, 0) {
            JsonValue::Array(list) => key.parse::<usize>().ok().and_then(|place| list.get(place)),
            JsonValue::Object(object) => object.get(&key),
            _ => None,
        };
        Ok(found.cloned().map_or_else(
            || {
                let path = |place: usize| given.param(place).and_then(|given| given.relative_path());
                let missing = (0..2).find(|place| given.param(*place).is_some_and(PathAndJson::is_value_missing));
                MISSED.set(match (missing.and_then(path), path(0)) {
                    (Some(argument), _) => argument.clone(),
                    (None, Some(collection)) => format!("{key} in {collection}"),
                    (None, None) => key,
                });
                ScopedJson::Missing
            },
            ScopedJson::Derived,
        ))
    }
}

/// Has the library's own way to print a value, with the indentation of the partial around it.
struct Printed<'a>(&'a Maker);

impl HelperDef for Printed<'_> {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        given: &Helper<'rc>,
        registry: &'reg Handlebars<'reg>,
        context: &'rc Context,
        render: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, RenderError> {
        self.0.call_inner(given, registry, context, render)
    }
}

fn value<'a>(given: Arguments<'a, '_>, place: usize) -> &'a JsonValue {
    given.param(place).map_or(&JsonValue::Null, PathAndJson::value)
}

/// As the template would print it.
fn shown(given: Arguments, place: usize) -> String {
    value(given, place).render()
}

fn is_true(given: Arguments, place: usize) -> bool {
    value(given, place).is_truthy(false)
}

fn number(given: Arguments, place: usize) -> Result<usize, String> {
    let number = value(given, place).as_u64().and_then(|number| usize::try_from(number).ok());
    number
        .filter(|number| *number <= 10_000)
        .ok_or_else(|| format!("the helper {} takes a number up to 10000, not {}", given.name(), value(given, place)))
}

fn places(given: Arguments) -> std::ops::Range<usize> {
    0..given.params().len()
}

fn and(given: Arguments) -> Result<JsonValue, String> {
    Ok(json!(places(given).all(|place| is_true(given, place))))
}

fn or(given: Arguments) -> Result<JsonValue, String> {
    Ok(json!(places(given).any(|place| is_true(given, place))))
}

fn is_given(given: Arguments, place: usize) -> bool {
    !matches!(value(given, place), JsonValue::Null) && value(given, place) != ""
}

/// `{{default value otherwise}}`: zero and false are values, an empty text is none.
fn default(given: Arguments) -> Result<JsonValue, String> {
    Ok(value(given, usize::from(!is_given(given, 0))).clone())
}

fn coalesce(given: Arguments) -> Result<JsonValue, String> {
    Ok(places(given).find(|place| is_given(given, *place)).map_or(JsonValue::Null, |place| value(given, place).clone()))
}

/// `{{required value "message"}}`
fn required(given: Arguments) -> Result<JsonValue, String> {
    if is_given(given, 0) { Ok(value(given, 0).clone()) } else { Err(shown(given, 1)) }
}

fn from_yaml(given: Arguments) -> Result<JsonValue, String> {
    yaml::parse(&shown(given, 0), "").map_err(|failure| {
        let line = failure.place.and_then(|place| place.line).unwrap_or(1);
        format!("{} (line {line} of the text)", failure.message)
    })
}

fn from_json(given: Arguments) -> Result<JsonValue, String> {
    serde_json::from_str(&shown(given, 0)).map_err(|error| format!("this is not JSON: {error}"))
}

/// `{{indent text 4}}`, and `{{indent 4 text}}` as Helm has it.
fn indent(given: Arguments, first: bool) -> Result<JsonValue, String> {
    let text = usize::from(value(given, 0).is_number() && !value(given, 1).is_number());
    let spaces = " ".repeat(number(given, 1 - text)?);
    Ok(json!(text::indent(&shown(given, text), &spaces, first, false)))
}

fn nindent(given: Arguments) -> Result<JsonValue, String> {
    Ok(json!(format!("\n{}", indent(given, true)?.render())))
}

fn squote(given: Arguments) -> Result<JsonValue, String> {
    Ok(json!(format!("'{}'", shown(given, 0).replace('\'', "''"))))
}

/// `{{trunc text 63}}`, in characters.
fn trunc(given: Arguments) -> Result<JsonValue, String> {
    Ok(json!(shown(given, 0).chars().take(number(given, 1)?).collect::<String>()))
}

fn replace(given: Arguments) -> Result<JsonValue, String> {
    Ok(json!(shown(given, 0).replace(&shown(given, 1), &shown(given, 2))))
}

fn join(given: Arguments) -> Result<JsonValue, String> {
    let Some(list) = value(given, 0).as_array() else {
        return Err(format!("the helper join takes a list, not {}", value(given, 0)));
    };
    Ok(json!(list.iter().map(JsonRender::render).collect::<Vec<_>>().join(&shown(given, 1))))
}

fn concat(given: Arguments) -> Result<JsonValue, String> {
    Ok(json!(places(given).map(|place| shown(given, place)).collect::<String>()))
}

/// Whether a list has an item, an object a key, a text a part.
fn contains(given: Arguments) -> Result<JsonValue, String> {
    let wanted = value(given, 1);
    Ok(json!(match value(given, 0) {
        JsonValue::Array(list) => list.contains(wanted),
        JsonValue::Object(object) => object.contains_key(&wanted.render()),
        text => text.render().contains(&wanted.render()),
    }))
}

fn add(given: Arguments) -> Result<JsonValue, String> {
    let mut sum = json!(0);
    for place in places(given) {
        let value = value(given, place);
        let integers = sum.as_i64().zip(value.as_i64()).and_then(|(sum, value)| sum.checked_add(value));
        let floats = || sum.as_f64().zip(value.as_f64()).map(|(sum, value)| json!(sum + value));
        sum = integers
            .map(JsonValue::from)
            .or_else(floats)
            .ok_or_else(|| format!("the helper add takes numbers, not {value}"))?;
    }
    Ok(sum)
}

/// `{{file "path"}}`: a file of the package as it is.
struct File(Arc<Tree>);

impl HelperDef for File {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        given: &Helper<'rc>,
        registry: &'reg Handlebars<'reg>,
        _: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, RenderError> {
        check_given(given, registry)?;
        let path = shown(given, 0);
        match self.0.text(&path) {
            Some(Ok(text)) => Ok(ScopedJson::Derived(json!(text))),
            Some(Err(failure)) => Err(RenderErrorReason::Other(failure.message).into()),
            None => Err(RenderErrorReason::Other(format!("the package has no file {path}")).into()),
        }
    }
}

fn log(given: &Helper, registry: &Handlebars, _: &Context, _: &mut RenderContext, _: &mut dyn Output) -> HelperResult {
    check_given(given, registry)?;
    host::warn(&places(given).map(|place| shown(given, place)).collect::<Vec<_>>().join(" "));
    Ok(())
}
