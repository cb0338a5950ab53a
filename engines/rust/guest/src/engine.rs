//! The doors between the host and an engine.
//!
//! The host calls `_initialize`, then maybe `mistletoe_prepare` (after which it may keep the memory as a snapshot), then
//! `mistletoe_generate`. What was prepared is used; what was not is done then. Nothing that is prepared depends on an
//! input, or asks the host, which answers only in `mistletoe_generate`: lines for the user are kept until then. It holds
//! the random keys of Rust's hash tables, so that a prepared engine draws nothing by itself; the order of a hash table
//! reaches no output.

use std::io::{Read, Write};
use std::panic::PanicHookInfo;

use crate::answer::{Answer, Failure, Rendered};
use crate::host;
use crate::input::Input;
use crate::package::Package;
use crate::tree::Tree;

/// A template language.
pub trait Engine: Sized {
    /// A package, parsed as far as can be without an input.
    type Loaded;

    /// What no package is needed for: a standard library, tables of filters.
    fn start() -> Self;

    fn load(&self, tree: Tree) -> Result<Self::Loaded, Failure>;

    fn render(&self, package: &Self::Loaded, input: &Input) -> Result<Rendered, Failure>;

    fn describe(&self, package: &Self::Loaded) -> Result<Package, Failure>;
}

/// Exports what the host calls, for an [`Engine`].
#[macro_export]
macro_rules! reactor {
    ($engine:ty) => {
        // The host calls a module from one thread; a thread's variable needs no lock and no `Sync` of the engine.
        thread_local! {
            static PREPARED: ::std::cell::RefCell<$crate::engine::Prepared<$engine>> =
                const { ::std::cell::RefCell::new($crate::engine::Prepared::new()) };
        }

        #[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
        pub extern "C" fn mistletoe_prepare() {
            $crate::host::hold_lines();
            PREPARED.with_borrow_mut(|prepared| prepared.prepare());
        }

        #[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
        pub extern "C" fn mistletoe_generate() {
            PREPARED.with_borrow_mut(|prepared| prepared.generate());
        }
    };
}

/// Where the host shows the package.
const PACKAGE: &str = "/package";

/// What is ready before there is an input.
pub struct Prepared<E: Engine> {
    engine: Option<E>,
    /// With the failure, should there be one: it is told when somebody can hear it.
    package: Option<Result<E::Loaded, Failure>>,
}

impl<E: Engine> Prepared<E> {
    #[expect(clippy::new_without_default, reason = "a default can't be const")]
    pub const fn new() -> Self {
        Self { engine: None, package: None }
    }

    pub fn prepare(&mut self) {
        answer_panics();
        let engine = self.engine.get_or_insert_with(E::start);
        if self.package.is_none() && std::path::Path::new(PACKAGE).is_dir() {
            self.package = match Tree::read(PACKAGE.as_ref()) {
                // An engine is prepared without a package first, and later with one.
                Ok(tree) if tree.is_empty() => None,
                tree => Some(tree.and_then(|tree| engine.load(tree))),
            };
        }
    }

    pub fn generate(&mut self) {
        host::show_held();
        self.prepare();
        let mut text = Vec::new();
        let result = std::io::stdin()
            .read_to_end(&mut text)
            .map_err(|error| Failure::new(format!("the input document can't be read from standard input: {error}")))
            .and_then(|_| self.answer(&text));
        write(&result.unwrap_or_else(Answer::Failed));
    }

    fn answer(&self, input: &[u8]) -> Result<Answer, Failure> {
        let input = Input::parse(input)?;
        let (Some(engine), Some(package)) = (&self.engine, &self.package) else {
            return Err(Failure::new("there is no package: the directory /package is empty or not there"));
        };
        let package = package.as_ref().map_err(Clone::clone)?;
        if input.is_inspection() {
            return Ok(Answer::Described(Box::new(engine.describe(package)?)));
        }
        Ok(Answer::Rendered(engine.render(package, &input)?))
    }
}

/// A module can't unwind, but its panic hook still runs: a panic is answered like any failure.
fn answer_panics() {
    std::panic::set_hook(Box::new(|info| {
        write(&Answer::Failed(Failure::new(panic_message(info))));
        std::process::exit(0);
    }));
}

fn panic_message(info: &PanicHookInfo) -> String {
    let place = info.location().map(|at| format!(" at {}:{}", at.file(), at.line())).unwrap_or_default();
    format!("the engine panicked{place}: {}", info.payload_as_str().unwrap_or("without a message"))
}

fn write(answer: &Answer) {
    let mut stdout = std::io::stdout().lock();
    if let Err(error) = stdout.write_all(answer.to_line().as_bytes()).and_then(|()| stdout.flush()) {
        eprintln!("the result can't be written to standard output: {error}");
        std::process::exit(1);
    }
}

/// Runs an engine natively, for tests and benches: the package in the directory that is the first argument, the input
/// document on standard input, the answer on standard output.
#[cfg(not(target_family = "wasm"))]
pub fn native_main<E: Engine>() {
    let directory = std::env::args_os().nth(1).unwrap_or_else(|| PACKAGE.into());
    let engine = E::start();
    let package = Tree::read(directory.as_ref()).and_then(|tree| engine.load(tree));
    let mut prepared = Prepared { engine: Some(engine), package: Some(package) };
    let mut text = Vec::new();
    let result = match std::io::stdin().read_to_end(&mut text) {
        Ok(_) => prepared.answer(&text),
        Err(error) => Err(Failure::new(error.to_string())),
    };
    write(&result.unwrap_or_else(Answer::Failed));
    // What an engine holds takes longer to free than to forget.
    std::mem::forget(prepared.package.take());
}
