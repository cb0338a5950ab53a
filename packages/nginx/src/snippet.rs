//! Whether a piece of configuration is whole: as nginx reads it, it ends where it began.
//!
//! nginx itself checks the directives when it starts. What a snippet can't do is close a block that it hasn't opened, or
//! leave something open, and so change the meaning of what stands around it.

use mistletoe::{Error, bail, ensure};

/// The place of a word before the next `;` or brace.
#[derive(Clone, Copy, PartialEq)]
enum State {
    /// Between directives.
    Between,
    /// In a directive, between words.
    Directive,
    /// In a word.
    Word,
}

/// # Errors
///
/// The first thing that isn't whole, with its line.
pub fn check(snippet: &str) -> Result<(), Error> {
    let mut opened: Vec<usize> = Vec::new();
    let mut state = State::Between;
    let mut line = 1;
    let mut characters = snippet.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\n' => line += 1,
            // Within a word it is a character as others.
            '#' if state != State::Word => while characters.next_if(|&c| c != '\n').is_some() {},
            '"' | '\'' if state != State::Word => {
                let begin = line;
                loop {
                    match characters.next() {
                        None => bail!("the text that begins in line {begin} has no end"),
                        Some('\\') => line += usize::from(characters.next() == Some('\n')),
                        Some('\n') => line += 1,
                        Some(end) if end == c => break,
                        Some(_) => {}
                    }
                }
                state = State::Directive;
                continue;
            }
            '\\' => {
                line += usize::from(characters.next() == Some('\n'));
                state = State::Word;
                continue;
            }
            // A variable.
            '$' if characters.peek() == Some(&'{') => {
                ensure!(characters.any(|c| c == '}'), "the variable in line {line} has no end");
                state = State::Word;
                continue;
            }
            '{' => opened.push(line),
            '}' => {
                ensure!(
                    state == State::Between,
                    "line {line} closes a block in the middle of a directive: is there a `;`?"
                );
                ensure!(opened.pop().is_some(), "line {line} closes a block that it hasn't opened");
            }
            _ => {}
        }
        state = match c {
            ';' | '{' | '}' => State::Between,
            _ if c.is_ascii_whitespace() || c == '#' && state != State::Word => {
                if state == State::Between {
                    State::Between
                } else {
                    State::Directive
                }
            }
            _ => State::Word,
        };
    }
    if let Some(line) = opened.last() {
        bail!("the block that line {line} opens has no end");
    }
    ensure!(state == State::Between, "the last directive has no `;`");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_what_is_whole() {
        for snippet in [
            "",
            "gzip on;",
            "# a } comment\ngzip on; # another {",
            "location /a { return 200 \"}\"; }\nlocation /b { if ($x = '{') { return 404; } }",
            "rewrite ^/a#b$ /c;",
            "add_header X \"a\\\"}\";",
            "set $a ${host}x;",
            "location ~ \\{ { return 200; }",
            "log_format a 'b'\n  'c';",
        ] {
            check(snippet).unwrap_or_else(|error| panic!("{snippet}: {error}"));
        }
    }

    #[test]
    fn says_what_is_not() {
        for (snippet, expected) in [
            ("}", "line 1 closes a block that it hasn't opened"),
            ("a;\n} server { listen 1;", "line 2 closes a block"),
            ("location / {\n return 200;", "the block that line 1 opens has no end"),
            ("\nadd_header A \"b;", "the text that begins in line 2 has no end"),
            ("gzip on", "the last directive has no `;`"),
            ("a \"x\"", "the last directive has no `;`"),
            ("a { b }", "in the middle of a directive"),
            ("a \\;", "the last directive has no `;`"),
            ("a ${b;", "the variable in line 1 has no end"),
            ("a; # }\n}", "line 2 closes"),
            ("a x\"}\";", "in the middle of a directive"),
        ] {
            let error = check(snippet).map(|()| snippet).unwrap_err().to_string();
            assert!(error.contains(expected), "{snippet}: {error}");
        }
    }
}
