//! The JSON Schema of a program's inputs, as far as its contracts say them.

use guest::{Object, Value, json};
use nickel_lang_core::cache::InputFormat;
use nickel_lang_core::eval::value::{Container, NickelValue};
use nickel_lang_core::files::FileId;
use nickel_lang_core::identifier::LocIdent;
use nickel_lang_core::program::FieldPath;
use nickel_lang_core::term::record::Field;
use nickel_lang_core::typ::{Type, TypeF};

use crate::Context;

/// Merging with an empty record makes a contract on `input` show its fields.
const DECLARED: &str = r#"(import "/package/main.ncl") & { input = {} }"#;
const MAX_DEPTH: usize = 16;

/// None for a program that is a function, or says nothing of its inputs.
pub fn schema(context: &mut Context, _main: FileId) -> Option<Value> {
    let program = context.add("/mistletoe/declared.ncl".into(), InputFormat::Nickel, DECLARED);
    let value = context.vm.prepare_eval_only(program).ok()?;
    let found = record(context, &value, &mut vec![LocIdent::from("input")])?;
    Some(found)
}

fn query(context: &mut Context, program: &NickelValue, path: &[LocIdent]) -> Option<Field> {
    context.machine().query(program.clone(), &FieldPath(path.to_vec())).ok()
}

fn record(context: &mut Context, program: &NickelValue, path: &mut Vec<LocIdent>) -> Option<Value> {
    if path.len() > MAX_DEPTH {
        return None;
    }
    let field = query(context, program, path)?;
    let names: Vec<(LocIdent, Field)> = match field.value.as_ref()?.as_record()? {
        Container::Empty => return None,
        Container::Alloc(record) => record.fields.iter().map(|(name, field)| (*name, field.clone())).collect(),
    };
    let mut properties = Object::new();
    let mut required = Vec::new();
    for (name, field) in names {
        path.push(name);
        let whole = query(context, program, path);
        let value = whole.as_ref().and_then(|field| field.value.clone());
        let mut property = field.metadata.0.as_ref().map_or_else(Object::new, |metadata| {
            // `std.enum.TagOrString | [| 'A |]`: the first that says something.
            let types = metadata.annotation.iter().map(|annotation| of_type(&annotation.typ, 0));
            types.into_iter().find(|found| !found.is_empty()).unwrap_or_default()
        });
        if let Some(inner) = record(context, program, path) {
            property = inner.as_object().cloned().unwrap_or_default();
        }
        if let Some(doc) = field.metadata.0.as_ref().and_then(|metadata| metadata.doc.as_ref()) {
            property.insert("description".into(), json!(doc.trim()));
        }
        let default = value.filter(|_| !property.contains_key("properties")).and_then(|value| {
            context.machine().eval_full_for_export(value).ok().and_then(|value| serde_json::to_value(&value).ok())
        });
        let optional = field.metadata.0.as_ref().is_some_and(|metadata| metadata.opt);
        match default {
            Some(default) => {
                property.insert("default".into(), default);
            }
            None if !optional && !property.contains_key("properties") && name.label() != "name" => {
                required.push(json!(name.label()));
            }
            None => {}
        }
        properties.insert(name.label().to_owned(), Value::Object(property));
        path.pop();
    }
    let mut schema = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        schema["required"] = Value::Array(required);
    }
    Some(schema)
}

fn of_type(typ: &Type, depth: usize) -> Object {
    let found = match &typ.typ {
        _ if depth > MAX_DEPTH => json!({}),
        TypeF::Number => json!({ "type": "number" }),
        TypeF::Bool => json!({ "type": "boolean" }),
        TypeF::String => json!({ "type": "string" }),
        TypeF::Array(item) => json!({ "type": "array", "items": of_type(item, depth + 1) }),
        TypeF::Dict { type_fields, .. } => {
            json!({ "type": "object", "additionalProperties": of_type(type_fields, depth + 1) })
        }
        TypeF::Enum(rows) => {
            let mut words = Vec::new();
            for row in rows.iter() {
                match row {
                    nickel_lang_core::typ::EnumRowsIteratorItem::Row(row) if row.typ.is_none() => {
                        words.push(json!(row.id.label()));
                    }
                    _ => return Object::new(),
                }
            }
            json!({ "enum": words })
        }
        TypeF::Record(_) => json!({ "type": "object" }),
        _ => json!({}),
    };
    found.as_object().cloned().unwrap_or_default()
}
