//! The engine for Nickel programs: nickel-lang-core, with the package's files as its only imports.
//!
//! What `main.ncl` may be stands in the README of this engine. The standard library is read when the engine is prepared,
//! and what programs use of it is evaluated; `main.ncl` and what it imports are parsed, typechecked and compiled when the
//! package is there; the values come as one more source, which a line of Nickel puts together with the program.

mod contracts;
mod errors;
mod inputs;
mod objects;
mod places;

use std::cell::RefCell;
use std::path::PathBuf;

use guest::{Engine, Failure, Input, Package, Place, Rendered, Tree, Value, host, json};
use nickel_lang_core::cache::{CacheHub, InputFormat, SourcePath};
use nickel_lang_core::error::NullReporter;
use nickel_lang_core::eval::cache::CacheImpl;
use nickel_lang_core::eval::value::NickelValue;
use nickel_lang_core::eval::{Environment, VirtualMachine, VmContext};
use nickel_lang_core::files::FileId;
use nickel_lang_core::serialize::{ExportFormat, validate};
use places::Places;

guest::reactor!(Nickel);

const MAIN: &str = "main.ncl";
/// A program beside it, evaluated when the package is there: what it needed of the others needs no evaluating in renders
/// that begin from there. Whether it succeeds changes nothing.
const EARLY: &str = "mistletoe-early.ncl";
/// Where the library looks for files; the package is there for it, whether or not it is anywhere else.
const ROOT: &str = "/package";
/// Brackets within brackets; its parser and compiler recurse into each.
const MAX_NESTING: usize = 200;

/// Puts the values into the program. Read when the engine is prepared.
const WITH_VALUES: &str = r#"
fun main given =>
if std.is_function main then
  main given.input
else if std.is_record main && std.record.has_field "output" main then
  let declared = fun name => if std.record.has_field name main then { "%{name}" = given."%{name}" } else {} in
  (main & declared "input" & declared "release" & declared "capabilities").output
else
  main
"#;

/// What is evaluated. Names that no author would choose.
const PROGRAM: &str = r#"
(import "/mistletoe/with_values.ncl") (import "/package/main.ncl") (import "/mistletoe/input.json")
"#;

/// The kind of an object that isn't Kubernetes', but a blueprint's evaluation: only of those contracts are described.
const EVALUATION: &str = "Evaluation";

/// A program that uses what programs use. Evaluated when the engine is prepared: the library computes the types and the
/// values of its standard library when they are first asked for, and so they are in the memory that engines start with.
const WARM_UP: &str = include_str!("warm_up.ncl");

/// The library, and its standard library as evaluated so far.
struct Context {
    vm: VmContext<CacheHub, CacheImpl>,
    library: Environment,
}

impl Context {
    fn new() -> Self {
        let mut vm = VmContext::new(CacheHub::new(), Trace, NullReporter {});
        // What fails here fails once more with the program, where it can be told.
        let _ = vm.import_resolver.prepare_stdlib(&mut vm.pos_table);
        let library = vm.import_resolver.mk_eval_env(&mut vm.cache);
        let mut context = Self { vm, library };
        let with_values = context.add("/mistletoe/with_values.ncl".into(), InputFormat::Nickel, WITH_VALUES);
        let _ = context.vm.prepare_eval(with_values);
        context
    }

    /// Does not change what programs mean: only pure values, which it is told by nobody, are evaluated early.
    fn warm_up(&mut self) -> Result<Value, Box<nickel_lang_core::error::Error>> {
        let program = self.add("/mistletoe/warm_up.ncl".into(), InputFormat::Nickel, WARM_UP);
        self.vm.prepare_eval(program).map_err(Box::new)?;
        self.export(program).map(|(_, data)| data).map_err(Box::new)
    }

    fn machine(&mut self) -> VirtualMachine<'_, CacheHub, CacheImpl> {
        let library = self.library.clone();
        VirtualMachine::new_empty_env(&mut self.vm).with_initial_env(library)
    }

    fn add(&mut self, path: String, format: InputFormat, text: &str) -> FileId {
        let path = SourcePath::Path(PathBuf::from(path), format);
        self.vm.import_resolver.sources.add_string(path, text.to_owned())
    }

    /// The program's value in full, and as data.
    fn export(&mut self, program: FileId) -> Result<(NickelValue, Value), nickel_lang_core::error::Error> {
        let program = self.vm.prepare_eval_only(program)?;
        let value = self.machine().eval_full_for_export(program.clone())?;
        let wrong =
            |vm: &VmContext<_, _>, data| nickel_lang_core::error::Error::export_error(vm.pos_table.clone(), data);
        validate(ExportFormat::Json, &value).map_err(|data| wrong(&self.vm, data))?;
        // What was validated can be written; a number is written as an integer where it is one.
        let exported: Result<Value, nickel_lang_core::error::Error> =
            serde_json::to_value(&value).map_err(|error| nickel_lang_core::error::IOError(error.to_string()).into());
        let mut exported = exported?;
        if exported["kind"] == EVALUATION
            && let Some(contracts) = contracts::described(self, &program)
        {
            exported["contracts"] = contracts;
        }
        Ok((value, exported))
    }
}

