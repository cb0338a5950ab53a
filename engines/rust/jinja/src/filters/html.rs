//! Jinja2's filters for HTML. Templates of manifests rarely want them; those that were written for Jinja2 may.

use minijinja::value::{Kwargs, Rest};
use minijinja::{Error, State, Value};

use super::Arguments;
use crate::methods::invalid;

pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&#34;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

pub fn forceescape(value: &Value) -> Value {
    Value::from_safe_string(escape(&value.to_string()))
}

pub fn striptags(value: &Value) -> String {
    let text = value.to_string();
    let mut kept = String::new();
    let mut rest = text.as_str();
    while let Some(start) = rest.find('<') {
        let (skip, close) = if rest[start..].starts_with("<!--") { (4, "-->") } else { (0, ">") };
        let Some(end) = rest[start + skip..].find(close) else { break };
        kept.push_str(&rest[..start]);
        rest = &rest[start + skip + end + close.len()..];
    }
    kept.push_str(rest);
    minijinja_contrib::filters::striptags(kept.split_whitespace().collect::<Vec<_>>().join(" ").replace('<', "&lt;"))
}

pub fn xmlattr(value: &Value, positional: Rest<Value>, named: Kwargs) -> Result<String, Error> {
    let arguments = Arguments::new(&["autospace"], positional, named)?;
    let autospace = arguments.get("autospace")?.unwrap_or(true);
    arguments.done()?;
    let mut out = String::new();
    for key in value.try_iter()? {
        let item = value.get_item(&key)?;
        if item.is_none() || item.is_undefined() {
            continue;
        }
        let key = key.to_string();
        if key.contains(|c: char| c.is_whitespace() || matches!(c, '/' | '>' | '=')) {
            return Err(invalid(format!("Invalid character in attribute name: {key:?}")));
        }
        if autospace || !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&format!("{}=\"{}\"", escape(&key), escape(&item.to_string())));
    }
    Ok(out)
}

pub fn urlize(_: &State, value: &Value, positional: Rest<Value>, named: Kwargs) -> Result<String, Error> {
    let names = &["trim_url_limit", "nofollow", "target", "rel", "extra_schemes"];
    let arguments = Arguments::new(names, positional, named)?;
    let limit: Option<usize> = arguments.get("trim_url_limit")?;
    let mut rel = arguments.get::<String>("rel")?.unwrap_or_default() + " noopener";
    if arguments.get("nofollow")?.unwrap_or(false) {
        rel.push_str(" nofollow");
    }
    let mut parts: Vec<_> = rel.split_whitespace().collect();
    parts.sort_unstable();
    parts.dedup();
    let mut attributes = format!(" rel=\"{}\"", escape(&parts.join(" ")));
    if let Some(target) = arguments.get::<String>("target")? {
        attributes.push_str(&format!(" target=\"{}\"", escape(&target)));
    }
    let schemes: Vec<String> = arguments.get("extra_schemes")?.unwrap_or_default();
    arguments.done()?;

    let text = escape(&value.to_string());
    let mut out = String::new();
    for piece in text.split_inclusive(char::is_whitespace) {
        let word = piece.trim_end_matches(char::is_whitespace);
        let (head, middle, tail) = trim_word(word);
        out.push_str(head);
        out.push_str(&link(&middle, limit, &attributes, &schemes));
        out.push_str(&tail);
        out.push_str(&piece[word.len()..]);
    }
    Ok(out)
}

/// What stands around a link: brackets before it, and brackets and punctuation after it that belong to the sentence.
fn trim_word(word: &str) -> (&str, String, String) {
    let mut start = word;
    while let Some(rest) = ["(", "<", "&lt;"].iter().find_map(|open| start.strip_prefix(open)) {
        start = rest;
    }
    let head = &word[..word.len() - start.len()];
    let mut end = start;
    while let Some(rest) = [")", ">", ".", ",", "&gt;"].iter().find_map(|close| end.strip_suffix(close)) {
        end = rest;
    }
    let (mut middle, mut tail) = (end.to_owned(), start[end.len()..].to_owned());
    for (open, close) in [("(", ")"), ("<", ">"), ("&lt;", "&gt;")] {
        let missing = middle.matches(open).count();
        if missing <= middle.matches(close).count() {
            continue;
        }
        for _ in 0..missing.min(tail.matches(close).count()) {
            let at = tail.find(close).map_or(0, |at| at + close.len());
            middle.push_str(&tail[..at]);
            tail.drain(..at);
        }
    }
    (head, middle, tail)
}

