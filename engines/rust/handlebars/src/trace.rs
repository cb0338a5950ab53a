//! Which line of a template wrote each line of its output.
//!
//! Before each element of a template stands a helper that writes a mark: an empty text of an address of its own, which
//! whoever collects a part of the output for other purposes drops. So what a helper makes of a block has the line where the
//! block begins, and what a partial writes that of the tag which calls it.

use std::cell::Cell;
use std::io::{self, Write};

use guest::lines::Lines;
use handlebars::template::{Parameter, TemplateElement};
use handlebars::{Context, Handlebars, Helper, HelperResult, JsonValue, Output, RenderContext, Template};

// No name that a template could write.
const MARK: &str = "mist:mark";
/// Its address is the mark's.
static MARKER: &str = "mark";

thread_local! {
    /// The announcement of the last mark: its line (0: unknown) times two, plus 1 for text, whose lines follow one another.
    static ANNOUNCED: Cell<u64> = const { Cell::new(0) };
}

pub fn add_to(registry: &mut Handlebars) {
    registry.register_helper(MARK, Box::new(mark));
}

fn mark(helper: &Helper, _: &Handlebars, _: &Context, _: &mut RenderContext, out: &mut dyn Output) -> HelperResult {
    ANNOUNCED.set(helper.param(0).and_then(|what| what.value().as_u64()).unwrap_or_default());
    out.write(&MARKER[..0])?;
    Ok(())
}

/// Puts the marks into a template, which `source` was compiled to.
pub fn add_marks(template: &mut Template, source: &str) {
    let Ok(Some(element)) = Template::compile(&format!("{{{{{MARK} 0}}}}")).map(|one| one.elements.into_iter().next())
    else {
        return;
    };
    let mut texts = Vec::new();
    collect_texts(template, &mut texts);
    let lines = lines_of_texts(source, &texts).unwrap_or_else(|| vec![0; texts.len()]);
    add(template, &element, &mut lines.into_iter());
}

/// The texts between tags that aren't blank, in the order of the source.
fn collect_texts<'a>(template: &'a Template, texts: &mut Vec<&'a str>) {
    for element in &template.elements {
        match element {
            TemplateElement::RawString(text) if !text.trim().is_empty() => texts.push(text),
            TemplateElement::HelperBlock(block) => {
                block.template.iter().chain(&block.inverse).for_each(|inner| collect_texts(inner, texts));
            }
            TemplateElement::DecoratorBlock(block) | TemplateElement::PartialBlock(block) => {
                block.template.iter().for_each(|inner| collect_texts(inner, texts));
            }
            _ => {}
        }
    }
}

/// Marks the elements that the template itself writes; an inline partial is called from elsewhere.
fn add(template: &mut Template, mark: &TemplateElement, lines: &mut impl Iterator<Item = usize>) {
    // The chains of `else if` have elements without a place.
    let placed = template.mapping.len() == template.elements.len();
    let mut marked = Vec::with_capacity(template.elements.len() * 2);
    let mut mapping = Vec::with_capacity(template.mapping.len() * 2);
    for (number, mut element) in std::mem::take(&mut template.elements).into_iter().enumerate() {
        let place = template.mapping.get(number);
        let announced = match &element {
            TemplateElement::RawString(text) if text.trim().is_empty() => None,
            TemplateElement::RawString(_) => lines.next().map(|line| line * 2 + 1),
            TemplateElement::Comment(_) => None,
            _ => place.map(|place| place.0 * 2),
        };
        if let Some(announced) = announced.filter(|_| placed) {
            marked.push(announcing(mark, announced));
            mapping.extend(place.cloned());
        }
        match &mut element {
            TemplateElement::HelperBlock(block) => {
                block.template.iter_mut().chain(&mut block.inverse).for_each(|inner| add(inner, mark, lines));
            }
            TemplateElement::PartialBlock(block) => block.template.iter_mut().for_each(|inner| add(inner, mark, lines)),
            TemplateElement::DecoratorBlock(block) => {
                let mut texts = Vec::new();
                block.template.iter().for_each(|inner| collect_texts(inner, &mut texts));
                lines.by_ref().take(texts.len()).for_each(drop);
            }
            _ => {}
        }
        marked.push(element);
        mapping.extend(place.cloned());
    }
    template.elements = marked;
    template.mapping = mapping;
}

fn announcing(mark: &TemplateElement, what: usize) -> TemplateElement {
    let mut mark = mark.clone();
    if let TemplateElement::Expression(helper) = &mut mark {
        helper.params = vec![Parameter::Literal(JsonValue::from(what))];
    }
    mark
}

