//! Filters and tests: those of Jinja2 that the library lacks or understands otherwise, and those that manifests need.

mod html;
mod python;
mod wrap;

use guest::{random, text, yaml};
use minijinja::value::{ArgType, Kwargs, ObjectRepr, Rest, Serde};
use minijinja::{Environment, Error, ErrorKind, Value};

use crate::errors::carry;
use crate::methods::{center as center_text, invalid};

pub fn add_to(environment: &mut Environment) {
    // Jinja2's own.
    environment.add_filter("center", center);
    environment.add_filter("filesizeformat", filesizeformat);
    environment.add_filter("forceescape", html::forceescape);
    environment.add_filter("random", random_item);
    environment.add_filter("striptags", html::striptags);
    environment.add_filter("truncate", truncate);
    environment.add_filter("urlize", html::urlize);
    environment.add_filter("wordcount", wordcount);
    environment.add_filter("wordwrap", wrap::wordwrap);
    environment.add_filter("xmlattr", html::xmlattr);
    environment.add_test("callable", |value: &Value| {
        value.as_object().is_some_and(|object| matches!(object.repr(), ObjectRepr::Plain))
    });
    python::add_to(environment);

    // For manifests.
    environment.add_filter("to_yaml", |value: &Value| to_json_value(value).map(|value| yaml::to_yaml(&value)));
    environment.add_filter("from_yaml", |text: &str| from_yaml(text));
    environment.add_filter("to_json", |value: &Value| to_json_value(value).map(|value| value.to_string()));
    environment.add_filter("from_json", |text: &str| from_json(text));
    environment.add_filter("quote", |value: &Value| yaml::quote(&value.to_string()));
    environment.add_filter("b64encode", |value: &Value| text::base64_encode(&value.to_string()));
    environment.add_filter("b64decode", |text: &str| text::base64_decode(text).map_err(invalid));
    environment.add_filter("sha256", |value: &Value| text::sha256(&value.to_string()));
    environment.add_filter("required", required);
}

/// Arguments as Python takes them: by place or by name.
pub struct Arguments {
    names: &'static [&'static str],
    positional: Vec<Value>,
    named: Kwargs,
}

impl Arguments {
    pub fn new(names: &'static [&'static str], positional: Rest<Value>, named: Kwargs) -> Result<Self, Error> {
        if positional.len() > names.len() {
            return Err(Error::from(ErrorKind::TooManyArguments));
        }
        Ok(Self { names, positional: positional.0, named })
    }

    pub fn get<T>(&self, name: &str) -> Result<Option<T>, Error>
    where
        T: for<'a> ArgType<'a, Output = T>,
    {
        let place = self.names.iter().position(|known| *known == name);
        let given = match place.and_then(|place| self.positional.get(place)) {
            Some(value) => Some(value.clone()),
            None if self.named.has(name) => Some(self.named.get::<Value>(name)?),
            None => None,
        };
        given.filter(|value| !value.is_none()).map(|value| T::from_value(Some(&value))).transpose()
    }

    pub fn done(&self) -> Result<(), Error> {
        self.named.assert_all_used()
    }
}

fn to_json_value(value: &Value) -> Result<serde_json::Value, Error> {
    if value.is_undefined() {
        return Err(Error::new(ErrorKind::UndefinedError, "an undefined value can't be written"));
    }
    serde_json::to_value(value).map_err(|error| Error::new(ErrorKind::BadSerialization, error.to_string()))
}

fn from_yaml(text: &str) -> Result<Value, Error> {
    yaml::parse(text, "").map(|value| Value::from(Serde(value))).map_err(|failure| {
        let line = failure.place.and_then(|place| place.line).unwrap_or(1);
        invalid(format!("{} (line {line} of the text)", failure.message))
    })
}

fn from_json(text: &str) -> Result<Value, Error> {
    let value: Result<serde_json::Value, _> = serde_json::from_str(text);
    value.map(|value| Value::from(Serde(value))).map_err(|error| invalid(format!("this is not JSON: {error}")))
}

/// The value, or an error of the template's own where there is none.
fn required(value: &Value, message: Option<&str>) -> Result<Value, Error> {
    if value.is_undefined() || value.is_none() || value.as_str() == Some("") {
        return Err(invalid(message.unwrap_or("a value is required here").to_owned()));
    }
    Ok(value.clone())
}

fn center(value: &Value, width: Option<usize>) -> String {
    center_text(&value.to_string(), width.unwrap_or(80), ' ')
}

fn filesizeformat(value: &Value, binary: Option<bool>) -> Result<String, Error> {
    let bytes = match value.as_str() {
        Some(text) => text.trim().parse::<f64>().map_err(|_| invalid(format!("{text:?} is not a number")))?,
        None => f64::try_from(value.clone())?,
    };
    let binary = binary.unwrap_or(false);
    let base = if binary { 1024.0 } else { 1000.0_f64 };
    if bytes == 1.0 {
        return Ok("1 Byte".into());
    }
    if bytes < base {
        return Ok(format!("{} Bytes", bytes as i64));
    }
    let prefixes = ["K", "M", "G", "T", "P", "E", "Z", "Y"];
    let power = (0..prefixes.len() - 1).find(|power| bytes < base.powi(*power as i32 + 2)).unwrap_or(7);
    let unit = if binary { "iB" } else { "B" };
    let prefix = if power == 0 && !binary { "k" } else { prefixes[power] };
    Ok(format!("{:.1} {prefix}{unit}", base * bytes / base.powi(power as i32 + 2)))
}

/// One of the items, from the release's random numbers: the same in every render of the release.
fn random_item(value: &Value) -> Result<Value, Error> {
    let items: Vec<Value> = match value.as_str() {
        Some(text) => text.chars().map(Value::from).collect(),
        None => value.try_iter()?.collect(),
    };
    if items.is_empty() {
        return Err(invalid("there is no item to choose from".into()));
    }
    let place = random::below(items.len() as u64).map_err(carry)?;
    Ok(items[place as usize].clone())
}

fn truncate(value: &Value, positional: Rest<Value>, named: Kwargs) -> Result<String, Error> {
    let arguments = Arguments::new(&["length", "killwords", "end", "leeway"], positional, named)?;
    let length: usize = arguments.get("length")?.unwrap_or(255);
    let killwords: bool = arguments.get("killwords")?.unwrap_or(false);
    let end: String = arguments.get("end")?.unwrap_or_else(|| "...".into());
    let leeway: usize = arguments.get("leeway")?.unwrap_or(5);
    arguments.done()?;
    let text: Vec<char> = value.to_string().chars().collect();
    let Some(kept) = length.checked_sub(end.chars().count()) else {
        return Err(invalid(format!("expected length >= {}, got {length}", end.chars().count())));
    };
    if text.len() <= length.saturating_add(leeway) {
        return Ok(text.into_iter().collect());
    }
    let mut kept = &text[..kept];
    if let (false, Some(space)) = (killwords, kept.iter().rposition(|c| *c == ' ')) {
        kept = &kept[..space];
    }
    Ok(kept.iter().collect::<String>() + &end)
}

fn wordcount(value: &Value) -> usize {
    let text = value.to_string();
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).count()
}
