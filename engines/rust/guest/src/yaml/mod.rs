//! YAML as kubectl and Helm read it (YAML 1.1 words and numbers, merge keys), strictly: a duplicate key is an error. And
//! a writer whose text every reader takes for the same values.

mod read;
mod resolve;
mod write;

pub use read::{parse, parse_object};
pub use write::{Entry, quote, to_yaml, to_yaml_with_lines};

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Values from a number that is turned over and over: the same in every run.
    fn arbitrary(state: &mut u64, depth: usize) -> Value {
        let mut next = |bound: u64| {
            *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (*state >> 33) % bound
        };
        const TEXTS: [&str; 40] = [
            "",
            "a",
            "yes",
            "No",
            "on",
            "null",
            "~",
            "1",
            "-1",
            "0x1F",
            "1e3",
            ".5",
            "1_000",
            "2020-01-01",
            "12:30:45",
            " a",
            "a ",
            "a: b",
            "a #b",
            "#a",
            "- a",
            "-",
            "?",
            "? a",
            ":",
            "a:",
            "[a]",
            "{a}",
            "a\nb",
            "a\nb\n",
            "\na\n\n",
            "  a\nb",
            "\t",
            "a\tb",
            "é \u{85} \u{2028}",
            "\u{7f}\u{1}",
            "'",
            "\"\\",
            "%",
            "@a `b`",
        ];
        match next(if depth == 0 { 6 } else { 9 }) {
            0 => json!(null),
            1 => json!(next(2) == 0),
            2 => json!(next(2000) as i64 - 1000),
            3 => json!(next(1_000_000) as f64 / 64.0),
            4 => json!(u64::MAX - next(3)),
            5 => json!(TEXTS[next(40) as usize]),
            6 => {
                let count = next(4);
                (0..count).map(|_| arbitrary(state, depth - 1)).collect()
            }
            _ => {
                let keys: Vec<_> = (0..next(4)).map(|_| TEXTS[next(40) as usize]).collect();
                keys.into_iter().map(|key| (key.to_owned(), arbitrary(state, depth - 1))).collect()
            }
        }
    }

    #[test]
    fn reads_back_what_it_writes() {
        let mut state = 7;
        for _ in 0..20_000 {
            let value = arbitrary(&mut state, 4);
            let text = to_yaml(&value);
            assert_eq!(parse(&text, "t").unwrap(), value, "{text}");
            let nested = format!("key:\n{}", crate::text::indent(&text, "  ", true, false));
            assert_eq!(parse(&nested, "t").unwrap()["key"], value, "{nested}");
        }
    }
}
