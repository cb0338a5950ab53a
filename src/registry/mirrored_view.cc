#include "registry/mirrored_view.h"

#include <optional>
#include <utility>

#include "base/text.h"
#include "config/redact.h"
#include "encoding/semver.h"
#include "oci/tags.h"
#include "registry/chart_repository.h"
#include "registry/chart_trust.h"
#include "registry/index_text.h"

namespace mist::registry {
namespace {

using Places = AddressCopies::Places;

class MirroredView final : public RegistryView {
 public:
  MirroredView(std::unique_ptr<RegistryView> view, std::string name, std::string address,
               const AddressCopies& copies)
      : view_(std::move(view)), name_(std::move(name)), address_(std::move(address)), copies_(copies) {}

  bool is_remote() const override { return view_->is_remote(); }
  std::string_view chart_repository() const override { return view_->chart_repository(); }
  PackageIndex known() const override { return view_->known(); }
  void doubt_state() override { view_->doubt_state(); }

  Result<RegistryRef> exact(const RegistryRef& reference, const Context& context,
                            const Accept& accept) override {
    const std::optional<AddressName> name = AddressName::of(address_, reference.path);
    MIST_TRY(const Places places, places_of(name));
    if (places == Places::Original) return view_->exact(reference, context, accept);
    const Result<encoding::SemVerRange> range = encoding::SemVerRange::parse(reference.version);
    if (encoding::SemVer::parse(reference.version).ok() || !range)
      return places == Places::MirrorsOnly ? reference : view_->exact(reference, context, accept);
    MIST_TRY(const std::vector<std::string> versions, copies_.versions(*name, context));
    RegistryRef exact = reference;
    if (std::optional<std::string> newest = oci::newest_in(*range, versions)) {
      exact.version = *std::move(newest);
      return exact;
    }
    if (places != Places::MirrorsOnly) return view_->exact(reference, context, accept);
    Error failure = not_in_mirrors(PackageRef(reference).display(), *name);
    if (!versions.empty())
      failure.hint = fmt::format("the newest there: {}", escape_controls(versions.back()));
    return failure;
  }

  Result<ReadPackage> read(const RegistryRef& reference, const Context& context,
                           const Accept& accept) override {
    MIST_TRY(const std::optional<Copy> copy, find(reference, context));
    return copy ? read_copy(reference, *copy, context) : view_->read(reference, context, accept);
  }

  Result<ProvenanceFile> provenance(const RegistryRef& reference, const Context& context,
                                    const Accept& accept) override {
    MIST_TRY(const std::optional<Copy> copy, find(reference, context));
    if (!copy) return view_->provenance(reference, context, accept);
    ProvenanceFile file{{}, place_of(*copy)};
    MIST_TRY(file.text, copies_.provenance(copy->name, copy->found, context));
    // Somebody may have signed it since.
    return file.text || copy->places == Places::MirrorsOnly ? file
                                                            : view_->provenance(reference, context, accept);
  }

  Result<std::optional<std::string>> signature(const RegistryRef& reference, const std::string& path,
                                               const Context& context, const Accept& accept) override {
    MIST_TRY(const std::optional<Copy> copy, find(reference, context));
    if (!copy) return view_->signature(reference, path, context, accept);
    MIST_TRY(std::optional<std::string> signature, copies_.signature(copy->name, copy->found, context));
    if (signature || copy->places == Places::MirrorsOnly) return signature;
    return view_->signature(reference, path, context, accept);
  }

  Result<std::vector<std::string>> versions(const std::string& registry, const std::string& path,
                                            const Context& context, const Accept& accept) override {
    MIST_TRY(std::optional<std::vector<std::string>> copied, copied_versions(registry, path, context));
    return copied ? *std::move(copied) : view_->versions(registry, path, context, accept);
  }
  Result<std::vector<std::string>> newest_versions(const std::string& registry, const std::string& path,
                                                   const Context& context, const Accept& accept) override {
    MIST_TRY(std::optional<std::vector<std::string>> copied, copied_versions(registry, path, context));
    return copied ? *std::move(copied) : view_->newest_versions(registry, path, context, accept);
  }

  Result<PackageIndex> index(const Context& context, const Accept& accept) override {
    MIST_TRY(const std::optional<IndexCopy> copy, index_copy(context));
    if (!copy) return view_->index(context, accept);
    const auto read = [&]() -> Result<PackageIndex> {
      MIST_TRY(const std::string text, copies_.bytes(copy->name, copy->found, context));
      if (view_->chart_repository().empty()) return packages_in(text);
      MIST_TRY(const ChartIndex charts, ChartIndex::parse(text, {.url = address_}));
      return packages_in(charts);
    };
    return naming_mirror(read(), copy->found.raw, copy->found.name);
  }

