//! A panic in `generate` reaches the host as an `Err` result. Needs a process of its own, because the hook ends it.

use std::process::{Command, Stdio};

use mistletoe::{MistResult, Value};

const INPUT: &str = r#"{"apiVersion":"mistletoe.dev/v1","kind":"MistInput","data":{"name":"shop"}}"#;

fn panicking(_: Value) -> MistResult {
    let ports: Vec<u16> = Vec::new();
    panic!("{} ports", ports.len())
}

/// Run by the test below, in another process.
#[test]
#[ignore = "a helper process, not a test"]
fn child() {
    mistletoe::abi::v1::run(panicking);
}

#[test]
fn becomes_an_err_result() {
    let directory = std::env::temp_dir().join(format!("mistletoe-panic-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let input = directory.join("input.json");
    std::fs::write(&input, INPUT).unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "child", "--nocapture", "--test-threads=1"])
        .stdin(Stdio::from(std::fs::File::open(&input).unwrap()))
        .output()
        .unwrap();
    std::fs::remove_dir_all(&directory).unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    // The test harness prints lines of its own around the document.
    let document = stdout.lines().find_map(|line| line.find('{').map(|at| &line[at..])).expect(&stdout);
    let document: Value = serde_json::from_str(document).unwrap();
    assert_eq!(document["data"]["result"], "Err");
    let message = document["data"]["message"].as_str().unwrap();
    assert!(message.starts_with("the package panicked at tests/panic.rs:"), "{message}");
    assert!(message.ends_with(": 0 ports"), "{message}");
    assert!(output.status.success());
}
