//! From the parser's events to values, without recursion.

use std::collections::HashMap;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Tag};
use serde_json::Value;

use super::resolve::resolve;
use crate::Object;
use crate::answer::{Failure, Place};

/// As deep as JSON documents of hosts may be.
const MAX_DEPTH: usize = 120;
/// What aliases may copy, in values: enough for every honest file, too little for a bomb.
const MAX_COPIED: usize = 100_000;

/// The one document of a text; null if there is none. `file` is what failures name.
pub fn parse(text: &str, file: &str) -> Result<Value, Failure> {
    Reader { file, open: Vec::new(), anchors: HashMap::new(), copied: 0, root: None }.read(text)
}

/// A document that is an object, or nothing at all.
pub fn parse_object(text: &str, file: &str) -> Result<Object, Failure> {
    match parse(text, file)? {
        Value::Object(object) => Ok(object),
        Value::Null => Ok(Object::new()),
        other => Err(Failure::new(format!("{file} must hold keys with values, not {}", kind_of(&other)))
            .at(Place::at(file, 1, 1))),
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// A collection whose end hasn't come yet.
struct Open {
    anchor: usize,
    collection: Collection,
}

enum Collection {
    List(Vec<Value>),
    Object { object: Object, key: Option<Key>, merged: Vec<Object> },
}

enum Key {
    Text(String),
    Merge,
}

struct Reader<'a> {
    file: &'a str,
    open: Vec<Open>,
    anchors: HashMap<usize, Value>,
    copied: usize,
    root: Option<Value>,
}

impl Reader<'_> {
    fn read(mut self, text: &str) -> Result<Value, Failure> {
        for event in Parser::new_from_str(text) {
            let (event, span) =
                event.map_err(|error| self.fail(*error.marker(), format!("this is not YAML: {}", error.info())))?;
            self.event(event, span.start)?;
        }
        Ok(self.root.unwrap_or(Value::Null))
    }

    fn event(&mut self, event: Event, at: Marker) -> Result<(), Failure> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                if matches!(self.open.last(), Some(Open { collection: Collection::Object { key: None, .. }, .. })) {
                    let key = if style == ScalarStyle::Plain && text == "<<" {
                        Key::Merge
                    } else {
                        Key::Text(text.into_owned())
                    };
                    return self.key(key, at);
                }
                let value = self.scalar(&text, style, tag.as_deref(), at)?;
                self.value(value, anchor, at)
            }
            Event::Alias(anchor) => {
                let value = match self.anchors.get(&anchor) {
                    Some(value) => value.clone(),
                    None => return Err(self.fail(at, "this alias stands inside of what it names".into())),
                };
                self.copied += size_of(&value);
                if self.copied > MAX_COPIED {
                    return Err(self.fail(at, format!("aliases copy more than {MAX_COPIED} values")));
                }
                self.value(value, 0, at)
            }
            Event::SequenceStart(anchor, _) => self.start(anchor, Collection::List(Vec::new()), at),
            Event::MappingStart(anchor, _) => {
                self.start(anchor, Collection::Object { object: Object::new(), key: None, merged: Vec::new() }, at)
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(at),
            Event::DocumentStart(_) if self.root.is_some() => {
                Err(self.fail(at, "one document is expected, this is a second".into()))
            }
            _ => Ok(()),
        }
    }

    fn scalar(&self, text: &str, style: ScalarStyle, tag: Option<&Tag>, at: Marker) -> Result<Value, Failure> {
        let tag = tag.filter(|tag| tag.is_yaml_core_schema()).map(|tag| tag.suffix.as_str());
        let plain = style == ScalarStyle::Plain && tag.is_none_or(|tag| tag != "str" && tag != "binary");
        if plain { resolve(text).map_err(|why| self.fail(at, why)) } else { Ok(Value::from(text)) }
    }

    fn start(&mut self, anchor: usize, collection: Collection, at: Marker) -> Result<(), Failure> {
        if self.open.len() == MAX_DEPTH {
            return Err(self.fail(at, format!("this is more than {MAX_DEPTH} levels deep")));
        }
        if matches!(self.open.last(), Some(Open { collection: Collection::Object { key: None, .. }, .. })) {
            return Err(self.fail(at, "a key must be a text".into()));
        }
        self.open.push(Open { anchor, collection });
        Ok(())
    }

    fn end(&mut self, at: Marker) -> Result<(), Failure> {
        let Some(Open { anchor, collection }) = self.open.pop() else { return Ok(()) };
        let value = match collection {
            Collection::List(list) => Value::Array(list),
            Collection::Object { mut object, merged, .. } => {
                for other in merged {
                    for (key, value) in other {
                        object.entry(key).or_insert(value);
                    }
                }
                Value::Object(object)
            }
        };
        self.value(value, anchor, at)
    }

    fn key(&mut self, text: Key, at: Marker) -> Result<(), Failure> {
        let Some(Open { collection: Collection::Object { object, key, .. }, .. }) = self.open.last_mut() else {
            return Ok(());
        };
        if let Key::Text(text) = &text
            && object.contains_key(text)
        {
            let message = format!("the key {text:?} stands here for the second time");
            return Err(self.fail(at, message));
        }
        *key = Some(text);
        Ok(())
    }

    fn value(&mut self, value: Value, anchor: usize, at: Marker) -> Result<(), Failure> {
        if anchor > 0 {
            self.anchors.insert(anchor, value.clone());
        }
        let Some(Open { collection, .. }) = self.open.last_mut() else {
            self.root = Some(value);
            return Ok(());
        };
        match collection {
            Collection::List(list) => list.push(value),
            Collection::Object { object, key, merged } => match key.take() {
                Some(Key::Text(text)) => {
                    object.insert(text, value);
                }
                Some(Key::Merge) => match value {
                    Value::Object(other) => merged.push(other),
                    Value::Array(others) if others.iter().all(Value::is_object) => {
                        merged.extend(others.into_iter().filter_map(|other| match other {
                            Value::Object(other) => Some(other),
                            _ => None,
                        }));
                    }
                    _ => return Err(self.fail(at, "<< takes an object or a list of objects".into())),
                },
                None => return Err(self.fail(at, "a key must be a text".into())),
            },
        }
        Ok(())
    }

    fn fail(&self, at: Marker, message: String) -> Failure {
        Failure::new(message).at(Place::at(self.file, at.line().max(1), at.col() + 1))
    }
}

