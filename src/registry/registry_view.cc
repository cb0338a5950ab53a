#include "registry/registry_view.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "config/redact.h"
#include "encoding/semver.h"
#include "oci/tags.h"
#include "registry/catalog_view.h"
#include "registry/directory_registry.h"
#include "registry/helm_view.h"
#include "registry/snapshot_store.h"

namespace mist::registry {
namespace {

constexpr std::size_t kAddressDigits = 16;

// Nothing: no version is in it. A version that is called like a range is itself.
std::optional<std::string> newest_version(const PackageIndex& index, const RegistryRef& reference,
                                          const encoding::SemVerRange& range) {
  const auto package = index.packages().find(reference.path);
  if (package == index.packages().end()) return std::nullopt;
  const std::vector<std::string>& versions = package->second;
  if (std::ranges::find(versions, reference.version) != versions.end()) return reference.version;
  return oci::newest_in(range, versions);
}

class SnapshotState final : public RegistryState {
 public:
  SnapshotState(const SnapshotStore& store, Snapshot snapshot, PackageIndex index, const Context& context)
      : store_(store), snapshot_(std::move(snapshot)), index_(std::move(index)), context_(context) {}

  Result<std::string> object_of(const RegistryRef& reference) const override {
    MIST_TRY(Located located, index_.find(reference));
    return std::move(located.object);
  }

  Result<ReadPackage> read(const RegistryRef& reference) const override {
    MIST_TRY(Located located, index_.find(reference));
    MIST_TRY(PackageContent content, store_.read(snapshot_, located, context_));
    return ReadPackage{.content = std::move(content),
                       .object = std::move(located.object),
                       .origin = fmt::format("{} at {}, {}", store_.url().display(),
                                             snapshot_.commit.substr(0, 12), located.path)};
  }

 private:
  const SnapshotStore& store_;
  Snapshot snapshot_;
  PackageIndex index_;
  const Context& context_;
};

class GitView final : public RegistryView {
 public:
  GitView(std::string name, SnapshotStore store, EventSink& events)
      : name_(std::move(name)), store_(std::move(store)), events_(events) {}

  bool is_remote() const override { return true; }

  Result<ReadPackage> read(const RegistryRef& reference, const Context& context,
                           const Accept& accept) override {
    MIST_TRY(const std::optional<Snapshot> here, store_.current());
    if (here) {
      Result<ReadPackage> found = read_from(*here, reference, context);
      // NotFound: published since, perhaps, or removed under us by an update. Internal: a damaged copy.
      const bool look_again =
          !found && (found.error().kind == ErrorKind::NotFound || found.error().kind == ErrorKind::Internal);
      if (!look_again) return found;
      const bool damaged = found.error().kind == ErrorKind::Internal;
      MIST_TRY_VOID(refresh(context, damaged, accept)
                        .in(fmt::format("while looking for {} after it wasn't found in the local copy",
                                        PackageRef(reference).display())));
    } else {
      MIST_TRY_VOID(refresh(context, false, accept));
    }
    MIST_TRY(const std::optional<Snapshot> now, store_.current());
    if (!now) return lost();
    return read_from(*now, reference, context);
  }

  Result<PackageIndex> index(const Context& context, const Accept& accept) override {
    MIST_TRY(const Snapshot here, current_or_first(context, accept));
    return store_.index(here);
  }

  Result<RegistryFile> file(const std::string& path, const std::string& known, const Context& context,
                            const Accept& accept) override {
    MIST_TRY(const Snapshot here, current_or_first(context, accept));
    RegistryFile file{.state = here.commit, .is_known = here.commit == known, .bytes = std::nullopt};
    if (file.is_known) return file;
    MIST_TRY(const PackageIndex all, store_.index(here));
    const TreeEntry* const entry = all.entry_at(path);
    if (entry == nullptr || entry->type != EntryType::File) return file;
    MIST_TRY(file.bytes, store_.read_file(here, *entry, context));
    return file;
  }

  PackageIndex known() const override {
    Result<std::optional<Snapshot>> here = store_.current();
    if (!here || !*here) return PackageIndex({});
    return store_.index(**here).value_or(PackageIndex({}));
  }

  Result<Moved> update(const Context& context, const Accept& accept) override {
    return refresh(context, false, accept);
  }

 private:
  Result<Snapshot> current_or_first(const Context& context, const Accept& accept) {
    MIST_TRY(std::optional<Snapshot> here, store_.current());
    if (!here) {
      MIST_TRY_VOID(refresh(context, false, accept));
      MIST_TRY(here, store_.current());
    }
    if (!here) return lost();
    return *std::move(here);
  }

  Error lost() const {
    return error(ErrorKind::Retryable, "the local copy of the registry {} vanished while it was used", name_)
        .with_hint("try again; was the cache directory cleared?");
  }

  Result<ReadPackage> read_from(const Snapshot& snapshot, const RegistryRef& reference,
                                const Context& context) const {
    MIST_TRY(PackageIndex index, store_.index(snapshot));
    return SnapshotState(store_, snapshot, std::move(index), context).read(reference);
  }

  Result<Moved> refresh(const Context& context, bool force, const Accept& accept) {
    Activity activity(events_, fmt::format("updating the registry {}", name_));
    Result<SnapshotStore::Updated> updated =
        store_.update(context, force, [&](const Snapshot& snapshot) -> Status {
          MIST_TRY(PackageIndex index, store_.index(snapshot));
          return accept(SnapshotState(store_, snapshot, std::move(index), context));
        });
    if (!updated) {
      activity.fail();
      return std::move(updated).error().with_frame(fmt::format("while updating the registry {}", name_));
    }
    return Moved{updated->before, updated->snapshot.commit};
  }

