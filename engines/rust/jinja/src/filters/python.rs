//! Filters and tests of the library that understand something otherwise than Jinja2 does.

use std::fmt::Write;

use minijinja::value::{Kwargs, Rest, ValueKind};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, Output, State, Value, filters};

use super::{Arguments, to_json_value};
use crate::methods::invalid;
use crate::trace;

pub fn add_to(environment: &mut Environment) {
    environment.set_formatter(|out, state, value| {
        trace::mark_begin(out, state)?;
        match state.auto_escape() {
            AutoEscape::Html if !value.is_safe() => out.write_str(&super::html::escape(&value.to_string()))?,
            _ => print(out, value)?,
        }
        trace::mark_end(out, state)
    });
    environment.add_filter("attr", attr);
    environment.add_filter("d", default);
    environment.add_filter("default", default);
    environment.add_filter("dictsort", |value: &Value, positional: Rest<Value>, named: Kwargs| {
        filters::dictsort(value, by_name(&["case_sensitive", "by", "reverse"], &positional, &named)?)
    });
    environment.add_filter("e", escape);
    environment.add_filter("escape", escape);
    environment.add_filter("float", float);
    environment.add_filter("indent", indent);
    environment.add_filter("int", int);
    environment.add_filter("items", |state: &State, value: &Value| match undefined_as_empty(state, value) {
        Some(empty) => Ok(empty),
        None => filters::items(value),
    });
    environment.add_filter("count", length);
    environment.add_filter("length", length);
    environment.add_filter("max", |state: &State, value: Value, positional: Rest<Value>, named: Kwargs| {
        filters::max(state, value, by_name(&["case_sensitive", "attribute"], &positional, &named)?)
    });
    environment.add_filter("min", |state: &State, value: Value, positional: Rest<Value>, named: Kwargs| {
        filters::min(state, value, by_name(&["case_sensitive", "attribute"], &positional, &named)?)
    });
    environment.add_filter("pprint", |value: &Value| pretty(value));
    environment.add_filter("replace", replace);
    environment.add_filter("sort", |state: &State, value: Value, positional: Rest<Value>, named: Kwargs| {
        filters::sort(state, value, by_name(&["reverse", "case_sensitive", "attribute"], &positional, &named)?)
    });
    environment.add_filter("tojson", tojson);
    environment.add_filter("unique", |state: &State, value: Value, positional: Rest<Value>, named: Kwargs| {
        filters::unique(state, value, by_name(&["case_sensitive", "attribute"], &positional, &named)?)
    });
    environment.add_filter("urlencode", urlencode);
    environment.add_test("sequence", |value: &Value| {
        matches!(value.kind(), ValueKind::Seq | ValueKind::Map | ValueKind::String | ValueKind::Undefined)
    });
}

/// Positional arguments under the names that Jinja2 gives them.
fn by_name(names: &[&str], positional: &[Value], named: &Kwargs) -> Result<Kwargs, Error> {
    if positional.len() > names.len() {
        return Err(Error::from(ErrorKind::TooManyArguments));
    }
    let mut all: Vec<(String, Value)> =
        names.iter().zip(positional).map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    for name in named.args() {
        all.push((name.to_owned(), named.get(name)?));
    }
    Ok(all.into_iter().collect())
}

/// As Python prints it: what is too large or too small for plain digits has an exponent.
fn print(out: &mut Output, value: &Value) -> Result<(), Error> {
    let printed = match value.kind() {
        ValueKind::Number if !value.is_integer() => match f64::try_from(value.clone()) {
            Ok(number) => write!(out, "{}", float_text(number)),
            Err(_) => write!(out, "{value}"),
        },
        _ => match value.as_str() {
            Some(text) => out.write_str(text),
            None => write!(out, "{value}"),
        },
    };
    printed.map_err(Error::from)
}

fn float_text(number: f64) -> String {
    let size = number.abs();
    if number.is_finite() && size != 0.0 && !(1e-4..1e16).contains(&size) {
        let text = format!("{number:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, exponent) = match exponent.strip_prefix('-') {
            Some(exponent) => ('-', exponent),
            None => ('+', exponent),
        };
        return format!("{digits}e{sign}{exponent:0>2}");
    }
    if number.is_nan() { "nan".into() } else { Value::from(number).to_string() }
}

