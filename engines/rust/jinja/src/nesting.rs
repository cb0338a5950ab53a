//! Bounds what the library's compiler has no bound for: it recurses into each operator of an expression.

use guest::{Failure, Place};

/// Of one tag; people write ten. The compiler's stack suffices for ten times as many.
const MAX_OPERATORS: usize = 1000;

/// The template, if no tag of it has too many operators. Texts and comments are taken for tags too: they have few.
pub fn check(template: String, path: &str) -> Result<String, Failure> {
    let mut from = 0;
    while let Some(start) = template[from..].find("{{").into_iter().chain(template[from..].find("{%")).min() {
        let start = from + start;
        let rest = &template[start + 2..];
        let end = rest.find("}}").into_iter().chain(rest.find("%}")).min().unwrap_or(rest.len());
        if operators(&rest[..end]) > MAX_OPERATORS {
            let message = format!("more than {MAX_OPERATORS} operators in one expression");
            return Err(Failure::new(message).at(Place::of_offset(path, &template, start)));
        }
        from = start + 2 + end;
    }
    Ok(template)
}

fn operators(tag: &str) -> usize {
    // A sign in a list of numbers is no chain, but each word and sign here could be part of one.
    let signs = tag.bytes().filter(|byte| b"+*/~%|.<>=!".contains(byte)).count();
    let minuses = tag.split(',').map(|part| part.bytes().filter(|byte| *byte == b'-').count().saturating_sub(1));
    let words =
        tag.split(|c: char| !c.is_alphanumeric()).filter(|word| ["and", "or", "not", "if", "is", "in"].contains(word));
    signs + minuses.sum::<usize>() + words.count()
}
