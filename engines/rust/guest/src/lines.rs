//! The output of a template, and where its lines are from, collected while it is written.

/// For each line of the output the template's line that wrote the first part of it whose line is known and that isn't blank.
#[derive(Debug)]
pub struct Lines {
    output: Vec<u8>,
    lines: Vec<usize>,
    /// Whether the last line has such.
    begun: bool,
}

impl Default for Lines {
    fn default() -> Self {
        Self { output: Vec::new(), lines: vec![0], begun: false }
    }
}

impl Lines {
    /// Adds text as it stands in the template from that line on; gives the line where it ends.
    pub fn add_text(&mut self, text: &[u8], line: usize) -> usize {
        self.add(text, line, 1)
    }

    /// Adds text that this line of the template made; 0: it isn't known which line did.
    pub fn add_made(&mut self, text: &[u8], line: usize) {
        self.add(text, line, 0);
    }

    /// The output, and for each line of it the template's line, or 0.
    pub fn finish(self) -> (String, Vec<usize>) {
        let text = String::from_utf8(self.output);
        (text.unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()), self.lines)
    }

    fn add(&mut self, text: &[u8], mut line: usize, step: usize) -> usize {
        self.output.extend_from_slice(text);
        for (number, part) in text.split(|byte| *byte == b'\n').enumerate() {
            if number > 0 {
                line += step;
                // The line counts as this one if nothing stands in it.
                self.lines.push(line);
                self.begun = false;
            }
            if let Some(known) = self.lines.last_mut()
                && !self.begun
                && part.iter().any(|byte| !byte.is_ascii_whitespace())
            {
                *known = line;
                self.begun = line > 0;
            }
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_from_where_its_first_known_part_is_from() {
        let mut lines = Lines::default();
        assert_eq!(lines.add_text(b"a:\n  ", 1), 2);
        lines.add_made(b"b: 1\nc: 2\n", 2);
        lines.add_made(b"d", 0);
        assert_eq!(lines.add_text(b": 3\n\n e", 5), 7);
        lines.add_made(b"f\ng", 0);
        let (text, lines) = lines.finish();
        assert_eq!(text, "a:\n  b: 1\nc: 2\nd: 3\n\n ef\ng");
        assert_eq!(lines, [1, 2, 2, 5, 6, 7, 0]);
    }
}