/// An attribute, and never an item; of what templates are given only loops, macros and the like have any.
fn attr(value: &Value, name: &Value) -> Result<Value, Error> {
    if matches!(value.kind(), ValueKind::Map | ValueKind::Seq) {
        return Ok(Value::UNDEFINED);
    }
    filters::attr(value, name)
}

fn default(value: &Value, positional: Rest<Value>, named: Kwargs) -> Result<Value, Error> {
    let arguments = Arguments::new(&["default_value", "boolean"], positional, named)?;
    let otherwise = match arguments.positional.first() {
        Some(value) => value.clone(),
        None => arguments.named.get::<Option<Value>>("default_value")?.unwrap_or_else(|| Value::from("")),
    };
    let boolean = arguments.get("boolean")?.unwrap_or(false);
    arguments.done()?;
    Ok(if value.is_undefined() || (boolean && !value.is_true()) { otherwise } else { value.clone() })
}

fn escape(value: &Value) -> Value {
    if value.is_safe() { value.clone() } else { super::html::forceescape(value) }
}

/// Python's reading of numbers: spaces around, underscores between digits.
fn number_text(text: &str) -> String {
    let text = text.trim();
    let fits = !text.starts_with('_') && !text.ends_with('_') && !text.contains("__");
    if fits { text.replace('_', "") } else { String::new() }
}

fn float(value: &Value, positional: Rest<Value>, named: Kwargs) -> Result<Value, Error> {
    let arguments = Arguments::new(&["default"], positional, named)?;
    let otherwise = arguments.get::<Value>("default")?.unwrap_or_else(|| Value::from(0.0));
    arguments.done()?;
    let number = match value.as_str() {
        Some(text) => number_text(text).parse().ok(),
        None => f64::try_from(value.clone()).ok().or_else(|| bool::try_from(value.clone()).ok().map(f64::from)),
    };
    Ok(number.map_or(otherwise, Value::from))
}

fn int(value: &Value, positional: Rest<Value>, named: Kwargs) -> Result<Value, Error> {
    let arguments = Arguments::new(&["default", "base"], positional, named)?;
    let otherwise = arguments.get::<Value>("default")?.unwrap_or_else(|| Value::from(0));
    let base: u32 = arguments.get("base")?.unwrap_or(10);
    arguments.done()?;
    let Some(text) = value.as_str() else {
        if value.is_integer() {
            return Ok(value.clone());
        }
        let flag = bool::try_from(value.clone()).ok().filter(|_| value.kind() == ValueKind::Bool).map(f64::from);
        return Ok(flag.or_else(|| f64::try_from(value.clone()).ok()).map_or(otherwise, truncated));
    };
    let plain = number_text(text).to_lowercase();
    let (negative, digits) = match plain.strip_prefix(['+', '-']) {
        Some(digits) => (plain.starts_with('-'), digits),
        None => (false, plain.as_str()),
    };
    let (radix, digits) = match (base, digits.get(..2)) {
        (0 | 16, Some("0x")) => (16, &digits[2..]),
        (0 | 8, Some("0o")) => (8, &digits[2..]),
        (0 | 2, Some("0b")) => (2, &digits[2..]),
        (0, _) => (10, digits),
        (base, _) => (base, digits),
    };
    if (2..=36).contains(&radix)
        && digits.starts_with(|c: char| c.is_ascii_alphanumeric())
        && let Ok(size) = i128::from_str_radix(digits, radix)
    {
        return Ok(Value::from(if negative { -size } else { size }));
    }
    Ok(number_text(text).parse::<f64>().ok().map_or(otherwise, truncated))
}

fn truncated(number: f64) -> Value {
    // A cast saturates, which is right for every number that a manifest holds.
    if number.is_finite() { Value::from(number.trunc() as i128) } else { Value::from(0) }
}

