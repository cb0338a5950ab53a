//! The value of a string literal, and the removal of its common indentation.

use proc_macro::{Delimiter, TokenTree};

/// The value of the string literal `token`.
pub fn string(token: &TokenTree) -> Result<String, String> {
    match token {
        // A literal that came through a macro_rules! stands in an invisible group.
        TokenTree::Group(group) if group.delimiter() == Delimiter::None => {
            let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
            match tokens.as_slice() {
                [token] => string(token),
                _ => Err("expected one string".into()),
            }
        }
        TokenTree::Literal(literal) => value(&literal.to_string()),
        other => Err(format!("expected a string, found `{other}`")),
    }
}

fn value(source: &str) -> Result<String, String> {
    if let Some(raw) = source.strip_prefix('r') {
        let body = raw.trim_matches('#');
        return Ok(unquote(body).ok_or_else(|| format!("expected a string, found `{source}`"))?.to_owned());
    }
    let body = unquote(source).ok_or_else(|| format!("expected a string, found `{source}`"))?;
    unescape(body)
}

fn unquote(text: &str) -> Option<&str> {
    text.strip_prefix('"')?.strip_suffix('"')
}

fn unescape(body: &str) -> Result<String, String> {
    let mut text = String::new();
    let mut rest = body.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        match rest.next() {
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some(c @ ('"' | '\\' | '\'')) => text.push(c),
            Some('\n') => rest = rest.as_str().trim_start().chars(),
            other => {
                let escape: String = other.into_iter().collect();
                return Err(format!("the escape `\\{escape}` isn't supported here; use a raw string, r#\"…\"#"));
            }
        }
    }
    Ok(text)
}

/// Removes the indentation that all lines share, blank ones apart.
pub fn unindent(text: &str) -> String {
    let width = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let common = text.lines().filter(|line| !line.trim().is_empty()).map(width).min().unwrap_or(0);
    text.lines().map(|line| line.get(common..).unwrap_or("")).fold(String::new(), |all, line| all + line + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_both_kinds_of_strings() {
        assert_eq!(value(r#""a: \"b\"\n""#).unwrap(), "a: \"b\"\n");
        assert_eq!(value("r##\"a \"# \\n\"##").unwrap(), "a \"# \\n");
        assert_eq!(value("\"a \\\n   b\"").unwrap(), "a b");
        assert!(value("1").is_err());
        assert!(value("b\"a\"").is_err());
        assert!(value("\"\\u{41}\"").unwrap_err().contains("raw string"));
    }

    #[test]
    fn removes_the_shared_indentation() {
        assert_eq!(unindent("\n    a:\n      b: 1\n\n  "), "\na:\n  b: 1\n\n\n");
        assert_eq!(unindent(""), "");
    }
}
