#pragma once
// Documents about a package that is published: its SBOM (CycloneDX 1.6) and its provenance (an in-toto
// statement with SLSA's predicate). Pure; any thread. The same package gives the same bytes: nothing in them
// is a time or drawn.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "oci/manifest.h"
#include "oci/reference.h"
#include "package/engine.h"
#include "package/renderer.h"
#include "registry/registry.h"
#include "registry/source_commit.h"

namespace mist::action {

/// Something that a package needs, in the version that it was published with.
struct PackagePart {
  std::string role = {};            ///< "dependency", "remote", "engine"
  std::string name = {};            ///< "acme/db", "postgresql", "helm"
  std::string version = {};         ///< empty: it has none
  std::string source = {};          ///< a reference or URL, without credentials; empty: unknown
  std::string purl = {};            ///< package-url; empty: there is no type for it
  std::string sha256 = {};          ///< hexadecimal, of its manifest, archive or file; empty: unknown
  std::string package_digest = {};  ///< "sha256:…" of a package's content (registry::digest_of); empty: none
  std::string commit = {};          ///< of a repository; empty: it is none
  std::vector<std::string> needs = {};  ///< names of other dependencies
  bool is_direct = true;                ///< the package itself names it
};

/// Those of `package`: what mistletoe.lock or Chart.lock has, and its engine. Runs nothing but what tells a
/// module's engine. Errors: Invalid (a lock that can't be read), of Renderer::inspect.
Result<std::vector<PackagePart>> package_parts(package::Renderer& renderer,
                                               const package::EngineStore& engines,
                                               const registry::Fetched& package,
                                               const oci::Reference& destination, const Context& context);

/// A package in a registry, for its documents.
struct PublishedPackage {
  oci::Reference reference;  ///< with tag and digest
  oci::Annotations about;    ///< of its manifest
  std::vector<PackagePart> parts;
  std::string tool_version;  ///< of mistctl
};

/// CycloneDX, JSON.
std::string sbom_text(const PublishedPackage& package);
/// An in-toto statement, JSON. `sbom`: the digest of the package's SBOM; null: it has none.
std::string provenance_text(const PublishedPackage& package,
                            const std::optional<registry::SourceCommit>& commit, const crypto::Digest* sbom);

}  // namespace mist::action
