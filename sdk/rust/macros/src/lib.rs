//! The macros `mistletoe_package!`, `types!` and `dependency!`; use them through the crate `mistletoe`, which documents them.

mod literal;
mod metadata;
mod types;

use std::path::Path;

use metadata::Metadata;
use proc_macro::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};

/// Makes a program or library a Mistletoe package: embeds its metadata and exports its function `generate`.
///
/// `generate` must be in scope, of type `fn(I) -> MistResult` or `fn(I, Context) -> MistResult` with
/// `I: serde::Deserialize`. The macro stands once, at the root of the crate:
///
/// * In a program (`src/main.rs`) it also writes `main`.
/// * In a library (`crate-type = ["cdylib"]`, as packages were made from the beginning) it writes exports alone:
///   `v1alpha1` for `wasm32-unknown-unknown`, a `v1` reactor for `wasm32-wasip1`.
///
/// The metadata is YAML, in the macro or in a file beside `Cargo.toml`:
///
/// ```text
/// mistletoe_package! {"
///   name: namespace-example          # required: letters, digits, '-', '.'
///   labels:                          # texts
///     mistletoe.dev/group: mistletoe-examples
///   version: 0.1.2                   # these four default to what Cargo.toml says
///   description: Creates a Namespace
///   home: https://example.com
///   maintainers: [{name: Ann, email: ann@example.com}]
///   inputs: {type: object}           # JSON Schema 2020-12 of `data`
///   exports: {type: object}          # JSON Schema 2020-12 of the exports
///   dependencies: [{name: db, package: mistletoe/db, version: ^1}]
///   needs: {release: true}
/// "}
/// mistletoe_package! { file = "mistletoe.yaml" }
/// ```
///
/// The same file may also be a whole `kind: MistPackage` document, as `mistctl package build -m` takes it.
/// Mistakes in it are compile errors. The document goes into the custom section `mistletoe.package` of the module, so
/// that a host can read it without running anything. With `file`, a `mistletoe.lock` beside it (`mistctl package lock`)
/// becomes the section `mistletoe.lock`: the versions of the packages that this one calls.
#[proc_macro]
pub fn mistletoe_package(input: TokenStream) -> TokenStream {
    let span = input.clone().into_iter().next().map_or(Span::call_site(), |token| token.span());
    generated(expand(input), span)
}

/// Makes Rust types of the schemas of the package's own metadata: `Inputs` and `Exports`, and those of what they hold.
///
/// ```text
/// mistletoe::types! { file = "mistletoe.yaml" }
/// ```
///
/// The schema says what people read, what the host checks and what the compiler checks. Properties with a default always
/// have a value, optional ones are `Option`s; a string with `writeOnly: true` is a
/// [`SecretText`](https://docs.rs/mistletoe/latest/mistletoe/secret/struct.SecretText.html). Each struct has `new` with
/// what is required, for `..Inputs::new("shop")`. What has no type in Rust (unions, conditions) is a `Value`.
#[proc_macro]
pub fn types(input: TokenStream) -> TokenStream {
    let span = input.clone().into_iter().next().map_or(Span::call_site(), |token| token.span());
    generated(own_types(input), span)
}

/// Makes a typed client of a package that `spec.dependencies` of `mistletoe.yaml` names: a module with `Inputs`, `Exports`,
/// what they hold, and `call(&Inputs)`.
///
/// ```text
/// mistletoe::dependency!("mariadb");                                   // dependencies/mariadb.yaml beside Cargo.toml
/// mistletoe::dependency!("mariadb", file = "../mariadb/mistletoe.yaml");
/// ```
///
/// The file is the metadata of the called package. Inputs that it doesn't require are `Option`s: what is left out gets the
/// default of the version that is called. A name or a type that the schema doesn't have is a compile error; the host checks
/// the rest at each call.
#[proc_macro]
pub fn dependency(input: TokenStream) -> TokenStream {
    let span = input.clone().into_iter().next().map_or(Span::call_site(), |token| token.span());
    generated(client(input), span)
}

fn generated(code: Result<String, String>, span: Span) -> TokenStream {
    match code {
        Ok(code) => code.parse().expect("the macro writes valid Rust"),
        Err(message) => compile_error(&message, span),
    }
}

fn own_types(input: TokenStream) -> Result<String, String> {
    let source = Source::parse(input)?;
    let metadata = source.metadata()?;
    let code = types::code(metadata.schema("inputs"), metadata.schema("exports"), types::Side::Own)
        .map_err(|message| format!("{}{message}", source.prefix()))?;
    Ok(format!("{}{code}", source.tracked()))
}

