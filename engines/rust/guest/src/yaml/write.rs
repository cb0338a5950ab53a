//! Block YAML; a text is quoted wherever some reader could take it for something else.

use serde_json::Value;

use super::resolve::resolve;

/// The YAML of a value, without a newline at its end, so that it can stand anywhere in a template.
pub fn to_yaml(value: &Value) -> String {
    let mut writer = Writer::default();
    writer.write(value, None, 0);
    writer.out
}

/// Where a value is from, and what stands in it: its items or members in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    pub line: usize,
    pub within: Vec<Entry>,
}

/// The same, and for each of its lines that of the last entry that begins there, else of the one before it.
pub fn to_yaml_with_lines(value: &Value, entry: &Entry) -> (String, Vec<usize>) {
    let mut writer = Writer { begins: vec![(0, entry.line)], ..Writer::default() };
    writer.write(value, Some(entry), 0);
    let mut lines = Vec::new();
    let mut end = 0;
    let mut line = entry.line;
    let mut begins = writer.begins.iter().peekable();
    for text in writer.out.split('\n') {
        end += text.len() + 1;
        while let Some((_, begun)) = begins.next_if(|(place, _)| *place < end) {
            line = *begun;
        }
        lines.push(line);
    }
    (writer.out, lines)
}

#[derive(Default)]
struct Writer {
    out: String,
    /// Where entries begin, and their lines.
    begins: Vec<(usize, usize)>,
}

impl Writer {
    /// Writes what stands after `key: ` or `- ` at this indentation, or at the beginning.
    fn write(&mut self, value: &Value, entry: Option<&Entry>, indent: usize) {
        match value {
            Value::Array(list) if !list.is_empty() => {
                for (number, item) in list.iter().enumerate() {
                    if number > 0 {
                        self.new_line(indent);
                    }
                    let inner = self.begin(entry, number);
                    self.out.push_str("- ");
                    self.write(item, inner, indent + 2);
                }
            }
            Value::Object(object) if !object.is_empty() => {
                for (number, (key, value)) in object.iter().enumerate() {
                    if number > 0 {
                        self.new_line(indent);
                    }
                    let inner = self.begin(entry, number);
                    self.out.push_str(&if is_plain(key) { key.clone() } else { quote(key) });
                    self.out.push(':');
                    match value {
                        Value::Object(object) if !object.is_empty() => {
                            self.new_line(indent + 2);
                            self.write(value, inner, indent + 2);
                        }
                        Value::Array(list) if !list.is_empty() => {
                            self.new_line(indent);
                            self.write(value, inner, indent);
                        }
                        _ => {
                            self.out.push(' ');
                            self.write(value, inner, indent + 2);
                        }
                    }
                }
            }
            Value::String(text) => self.write_text(text, indent),
            _ => self.out.push_str(&value.to_string()),
        }
    }

    /// The entry of what is written next.
    fn begin<'a>(&mut self, entry: Option<&'a Entry>, number: usize) -> Option<&'a Entry> {
        let inner = entry?.within.get(number);
        if let Some(inner) = inner {
            self.begins.push((self.out.len(), inner.line));
        }
        inner
    }

    fn new_line(&mut self, indent: usize) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n(' ', indent));
    }

    fn write_text(&mut self, text: &str, indent: usize) {
        if is_plain(text) {
            self.out.push_str(text);
        } else if indent > 0 && is_block(text) {
            let (body, mark) = match text.strip_suffix('\n') {
                None => (text, "|-"),
                Some(body) => (body, "|"),
            };
            self.out.push_str(mark);
            for line in body.split('\n') {
                if line.is_empty() {
                    self.out.push('\n');
                } else {
                    self.new_line(indent);
                    self.out.push_str(line);
                }
            }
        } else {
            self.out.push_str(&quote(text));
        }
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
pub fn quote(text: &str) -> String {
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
    fn knows_the_lines_of_what_it_writes() {
        let leaf = |line| Entry { line, within: Vec::new() };
        let node = |line, within: &[Entry]| Entry { line, within: within.to_vec() };
        let value = json!({"a": "x\ny\n", "b": [{"c": 1, "d": {"e": 2}}, "f"], "g": {}});
        let item = node(4, &[leaf(4), node(5, &[leaf(6)])]);
        let entry = node(1, &[leaf(2), node(3, &[item, leaf(7)]), leaf(8)]);
        let (text, lines) = to_yaml_with_lines(&value, &entry);
        assert_eq!(text, to_yaml(&value));
        assert_eq!(text, "a: |\n  x\n  y\nb:\n- c: 1\n  d:\n    e: 2\n- f\ng: {}");
        assert_eq!(lines, [2, 2, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(to_yaml_with_lines(&value, &leaf(9)).1, [9; 9]);
    }

    #[test]
    fn quotes_what_could_be_something_else() {
        for text in ["", "true", "0x1", "12:30", "1.2.3.4", "- a", "a: b", " a", "=", "<<", "\u{85}"] {
            assert!(to_yaml(&json!(text)).starts_with('"'), "{text}");
        }
        assert_eq!(to_yaml(&json!("\u{85}\u{2028}")), "\"\\u0085\\u2028\"");
        assert_eq!(to_yaml(&json!("a\nb")), "\"a\\nb\"");
        assert_eq!(quote("é\u{7f}\u{9f}\t\"\u{1}"), "\"é\\u007f\\u009f\\t\\\"\\u0001\"");
    }
}
