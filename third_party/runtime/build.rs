//! Copies the C headers of Wasmtime and libcurl to MIST_RUNTIME_INCLUDE, where build.sh publishes them.

use std::{env, fs, io, path::Path};

fn copy_dir(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_dir(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

fn main() {
    println!("cargo:rerun-if-env-changed=MIST_RUNTIME_INCLUDE");
    let Ok(out) = env::var("MIST_RUNTIME_INCLUDE") else {
        return;
    };
    // Both crates name their header directory through the metadata of their `links` key.
    for variable in ["DEP_WASMTIME_C_API_INCLUDE", "DEP_CURL_INCLUDE"] {
        let from = env::var(variable).unwrap_or_else(|_| panic!("{variable} is not set by the dependency"));
        copy_dir(Path::new(&from), Path::new(&out)).unwrap_or_else(|e| panic!("copy {from} to {out}: {e}"));
    }
}