fn indent(value: &Value, positional: Rest<Value>, named: Kwargs) -> Result<String, Error> {
    let arguments = Arguments::new(&["width", "first", "blank"], positional, named)?;
    let width = arguments.get::<Value>("width")?.unwrap_or_else(|| Value::from(4));
    let first = arguments.get("first")?.unwrap_or(false);
    let blank = arguments.get("blank")?.unwrap_or(false);
    arguments.done()?;
    let spaces = match width.as_str() {
        Some(text) => text.to_owned(),
        None => " ".repeat(usize::try_from(width)?.min(1000)),
    };
    // Jinja2 splits into lines by its own rules, and drops the newline at the end unless blank lines are indented.
    let text = value.to_string().replace("\r\n", "\n");
    let first = first && (blank || !text.starts_with('\n') || text.is_empty());
    Ok(guest::text::indent(&text, &spaces, first, blank))
}

/// What a lenient undefined value is where a collection is expected.
fn undefined_as_empty(state: &State, value: &Value) -> Option<Value> {
    let lenient = matches!(
        state.undefined_behavior(),
        minijinja::UndefinedBehavior::Lenient | minijinja::UndefinedBehavior::Chainable
    );
    (lenient && value.is_undefined()).then(|| Value::from(Vec::<Value>::new()))
}

fn length(state: &State, value: &Value) -> Result<usize, Error> {
    match undefined_as_empty(state, value) {
        Some(_) => Ok(0),
        None => filters::length(value),
    }
}

fn replace(value: &Value, positional: Rest<Value>, named: Kwargs) -> Result<String, Error> {
    let arguments = Arguments::new(&["old", "new", "count"], positional, named)?;
    let missing = || Error::from(ErrorKind::MissingArgument);
    let old = arguments.get::<Value>("old")?.ok_or_else(missing)?.to_string();
    let new = arguments.get::<Value>("new")?.ok_or_else(missing)?.to_string();
    let count: i64 = arguments.get("count")?.unwrap_or(-1);
    arguments.done()?;
    let text = value.to_string();
    Ok(match usize::try_from(count) {
        Ok(count) => text.replacen(&old, &new, count),
        Err(_) => text.replace(&old, &new),
    })
}

/// Keys sorted, and safe in HTML, as Jinja2 writes JSON.
fn tojson(value: &Value, positional: Rest<Value>, named: Kwargs) -> Result<Value, Error> {
    let arguments = Arguments::new(&["indent"], positional, named)?;
    let indent: Option<usize> = arguments.get("indent")?;
    arguments.done()?;
    let mut json = to_json_value(value)?;
    json.sort_all_objects();
    let mut out = String::new();
    write_json(&json, indent, 0, &mut out);
    Ok(Value::from_safe_string(out))
}

fn write_json(value: &serde_json::Value, indent: Option<usize>, depth: usize, out: &mut String) {
    let new_line = |depth: usize, out: &mut String| {
        if let Some(indent) = indent {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent.min(100) * depth));
        }
    };
    let separator = if indent.is_some() { "," } else { ", " };
    match value {
        serde_json::Value::Array(list) if !list.is_empty() => {
            out.push('[');
            for (number, item) in list.iter().enumerate() {
                out.push_str(if number > 0 { separator } else { "" });
                new_line(depth + 1, out);
                write_json(item, indent, depth + 1, out);
            }
            new_line(depth, out);
            out.push(']');
        }
        serde_json::Value::Object(object) if !object.is_empty() => {
            out.push('{');
            for (number, (key, item)) in object.iter().enumerate() {
                out.push_str(if number > 0 { separator } else { "" });
                new_line(depth + 1, out);
                write_json_text(key, out);
                out.push_str(": ");
                write_json(item, indent, depth + 1, out);
            }
            new_line(depth, out);
            out.push('}');
        }
        serde_json::Value::Number(number) if number.is_f64() => {
            out.push_str(&float_text(number.as_f64().unwrap_or_default()));
        }
        serde_json::Value::String(text) => write_json_text(text, out),
        other => out.push_str(&other.to_string()),
    }
}