fn client(input: TokenStream) -> Result<String, String> {
    let tokens: Vec<TokenTree> = input.into_iter().collect();
    let (name, file) = match tokens.as_slice() {
        [name] => (literal::string(name)?, None),
        [name, TokenTree::Punct(comma), TokenTree::Ident(word), TokenTree::Punct(equals), path]
            if comma.as_char() == ',' && word.to_string() == "file" && equals.as_char() == '=' =>
        {
            (literal::string(name)?, Some(literal::string(path)?))
        }
        _ => return Err("expected the name of a dependency, and perhaps `file = \"…\"`".into()),
    };
    check_declared(&name)?;
    let source = Source::read(&file.unwrap_or_else(|| format!("dependencies/{name}.yaml")))?;
    // What Cargo says is about this crate, not about the called one.
    let metadata = source.metadata_with(&|_| None)?;
    let wrong = |message| format!("{}{message}", source.prefix());
    let inputs = metadata.schema("inputs").ok_or_else(|| wrong("it has no schema of `inputs`".to_owned()))?;
    let exports = metadata.schema("exports");
    let code = types::code(Some(inputs), exports, types::Side::Caller).map_err(wrong)?;
    let answer = if exports.is_some() { "Exports" } else { "::mistletoe::Value" };
    Ok(format!(
        "#[doc = {:?}]
        pub mod {} {{
            #![allow(dead_code)]
            {}
            {code}
            /// Renders it with these inputs; its files are for `with_files_from`.
            ///
            /// # Errors
            ///
            /// It refuses the inputs or fails by itself: the error names the path of packages.
            pub fn call(inputs: &Inputs) -> ::std::result::Result<::mistletoe::Answer<{answer}>, ::mistletoe::Error> {{
                ::mistletoe::Answer::of({name:?}, inputs)
            }}
        }}",
        metadata.description().unwrap_or("A package that this one calls."),
        types::snake(&name),
        source.tracked(),
    ))
}

/// A misspelt name is found here, not at the first render.
fn check_declared(name: &str) -> Result<(), String> {
    let Ok(own) = Source::read("mistletoe.yaml") else { return Ok(()) };
    let declared = own.metadata()?.dependency_names();
    if declared.iter().any(|each| each == name) {
        return Ok(());
    }
    Err(format!(
        "{}`dependencies` has no `{name}`; it has {}",
        own.prefix(),
        match declared.as_slice() {
            [] => "none".to_owned(),
            some => some.join(", "),
        }
    ))
}

fn expand(input: TokenStream) -> Result<String, String> {
    let source = Source::parse(input)?;
    let metadata = source.metadata()?;
    let mut extra = source.tracked();
    if let Some(lock) = &source.lock {
        extra += &lock_section(lock);
    }
    Ok(code(&metadata, &extra, std::env::var_os("CARGO_BIN_NAME").is_some()))
}

/// The metadata's text, and the file that it came from.
struct Source {
    yaml: String,
    file: Option<String>,
    /// The path of `mistletoe.lock` beside it, if there is one.
    lock: Option<String>,
}

impl Source {
    fn parse(input: TokenStream) -> Result<Self, String> {
        let tokens: Vec<TokenTree> = input.into_iter().collect();
        match tokens.as_slice() {
            [yaml] => Ok(Self { yaml: literal::unindent(&literal::string(yaml)?), file: None, lock: None }),
            [TokenTree::Ident(word), TokenTree::Punct(equals), path]
                if word.to_string() == "file" && equals.as_char() == '=' =>
            {
                Self::read(&literal::string(path)?)
            }
            _ => Err("expected the metadata as one string of YAML, or `file = \"mistletoe.yaml\"`".into()),
        }
    }

    fn read(path: &str) -> Result<Self, String> {
        let root = std::env::var("CARGO_MANIFEST_DIR").map_err(|_| "`file = …` works only under Cargo".to_string())?;
        let full = Path::new(&root).join(path);
        let yaml = std::fs::read_to_string(&full).map_err(|error| format!("can't read {}: {error}", full.display()))?;
        let text = |path: &Path| path.to_str().map(str::to_owned).ok_or("the path of the crate isn't UTF-8");
        let lock = full.with_file_name("mistletoe.lock");
        let lock = if lock.exists() { Some(text(&lock)?) } else { None };
        Ok(Self { yaml, file: Some(text(&full)?), lock })
    }

    fn metadata(&self) -> Result<Metadata, String> {
        self.metadata_with(&|name| std::env::var(name).ok())
    }

    fn metadata_with(&self, variable: &dyn Fn(&str) -> Option<String>) -> Result<Metadata, String> {
        Metadata::parse(&self.yaml, variable).map_err(|message| format!("{}{message}", self.prefix()))
    }

    /// Makes the compiler run the macro again when the file changes.
    fn tracked(&self) -> String {
        self.file.as_deref().map_or(String::new(), |file| format!("const _: &[u8] = include_bytes!({file:?});"))
    }

    fn prefix(&self) -> String {
        self.file.as_deref().map_or(String::new(), |file| format!("{file}: "))
    }
}

/// The bytes of the file as the module's section `mistletoe.lock`.
fn lock_section(file: &str) -> String {
    format!(
        "const LOCK_BYTES: &[u8] = include_bytes!({file:?});
         #[used]
         #[cfg_attr(target_family = \"wasm\", unsafe(link_section = \"mistletoe.lock\"))]
         static LOCK: [u8; LOCK_BYTES.len()] = *include_bytes!({file:?});"
    )
}

