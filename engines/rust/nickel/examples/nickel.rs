//! The engine as a native program: `nickel DIRECTORY < input.json`. The bench compares the guest with it.

fn main() {
    guest::engine::native_main::<nickel::Nickel>();
}
