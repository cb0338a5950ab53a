#pragma once
// Copies of what is in no OCI registry, in mirrors: packages of git repositories and catalogs, charts of
// chart repositories, the indexes of all these, bases and files that kustomizations name. `mistctl mirror`
// makes them, and whoever would read the original asks the mirrors of its address first. Names:
// address_name.h. Any thread.
//
//   module, chart   as `mistctl push` and `helm push` have them
//   tree, base      a tree of files, also where they are a chart: its digest is that of the original
//   file, index     one layer with its bytes
//
// Annotations say which address a copy is of, and which commit. Digests, pins and locks are those of the
// original, so a copy can't be passed off as a version that one of them is for.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/context.h"
#include "base/result.h"
#include "oci/layout.h"
#include "oci/manifest.h"
#include "oci/reference.h"
#include "registry/address_name.h"
#include "registry/oci_mirrors.h"
#include "registry/oci_session.h"
#include "registry/oci_store.h"
#include "registry/package_files.h"

namespace mist::registry {

/// The facts of an original besides its bytes; empty: not known.
struct OriginalFacts {
  std::string commit = {};      ///< of a git repository
  std::string signature = {};   ///< minisign's file beside a package
  std::string provenance = {};  ///< Helm's file beside a chart
  /// Another engine than Kustomize would have read other files of that directory.
  bool is_kustomization = false;
};

/// A copy that was made, and the tags that it gets.
struct AddressCopy {
  AddressName name;
  std::vector<std::string> tags;
  oci::Artifact artifact;
};

/// The copy of a package in git or a catalog: a module or a tree. Errors: Invalid (it can't be packed).
Result<AddressCopy> copy_of_package(AddressName name, std::vector<std::string> tags,
                                    const PackageContent& content, const OriginalFacts& facts);
/// The copy of a chart in a chart repository, of its packed archive; `version`: in the repository's index.
/// Errors: Invalid (it is no chart).
Result<AddressCopy> copy_of_chart(AddressName name, const std::string& version, std::string archive,
                                  const OriginalFacts& facts);
/// The copy of a file, or of an index (kIndexCopyTag).
Result<AddressCopy> copy_of_file(AddressName name, std::string tag, std::string bytes);

/// A copy that a mirror has.
struct FoundCopy {
  RawManifest raw;
  oci::Manifest manifest;
  std::string name;  ///< for messages: "oci://git.example/team/packages.git/web:1.0.0"

  std::string commit() const;
  bool is_kustomization() const;
};

class AddressCopies {
 public:
  /// `session` outlives this.
  explicit AddressCopies(OciSession& session) : session_(session) {}

  using Places = MirroredSource::Places;
  /// Where an original is looked for: Original, where no mirror of its address is configured. Errors: of
  /// OciSession::copies.
  Result<Places> places(const AddressName& name) const;

  /// Nothing: no mirror has it. Errors: Conflict (a copy of something else has that name), Invalid (it is no
  /// copy), of mirrors that are the only places.
  Result<std::optional<FoundCopy>> find(const AddressName& name, const std::string& tag,
                                        const Context& context) const;
  /// The same wherever mirrors of its address are configured. Nothing: the original may be asked. `what`: as
  /// people name it. Errors, besides: NotFound (not_in_mirrors: only mirrors may be asked, and none has it).
  Result<std::optional<FoundCopy>> find_first(const AddressName& name, const std::string& tag,
                                              std::string_view what, const Context& context) const;
  /// The tags of a name's copies that are whole versions, as versions, ascending; none where no mirror has
  /// any. Errors: of mirrors that are the only places.
  Result<std::vector<std::string>> versions(const AddressName& name, const Context& context) const;

  /// Errors of these: Invalid, Conflict, of OciSource.
  Result<PackageContent> package(const AddressName& name, const FoundCopy& copy,
                                 const Context& context) const;
  /// The only layer of a copy that is no tree: the archive of a chart, the bytes of a file.
  Result<std::string> bytes(const AddressName& name, const FoundCopy& copy, const Context& context) const;
  /// minisign's file, or Helm's, that came with it; nothing: none did.
  Result<std::optional<std::string>> signature(const AddressName& name, const FoundCopy& copy,
                                               const Context& context) const;
  Result<std::optional<std::string>> provenance(const AddressName& name, const FoundCopy& copy,
                                                const Context& context) const;

 private:
  Result<std::optional<std::string>> layer_of_type(const AddressName& name, const FoundCopy& copy,
                                                   std::string_view type, std::uint64_t limit,
                                                   const Context& context) const;

  OciSession& session_;
};

/// The NotFound of something that no mirror has, where nothing else may be asked. `what`: as people name it.
Error not_in_mirrors(std::string_view what, const AddressName& name);

/// A copy that was made, as a source to copy it from.
class CopySource final : public OciSource {
 public:
  /// `artifact` outlives this.
  explicit CopySource(const oci::Artifact& artifact) : artifact_(artifact) {}

  Result<RawManifest> manifest(const oci::Repository& repository, const std::string& tag,
                               const Context& context) override;
  Result<std::optional<RawManifest>> find_manifest(const oci::Repository& repository, const std::string& tag,
                                                   const Context& context) override;
  Result<std::vector<oci::Descriptor>> referrers(const oci::Repository& repository,
                                                 const crypto::Digest& manifest,
                                                 std::string_view artifact_type,
                                                 const Context& context) override;
  Result<std::string> blob(const oci::Repository& repository, const oci::Descriptor& descriptor,
                           std::uint64_t limit, const Context& context) override;
  Result<std::vector<std::string>> tags(const oci::Repository& repository, const Context& context) override;

 private:
  const oci::Artifact& artifact_;
};

}  // namespace mist::registry
