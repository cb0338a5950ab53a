//! Which line of a template wrote each line of its output.
//!
//! The library writes the text between two tags as it stands in the template, so the address of what is written says where
//! it is from. What an expression gives is set between two marks, which the formatter writes: empty texts, whose address is
//! that of the template's name. What is captured (a macro, a block of `set`) comes with the expression that prints it. What
//! another template writes (`include`, `extends`) has the line of the tag that named it.

use std::io::{self, Write};

use guest::lines::Lines;
use minijinja::{Error, Output, State, Template};

/// Before what an expression gives.
pub fn mark_begin(out: &mut Output, state: &State) -> Result<(), Error> {
    out.write_str(&state.name()[..0]).map_err(Error::from)
}

/// Behind it.
pub fn mark_end(out: &mut Output, state: &State) -> Result<(), Error> {
    let name = state.name();
    out.write_str(&name[name.len()..]).map_err(Error::from)
}

pub struct Trace<'a> {
    name: &'a str,
    source: &'a str,
    /// Where each line of the template begins.
    starts: Vec<usize>,
    /// The line of the template's own `extends`, to which text that isn't its own is due; or 0.
    extends: usize,
    /// Whether blanks beside a tag without a `-` are written.
    keeps_blanks: bool,
    lines: Lines,
    current: Current,
    /// Where in the template the text, or the expression, ended that was written last; `None`: the tags behind it don't
    /// tell what is written next.
    last: Option<usize>,
}

/// The source of the text that is written now, with its line, or 0.
#[derive(Clone, Copy)]
enum Current {
    Text(usize),
    Expression(usize),
    Foreign(usize),
}

impl<'a> Trace<'a> {
    pub fn new(template: &'a Template, keeps_blanks: bool) -> Self {
        let source = template.source();
        let newlines = source.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = [0].into_iter().chain(newlines.map(|(place, _)| place + 1)).collect();
        let mut trace = Self {
            name: template.name(),
            source,
            starts,
            extends: 0,
            keeps_blanks,
            lines: Lines::default(),
            current: Current::Text(0),
            last: Some(0),
        };
        let tag = source.find("{%").filter(|tag| word(&source[*tag..]) == "extends");
        trace.extends = tag.map_or(0, |tag| trace.line(tag));
        trace
    }

    /// As [`Lines::finish`].
    pub fn finish(self) -> (String, Vec<usize>) {
        self.lines.finish()
    }

    fn line(&self, place: usize) -> usize {
        self.starts.partition_point(|start| *start <= place)
    }

    /// The place of what is a part of the template's text.
    fn place_of(&self, text: &[u8]) -> Option<usize> {
        let place = (text.as_ptr() as usize).checked_sub(self.source.as_ptr() as usize)?;
        (place + text.len() <= self.source.len()).then_some(place)
    }

    fn enter(&mut self, text: &[u8]) {
        if let Some(place) = self.place_of(text) {
            self.current = Current::Text(self.line(place));
            self.last = Some(place + text.len());
        } else if !matches!(self.current, Current::Expression(_) | Current::Foreign(_)) {
            let tag = self.last.take().and_then(|last| next_tag(self.source, last));
            let include = tag.filter(|tag| word(&self.source[*tag..]) == "include" && self.stands_alone(*tag));
            self.current = Current::Foreign(include.map_or(self.extends, |tag| self.line(tag)));
        }
    }

    /// Whether something of this template's own is written between this `include` and another.
    fn stands_alone(&self, tag: usize) -> bool {
        let Some(end) = self.source[tag..].find("%}").map(|end| tag + end) else { return false };
        let rest = &self.source[end + 2..];
        let blanks = &rest[..rest.len() - rest.trim_start().len()];
        let next = &rest[blanks.len()..];
        let cut = !self.keeps_blanks || self.source[..end].ends_with('-') || next.get(2..3) == Some("-");
        !(next.starts_with("{%") || next.starts_with("{#")) || (!blanks.is_empty() && !cut)
    }

    fn mark(&mut self, address: *const u8) {
        if std::ptr::eq(address, self.name.as_ptr()) {
            let tag = self.last.take().and_then(|last| next_tag(self.source, last));
            let is_expression = |tag: &usize| self.source[*tag..].starts_with("{{");
            let prints = |tag: &usize| is_expression(tag) || matches!(word(&self.source[*tag..]), "call" | "filter");
            let line = tag.filter(prints).map_or(0, |tag| self.line(tag));
            self.last = tag.filter(is_expression).and_then(|tag| end_of_expression(self.source, tag));
            self.current = Current::Expression(line);
        } else if std::ptr::eq(address, self.name[self.name.len()..].as_ptr()) {
            // The text behind it is the template's, or else foreign.
            self.current = Current::Text(0);
        }
    }
}

impl Write for Trace<'_> {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.write_all(text)?;
        Ok(text.len())
    }

    fn write_all(&mut self, text: &[u8]) -> io::Result<()> {
        if text.is_empty() {
            self.mark(text.as_ptr());
            return Ok(());
        }
        self.enter(text);
        match self.current {
            Current::Text(line) => {
                self.lines.add_text(text, line);
            }
            Current::Expression(line) | Current::Foreign(line) => self.lines.add_made(text, line),
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The tag that is executed when the text before `place` was written; `None`: that isn't sure.
fn next_tag(source: &str, mut place: usize) -> Option<usize> {
    loop {
        let rest = &source[place..];
        let tag = place + (rest.len() - rest.trim_start().len());
        let rest = &source[tag..];
        if rest.starts_with("{#") {
            place = tag + rest.find("#}")? + 2;
        } else if rest.starts_with("{{") {
            return Some(tag);
        } else if rest.starts_with("{%") {
            match word(rest) {
                // These lead to the tag behind them, and write nothing.
                "endif" | "endwith" | "import" | "from" | "do" => place = tag + rest.find("%}")? + 2,
                _ => return Some(tag),
            }
        } else {
            return None;
        }
    }
}

/// The first word of a tag of statements.
fn word(tag: &str) -> &str {
    let text = tag.get(2..).unwrap_or_default().trim_start_matches(['-', '+']).trim_start();
    &text[..text.find(|c: char| !c.is_alphanumeric()).unwrap_or(text.len())]
}

/// Behind the `}}` of an expression that begins there.
fn end_of_expression(source: &str, start: usize) -> Option<usize> {
    let (mut quote, mut depth) = (None, 0_usize);
    let mut bytes = source.bytes().enumerate().skip(start + 2);
    while let Some((place, byte)) = bytes.next() {
        match (quote, byte) {
            (Some(_), b'\\') => {
                bytes.next();
            }
            (Some(open), _) if open == byte => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'{' | b'[' | b'(') => depth += 1,
            (None, b'}') if depth == 0 => return source[place..].starts_with("}}").then_some(place + 2),
            (None, b'}' | b']' | b')') => depth = depth.saturating_sub(1),
            (None, _) => {}
        }
    }
    None
}
