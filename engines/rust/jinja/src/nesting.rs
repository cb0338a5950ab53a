//! Bounds what the library's compiler has no bound for: it recurses into each operator of an expression.

use guest::{Failure, Place};

/// Of one tag; people write ten. The compiler's stack suffices for ten times as many.
const MAX_OPERATORS: usize = 1000;

/// The template, if no tag of it has too many operators. Tags are found as the library finds them: one that it sees and this
/// doesn't would have no bound.
pub fn check(template: String, path: &str) -> Result<String, Failure> {
    let mut rest = template.as_str();
    while let Some(start) = rest.as_bytes().windows(2).position(|pair| matches!(pair, b"{{" | b"{%" | b"{#")) {
        let tag = &rest[start..];
        if let Some(behind) = behind_text(tag) {
            rest = behind;
            continue;
        }
        let (code, behind) = code_of(&tag[2..], if tag.starts_with("{{") { "}}" } else { "%}" });
        if operators(&code) > MAX_OPERATORS {
            let message = format!("more than {MAX_OPERATORS} operators in one expression");
            return Err(Failure::new(message).at(Place::of_offset(path, &template, template.len() - tag.len())));
        }
        rest = behind;
    }
    Ok(template)
}

/// Behind a comment, or behind what stands between `raw` and `endraw`; empty: it has no end, which the library refuses.
/// `None`: the tag is code.
fn behind_text(tag: &str) -> Option<&str> {
    let inner = &tag[2..];
    if tag.starts_with("{#") {
        return Some(inner.split_once("#}").map_or("", |(_, behind)| behind));
    }
    let mut raw = if tag.starts_with("{%") { behind_word(inner, "raw")? } else { return None };
    while let Some((_, next)) = raw.split_once("{%") {
        if let Some(behind) = behind_word(next, "endraw") {
            return Some(behind);
        }
        raw = next;
    }
    Some("")
}

/// Behind the tag, if there is nothing but this word in it. `inner` begins behind its `{%`.
fn behind_word<'a>(inner: &'a str, word: &str) -> Option<&'a str> {
    let inner = inner.strip_prefix(['-', '+']).unwrap_or(inner).trim_ascii_start();
    let end = inner.strip_prefix(word)?.trim_ascii_start();
    end.strip_prefix(['-', '+']).unwrap_or(end).strip_prefix("%}")
}

/// The code of a tag without what stands in quotes, and what is behind the tag. `inner` begins behind its `{{` or `{%`; within
/// brackets, `end` doesn't end it.
fn code_of<'a>(inner: &'a str, end: &str) -> (String, &'a str) {
    let mut code = String::new();
    let mut closing = Vec::new();
    let mut rest = inner;
    while let Some(c) = rest.chars().next() {
        if closing.is_empty() && rest.starts_with(end) {
            return (code, &rest[end.len()..]);
        }
        rest = &rest[c.len_utf8()..];
        code.push(c);
        match c {
            '"' | '\'' => rest = behind_quote(rest, c),
            '(' => closing.push(')'),
            '[' => closing.push(']'),
            '{' => closing.push('}'),
            // The library reads no further where brackets don't match.
            ')' | ']' | '}' if closing.pop() != Some(c) => break,
            _ => {}
        }
    }
    (code, rest)
}

/// Behind the quote that ends a text; empty: none does, which the library refuses.
fn behind_quote(text: &str, quote: char) -> &str {
    let mut is_escaped = false;
    for (place, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if c == quote => return &text[place + 1..],
            _ => {}
        }
    }
    ""
}

fn operators(code: &str) -> usize {
    // A sign in a list of numbers is no chain, but each word and sign here could be part of one.
    let signs = code.bytes().filter(|byte| b"+*/~%|.<>=!".contains(byte)).count();
    let minuses = code.split(',').map(|part| part.bytes().filter(|byte| *byte == b'-').count().saturating_sub(1));
    let words =
        code.split(|c: char| !c.is_alphanumeric()).filter(|word| ["and", "or", "not", "if", "is", "in"].contains(word));
    signs + minuses.sum::<usize>() + words.count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_refused(template: &str) -> bool {
        check(template.to_owned(), "a.j2").is_err()
    }

    #[test]
    fn texts_comments_and_raw_text_have_no_operators() {
        let images = r#""a": "registry.k8s.io/ingress-nginx/controller:v1.11.2", "#.repeat(200);
        assert!(!is_refused(&format!("{{% set images = {{{images}}} %}}")));
        let many = "a.b/c - ".repeat(2000);
        assert!(!is_refused(&format!("{{{{ 'it\\'s }}}} {many}' }}}}")));
        assert!(!is_refused(&format!("{{# use {{{{ here #}}{many}{{{{ x }}}}")));
        assert!(!is_refused(&format!("{{%- raw +%}}{{{{ {many}{{%- endraw -%}}{{{{ x }}}}")));
        assert!(!is_refused(&format!("{{{{ x }}}}{many}{{% if x %}}{many}")));
    }

    #[test]
    fn what_the_library_compiles_is_counted() {
        let many = "+1".repeat(2000);
        for before in [
            "",
            "{# ' #}",
            "{% raw %}{{ ' {% endraw %}",
            "{% raw -%} {% endraw x %} ' {%+ endraw+%}",
            "{{ '{#' }}",
            "{{ \"{% raw %}\" }}",
            "{{ 'a\\'' }}",
            "{{ {'a': {}}['}}'] }}",
            "{% rawx %}",
        ] {
            for tag in [format!("{{{{ 1{many} }}}}"), format!("{{% set x = {{'a': {{'b': 1}}}}{many} %}}")] {
                let failure = check(format!("{before}\n{tag}"), "a.j2").unwrap_err();
                assert_eq!(failure.place.unwrap().line, Some(2), "{before}");
            }
        }
        assert!(is_refused(&format!("{{{{ x{many}) }}}}")), "up to the bracket that doesn't match");
        assert!(is_refused(&format!("{{{{ 1{many}")), "without an end");
    }
}
