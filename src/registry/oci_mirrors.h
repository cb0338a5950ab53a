#pragma once
// Mirrors before registries (spec.mirrors of the configuration): reads from a registry go to its mirrors
// first, under the same reference, so references in packages, charts and locks stay as they are. Digests,
// pins and signatures are those of the original name.
//
// A mirror that lacks something, or can't be used, is passed over, and the registry itself comes last, unless
// its mirrors are the only places (`only`).
//
// The signatures and other referrers of a manifest come from where the manifest comes from: a mirror that
// has the manifest answers for them too, even if it has none, so that mirrored artifacts need no
// registry. If the trust policy wants more than that, it asks the registry (OciSource::behind). Any
// thread.

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/event.h"
#include "base/fs.h"
#include "config/config.h"
#include "registry/oci_layout_store.h"
#include "registry/oci_place.h"
#include "registry/oci_store.h"

namespace mist::registry {

/// The prefix of a mirror: "registry.example" or "registry.example/team", also with oci:// before it. The
/// same text for each way to write its host. Errors: Invalid (no registry, a version behind it).
Result<std::string> parse_mirror_prefix(std::string_view text);

class MirroredSource final : public OciSource {
 public:
  struct Dependencies {
    const FileSystem& files;
    EventSink& events;
    Path base;  ///< what relative paths of layouts are relative to
    /// A registry that has not answered yet is left after this: one that accepts connections and is silent
    /// would hold up what the next place could answer. Enough for a slow credential helper.
    Duration first_answer = std::chrono::seconds(15);
    /// Answers for what no mirror has; null: the registries do.
    OciSource* originals = nullptr;
  };
  /// `registries` answers for all registries, mirrors among them, and outlives this. Errors: Invalid (a
  /// prefix or a place that is none).
  static Result<std::unique_ptr<MirroredSource>> make(OciSource& registries,
                                                      const std::vector<config::Mirror>& mirrors,
                                                      Dependencies dependencies);

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
  Result<std::vector<std::string>> enough_tags(const oci::Repository& repository, const EnoughTags& is_enough,
                                               const Context& context) override;
  OciSource* behind(const oci::Repository& repository) override;
  bool reads_mirrors_only(const oci::Repository& repository) override;

  /// Where a repository is looked for.
  enum class Places : std::uint8_t { Original, MirrorsFirst, MirrorsOnly };
  Places places_of(const oci::Repository& repository) const;

 private:
  struct Mirror {
    std::string prefix;  ///< with its host in canonical form: "registry.example/team"
    std::vector<OciPlace> places;
    bool only = false;
  };

  MirroredSource(OciSource& registries, std::vector<Mirror> mirrors, Dependencies dependencies)
      : registries_(registries), mirrors_(std::move(mirrors)), dependencies_(std::move(dependencies)) {}

  const Mirror* mirror_of(const oci::Repository& repository) const;
  OciSource& originals() const {
    return dependencies_.originals != nullptr ? *dependencies_.originals : registries_;
  }
  static Result<oci::Repository> repository_at(const OciPlace& place, const Mirror& mirror,
                                               const oci::Repository& repository);
  Result<OciSource*> open(const OciPlace& place);
  bool has_answered(const OciPlace& place);
  void note_answer(const OciPlace& place);
  std::optional<Error> why_away(const OciPlace& place, const oci::Repository& repository);
  void complain(const OciPlace& place, const Mirror& mirror, const oci::Repository& repository,
                const Error& failure, const std::string& why);
  void note_held(const OciPlace& place, const oci::Repository& repository, const crypto::Digest& manifest);
  bool is_held(const Mirror& mirror, const oci::Repository& repository, const crypto::Digest& manifest);
  Result<std::optional<std::optional<RawManifest>>> manifest_in_mirrors(const Mirror& mirror,
                                                                        const oci::Repository& repository,
                                                                        const std::string& tag,
                                                                        const Context& context);
  Result<bool> answers_for(const Mirror& mirror, const oci::Repository& repository,
                           const crypto::Digest& manifest, const Context& context);
  static Error not_mirrored(const Mirror& mirror, std::string_view what);

  struct Question {
    const Mirror& mirror;
    const oci::Repository& repository;
    std::string name;         ///< of what is wanted, for errors: "oci://registry.example/team/shop:1.4.0"
    std::uint64_t bytes = 0;  ///< that may have to come
  };
  // The answer of a mirror; nothing: no mirror has it, and the registry may be asked. Errors: of mirrors that
  // are the only places, also of one that failed before: it may have what the others lack; and of a context
  // that ended.
  template <typename T>
  Result<std::optional<T>> from_mirrors(
      const Question& question,
      const std::function<Result<T>(OciSource&, const oci::Repository&, const Context&)>& ask,
      const std::function<bool(const OciPlace&, T&)>& is_it, const Context& context);

  OciSource& registries_;
  std::vector<Mirror> mirrors_;
  Dependencies dependencies_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<LayoutReader>> layouts_;  // guarded by mutex_
  std::set<std::string> answered_;                                // places; guarded by mutex_
  // Places, or repositories at places, and how they failed; guarded by mutex_
  std::map<std::string, Error> away_;
  std::set<std::string> held_;  // manifests that places gave out; guarded by mutex_
};

}  // namespace mist::registry
