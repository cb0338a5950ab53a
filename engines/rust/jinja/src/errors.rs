//! From the library's errors to what the host draws.

use std::error::Error as _;
use std::fmt::Write;

use guest::{Failure, Place};
use minijinja::{Error, ErrorKind};

/// A failure of ours on its way through the library.
pub fn carry(failure: Failure) -> Error {
    let kind = ErrorKind::InvalidOperation;
    match failure.place {
        Some(place) => Error::new(kind, failure.message.clone())
            .with_source(Carried(Failure { message: failure.message, place: Some(place) })),
        None => Error::new(kind, failure.message),
    }
}

#[derive(Debug)]
struct Carried(Failure);

impl std::fmt::Display for Carried {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Carried {}

/// The innermost error is what failed, and its place is where; those around it tell the way there.
pub fn failure(error: &Error, template: &str) -> Failure {
    let mut chain = vec![error];
    let mut carried = None;
    let mut next = error.source();
    while let Some(source) = next {
        if let Some(inner) = source.downcast_ref::<Error>() {
            chain.push(inner);
        } else if let Some(Carried(failure)) = source.downcast_ref() {
            carried = Some(failure);
        } else {
            break;
        }
        next = source.source();
    }
    let innermost = chain[chain.len() - 1];
    let mut message = what(innermost);
    let mut source = innermost.source();
    while let Some(cause) = source.filter(|cause| !cause.is::<Carried>()) {
        let _ = write!(message, ": {cause}");
        source = cause.source();
    }
    let own = place(innermost);
    for outer in chain.iter().rev().skip(1).filter_map(|outer| place(outer)) {
        if Some(&outer) != own.as_ref() {
            let _ = write!(message, "\nfrom {}:{}", outer.file, outer.line.unwrap_or(1));
        }
    }
    let place = carried
        .and_then(|failure| failure.place.clone())
        .or(own)
        .or_else(|| chain.iter().rev().find_map(|outer| place(outer)))
        .unwrap_or_else(|| Place::file(template));
    Failure::new(message).at(place)
}

fn what(error: &Error) -> String {
    match (error.kind(), error.detail()) {
        (ErrorKind::OutOfFuel, _) => {
            format!("this template took more than {} steps: does it ever end?", crate::STEPS)
        }
        (_, Some(detail)) if detail.starts_with("tried to use % operator on unsupported types string") => {
            format!("{detail}; for texts write \"…\"|format(…)")
        }
        // The kind says nothing that these words don't.
        (ErrorKind::InvalidOperation, Some(detail)) => detail.to_owned(),
        (kind, Some(detail)) => format!("{kind}: {detail}"),
        (kind, None) => kind.to_string(),
    }
}

fn place(error: &Error) -> Option<Place> {
    let file = error.name()?;
    match (error.range(), error.template_source(), error.line()) {
        (Some(range), Some(text), Some(line)) => {
            let place = Place::of_offset(file, text, range.start);
            // A span that doesn't begin where the error is said to be would point at something else.
            if place.line == Some(line) { Some(place) } else { Some(Place { column: None, line: Some(line), ..place }) }
        }
        (_, _, line) => Some(Place { line, ..Place::file(file) }),
    }
}
