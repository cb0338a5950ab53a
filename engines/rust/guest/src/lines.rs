//! Where the lines of what a template writes are from, collected while it is written.

/// For each line of the output the template's line that wrote the first of it that is known, and no blank.
#[derive(Debug)]
pub struct Lines {
    lines: Vec<usize>,
    /// Whether the last line has such.
    begun: bool,
}

impl Default for Lines {
    fn default() -> Self {
        Self { lines: vec![0], begun: false }
    }
}

impl Lines {
    /// Text as it stands in the template from that line on; gives the line where it ends.
    pub fn add_text(&mut self, text: &[u8], line: usize) -> usize {
        self.add(text, line, 1)
    }

    /// What that line of the template made; 0: it isn't known which.
    pub fn add_made(&mut self, text: &[u8], line: usize) {
        self.add(text, line, 0);
    }

    /// For each line of the output the template's line, or 0.
    pub fn finish(self) -> Vec<usize> {
        self.lines
    }

    fn add(&mut self, text: &[u8], mut line: usize, step: usize) -> usize {
        for (number, part) in text.split(|byte| *byte == b'\n').enumerate() {
            if number > 0 {
                line += step;
                // What it is if nothing stands in it.
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
        assert_eq!(lines.finish(), [1, 2, 2, 5, 6, 7, 0]);
    }
}
