//! What a program may give: a Kubernetes object, a list of them, or a record of either by names of files.

use std::collections::BTreeMap;

use guest::{Failure, Origin, Rendered, Value, yaml};
use nickel_lang_core::eval::value::NickelValue;

use crate::MAIN;
use crate::places::{Places, items, member};

/// An object, and the value that it is of.
struct Made<'a> {
    object: Value,
    value: Option<&'a NickelValue>,
}

/// `data` is what `value` holds.
pub fn rendered(data: Value, value: &NickelValue, places: &Places) -> Result<Rendered, Failure> {
    let mut rendered = Rendered::default();
    match data {
        Value::Object(record) if !is_object(&record) => {
            for (name, data) in record {
                let mut objects = Vec::new();
                collect(data, member(value, &name), &format!("the field {name}"), &mut objects)?;
                add(&mut rendered, format!("{MAIN}/{name}"), &objects, places);
            }
        }
        data => {
            let mut objects = Vec::new();
            collect(data, Some(value), "it", &mut objects)?;
            add(&mut rendered, MAIN.into(), &objects, places);
        }
    }
    Ok(rendered)
}

fn is_object(record: &guest::Object) -> bool {
    record.contains_key("apiVersion") && record.contains_key("kind")
}

fn collect<'a>(
    data: Value,
    value: Option<&'a NickelValue>,
    what: &str,
    objects: &mut Vec<Made<'a>>,
) -> Result<(), Failure> {
    match data {
        Value::Null => Ok(()),
        Value::Object(record) if is_object(&record) => {
            objects.push(Made { object: Value::Object(record), value });
            Ok(())
        }
        Value::Array(list) => {
            let values = value.into_iter().flat_map(items).map(Some).chain(std::iter::repeat(None));
            list.into_iter().zip(values).enumerate().try_for_each(|(place, (item, value))| {
                collect(item, value, &format!("item {} of {what}", place + 1), objects)
            })
        }
        other => {
            let given = match &other {
                Value::Object(record) => {
                    let names: Vec<_> = record.keys().take(5).cloned().collect();
                    format!("a record without apiVersion and kind ({})", names.join(", "))
                }
                other => other.to_string(),
            };
            Err(Failure::new(format!(
                "{MAIN} must give a Kubernetes object, a list of objects, or a record whose fields hold such; {what} is \
                 {given}"
            ))
            .at(guest::Place::file(MAIN)))
        }
    }
}

/// Adds the file of these objects, and where its lines are from.
fn add(rendered: &mut Rendered, path: String, objects: &[Made], places: &Places) {
    let mut text = String::new();
    let mut lines = 0;
    let mut origins: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (number, Made { object, value }) in objects.iter().enumerate() {
        if number > 0 {
            text.push_str("---\n");
            lines += 1;
        }
        let (file, entry) = value.and_then(|value| places.of_object(value, object)).unwrap_or_default();
        let (yaml, own) = yaml::to_yaml_with_lines(object, &entry);
        text.push_str(&yaml);
        text.push('\n');
        let begin = lines;
        lines += own.len();
        if !file.is_empty() {
            let all = origins.entry(file).or_default();
            all.resize(begin, 0);
            all.extend(own);
        }
    }
    if !origins.is_empty() {
        rendered
            .origins
            .insert(path.clone(), origins.into_iter().map(|(file, lines)| Origin { file, lines }).collect());
    }
    rendered.files.insert(path, text);
}
