//! Makes a component of a core module that exports the world of `schemas/wit/package.wit`:
//!
//!     componentize MODULE.wasm PACKAGE.wit OUTPUT.wasm

use std::path::Path;

use anyhow::{Context, Result, bail};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

const METADATA: &str = "mistletoe.package";

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [module, wit, output] = arguments.as_slice() else {
        bail!("usage: componentize MODULE.wasm PACKAGE.wit OUTPUT.wasm");
    };
    let mut bytes = std::fs::read(module).with_context(|| format!("can't read {module}"))?;
    let metadata = custom_section(&bytes)?;
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_path(Path::new(wit))?;
    let world = resolve.select_world(&[package], Some("guest"))?;
    embed_component_metadata(&mut bytes, &resolve, world, StringEncoding::UTF8, false)?;
    let mut component = ComponentEncoder::default().validate(true).module(&bytes)?.encode()?;
    // A host reads it without looking inside.
    if let Some(metadata) = metadata {
        let mut body = Vec::new();
        number(METADATA.len(), &mut body);
        body.extend_from_slice(METADATA.as_bytes());
        body.extend_from_slice(&metadata);
        component.push(0);
        number(body.len(), &mut component);
        component.extend_from_slice(&body);
    }
    std::fs::write(output, component).with_context(|| format!("can't write {output}"))
}

fn custom_section(module: &[u8]) -> Result<Option<Vec<u8>>> {
    for payload in wasmparser::Parser::new(0).parse_all(module) {
        if let wasmparser::Payload::CustomSection(section) = payload?
            && section.name() == METADATA
        {
            return Ok(Some(section.data().to_vec()));
        }
    }
    Ok(None)
}

/// Unsigned LEB128.
fn number(mut value: usize, out: &mut Vec<u8>) {
    loop {
        let low = (value & 0x7f) as u8;
        value >>= 7;
        out.push(if value == 0 { low } else { low | 0x80 });
        if value == 0 {
            return;
        }
    }
}
