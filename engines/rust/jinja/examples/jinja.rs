//! The engine as a native program: `jinja DIRECTORY < input.json`.

fn main() {
    guest::engine::native_main::<jinja::Jinja>();
}