  Result<RegistryFile> file(const std::string& path, const std::string& known, const Context& context,
                            const Accept& accept) override {
    MIST_TRY(const std::optional<IndexCopy> copy, index_copy(context));
    if (!copy) return view_->file(path, known, context, accept);
    RegistryFile file{.state = copy->found.raw.digest.str(), .is_known = false, .bytes = std::nullopt};
    file.is_known = file.state == known;
    // A mirror has no other file of it.
    if (path == index_file() && !file.is_known) {
      MIST_TRY(file.bytes, copies_.bytes(copy->name, copy->found, context));
    }
    return file;
  }

  // No package is read by a copy of the index, so nothing has to be accepted of it.
  Result<Moved> update(const Context& context, const Accept& accept) override {
    MIST_TRY(const std::optional<IndexCopy> copy, index_copy(context));
    return copy ? Result<Moved>(Moved()) : view_->update(context, accept);
  }

 private:
  struct Copy {
    AddressName name;
    FoundCopy found;
    Places places;
  };

  Result<Places> places_of(const std::optional<AddressName>& name) const {
    return name ? copies_.places(*name) : Result<Places>(Places::Original);
  }

  // Nothing: the registry may be asked.
  Result<std::optional<std::vector<std::string>>> copied_versions(const std::string& registry,
                                                                  const std::string& path,
                                                                  const Context& context) const {
    const std::optional<AddressName> name = AddressName::of(address_, path);
    MIST_TRY(const Places places, places_of(name));
    if (places == Places::Original) return std::optional<std::vector<std::string>>();
    MIST_TRY(std::vector<std::string> some, copies_.versions(*name, context));
    if (!some.empty()) return std::optional(std::move(some));
    if (places == Places::MirrorsOnly) return not_in_mirrors(fmt::format("{}/{}", registry, path), *name);
    return std::optional<std::vector<std::string>>();
  }

  // Nothing: the registry may be asked. NotFound: it may not, and no mirror has it.
  Result<std::optional<Copy>> find(const RegistryRef& reference, const Context& context) const {
    std::optional<AddressName> name = AddressName::of(address_, reference.path);
    MIST_TRY(const Places places, places_of(name));
    if (places == Places::Original) return std::optional<Copy>();
    MIST_TRY(std::optional<FoundCopy> found,
             copies_.find(*name, oci::tag_of_version(reference.version), context));
    if (found) return std::optional(Copy{*std::move(name), *std::move(found), places});
    if (places == Places::MirrorsOnly) return not_in_mirrors(PackageRef(reference).display(), *name);
    return std::optional<Copy>();
  }

  static std::string place_of(const Copy& copy) {
    return fmt::format("{} in {}", copy.found.name, copy.found.raw.mirror);
  }

  Result<ReadPackage> read_copy(const RegistryRef& reference, const Copy& copy,
                                const Context& context) const {
    if (view_->chart_repository().empty()) {
      MIST_TRY(PackageContent content, copies_.package(copy.name, copy.found, context));
      return ReadPackage{std::move(content), {}, place_of(copy)};
    }
    MIST_TRY(std::string archive, copies_.bytes(copy.name, copy.found, context));
    DownloadedChart chart(
        {.url = address_},
        {.chart = reference.path, .version = reference.version, .url = place_of(copy), .digest = {}},
        std::move(archive));
    MIST_TRY_VOID(chart.check_is_it(name_));
    MIST_TRY(PackageContent content,
             packed_chart(reference.name(), std::move(chart).unchecked(), place_of(copy)));
    return ReadPackage{std::move(content), {}, place_of(copy)};
  }

  struct IndexCopy {
    AddressName name;
    FoundCopy found;
  };

  std::string_view index_file() const {
    return view_->chart_repository().empty() ? kPackagesIndex : kChartsIndex;
  }

  // Nothing: the registry may be asked. Errors: NotInMirrors (it may not, and no mirror has its index).
  Result<std::optional<IndexCopy>> index_copy(const Context& context) const {
    std::optional<AddressName> name = AddressName::of(address_, index_file());
    MIST_TRY(const Places places, places_of(name));
    if (places != Places::MirrorsOnly) return std::optional<IndexCopy>();
    MIST_TRY(std::optional<FoundCopy> found, copies_.find(*name, std::string(kIndexCopyTag), context));
    if (found) return std::optional(IndexCopy{*std::move(name), *std::move(found)});
    return error(ErrorKind::Invalid, "the registry {} can't be asked what it has", name_)
        .with_because(fmt::format("the configuration allows only the mirrors of {}, which have single "
                                  "packages, and no copy of its {}",
                                  name->repository.host, index_file()))
        .with_hint(
            "mistctl mirror copies that along, if the registry has it; a package can be named with its "
            "version; without `only: true` the registry itself is asked")
        .with_detail(NotInMirrors{});
  }

  std::unique_ptr<RegistryView> view_;
  std::string name_;
  std::string address_;
  const AddressCopies& copies_;
};

}  // namespace

std::unique_ptr<RegistryView> with_mirrors(std::unique_ptr<RegistryView> view, std::string name,
                                           std::string address, const AddressCopies& copies) {
  return std::make_unique<MirroredView>(std::move(view), std::move(name), std::move(address), copies);
}

}  // namespace mist::registry
