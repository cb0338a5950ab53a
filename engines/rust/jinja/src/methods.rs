//! Methods of Python's texts, lists and dicts: those of minijinja-contrib, and what it lacks.

use minijinja::value::{ValueKind, from_args};
use minijinja::{Error, ErrorKind, State, Value};

pub fn call(state: &mut State, value: &Value, method: &str, args: &[Value]) -> Result<Value, Error> {
    match (value.kind(), method) {
        (ValueKind::String, _) => {
            let text = value.as_str().unwrap_or_default();
            match text_method(text, method, args)? {
                Some(value) => Ok(value),
                None => minijinja_contrib::pycompat::unknown_method_callback(state, value, method, args),
            }
        }
        (ValueKind::Seq, "index") => {
            let (wanted,): (&Value,) = from_args(args)?;
            let place = value.try_iter()?.position(|item| item == *wanted);
            place.map(Value::from).ok_or_else(|| invalid(format!("{wanted:?} is not in the list")))
        }
        (ValueKind::Seq, "append" | "extend" | "insert" | "pop" | "remove" | "reverse" | "sort" | "clear") => {
            Err(invalid(format!(
                "a list can't be changed, so it has no method {method}; make another: {{% set x = x + [item] %}} (in a \
                 loop: {{% set ns.x = ns.x + [item] %}} with a namespace), or use the filters sort and reverse"
            )))
        }
        (ValueKind::Map, "update" | "pop" | "popitem" | "setdefault" | "clear") => Err(invalid(format!(
            "a dict can't be changed, so it has no method {method}; make another: {{% set x = dict(x, key=value) %}}"
        ))),
        (ValueKind::Map, "copy") | (ValueKind::Seq, "copy") => {
            let (): () = from_args(args)?;
            Ok(value.clone())
        }
        _ => minijinja_contrib::pycompat::unknown_method_callback(state, value, method, args),
    }
}

fn text_method(text: &str, method: &str, args: &[Value]) -> Result<Option<Value>, Error> {
    Ok(Some(match method {
        "ljust" | "rjust" | "center" => {
            let (width, fill): (usize, Option<char>) = from_args(args)?;
            let fill = fill.unwrap_or(' ');
            Value::from(match method {
                "ljust" => pad(text, width, fill, |_| 0),
                "rjust" => pad(text, width, fill, |margin| margin),
                _ => center(text, width, fill),
            })
        }
        "zfill" => {
            let (width,): (usize,) = from_args(args)?;
            let (sign, digits) = text.split_at(usize::from(text.starts_with(['+', '-'])));
            let zeros = width.saturating_sub(text.chars().count());
            Value::from(format!("{sign}{}{digits}", "0".repeat(bounded(zeros)?)))
        }
        "removeprefix" => {
            let (prefix,): (&str,) = from_args(args)?;
            Value::from(text.strip_prefix(prefix).unwrap_or(text))
        }
        "removesuffix" => {
            let (suffix,): (&str,) = from_args(args)?;
            Value::from(text.strip_suffix(suffix).unwrap_or(text))
        }
        "partition" | "rpartition" => {
            let (separator,): (&str,) = from_args(args)?;
            if separator.is_empty() {
                return Err(invalid("empty separator".into()));
            }
            let parts = if method == "partition" { text.split_once(separator) } else { text.rsplit_once(separator) };
            Value::from(match parts {
                Some((before, after)) => (before.to_owned(), separator.to_owned(), after.to_owned()),
                None if method == "partition" => (text.to_owned(), String::new(), String::new()),
                None => (String::new(), String::new(), text.to_owned()),
            })
        }
        "rsplit" => {
            let (separator, most): (Option<&str>, Option<i64>) = from_args(args)?;
            let most = most.and_then(|most| usize::try_from(most).ok());
            let mut parts: Vec<&str> = match (separator, most) {
                (Some(separator), Some(most)) => text.rsplitn(most + 1, separator).collect(),
                (Some(separator), None) => text.rsplit(separator).collect(),
                (None, None) => text.split_whitespace().rev().collect(),
                (None, Some(most)) => rsplit_whitespace(text, most),
            };
            parts.reverse();
            list(&parts)
        }
        "swapcase" => {
            let (): () = from_args(args)?;
            let swap = |c: char| -> String {
                if c.is_uppercase() { c.to_lowercase().collect() } else { c.to_uppercase().collect() }
            };
            Value::from(text.chars().map(swap).collect::<String>())
        }
        "casefold" => {
            let (): () = from_args(args)?;
            Value::from(text.to_lowercase().replace('ß', "ss"))
        }
        "index" => {
            let (wanted,): (&str,) = from_args(args)?;
            let place = text.find(wanted).ok_or_else(|| invalid("substring not found".into()))?;
            Value::from(text[..place].chars().count())
        }
        "expandtabs" => {
            let (size,): (Option<usize>,) = from_args(args)?;
            Value::from(expand_tabs(text, size.unwrap_or(8))?)
        }
        _ => return Ok(None),
    }))
}

fn list(texts: &[&str]) -> Value {
    texts.iter().map(|text| Value::from(*text)).collect()
}

fn rsplit_whitespace(text: &str, most: usize) -> Vec<&str> {
    let mut rest = text.trim_end();
    let mut parts = Vec::new();
    while parts.len() < most {
        let Some(space) = rest.rfind(char::is_whitespace) else { break };
        let part = &rest[space..];
        parts.push(part.trim_start());
        rest = rest[..space].trim_end();
    }
    if !rest.trim_start().is_empty() {
        parts.push(rest.trim_start());
    }
    parts
}

fn expand_tabs(text: &str, size: usize) -> Result<String, Error> {
    let mut out = String::new();
    let mut column = 0;
    for c in text.chars() {
        match c {
            '\t' if size > 0 => {
                let count = bounded(size - column % size)?;
                out.extend(std::iter::repeat_n(' ', count));
                column += count;
            }
            '\t' => {}
            _ => {
                out.push(c);
                column = if matches!(c, '\n' | '\r') { 0 } else { column + 1 };
            }
        }
    }
    Ok(out)
}

/// Python's str.center: of an odd margin, the larger half goes left if the width is odd.
pub fn center(text: &str, width: usize, fill: char) -> String {
    pad(text, width, fill, |margin| margin / 2 + (margin & width & 1))
}

fn pad(text: &str, width: usize, fill: char, left: impl Fn(usize) -> usize) -> String {
    let margin = width.min(MAX_TEXT).saturating_sub(text.chars().count());
    let left = left(margin);
    let side = |count| std::iter::repeat_n(fill, count).collect::<String>();
    format!("{}{text}{}", side(left), side(margin - left))
}

/// No text that is made from a number needs to be longer.
const MAX_TEXT: usize = 16 << 20;

fn bounded(count: usize) -> Result<usize, Error> {
    if count > MAX_TEXT { Err(invalid(format!("a text of {count} characters is too long"))) } else { Ok(count) }
}

pub fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}