  std::string name_;
  SnapshotStore store_;
  EventSink& events_;
};

class DirectoryView final : public RegistryView {
 public:
  DirectoryView(const FileSystem& files, const Path& root) : directory_(files, root) {}

  bool is_remote() const override { return false; }

  Result<ReadPackage> read(const RegistryRef& reference, const Context&, const Accept&) override {
    return read_now(reference);
  }
  Result<PackageIndex> index(const Context&, const Accept&) override { return directory_.index(); }
  PackageIndex known() const override { return directory_.index().value_or(PackageIndex({})); }

  Result<RegistryFile> file(const std::string& path, const std::string& known, const Context&,
                            const Accept&) override {
    RegistryFile file;
    MIST_TRY(file.bytes, directory_.read_file(path));
    if (file.bytes) file.state = crypto::sha256(*file.bytes).str();
    file.is_known = !file.state.empty() && file.state == known;
    if (file.is_known) file.bytes.reset();
    return file;
  }

  Result<Moved> update(const Context& context, const Accept& accept) override {
    MIST_TRY_VOID(context.check());
    MIST_TRY_VOID(accept(State(*this)));
    return Moved{};
  }

 private:
  class State final : public RegistryState {
   public:
    explicit State(const DirectoryView& view) : view_(view) {}
    Result<std::string> object_of(const RegistryRef&) const override { return std::string(); }
    Result<ReadPackage> read(const RegistryRef& reference) const override {
      return view_.read_now(reference);
    }

   private:
    const DirectoryView& view_;
  };

  Result<ReadPackage> read_now(const RegistryRef& reference) const {
    MIST_TRY(PackageContent content, directory_.read(reference));
    return ReadPackage{.content = std::move(content), .object = {}, .origin = directory_.origin(reference)};
  }

  DirectoryRegistry directory_;
};

}  // namespace

Result<RegistryRef> RegistryView::exact(const RegistryRef& reference, const Context& context,
                                        const Accept& accept) {
  const Result<encoding::SemVerRange> range = encoding::SemVerRange::parse(reference.version);
  // A name that ends in ".x" isn't always a range: it may be that of a published version.
  if (!encoding::may_be_range(reference.version) || !range) return reference;
  RegistryRef exact = reference;
  MIST_TRY(const PackageIndex here, index(context, accept));
  std::optional<std::string> version = newest_version(here, reference, *range);
  if (!version) {
    MIST_TRY([[maybe_unused]] const Moved moved, update(context, accept));
    MIST_TRY(const PackageIndex newer, index(context, accept));
    version = newest_version(newer, reference, *range);
    if (!version) return version_not_found(reference, newer.packages());
  }
  exact.version = *std::move(version);
  return exact;
}

Result<std::vector<std::string>> RegistryView::versions(const std::string& registry, const std::string& path,
                                                        const Context& context, const Accept& accept) {
  MIST_TRY(const PackageIndex all, index(context, accept));
  const auto found = all.packages().find(path);
  if (found == all.packages().end())
    return version_not_found({.registry = registry, .path = path, .version = {}, .digest = {}},
                             all.packages());
  return found->second;
}

Result<std::optional<std::string>> RegistryView::signature(const RegistryRef& /*reference*/,
                                                           const std::string& path, const Context& context,
                                                           const Accept& accept) {
  MIST_TRY(RegistryFile found, file(path, {}, context, accept));
  return std::move(found.bytes);
}

Result<std::unique_ptr<RegistryView>> open_view(const config::Registry& registry, const config::Paths& paths,
                                                FileSystem& files, const Git& git, EventSink& events,
                                                const OciAccess& web, RepositoryHealth& health) {
  const Path base = paths.config_file.parent_path();
  const auto& source = registry.remote().source;
  if (const auto* directory = std::get_if<config::DirectorySource>(&source))
    return std::unique_ptr<RegistryView>(
        std::make_unique<DirectoryView>(files, (base / directory->path).lexically_normal()));
  if (std::holds_alternative<config::OciSource>(source))
    return error(ErrorKind::Invalid, "the registry {} is an OCI registry, which has no local copy",
                 registry.name);
  if (const auto* helm = std::get_if<config::HelmSource>(&source))
    return open_helm_view(registry.name, helm->url,
                          paths.registries() / snapshot_directory_name(registry.name, helm->url), files,
                          events, web, health);
  if (const auto* catalog = std::get_if<config::CatalogSource>(&source))
    return open_catalog_view(registry.name, catalog->url,
                             paths.registries() / snapshot_directory_name(registry.name, catalog->url), files,
                             events, web);
  const std::string& address = std::get<config::GitSource>(source).url;
  Result<GitUrl> url = GitUrl::parse(address, base);
  if (!url)
    return std::move(url).error().with_frame(
        fmt::format("while reading the registry {} from {}", registry.name, paths.config_file.string()));
  const Path directory = paths.registries() / snapshot_directory_name(registry.name, url->text());
  SnapshotStore store(files, git, directory, *std::move(url), "");
  return std::unique_ptr<RegistryView>(std::make_unique<GitView>(registry.name, std::move(store), events));
}

std::string snapshot_directory_name(const std::string& name, const std::string& address) {
  return fmt::format("{}-{}", name, crypto::sha256(address).hex().substr(0, kAddressDigits));
}

bool is_snapshot_directory_of(const std::string& name, std::string_view directory) {
  return directory.size() == name.size() + 1 + kAddressDigits && directory.starts_with(name) &&
         directory[name.size()] == '-';
}

}  // namespace mist::registry
