//! Where the fields of an object stand in the program.
//!
//! A value, and a field's name, know the expression that they are from. A name in a record that was merged may be from any
//! of those that have it. So a field has the line of its name if that stands in the expression that the record is from, or
//! if its value stands right behind it; else the line of its value if that stands in the record's expression; else that of
//! the nearest field around it. All lines of an object are of one file: that of the expression that the object is from.

use std::cell::RefCell;

use guest::Value;
use guest::yaml::Entry;
use nickel_lang_core::eval::value::{Container, NickelValue, RecordData};
use nickel_lang_core::files::{FileId, Files};
use nickel_lang_core::identifier::Ident;
use nickel_lang_core::position::{PosTable, RawSpan, TermPos};
use nickel_lang_core::term::record::Field;

use crate::{Context, ROOT};

pub struct Places<'a> {
    files: &'a Files,
    positions: &'a PosTable,
    /// Where the lines of the files begin that were asked for.
    starts: RefCell<Vec<(FileId, Vec<usize>)>>,
}

/// What is around a field: the expression of the nearest record, and the nearest field's line.
#[derive(Clone, Copy)]
struct Around {
    expression: RawSpan,
    line: usize,
}

impl<'a> Places<'a> {
    pub fn new(context: &'a Context) -> Self {
        let files = context.vm.import_resolver.sources.files();
        Self { files, positions: &context.vm.pos_table, starts: RefCell::default() }
    }

    /// The file that an object is from, and the lines of its fields there; `None`: it isn't from the package's text.
    pub fn of_object(&self, value: &NickelValue, object: &Value) -> Option<(String, Entry)> {
        let own = self.span(value.pos(self.positions));
        let expression = own.or_else(|| self.span(field(value, "kind")?.0))?;
        let line = self.line(expression);
        let entry = Entry { line, within: self.within(value, object, Around { expression, line }) };
        Some((self.path(expression)?.to_owned(), entry))
    }

    fn within(&self, value: &NickelValue, data: &Value, around: Around) -> Vec<Entry> {
        let own = self.span(value.pos(self.positions)).filter(|own| own.src_id == around.expression.src_id);
        let around = Around { expression: own.unwrap_or(around.expression), ..around };
        match data {
            Value::Object(object) => object
                .iter()
                .map(|(name, member)| match field(value, name) {
                    Some((name, Field { value: Some(value), .. })) => {
                        let value_span = self.span(value.pos(self.positions));
                        let line = self.line_of_field(self.span(name), value_span, around).unwrap_or(around.line);
                        Entry { line, within: self.within(value, member, Around { line, ..around }) }
                    }
                    _ => Entry { line: around.line, within: Vec::new() },
                })
                .collect(),
            Value::Array(list) => {
                list.iter().zip(items(value)).map(|(data, item)| self.item(item, data, around)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn item(&self, item: &NickelValue, data: &Value, around: Around) -> Entry {
        let own = self.span(item.pos(self.positions)).filter(|own| {
            // A text or a number may be used anywhere.
            own.src_id == around.expression.src_id && (!is_scalar(data) || around.expression.contains_span(*own))
        });
        let line = own.map_or(around.line, |own| self.line(own));
        Entry { line, within: self.within(item, data, Around { line, ..around }) }
    }

    fn line_of_field(&self, name: Option<RawSpan>, value: Option<RawSpan>, around: Around) -> Option<usize> {
        let here = |span: &RawSpan| span.src_id == around.expression.src_id;
        let (name, value) = (name.filter(here), value.filter(here));
        if let Some(name) = name
            && (around.expression.contains_span(name) || value.is_some_and(|value| self.is_definition(name, value)))
        {
            return Some(self.line(name));
        }
        value.filter(|value| around.expression.contains_span(*value)).map(|value| self.line(value))
    }

    /// Whether the value stands right behind the name: `name | Number = value`.
    fn is_definition(&self, name: RawSpan, value: RawSpan) -> bool {
        let between = name.end.0 as usize..value.start.0 as usize;
        let text = self.files.source(name.src_id).get(between).unwrap_or_default();
        text.contains('=') && !text.contains([',', ';', '{', '}', '[', ']'])
    }

    fn span(&self, position: TermPos) -> Option<RawSpan> {
        let (TermPos::Original(span) | TermPos::Inherited(span)) = position else { return None };
        self.path(span).map(|_| span)
    }

    /// The path in the package.
    fn path(&self, span: RawSpan) -> Option<&str> {
        self.files.name(span.src_id).to_str()?.strip_prefix(ROOT)?.strip_prefix('/')
    }

    fn line(&self, span: RawSpan) -> usize {
        let place = span.start.0 as usize;
        let line = |starts: &Vec<usize>| starts.partition_point(|start| *start <= place);
        let mut known = self.starts.borrow_mut();
        if let Some((_, starts)) = known.iter().find(|(file, _)| *file == span.src_id) {
            return line(starts);
        }
        let newlines = self.files.source(span.src_id).bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = [0].into_iter().chain(newlines.map(|(place, _)| place + 1)).collect();
        let found = line(&starts);
        known.push((span.src_id, starts));
        found
    }
}

fn field<'a>(value: &'a NickelValue, name: &str) -> Option<(TermPos, &'a Field)> {
    let record: &RecordData = value.as_record()?.into_opt()?;
    let (name, field) = record.fields.get_key_value(&Ident::new(name))?;
    Some((name.pos, field))
}

/// Of a record by names of files: what has that name.
pub fn member<'a>(value: &'a NickelValue, name: &str) -> Option<&'a NickelValue> {
    field(value, name)?.1.value.as_ref()
}

/// Of a list.
pub fn items(value: &NickelValue) -> impl Iterator<Item = &NickelValue> {
    value.as_array().and_then(Container::into_opt).into_iter().flat_map(|items| items.array.iter())
}

fn is_scalar(data: &Value) -> bool {
    !matches!(data, Value::Object(_) | Value::Array(_))
}