fn size_of(value: &Value) -> usize {
    let mut size = 0;
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        size += 1;
        match value {
            Value::Array(list) => open.extend(list),
            Value::Object(object) => open.extend(object.values()),
            _ => {}
        }
    }
    size
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(text: &str) -> (String, usize, usize) {
        let failure = parse(text, "f").unwrap_err();
        let place = failure.place.unwrap();
        (failure.message, place.line.unwrap(), place.column.unwrap())
    }

    #[test]
    fn reads_values_in_order() {
        let value = parse("b: [1, 'x', \"y\"]\na:\n  c: yes\n  d: !!str 5\n1: |\n  t\n", "f").unwrap();
        assert_eq!(value, json!({"b": [1, "x", "y"], "a": {"c": true, "d": "5"}, "1": "t\n"}));
        assert_eq!(value.as_object().unwrap().keys().collect::<Vec<_>>(), ["b", "a", "1"]);
        assert_eq!(parse("", "f").unwrap(), json!(null));
        assert_eq!(parse("# nothing\n", "f").unwrap(), json!(null));
    }

    #[test]
    fn follows_aliases_and_merge_keys() {
        let value = parse("a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\nc: {<<: [*a, {z: 1}]}\nd: *a", "f").unwrap();
        assert_eq!(value["b"], json!({"y": 3, "x": 1}));
        assert_eq!(value["c"], json!({"x": 1, "y": 2, "z": 1}));
        assert_eq!(value["d"], value["a"]);
    }

    #[test]
    fn says_what_and_where() {
        assert_eq!(said("a: 1\nb: 2\na: 3"), ("the key \"a\" stands here for the second time".into(), 3, 1));
        assert_eq!(said("a: .inf").1, 1);
        assert_eq!(said("a: 1\n---\nb: 2").0, "one document is expected, this is a second");
        assert!(said("a: [1").0.starts_with("this is not YAML: "));
        assert!(said("? [a]\n: b").0.contains("a key must be a text"));
        assert!(said("a: {<<: 1}").0.starts_with("<< takes"));
        assert!(said(&"[".repeat(130)).0.ends_with("levels deep"));
        assert!(said(&"[".repeat(100_000)).0.contains("recursion limit"));
        assert!(said("a: &a [*a]").0.contains("alias"));
        assert_eq!(parse_object("- a", "f").unwrap_err().message, "f must hold keys with values, not a list");
    }

    #[test]
    fn stops_alias_bombs() {
        let mut text = String::from("a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n");
        for level in 1..9 {
            let line = vec![format!("*a{}", level - 1); 10].join(",");
            text += &format!("a{level}: &a{level} [{line}]\n");
        }
        assert!(said(&text).0.starts_with("aliases copy more than"));
    }
}