fn write_json_text(text: &str, out: &mut String) {
    for c in serde_json::Value::from(text).to_string().chars() {
        if c.is_ascii() && !matches!(c, '<' | '>' | '&' | '\'' | '\u{7f}') {
            out.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(out, "\\u{unit:04x}");
        }
    }
}

fn urlencode(value: &Value) -> Result<String, Error> {
    // RFC 3986, as Python has it, doesn't reserve the tilde.
    let encode =
        |value: &Value| filters::urlencode(&Value::from(value.to_string())).map(|text| text.replace("%7E", "~"));
    let quote = |value: &Value| encode(value).map(|text| text.replace('/', "%2F"));
    let pairs: Vec<(Value, Value)> = match value.kind() {
        ValueKind::Map => {
            value.try_iter()?.map(|key| value.get_item(&key).map(|item| (key, item))).collect::<Result<_, _>>()?
        }
        ValueKind::Seq | ValueKind::Iterable => value
            .try_iter()?
            .map(|pair| Ok((pair.get_item_by_index(0)?, pair.get_item_by_index(1)?)))
            .collect::<Result<_, Error>>()?,
        _ => return encode(value),
    };
    let mut parts = Vec::new();
    for (key, item) in pairs {
        parts.push(format!("{}={}", quote(&key)?, quote(&item)?).replace("%20", "+"));
    }
    Ok(parts.join("&"))
}

/// Python's pprint: on one line if it fits into 80 columns, else an item a line; keys sorted.
fn pretty(value: &Value) -> Result<String, Error> {
    let mut out = String::new();
    write_pretty(value, 0, 0, 0, &mut out)?;
    Ok(out)
}

fn repr(value: &Value) -> String {
    // The library prints the items of a list as Python does.
    let list = Value::from(vec![value.clone()]).to_string();
    list[1..list.len() - 1].to_owned()
}

fn sorted(value: &Value, depth: usize) -> Result<Value, Error> {
    if depth > 100 {
        return Err(invalid("a value of more than 100 levels can't be printed".into()));
    }
    match value.kind() {
        ValueKind::Map => {
            let mut keys: Vec<Value> = value.try_iter()?.collect();
            keys.sort();
            let pairs = keys.into_iter().map(|key| Ok((key.clone(), sorted(&value.get_item(&key)?, depth + 1)?)));
            Ok(Value::from_pairs(pairs.collect::<Result<Vec<_>, Error>>()?))
        }
        ValueKind::Seq if !value.is_tuple() => {
            Ok(Value::from(value.try_iter()?.map(|item| sorted(&item, depth + 1)).collect::<Result<Vec<_>, _>>()?))
        }
        _ => Ok(value.clone()),
    }
}

fn write_pretty(value: &Value, indent: usize, allowance: usize, depth: usize, out: &mut String) -> Result<(), Error> {
    let value = sorted(value, depth)?;
    let line = repr(&value);
    if line.chars().count() <= 80_usize.saturating_sub(indent + allowance) {
        out.push_str(&line);
        return Ok(());
    }
    let pad = " ".repeat(indent + 1);
    match value.kind() {
        ValueKind::Map => {
            out.push('{');
            let keys: Vec<Value> = value.try_iter()?.collect();
            for (number, key) in keys.iter().enumerate() {
                if number > 0 {
                    let _ = write!(out, ",\n{pad}");
                }
                let key_text = repr(key);
                let _ = write!(out, "{key_text}: ");
                let last = number + 1 == keys.len();
                let indent = indent + key_text.chars().count() + 3;
                let allowance = if last { allowance + 1 } else { 1 };
                write_pretty(&value.get_item(key)?, indent, allowance, depth + 1, out)?;
            }
            out.push('}');
        }
        ValueKind::Seq if !value.is_tuple() => {
            out.push('[');
            let items: Vec<Value> = value.try_iter()?.collect();
            for (number, item) in items.iter().enumerate() {
                if number > 0 {
                    let _ = write!(out, ",\n{pad}");
                }
                let allowance = if number + 1 == items.len() { allowance + 1 } else { 1 };
                write_pretty(item, indent + 1, allowance, depth + 1, out)?;
            }
            out.push(']');
        }
        _ => out.push_str(&line),
    }
    Ok(())
}