pub struct Nickel(RefCell<Option<Context>>);

pub struct Loaded {
    package: Package,
    context: RefCell<Context>,
    main: FileId,
}

impl Engine for Nickel {
    type Loaded = Loaded;

    fn start() -> Self {
        let mut context = Context::new();
        // Only where what it leaves in memory is kept.
        if cfg!(target_family = "wasm") {
            let _ = context.warm_up();
        }
        Self(RefCell::new(Some(context)))
    }

    fn load(&self, tree: Tree) -> Result<Loaded, Failure> {
        let package = Package::read(&tree)?;
        package.refuse_other_options(&[])?;
        let Some(mut context) = self.0.take().or_else(|| Self::start().0.take()) else {
            return Err(Failure::new("the library can't be started"));
        };
        let (mut main, mut early) = (None, None);
        for path in tree.paths() {
            let Some(format) = InputFormat::from_path(path) else { continue };
            // A file that nobody imports may hold anything.
            let Some(Ok(text)) = tree.text(path) else { continue };
            if format == InputFormat::Nickel {
                check_nesting(text, path)?;
            }
            let id = context.add(format!("{ROOT}/{path}"), format, text);
            match path {
                MAIN => main = Some(id),
                EARLY => early = Some(id),
                _ => {}
            }
        }
        for path in tree.paths() {
            if let Some(Ok(text)) = tree.text(path)
                && InputFormat::from_path(path) != Some(InputFormat::Text)
            {
                context.add(format!("{ROOT}/{path}"), InputFormat::Text, text);
            }
        }
        let Some(main) = main else {
            return Err(tree
                .text(MAIN)
                .and_then(Result::err)
                .unwrap_or_else(|| Failure::new(format!("the package has no {MAIN}, where a Nickel program begins"))));
        };
        context.vm.prepare_eval(main).map_err(|error| errors::failure(&mut context, error))?;
        if let Some(early) = early {
            // Errors are dropped: the render that needs the same value fails again, and reports it.
            let _ = context.vm.prepare_eval(early).map(|_| context.export(early));
        }
        Ok(Loaded { package, context: RefCell::new(context), main })
    }

    fn render(&self, loaded: &Loaded, input: &Input) -> Result<Rendered, Failure> {
        let mut context = loaded.context.borrow_mut();
        let given = json!({
            "input": loaded.package.values(&input.data),
            "release": input.release,
            "capabilities": input.capabilities,
        });
        context.add("/mistletoe/input.json".into(), InputFormat::Json, &given.to_string());
        let whole = context.add("/mistletoe/program.ncl".into(), InputFormat::Nickel, PROGRAM);
        let (value, data) = context.export(whole).map_err(|error| errors::failure(&mut context, error))?;
        objects::rendered(data, &value, &Places::new(&context))
    }

    fn describe(&self, loaded: &Loaded) -> Result<Package, Failure> {
        let mut package = loaded.package.clone();
        if package.inputs.is_none() || !package.defaults.is_empty() {
            let mut context = loaded.context.borrow_mut();
            if let Some(inputs) = inputs::schema(&mut context, loaded.main) {
                package.inputs = Some(inputs);
            }
        }
        Ok(package)
    }
}

/// `std.trace` is said to the user.
struct Trace;

impl std::io::Write for Trace {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        if !text.trim().is_empty() {
            host::warn(text.trim_end());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Refuses what would use up the stack of the library's parser. Brackets in texts count too: nobody has so many.
fn check_nesting(text: &str, path: &str) -> Result<(), Failure> {
    let mut depth = 0_usize;
    for (place, byte) in text.bytes().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_NESTING {
            let message = format!("brackets are nested more than {MAX_NESTING} levels deep");
            return Err(Failure::new(message).at(Place::of_offset(path, text, place)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_warms_up_works() {
        let made = Context::new().warm_up().unwrap_or_else(|error| panic!("{error:?}"));
        assert_eq!(made["deployment"]["spec"]["replicas"], 6);
        assert_eq!(made["services"]["c-0"]["address"], "c");
        assert_eq!(made["config"]["level"], "low");
    }
}
