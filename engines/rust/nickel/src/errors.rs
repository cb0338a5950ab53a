//! The library's diagnostics as text, and the place that they point at.

use guest::{Failure, Place};
use nickel_lang_core::error::report::{ColorOpt, report_as_str};
use nickel_lang_core::error::{Diagnostic, Error, IntoDiagnostics, LabelStyle};
use nickel_lang_core::files::{FileId, Files};

use crate::{Context, ROOT};

/// Diagnostics that were made already.
struct Made(Vec<Diagnostic<FileId>>);

impl IntoDiagnostics for Made {
    fn into_diagnostics(self, _: &mut Files) -> Vec<Diagnostic<FileId>> {
        self.0
    }
}

pub fn failure(context: &mut Context, error: Error) -> Failure {
    let mut files = context.vm.import_resolver.sources.files().clone();
    let diagnostics = error.into_diagnostics(&mut files);
    let place = diagnostics.iter().find_map(|diagnostic| place(diagnostic, &files));
    let mut text = report_as_str(&mut files, Made(diagnostics), ColorOpt::Never);
    if text.contains("could not find import") {
        text.truncate(text.trim_end().len());
        text.push_str("\n  = imports are served from the package, and from nowhere else");
    }
    let text = text.replace(&format!("{ROOT}/"), "").replace(ROOT, "the package").replace("/mistletoe/", "mistletoe/");
    let message = text.trim().strip_prefix("error: ").unwrap_or(text.trim()).to_owned();
    let failure = Failure::new(message);
    match place {
        Some(place) => failure.at(place),
        None => failure,
    }
}

/// The first place in the package that the diagnostic marks, what it is about before what helps to understand it.
fn place(diagnostic: &Diagnostic<FileId>, files: &Files) -> Option<Place> {
    let styles = [LabelStyle::Primary, LabelStyle::Secondary];
    let labels = styles.iter().flat_map(|style| diagnostic.labels.iter().filter(move |label| label.style == *style));
    labels.into_iter().find_map(|label| {
        let name = files.name(label.file_id).to_str()?;
        let path = name.strip_prefix(ROOT)?.strip_prefix('/')?;
        let source = files.source(label.file_id);
        Some(Place::of_offset(path, source, label.range.start))
    })
}