fn link(word: &str, limit: Option<usize>, attributes: &str, schemes: &[String]) -> String {
    if is_url(word) {
        let shown = match limit {
            Some(limit) if word.chars().count() > limit => word.chars().take(limit).collect::<String>() + "...",
            _ => word.to_owned(),
        };
        let scheme = if word.starts_with("https://") || word.starts_with("http://") { "" } else { "https://" };
        return format!("<a href=\"{scheme}{word}\"{attributes}>{shown}</a>");
    }
    if let Some(address) = word.strip_prefix("mailto:").filter(|address| is_email(address)) {
        return format!("<a href=\"{word}\">{address}</a>");
    }
    if !word.starts_with("www.") && !word.starts_with('@') && !word.contains(':') && is_email(word) {
        return format!("<a href=\"mailto:{word}\">{word}</a>");
    }
    if schemes.iter().any(|scheme| word != scheme && word.starts_with(scheme.as_str())) {
        return format!("<a href=\"{word}\"{attributes}>{word}</a>");
    }
    word.to_owned()
}

fn is_email(word: &str) -> bool {
    let Some((name, host)) = word.rsplit_once('@') else { return false };
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let Some((before, last)) = host.rsplit_once('.') else { return false };
    !name.is_empty()
        && before.starts_with(is_word)
        && before.chars().all(|c| is_word(c) || matches!(c, '.' | '-'))
        && !last.is_empty()
        && last.chars().all(is_word)
}

fn is_url(word: &str) -> bool {
    const ENDINGS: [&str; 8] = ["com", "net", "int", "edu", "gov", "org", "info", "mil"];
    let lower = word.to_lowercase();
    let scheme = ["https://", "http://"].iter().find_map(|scheme| lower.strip_prefix(scheme));
    let prefixed = scheme.or_else(|| lower.strip_prefix("www."));
    let whole = prefixed.unwrap_or(&lower);
    if let Some(rest) = scheme.and_then(|rest| rest.strip_prefix('[')) {
        return rest.split_once(']').is_some_and(|(address, rest)| is_ipv6(address) && is_rest(rest));
    }
    let (host, rest) = whole.split_at(whole.find([':', '/', '?', '#']).unwrap_or(whole.len()));
    let labels: Vec<_> = host.split('.').collect();
    let (last, before) = labels.split_last().map_or(("", &[][..]), |(last, before)| (*last, before));
    let is_label = |label: &&str, least: usize| {
        label.chars().count() >= least && label.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '%' | '-'))
    };
    let is_ipv4 = || {
        labels.len() == 4
            && labels.iter().all(|part| (1..=3).contains(&part.len()) && part.bytes().all(|c| c.is_ascii_digit()))
    };
    let fits = if prefixed.is_some() {
        let top = (2..=63).contains(&last.len()) && last.bytes().all(|c| c.is_ascii_lowercase());
        let international = last.strip_prefix("xn--").is_some_and(|rest| is_label(&rest, 2));
        (before.iter().all(|label| is_label(label, 1)) && (top || international)) || (scheme.is_some() && is_ipv4())
    } else {
        !before.is_empty() && before.iter().all(|label| is_label(label, 2)) && ENDINGS.contains(&last)
    };
    fits && is_rest(rest)
}

fn is_ipv6(address: &str) -> bool {
    let parts: Vec<_> = address.split(':').collect();
    (3..=9).contains(&parts.len())
        && parts.iter().all(|part| part.len() <= 4 && part.bytes().all(|c| c.is_ascii_hexdigit()))
}

/// A port, and a path, query or fragment.
fn is_rest(rest: &str) -> bool {
    let rest = match rest.strip_prefix(':') {
        Some(port) => {
            let digits = port.bytes().take_while(u8::is_ascii_digit).count();
            if !(1..=5).contains(&digits) {
                return false;
            }
            &port[digits..]
        }
        None => rest,
    };
    rest.is_empty() || rest.starts_with(['/', '?', '#'])
}
