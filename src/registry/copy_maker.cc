#include "registry/copy_maker.h"

#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "config/config.h"
#include "oci/tags.h"
#include "registry/file_trust.h"
#include "registry/index_text.h"

namespace mist::registry {
namespace {

// Any engine that takes all files of a directory.
constexpr std::string_view kAllFiles = "yaml";

}  // namespace

Result<std::optional<AddressCopy>> CopyMaker::of(const RegistryRef& wanted, const Context& context) const {
  MIST_TRY(const config::Config config, configured_.load());
  const config::Registry* const registry = config.find_registry(wanted.registry);
  if (registry == nullptr) return config::unknown_registry(config, wanted.registry);
  const std::string address = copied_address(*registry);
  if (address.empty()) return std::optional<AddressCopy>();
  std::optional<AddressName> name = AddressName::of(address, wanted.path);
  if (!name) return std::optional<AddressCopy>();
  MIST_TRY(Fetched fetched, registries_.fetch(wanted, context));
  const auto& reference = std::get<RegistryRef>(fetched.resolved.form());
  MIST_TRY(const std::unique_ptr<RegistryView> view, configured_.open(wanted.registry));
  const RegistryView::Accept accept = known_.refusing(wanted.registry);
  OriginalFacts facts;
  if (!view->chart_repository().empty()) {
    MIST_TRY(ProvenanceFile file, view->provenance(reference, context, accept));
    facts.provenance = std::move(file.text).value_or("");
    std::string archive = std::get<PackageTree>(fetched.content).files.front().bytes;
    MIST_TRY(AddressCopy copy, copy_of_chart(*std::move(name), reference.version, std::move(archive), facts));
    return std::optional(std::move(copy));
  }
  // A catalog has no signatures.
  if (std::holds_alternative<config::GitSource>(registry->remote().source)) {
    MIST_TRY(std::optional<std::string> signature,
             view->signature(reference, signature_path(reference, fetched.content), context, accept));
    facts.signature = std::move(signature).value_or("");
  }
  MIST_TRY(AddressCopy copy, copy_of_package(*std::move(name), {oci::tag_of_version(reference.version)},
                                             fetched.content, facts));
  return std::optional(std::move(copy));
}

// Of git the local copy counts, as for the packages themselves. The others' servers have one request without
// an answer where nothing changed.
Result<std::optional<AddressCopy>> CopyMaker::index_of(const std::string& registry,
                                                       const Context& context) const {
  MIST_TRY(const config::Config config, configured_.load());
  const config::Registry* const known = config.find_registry(registry);
  if (known == nullptr) return config::unknown_registry(config, registry);
  const std::string address = copied_address(*known);
  if (address.empty()) return std::optional<AddressCopy>();
  MIST_TRY(const std::unique_ptr<RegistryView> view, configured_.open(registry));
  const RegistryView::Accept accept = known_.refusing(registry);
  if (!std::holds_alternative<config::GitSource>(known->remote().source))
    MIST_TRY_VOID(view->update(context, accept));
  const std::string path(view->chart_repository().empty() ? kPackagesIndex : kChartsIndex);
  std::optional<AddressName> name = AddressName::of(address, path);
  MIST_TRY(RegistryFile file, view->file(path, {}, context, accept));
  if (!name || !file.bytes) return std::optional<AddressCopy>();
  MIST_TRY(AddressCopy copy,
           copy_of_file(*std::move(name), std::string(kIndexCopyTag), *std::move(file.bytes)));
  return std::optional(std::move(copy));
}

Result<std::optional<AddressCopy>> CopyMaker::of(const GitRef& wanted, const Context& context) const {
  std::optional<AddressName> name = AddressName::of(wanted.url, wanted.path);
  if (!name) return std::optional<AddressCopy>();
  MIST_TRY(const Fetched fetched, git_.fetch(wanted, context, {}));
  GitRef resolved = std::get<GitRef>(fetched.resolved.form());
  OriginalFacts facts;
  facts.commit = resolved.ref;
  resolved.digest.reset();
  MIST_TRY(const Fetched all_files, git_.fetch(resolved, context, kAllFiles));
  facts.is_kustomization = all_files.digest != fetched.digest;
  // A release records the commit.
  std::vector<std::string> tags{tag_of_ref(CopyOf::Package, wanted.ref)};
  if (wanted.ref != resolved.ref) tags.push_back(tag_of_ref(CopyOf::Package, resolved.ref));
  MIST_TRY(AddressCopy copy, copy_of_package(*std::move(name), std::move(tags), fetched.content, facts));
  return std::optional(std::move(copy));
}

}  // namespace mist::registry
