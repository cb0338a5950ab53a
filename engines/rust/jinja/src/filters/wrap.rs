//! `wordwrap`, as Python's textwrap breaks lines.

use minijinja::value::{Kwargs, Rest};
use minijinja::{Error, Value};

use super::Arguments;
use crate::methods::invalid;

pub fn wordwrap(value: &Value, positional: Rest<Value>, named: Kwargs) -> Result<String, Error> {
    let names = &["width", "break_long_words", "wrapstring", "break_on_hyphens"];
    let arguments = Arguments::new(names, positional, named)?;
    let width: usize = arguments.get("width")?.unwrap_or(79);
    let long: bool = arguments.get("break_long_words")?.unwrap_or(true);
    let separator: String = arguments.get("wrapstring")?.unwrap_or_else(|| "\n".into());
    let hyphens: bool = arguments.get("break_on_hyphens")?.unwrap_or(true);
    arguments.done()?;
    if width == 0 {
        return Err(invalid("invalid width 0 (must be > 0)".into()));
    }
    let text = value.to_string();
    let lines: Vec<String> =
        text.lines().map(|line| wrap(chunks(line, hyphens), width, long).join(&separator)).collect();
    Ok(lines.join(&separator))
}

type Chunk = Vec<char>;

fn is_space(chunk: &[char]) -> bool {
    chunk.iter().all(|c| c.is_whitespace())
}

/// Words and the spaces between them; words are parted after hyphens and around dashes.
fn chunks(line: &str, hyphens: bool) -> Vec<Chunk> {
    let chars: Vec<char> = line.chars().collect();
    let mut chunks: Vec<Chunk> = Vec::new();
    for (place, c) in chars.iter().enumerate() {
        let begins = match place.checked_sub(1).map(|before| chars[before]) {
            None => true,
            Some(before) if before.is_whitespace() != c.is_whitespace() => true,
            Some(_) => hyphens && !c.is_whitespace() && breaks(&chars, place),
        };
        if begins {
            chunks.push(Vec::new());
        }
        if let Some(chunk) = chunks.last_mut() {
            chunk.push(*c);
        }
    }
    chunks
}

/// Whether a word may be broken before this place.
fn breaks(chars: &[char], place: usize) -> bool {
    let at = |index: Option<usize>| index.and_then(|index| chars.get(index)).copied().unwrap_or(' ');
    let back = |count: usize| at(place.checked_sub(count));
    let ahead = |count: usize| at(Some(place + count));
    let is_letter = |c: char| c.is_alphabetic() || c == '_';
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '!' | '"' | '\'' | '&' | '.' | ',' | '?');
    let dashes_before = chars[..place].iter().rev().take_while(|c| **c == '-').count();
    let dashes_after = chars[place..].iter().take_while(|c| **c == '-').count();
    let after_hyphen = back(1) == '-'
        && is_letter(back(2))
        && (is_letter(back(3)) || (back(3) == '-' && is_letter(back(4))))
        && is_letter(ahead(0))
        && (is_letter(ahead(1)) || (ahead(1) == '-' && is_letter(ahead(2))));
    let around_dash = (dashes_before == 0
        && dashes_after >= 2
        && is_word(back(1))
        && (ahead(dashes_after).is_alphanumeric() || ahead(dashes_after) == '_'))
        || (dashes_before >= 2
            && dashes_after == 0
            && is_word(back(dashes_before + 1))
            && (ahead(0).is_alphanumeric() || ahead(0) == '_'));
    after_hyphen || around_dash
}

fn wrap(chunks: Vec<Chunk>, width: usize, long: bool) -> Vec<String> {
    let mut rest: Vec<Chunk> = chunks.into_iter().rev().collect();
    let mut lines: Vec<String> = Vec::new();
    while let Some(next) = rest.last() {
        if is_space(next) && !lines.is_empty() {
            rest.pop();
            if rest.is_empty() {
                break;
            }
        }
        let mut line: Vec<Chunk> = Vec::new();
        let mut length = 0;
        while let Some(chunk) = rest.pop_if(|chunk| length + chunk.len() <= width) {
            length += chunk.len();
            line.push(chunk);
        }
        if let Some(chunk) = rest.last_mut().filter(|chunk| chunk.len() > width) {
            let room = width - length;
            if long && room > 0 {
                line.push(chunk.drain(..room).collect());
            } else if line.is_empty() {
                line.extend(rest.pop());
            }
        }
        if line.last().is_some_and(|chunk| is_space(chunk)) {
            line.pop();
        }
        if !line.is_empty() {
            lines.push(line.into_iter().flatten().collect());
        }
    }
    lines
}
