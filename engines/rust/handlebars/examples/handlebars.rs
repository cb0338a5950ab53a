//! The engine as a native program: `handlebars DIRECTORY < input.json`.

fn main() {
    guest::engine::native_main::<handlebars_engine::HandlebarsEngine>();
}
