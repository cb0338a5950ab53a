#pragma once
// Whether a package of a registry in git or a directory may be used: its signature is a file of minisign's
// beside it, and the user's policy says whose it must be. Any thread.
//
//   <path>/<name>-<version>.mist-pack.wasm.minisig   of a module: over its bytes
//   packages/<name>/<version>.minisig                of a tree: over its canonical text (package_files.h)

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "registry/oci_trust.h"
#include "registry/package_files.h"
#include "registry/reference.h"
#include "trust/minisign.h"

namespace mist::registry {

/// The bytes of which a signature is made.
Result<std::string> signed_bytes(const PackageContent& content);

/// Where the signature of a package is, whichever of the two it is: relative to the registry.
std::string signature_path(const RegistryRef& reference, const PackageContent& content);

/// The name of the package in its signature: "web-1.0.0.mist-pack.wasm", "web/1.0.0".
std::string signed_name(const RegistryRef& reference, const PackageContent& content);

/// The proof that a signature file gives of a package with these bytes and that name, by the keys of `rule`.
trust::Proof examine_minisign(std::string_view signature, std::string_view bytes, std::string_view name,
                              const trust::Rule& rule);

/// Reads a file of the registry; nothing: there is none.
using ReadSignature = std::function<Result<std::optional<std::string>>(const std::string& path)>;

/// Succeeds if the package may be used; what was proved of its digest before needs no file. Errors: Forbidden
/// (the policy requires another signature), Invalid (the policy can't be read), of `read`.
Status check_file_trust(OciTrust& trust, const RegistryRef& reference, const PackageContent& content,
                        const crypto::Digest& digest, const ReadSignature& read);

}  // namespace mist::registry
