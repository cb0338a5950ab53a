//! What both template languages offer under their own names.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

pub fn base64_encode(text: &str) -> String {
    STANDARD.encode(text)
}

/// The text that was encoded; an error says what is wrong with it.
pub fn base64_decode(text: &str) -> Result<String, String> {
    let bytes = STANDARD.decode(text.trim()).map_err(|error| format!("{text:?} is no base64: {error}"))?;
    String::from_utf8(bytes).map_err(|_| format!("what {text:?} decodes to is no UTF-8 text"))
}

/// In hexadecimal digits.
pub fn sha256(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Spaces before each line; a line without anything stays so unless `blank`. The first line only if `first`.
pub fn indent(text: &str, spaces: &str, first: bool, blank: bool) -> String {
    let mut result = String::with_capacity(text.len() + spaces.len() * 8);
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            result.push('\n');
        }
        let indents = if number == 0 { first } else { blank || !line.trim_end_matches('\r').is_empty() };
        if indents {
            result.push_str(spaces);
        }
        result.push_str(line);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodes_and_decodes() {
        assert_eq!(base64_encode("héllo"), "aMOpbGxv");
        assert_eq!(base64_decode("aMOpbGxv\n").unwrap(), "héllo");
        assert!(base64_decode("%").unwrap_err().starts_with("\"%\" is no base64"));
        assert!(base64_decode("/w==").unwrap_err().ends_with("no UTF-8 text"));
        assert!(sha256("").starts_with("e3b0c44298fc1c14"));
    }

    #[test]
    fn indents() {
        assert_eq!(indent("a\n\nb\n", "  ", false, false), "a\n\n  b\n");
        assert_eq!(indent("a\n\nb", "  ", true, true), "  a\n  \n  b");
    }
}
