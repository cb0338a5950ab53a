//! What the engines' tests share.

use crate::Rendered;

/// Each line of a rendered template that isn't blank, with its line in the template, where all of it is from.
///
/// # Panics
/// Where the file isn't there, or some of it is from another file.
pub fn lines_of<'a>(rendered: &'a Rendered, template: &str) -> Vec<(&'a str, usize)> {
    let [origin] = rendered.origins[template].as_slice() else { panic!("{rendered:?}") };
    assert_eq!(origin.file, template);
    let text = rendered.files[template].split('\n').map(str::trim);
    text.zip(origin.lines.iter().copied()).filter(|(text, _)| !text.is_empty()).collect()
}
