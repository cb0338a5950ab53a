//! What a program may give: a Kubernetes object, a list of them, or a record of either by names of files.

use guest::{Failure, Rendered, Value, yaml};

use crate::MAIN;

pub fn rendered(value: Value) -> Result<Rendered, Failure> {
    let mut rendered = Rendered::default();
    match value {
        Value::Object(record) if !is_object(&record) => {
            for (name, value) in record {
                let mut objects = Vec::new();
                collect(value, &format!("the field {name}"), &mut objects)?;
                rendered.files.insert(format!("{MAIN}/{name}"), text(&objects));
            }
        }
        value => {
            let mut objects = Vec::new();
            collect(value, "it", &mut objects)?;
            rendered.files.insert(MAIN.into(), text(&objects));
        }
    }
    Ok(rendered)
}

fn is_object(record: &guest::Object) -> bool {
    record.contains_key("apiVersion") && record.contains_key("kind")
}

fn collect(value: Value, what: &str, objects: &mut Vec<Value>) -> Result<(), Failure> {
    match value {
        Value::Null => Ok(()),
        Value::Object(record) if is_object(&record) => {
            objects.push(Value::Object(record));
            Ok(())
        }
        Value::Array(list) => list
            .into_iter()
            .enumerate()
            .try_for_each(|(place, item)| collect(item, &format!("item {} of {what}", place + 1), objects)),
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

fn text(objects: &[Value]) -> String {
    let documents: Vec<_> = objects.iter().map(|object| yaml::to_yaml(object) + "\n").collect();
    documents.join("---\n")
}