/// For each text the line where it begins, blanks at its begin counted as those that it still has. The library's own places
/// of texts aren't always theirs, so they are looked for; `None`: the source's texts are others.
fn lines_of_texts(source: &str, texts: &[&str]) -> Option<Vec<usize>> {
    let pieces = pieces(source)?;
    let same = pieces.len() == texts.len() && pieces.iter().zip(texts).all(|((_, piece), text)| *piece == text.trim());
    let newlines = |text: &str| text.bytes().filter(|byte| *byte == b'\n').count();
    let line = |(place, _): &(usize, &str), text: &&str| {
        let before = &text[..text.len() - text.trim_start().len()];
        (newlines(&source[..*place]) + 1).checked_sub(newlines(before))
    };
    if same { pieces.iter().zip(texts).map(|(piece, text)| line(piece, text)).collect() } else { None }
}

/// The texts between tags that aren't blank, without the blanks around them, and where they begin. `None`: with what is
/// escaped, or in raw blocks.
fn pieces(source: &str) -> Option<Vec<(usize, &str)>> {
    let mut found = Vec::new();
    let mut place = 0;
    while place < source.len() {
        let tag = source[place..].find("{{").map_or(source.len(), |tag| place + tag);
        let text = &source[place..tag];
        if text.ends_with('\\') || source[tag..].starts_with("{{{{") {
            return None;
        }
        let trimmed = text.trim();
        if !trimmed.is_empty() {
            found.push((place + (text.len() - text.trim_start().len()), trimmed));
        }
        place = if tag == source.len() { tag } else { end_of_tag(source, tag)? };
    }
    Some(found)
}

fn end_of_tag(source: &str, start: usize) -> Option<usize> {
    let after = |place: usize, end: &str| source[place..].find(end).map(|found| place + found + end.len());
    let inside = start + 2;
    let said = source[inside..].trim_start_matches('~');
    if said.starts_with("!--") {
        let dashes = after(inside, "--")?;
        return source[dashes..].match_indices("--").find_map(|(at, _)| {
            let rest = &source[dashes + at + 2..];
            let rest = rest.strip_prefix('~').unwrap_or(rest);
            rest.starts_with("}}").then(|| source.len() - rest.len() + 2)
        });
    }
    if said.starts_with('!') {
        return after(inside, "}}");
    }
    let mut quote = None;
    let mut chars = source[inside..].char_indices();
    while let Some((place, c)) = chars.next() {
        match (quote, c) {
            (Some(_), '\\') => {
                chars.next();
            }
            (Some(open), _) if open == c => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '}') if source[inside + place..].starts_with("}}}") && said.starts_with('{') => {
                return Some(inside + place + 3);
            }
            (None, '}') if source[inside + place..].starts_with("}}") => return Some(inside + place + 2),
            _ => {}
        }
    }
    None
}

/// Collects what a template writes.
#[derive(Default)]
pub struct Trace {
    lines: Lines,
    current: usize,
    is_text: bool,
}

impl Trace {
    /// As [`Lines::finish`].
    pub fn finish(self) -> (String, Vec<usize>) {
        self.lines.finish()
    }
}

impl Write for Trace {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.write_all(text)?;
        Ok(text.len())
    }

    fn write_all(&mut self, text: &[u8]) -> io::Result<()> {
        if text.is_empty() {
            if std::ptr::eq(text.as_ptr(), MARKER.as_ptr()) {
                let announced = ANNOUNCED.get() as usize;
                (self.current, self.is_text) = (announced / 2, announced % 2 == 1);
            }
            return Ok(());
        }
        if self.is_text && self.current > 0 {
            // A text may come in several pieces.
            self.current = self.lines.add_text(text, self.current);
        } else {
            self.lines.add_made(text, self.current);
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_texts_between_tags() {
        let source = "a\n{{!-- }} --}}b {{~#if \"}}\"}} c{{{x}}}\n\n d{{! e }}\n{{/if}}f";
        let found: Vec<_> = pieces(source).unwrap().into_iter().map(|(_, text)| text).collect();
        assert_eq!(found, ["a", "b", "c", "d", "f"]);
        assert_eq!(lines_of_texts(source, &["a\n", "b", " c", "\n\n d", "f"]), Some(vec![1, 2, 2, 2, 5]));
        assert_eq!(lines_of_texts(source, &["a\n", "b"]), None);
        assert_eq!(pieces("a \\{{b}}"), None);
    }
}
