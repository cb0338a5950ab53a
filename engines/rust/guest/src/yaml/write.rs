//! Block YAML; a text is quoted wherever some reader could take it for something else.

use serde_json::Value;

use super::resolve::resolve;

/// The YAML of a value, without a newline at its end, so that it can stand anywhere in a template.
pub fn to_yaml(value: &Value) -> String {
    let mut out = String::new();
    write(value, 0, &mut out);
    out
}

/// Writes what stands after `key: ` or `- ` at this indentation, or at the beginning.
fn write(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::Array(list) if !list.is_empty() => {
            for (number, item) in list.iter().enumerate() {
                if number > 0 {
                    new_line(indent, out);
                }
                out.push_str("- ");
                write(item, indent + 2, out);
            }
        }
        Value::Object(object) if !object.is_empty() => {
            for (number, (key, value)) in object.iter().enumerate() {
                if number > 0 {
                    new_line(indent, out);
                }
                out.push_str(&if is_plain(key) { key.clone() } else { quote(key) });
                out.push(':');
                match value {
                    Value::Object(object) if !object.is_empty() => {
                        new_line(indent + 2, out);
                        write(value, indent + 2, out);
                    }
                    Value::Array(list) if !list.is_empty() => {
                        new_line(indent, out);
                        write(value, indent, out);
                    }
                    _ => {
                        out.push(' ');
                        write(value, indent + 2, out);
                    }
                }
            }
        }
        Value::String(text) => write_text(text, indent, out),
        _ => out.push_str(&value.to_string()),
    }
}

fn new_line(indent: usize, out: &mut String) {
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', indent));
}

fn write_text(text: &str, indent: usize, out: &mut String) {
    if is_plain(text) {
        out.push_str(text);
    } else if indent > 0 && is_block(text) {
        let (body, mark) = match text.strip_suffix('\n') {
            None => (text, "|-"),
            Some(body) => (body, "|"),
        };
        out.push_str(mark);
        for line in body.split('\n') {
            if line.is_empty() {
                out.push('\n');
            } else {
                new_line(indent, out);
                out.push_str(line);
            }
        }
    } else {
        out.push_str(&quote(text));
    }
}

/// Whether a text of several lines may be written as a literal block that ends with a line that isn't empty.
fn is_block(text: &str) -> bool {
    text.trim_end_matches('\n').contains('\n')
        && !text.starts_with([' ', '\t', '\n'])
        && !text.ends_with("\n\n")
        && !text.lines().any(|line| !line.is_empty() && line.trim().is_empty())
        && text.chars().all(|c| c == '\n' || is_printable(c))
}

/// Whether every reader, of YAML 1.1 and 1.2, takes the bare text for this text.
fn is_plain(text: &str) -> bool {
    !text.is_empty()
        && resolve(text).is_ok_and(|value| value.is_string())
        && !is_number_of_others(text)
        && !text.starts_with(|c| "-?:,[]{}#&*!|>'\"%@`=<~ \t".contains(c))
        && !text.ends_with([' ', '\t', ':'])
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.contains(":\t")
        && text.chars().all(|c| c != '\t' && is_printable(c))
}

/// What readers of YAML 1.1 take for a time or a number in base 60, and those of 1.2 for a number.
fn is_number_of_others(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit() || c == '+' || c == '.')
        && text.chars().all(|c| c.is_ascii_hexdigit() || "+-.:_ TtZzxXoO".contains(c))
}

fn is_printable(c: char) -> bool {
    !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}') || c == '\t'
}

/// A JSON string, which is YAML; what YAML forbids in the open is escaped too.
fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    for c in Value::from(text).to_string().chars() {
        if is_printable(c) { out.push(c) } else { out.push_str(&format!("\\u{:04x}", c as u32)) }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn writes_what_people_write() {
        let value = json!({
            "name": "web", "on": "yes", "num": 3, "f": 1.5, "none": null, "empty": {}, "list": [],
            "ports": [{"port": 80, "name": "http"}, "x"], "nested": [["a"], [{"b": "c"}]],
            "script": "#!/bin/sh\n\nexit 0\n", "cut": "a\nb", "version": "1.10", "date": "2020-01-01", "image": "a/b:1.2"
        });
        let text = concat!(
            "name: web\n\"on\": \"yes\"\nnum: 3\nf: 1.5\nnone: null\nempty: {}\nlist: []\n",
            "ports:\n- port: 80\n  name: http\n- x\nnested:\n- - a\n- - b: c\n",
            "script: |\n  #!/bin/sh\n\n  exit 0\ncut: |-\n  a\n  b\nversion: \"1.10\"\ndate: \"2020-01-01\"\nimage: a/b:1.2"
        );
        assert_eq!(to_yaml(&value), text);
    }

    #[test]
    fn quotes_what_could_be_something_else() {
        for text in ["", "true", "0x1", "12:30", "1.2.3.4", "- a", "a: b", " a", "=", "<<", "\u{85}"] {
            assert!(to_yaml(&json!(text)).starts_with('"'), "{text}");
        }
        assert_eq!(to_yaml(&json!("\u{85}\u{2028}")), "\"\\u0085\\u2028\"");
        assert_eq!(to_yaml(&json!("a\nb")), "\"a\\nb\"");
    }
}