fn code(metadata: &Metadata, tracked: &str, is_program: bool) -> String {
    let section = byte_string(&metadata.package_document());
    let length = metadata.package_document().len();
    let info = metadata.info_document();
    // A condition of the crate that the code becomes part of.
    let component =
        if cfg!(feature = "component") { "all(target_arch = \"wasm32\", target_os = \"unknown\")" } else { "any()" };
    let (main, reactor) = if is_program {
        (
            "#[cfg(not(all(target_arch = \"wasm32\", target_os = \"unknown\")))]
            fn main() { ::mistletoe::abi::v1::run(generate) }
            #[cfg(all(target_arch = \"wasm32\", target_os = \"unknown\"))]
            fn main() {}",
            "",
        )
    } else {
        (
            "",
            "#[cfg(target_os = \"wasi\")]
            #[unsafe(no_mangle)]
            extern \"C\" fn mistletoe_generate() { ::mistletoe::abi::v1::run(generate) }",
        )
    };
    format!(
        "const _: () = {{
            {tracked}
            #[used]
            #[cfg_attr(target_family = \"wasm\", unsafe(link_section = \"mistletoe.package\"))]
            static METADATA: [u8; {length}] = *{section};

            #[allow(unused)]
            fn is_used() {{ let _ = generate; }}

            #[cfg({component})]
            mod component {{
                #[unsafe(export_name = \"info\")]
                extern \"C\" fn info() -> *const [usize; 2] {{ ::mistletoe::abi::component::text(\"\") }}
                #[unsafe(export_name = \"generate\")]
                unsafe extern \"C\" fn generate(address: *mut u8, length: usize) -> *const ::mistletoe::abi::component::Returned {{
                    unsafe {{ ::mistletoe::abi::component::generate(super::generate, address, length) }}
                }}
                #[unsafe(export_name = \"cabi_realloc\")]
                unsafe extern \"C\" fn reallocate(old: *mut u8, old_size: usize, align: usize, new_size: usize) -> *mut u8 {{
                    unsafe {{ ::mistletoe::abi::component::reallocate(old, old_size, align, new_size) }}
                }}
            }}

            #[cfg(all(target_arch = \"wasm32\", target_os = \"unknown\", not({component})))]
            mod exports {{
                use ::mistletoe::abi::v1alpha1::{{self, Text}};

                #[allow(non_upper_case_globals)]
                #[unsafe(no_mangle)]
                static __mistletoe_panic: Text = Text::empty();
                #[unsafe(no_mangle)]
                extern \"C\" fn __mistletoe_info() -> *const Text {{
                    static INFO: Text = Text::of({info:?});
                    &INFO
                }}
                #[unsafe(no_mangle)]
                extern \"C\" fn __mistletoe_alloc(length: usize) -> *mut u8 {{
                    v1alpha1::alloc(length)
                }}
                #[unsafe(no_mangle)]
                unsafe extern \"C\" fn __mistletoe_dealloc(address: *mut u8, length: usize) {{
                    unsafe {{ v1alpha1::dealloc(address, length) }}
                }}
                #[unsafe(no_mangle)]
                unsafe extern \"C\" fn __mistletoe_generate(address: *const u8, length: usize) -> *const Text {{
                    unsafe {{ v1alpha1::generate(super::generate, address, length, &__mistletoe_panic) }}
                }}
            }}
            {reactor}
        }};
        {main}"
    )
}

fn byte_string(text: &str) -> String {
    format!("b\"{}\"", text.as_bytes().escape_ascii())
}

/// `compile_error!(message)` at the caller's text, which a parsed string couldn't say.
fn compile_error(message: &str, span: Span) -> TokenStream {
    let mut text = Literal::string(message);
    text.set_span(span);
    let mut bang = Punct::new('!', Spacing::Alone);
    bang.set_span(span);
    let mut arguments = Group::new(Delimiter::Brace, TokenStream::from(TokenTree::Literal(text)));
    arguments.set_span(span);
    TokenStream::from_iter([
        TokenTree::Ident(Ident::new("compile_error", span)),
        TokenTree::Punct(bang),
        TokenTree::Group(arguments),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_beside_the_metadata_becomes_a_section() {
        let directory = std::env::temp_dir().join(format!("mistletoe-macros-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let metadata = directory.join("mistletoe.yaml");
        std::fs::write(&metadata, "name: shop").unwrap();
        let without = Source::read(metadata.to_str().unwrap()).unwrap();
        assert_eq!(without.lock, None);
        std::fs::write(directory.join("mistletoe.lock"), "packages: []").unwrap();
        let with = Source::read(metadata.to_str().unwrap()).unwrap();
        let lock = with.lock.unwrap();
        assert!(lock.ends_with("mistletoe.lock"));
        assert!(lock_section(&lock).contains("link_section = \"mistletoe.lock\""));
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
