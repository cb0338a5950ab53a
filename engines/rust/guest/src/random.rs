//! Random numbers from the release's seed: one stream for each template, so that a draw more in one template changes
//! nothing in the others.

use std::cell::RefCell;

use serde_json::json;

use crate::answer::Failure;
use crate::host;

thread_local! {
    /// The template whose numbers are drawn, and whether the host knows.
    static STREAM: RefCell<(String, bool)> = const { RefCell::new((String::new(), false)) };
}

/// From here on, what is drawn belongs to this template. The host is told at once: should a limit end the guest, it says
/// where. A refusal only counts for who draws.
pub fn use_stream(template: &str) {
    let told = tell(template).is_ok();
    STREAM.set((template.to_owned(), told));
}

fn tell(template: &str) -> Result<(), Failure> {
    host::ask(&json!({ "op": "random.stream", "name": template })).map(|_| ())
}

/// A number below `bound`, each as likely as the others.
pub fn below(bound: u64) -> Result<u64, Failure> {
    // What lies beyond the last whole multiple would make small numbers likelier.
    let limit = u64::MAX - u64::MAX % bound.max(1);
    loop {
        let mut bytes = [0; 8];
        fill(&mut bytes)?;
        let number = u64::from_le_bytes(bytes);
        if number < limit {
            return Ok(number % bound.max(1));
        }
    }
}

fn fill(bytes: &mut [u8]) -> Result<(), Failure> {
    STREAM.with_borrow_mut(|(template, told)| {
        if !*told {
            tell(template)?;
            *told = true;
        }
        draw(bytes)
    })
}

#[cfg(target_family = "wasm")]
fn draw(bytes: &mut [u8]) -> Result<(), Failure> {
    mod imports {
        #[link(wasm_import_module = "wasi_snapshot_preview1")]
        unsafe extern "C" {
            pub fn random_get(address: *mut u8, length: usize) -> i32;
        }
    }
    // SAFETY: the host writes `length` bytes at `address`.
    match unsafe { imports::random_get(bytes.as_mut_ptr(), bytes.len()) } {
        0 => Ok(()),
        code => Err(Failure::new(format!("the host gives no random numbers: error {code} of random_get"))),
    }
}

#[cfg(not(target_family = "wasm"))]
fn draw(bytes: &mut [u8]) -> Result<(), Failure> {
    use std::io::Read;
    std::fs::File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(bytes))
        .map_err(|error| Failure::new(format!("/dev/urandom gives no random numbers: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stays_below_the_bound() {
        use_stream("a.yaml");
        for bound in [1, 2, 3, 1000] {
            assert!((0..100).all(|_| below(bound).unwrap() < bound));
        }
        assert_eq!(below(0).unwrap(), 0);
    }
}
