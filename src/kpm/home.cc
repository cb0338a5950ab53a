#include "kpm/home.h"

#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "base/tree.h"
#include "config/paths.h"
#include "config/redact.h"
#include "encoding/yaml.h"
#include "package/module_section.h"
#include "registry/git_url.h"
#include "registry/local_source.h"
#include "registry/package_blob.h"

namespace mist::kpm {
namespace {

using encoding::Value;

constexpr std::uint64_t kSmallFile = std::uint64_t{1} << 20;
constexpr std::string_view kPackages = "packages/";

Error no_archive() {
  return error(ErrorKind::NotFound, "no archive is configured")
      .with_hint("kpm archive-add NAME URL adds one; then kpm update");
}

Error wrong(const Value& value, const Path& file, std::string_view message) {
  return error(ErrorKind::Invalid, "{}", message)
      .at({.file = file.string(),
           .line = value.position().line,
           .column = value.position().column,
           .excerpt = {}});
}

// packages/NAME or packages/NAME/VERSION, else empty.
std::string_view name_of(std::string_view directory) {
  if (!directory.starts_with(kPackages)) return {};
  const auto parts = split(directory.substr(kPackages.size()), '/');
  return parts.size() <= 2 ? parts[0] : std::string_view();
}

// VERSION of packages/NAME/VERSION, else empty.
std::string_view version_in(std::string_view directory) {
  const auto parts = split(directory, '/');
  return parts.size() == 3 ? parts[2] : std::string_view();
}

// Of all Kubes.
std::vector<registry::TreeEntry> metadata_files(const registry::PackageIndex& index) {
  std::vector<registry::TreeEntry> entries;
  for (const std::string& directory : index.directories_with(kMetadataFile))
    if (!name_of(directory).empty())
      entries.push_back(*index.entry_at(fmt::format("{}/{}", directory, kMetadataFile)));
  return entries;
}

Status check_place(const K3& k3, std::string_view directory) {
  if (k3.name == name_of(directory)) return {};
  return error(ErrorKind::Invalid, "{}/{} is of {}, and stands in the directory of another", directory,
               kMetadataFile, k3.name);
}

Result<K3> k3_at(const Archive& archive, const std::string& directory, std::string_view text) {
  MIST_TRY(K3 k3, parse_k3(text, fmt::format("{}/{}/{}", archive.name, directory, kMetadataFile)));
  MIST_TRY_VOID(check_place(k3, directory));
  return k3;
}

// To a server that may not be asked.
class NoTransport final : public http::Transport {
 public:
  explicit NoTransport(Error why) : why_(std::move(why)) {}
  Result<http::Response> send(const http::Request&, const Context&) override { return why_; }
  Result<http::Response> stream(const http::Request&, const http::BodyPiece&, const Context&) override {
    return why_;
  }

 private:
  Error why_;
};

// A service has the module alone.
Result<registry::PackageTree> tree_of_module(const K3& k3, const registry::PackageModule& module) {
  MIST_TRY(const auto bytes, module.bytes());
  registry::TreeBuilder builder(k3.full_name());
  MIST_TRY_VOID(builder.add(std::string(kMetadataFile), k3_text(k3)));
  MIST_TRY_VOID(builder.add(std::string(registry::kModuleFile), *bytes));
  return std::move(builder).finish();
}

Status check_module(const K3& k3, const std::string& bytes) {
  const std::string words = fmt::format("{} of {}", registry::kModuleFile, k3.full_name());
  MIST_TRY(const std::optional<package::Metadata> metadata,
           package::metadata_of_module(registry::PackageModule(bytes), words));
  if (metadata && metadata->name == k3.name && metadata->version == k3.version.to_string()) return {};
  return error(ErrorKind::Invalid, "{} is of another package or version than {} says", words, kMetadataFile)
      .with_because(metadata ? fmt::format("it says that it is {} {}", escape_controls(metadata->name),
                                           metadata->version.empty() ? "without a version"
                                                                     : escape_controls(metadata->version))
                             : "it says nothing of itself")
      .with_hint("tell its author: mistctl package build MODULE -m mistletoe.yaml writes name and version");
}

// Another process has updated the archive since it was listed.
Error changed_meanwhile(const Listed& listed, std::string because) {
  return error(ErrorKind::Conflict, "the archive {} changed meanwhile", listed.archive)
      .with_because(std::move(because))
      .with_hint("run the command again");
}

// Ok: the files are the Kube that was listed. Those of a service are fetched by their digest, but its index
// may say something else of them.
Status check_is_listed(const Listed& listed, const registry::PackageTree& tree) {
  const Path place = Path(listed.directory) / kMetadataFile;
  const auto file = std::ranges::find(tree.files, kMetadataFile, &registry::PackageFile::path);
  std::string because;
  if (file == tree.files.end()) {
    because = fmt::format("there is no {}", place.string());
  } else if (const auto k3 = parse_k3(file->bytes, place.string()); !k3.ok()) {
    because = fmt::format("{} can't be read: {}", place.string(), k3.error().to_line());
  } else if (k3->full_name() != listed.k3.full_name()) {
    because = fmt::format("{} is of {}, not of {}", place.string(), k3->full_name(), listed.k3.full_name());
  } else {
    return {};
  }
  if (!listed.digest.empty())
    return error(ErrorKind::Invalid, "the archive {} delivers something else as {}", listed.archive,
                 listed.k3.full_name())
        .with_because(std::move(because))
        .with_hint("tell whoever runs the service");
  return changed_meanwhile(listed, std::move(because));
}

struct Wanted {
  std::string_view archive, name, version;
};

Wanted parse_wanted(std::string_view text) {
  Wanted wanted;
  if (const auto slash = text.find('/'); slash != text.npos) {
    wanted.archive = text.substr(0, slash);
    text.remove_prefix(slash + 1);
  }
  const auto colon = text.find(':');
  wanted.name = text.substr(0, colon);
  if (colon != text.npos) wanted.version = text.substr(colon + 1);
  return wanted;
}

// Every version that there is. The one that would be chosen is the last.
Error all_yanked(const Wanted& wanted, const std::vector<const Listed*>& yanked) {
  const Listed& newest = *yanked.back();
  Error failure = yanked.size() == 1 ? error(ErrorKind::NotFound, "{} {}, its only version, was yanked",
                                             wanted.name, newest.k3.version.to_string())
                                     : error(ErrorKind::NotFound, "all {} versions of {} were yanked",
                                             yanked.size(), wanted.name);
  std::vector<std::string> reasons;
  for (const Listed* const each : yanked)
    if (!each->yank_reason.empty())
      reasons.push_back(
          fmt::format("{}: {}", each->k3.version.to_string(), escape_controls(each->yank_reason)));
  failure.because = reasons.empty() ? "no reason was given" : join(reasons, "\n");
  failure.hint = fmt::format("look for another Kube, or name the version to take it all the same: {}:{}",
                             wanted.name, newest.k3.version.to_string());
  return failure;
}

Error in_two_archives(const Listed& one, const Listed& other) {
  return error(ErrorKind::Conflict, "the archives {} and {} both have {}", one.archive, other.archive,
               one.k3.name)
      .with_hint(fmt::format("write {}/{} or {}/{}", one.archive, one.k3.name, other.archive, one.k3.name));
}

// A repository or service, however its address is written.
std::string place_of(std::string_view url) {
  const std::string bare = config::without_credentials(url);
  std::string_view place = bare;
  while (place.ends_with('/')) place.remove_suffix(1);
  if (place.ends_with(".git")) place.remove_suffix(4);
  return std::string(place);
}

// As it stands beside what was read from it.
std::string address_of(const Archive& archive) {
  return fmt::format("{} {}\n", archive.is_service ? "service" : "git", place_of(archive.url));
}

Error no_such_archive(const std::string& name) {
  return error(ErrorKind::NotFound, "there is no archive {}", escape_controls(name))
      .with_hint("kpm archive-list shows those that there are");
}

Error never_read(const std::string& archive) {
  return error(ErrorKind::NotFound, "the archive {} was never read", archive)
      .with_hint("kpm update reads it");
}

bool is_named(const Archive& archive, std::span<const Dependency> needs) {
  return std::ranges::any_of(needs, [&](const Dependency& each) {
    return !each.repo.empty() && place_of(each.repo) == place_of(archive.url);
  });
}

Status refuse_unread(const Catalog& catalog, const std::string& name, std::span<const Dependency> needs) {
  for (const Unread& each : catalog.unread) {
    const auto archive = std::ranges::find(catalog.archives, each.archive, &Archive::name);
    if (archive == catalog.archives.end() || !is_named(*archive, needs)) continue;
    return error(ErrorKind::Invalid, "{} is to come from the archive {}, which can't be read", name,
                 each.archive)
        .with_because(each.why.to_line())
        .with_hint(each.why.hint.empty() ? "kpm update reads it again" : each.why.hint);
  }
  return {};
}

// Those of archives that a need names; where none does, all.
std::vector<const Listed*> of_named_archives(const Catalog& catalog, const std::vector<const Listed*>& found,
                                             std::span<const Dependency> needs) {
  std::vector<const Listed*> named;
  for (const Listed* const each : found) {
    const auto archive = std::ranges::find(catalog.archives, each->archive, &Archive::name);
    if (archive != catalog.archives.end() && is_named(*archive, needs)) named.push_back(each);
  }
  return named.empty() ? found : named;
}

// About a Kube whose K3.yaml can't be read.
Error broken_kube(ErrorKind kind, const BrokenKube& which, const Error& problem) {
  const std::string kube =
      fmt::format("{}{}{}", which.name, which.version.empty() ? "" : ":", escape_controls(which.version));
  Error failure =
      error(kind, "{} of the archive {} is broken: its {} can't be read", kube, which.archive, kMetadataFile)
          .with_because(problem.detail<K3Faults>() != nullptr ? problem.because : problem.to_line())
          .with_hint("tell its author; once it is repaired, kpm update reads it again")
          .with_detail(which);
  failure.where = problem.where;
  return failure;
}

// One that may be what `needs` ask for; a version that its place doesn't say may be any.
std::optional<Error> broken_dependency(const Catalog& catalog, const std::string& name,
                                       std::span<const Dependency> needs) {
  for (const Error& problem : catalog.problems) {
    const auto* const which = problem.detail<BrokenKube>();
    if (which == nullptr || which->name != name) continue;
    const auto version = encoding::SemVer::parse(which->version);
    if (version.ok() &&
        !std::ranges::all_of(needs, [&](const Dependency& need) { return fits(need, *version); }))
      continue;
    return broken_kube(ErrorKind::NotFound, *which, problem);
  }
  return std::nullopt;
}

// The Kube that is wanted is there, but its K3.yaml can't be read. nullopt: no archive has such a one. With
// `others` there are versions that can be read, so only one that is in the way of `wanted.version` counts.
std::optional<Error> broken(const Catalog& catalog, const Wanted& wanted, bool others) {
  for (const Error& problem : catalog.problems) {
    const auto* const which = problem.detail<BrokenKube>();
    if (which == nullptr || which->name != wanted.name) continue;
    if (!wanted.archive.empty() && which->archive != wanted.archive) continue;
    const bool may_be_another = which->version.empty() ? others : which->version != wanted.version;
    if (!wanted.version.empty() && may_be_another) continue;
    return broken_kube(ErrorKind::Invalid, *which, problem);
  }
  return std::nullopt;
}

Error not_found(const Catalog& catalog, const Wanted& wanted) {
  std::vector<std::string_view> names;
  std::vector<std::string> versions;
  std::vector<const Listed*> yanked;
  for (const Listed& each : catalog.kubes) {
    if (!wanted.archive.empty() && each.archive != wanted.archive) continue;
    if (each.k3.name != wanted.name)
      names.push_back(each.k3.name);
    else if (each.yanked)
      yanked.push_back(&each);
    else if (std::string version = each.k3.version.to_string();
             std::ranges::find(versions, version) == versions.end())
      versions.push_back(std::move(version));  // once, though several archives may have it
  }
  if (versions.empty() && !yanked.empty()) {
    std::ranges::sort(yanked, [](const Listed* one, const Listed* other) {
      return is_preferred(other->k3.version, one->k3.version);
    });
    return all_yanked(wanted, yanked);
  }
  if (auto failure = broken(catalog, wanted, !versions.empty())) return *std::move(failure);
  if (!versions.empty() && !wanted.version.empty())
    return error(ErrorKind::NotFound, "no archive has version {} of {}", escape_controls(wanted.version),
                 wanted.name)
        .with_hint(fmt::format("there is {}", join(versions, ", ")));
  Error failure = error(ErrorKind::NotFound, "no archive has a Kube {}", escape_controls(wanted.name));
  std::vector<std::string> unread;
  for (const Unread& each : catalog.unread) unread.push_back(each.why.to_line());
  failure.because = join(unread, "\n");
  const std::string_view suggestion = nearest(wanted.name, names);
  failure.hint = suggestion.empty() ? "kpm search PATTERN finds Kubes; kpm update reads what is new"
                                    : fmt::format("did you mean {}?", suggestion);
  return failure;
}

}  // namespace

Result<std::vector<Archive>> Home::archives() const {
  const Path file = root_ / "config.yaml";
  std::vector<Archive> archives;
  if (!files_.exists(file)) return archives;
  MIST_TRY(const std::string text, files_.read(file, kSmallFile));
  MIST_TRY(const Value document, encoding::parse_yaml(text, {.strict = true, .file = file.string()}));
  if (document.is_null()) return archives;
  const Value* const list = document.find("archives");
  if (list == nullptr || !list->is_array())
    return wrong(document, file, "archives must be a list of {name, url}");
  for (const Value& each : list->as_array()) {
    Archive archive{.name = std::string(each.string_at("name")),
                    .url = std::string(each.string_at("url")),
                    .is_service = each.is_true_at("service")};
    if (!is_dns1123_label(archive.name) || archive.url.empty())
      return wrong(each, file, "an archive needs a name of lower case letters, and a url");
    archives.push_back(std::move(archive));
  }
  return archives;
}

Status Home::change_archives(const std::function<Status(std::vector<Archive>&)>& change,
                             const Context& context) {
  MIST_TRY(const FileLock lock, this->lock(context));
  MIST_TRY(std::vector<Archive> archives, this->archives());
  MIST_TRY_VOID(change(archives));
  Value list{Value::Array{}};
  for (const Archive& each : archives) {
    Value entry = Value::object({{"name", Value(each.name)}, {"url", Value(each.url)}});
    if (each.is_service) entry.set("service", Value(true));
    list.push_back(std::move(entry));
  }
  // An address may carry credentials.
  return files_.write(root_ / "config.yaml",
                      encoding::to_yaml(Value::object({{"archives", std::move(list)}})), {.mode = 0600});
}

Status Home::add_archive(const Archive& archive, const Context& context) {
  if (!is_dns1123_label(archive.name))
    return error(ErrorKind::Invalid, "{} can't be the name of an archive", escape_controls(archive.name))
        .with_hint("lower case letters, digits and '-'");
  Archive added = archive;
  if (archive.is_service) {
    MIST_TRY(added.url, service_url(archive.url));
  } else {
    MIST_TRY(const registry::GitUrl url,
             registry::GitUrl::parse(archive.url, std::filesystem::current_path()));
    added.url = url.text();
  }
  MIST_TRY_VOID(check_may_ask(added));
  return change_archives(
      [&](std::vector<Archive>& archives) -> Status {
        if (std::ranges::find(archives, archive.name, &Archive::name) != archives.end())
          return error(ErrorKind::Conflict, "there is an archive {} already", archive.name)
              .with_hint(fmt::format("kpm archive-remove {} removes it", archive.name));
        archives.push_back(added);
        return {};
      },
      context);
}

Status Home::remove_archive(const std::string& name, const Context& context) {
  MIST_TRY(const std::vector<Archive> there, this->archives());
  if (std::ranges::find(there, name, &Archive::name) == there.end()) return no_such_archive(name);
  MIST_TRY(const FileLock lock, lock_archive(name, context));
  return change_archives(
      [&](std::vector<Archive>& archives) -> Status {
        if (std::erase_if(archives, [&](const Archive& each) { return each.name == name; }) == 0)
          return no_such_archive(name);
        // First what was read: killed in between, this leaves an archive that was never read.
        return forget(name);
      },
      context);
}

Result<FileLock> Home::lock_archive(const std::string& name, const Context& context) const {
  MIST_TRY_VOID(config::make_private_directory(files_, root_ / ".archives"));
  return FileLock::acquire(root_ / ".archives" / (name + ".lock"), context);
}

// Archives that were read by versions which didn't write down the address count as of this one.
Result<bool> Home::is_of(const Archive& archive) const {
  const Path file = read_from(archive.name) / "address";
  if (!files_.exists(file)) return true;
  MIST_TRY(const std::string address, files_.read(file, kSmallFile));
  return address == address_of(archive);
}

Status Home::check_address(const Archive& archive) const {
  MIST_TRY(const bool is_same, is_of(archive));
  return is_same ? Status() : Status(never_read(archive.name));
}

Status Home::check_is_configured(const Archive& archive) const {
  MIST_TRY(const std::vector<Archive> now, archives());
  const auto found = std::ranges::find(now, archive.name, &Archive::name);
  if (found != now.end() && address_of(*found) == address_of(archive)) return {};
  return error(ErrorKind::Conflict, "the archive {} was removed meanwhile", archive.name)
      .with_hint("kpm archive-list shows those that there are");
}

Status Home::bind(const Archive& archive) {
  MIST_TRY(const bool is_same, is_of(archive));
  if (!is_same) MIST_TRY_VOID(forget(archive.name));
  MIST_TRY_VOID(config::make_private_directory(files_, read_from(archive.name)));
  return files_.write(read_from(archive.name) / "address", address_of(archive), {.mode = 0600});
}

// At once, so that nobody reads half of it.
Status Home::forget(const std::string& archive) {
  const Path directory = read_from(archive);
  const Path removed(directory.string() + ".removed");
  MIST_TRY_VOID(files_.remove_all(removed));
  if (!files_.exists(directory)) return {};
  MIST_TRY_VOID(files_.rename(directory, removed));
  return files_.remove_all(removed);
}

Result<registry::SnapshotStore> Home::store(const Archive& archive) const {
  MIST_TRY(registry::GitUrl url, registry::GitUrl::parse(archive.url, root_));
  registry::SnapshotStore store(files_, git_, read_from(archive.name), std::move(url), "");
  if (Status allowed = check_may_ask(archive); !allowed) store.stay_here(std::move(allowed).error());
  return store;
}

Result<std::optional<Error>> Home::update(const Archive& archive, const Context& context) {
  const std::string doing = fmt::format("while updating the archive {}", archive.name);
  MIST_TRY(const FileLock lock, lock_archive(archive.name, context).in(doing));
  MIST_TRY_VOID(check_is_configured(archive).in(doing));
  MIST_TRY_VOID(check_may_ask(archive).in(doing));
  MIST_TRY_VOID(bind(archive).in(doing));
  if (archive.is_service) {
    MIST_TRY_VOID(service(archive).update(*transport_to(archive), context).in(doing));
    return std::optional<Error>();
  }
  MIST_TRY(registry::SnapshotStore store, this->store(archive));
  // No other command needs the server of a git repository, which may be away when something is installed. A
  // state without all K3.yaml would hide Kubes, so it doesn't count; a large module may come later.
  std::optional<Error> incomplete;
  const auto fetch_all = [&](const registry::Snapshot& snapshot) -> Status {
    MIST_TRY(const registry::PackageIndex index, store.index(snapshot));
    MIST_TRY_VOID(store.fetch_contents(snapshot, metadata_files(index), context));
    if (!index.is_directory(kPackages.substr(0, kPackages.size() - 1))) return {};
    MIST_TRY(const registry::Located all, index.find_path(kPackages.substr(0, kPackages.size() - 1)));
    Status fetched = store.fetch_contents(snapshot, all.entries, context);
    MIST_TRY_VOID(context.check());
    if (!fetched.ok()) incomplete = std::move(fetched).error();
    return {};
  };
  MIST_TRY_VOID(store.update(context, false, fetch_all).in(doing));
  return incomplete;
}

Service Home::service(const Archive& archive) const {
  return Service(files_, read_from(archive.name), archive.url);
}

std::unique_ptr<http::Transport> Home::transport_to(const Archive& archive) const {
  Status allowed = check_may_ask(archive);
  return allowed ? transport_() : std::make_unique<NoTransport>(std::move(allowed).error());
}

Status Home::add_kubes_of_service(const Archive& archive, Catalog& catalog) const {
  MIST_TRY(ServiceIndex index, service(archive).index(archive.name));
  for (ServiceKube& each : index.kubes)
    catalog.kubes.push_back({.archive = archive.name,
                             .directory = {},
                             .k3 = std::move(each.k3),
                             .digest = std::move(each.digest),
                             .yanked = each.yanked,
                             .yank_reason = std::move(each.yank_reason)});
  catalog.problems.insert(catalog.problems.end(), std::make_move_iterator(index.problems.begin()),
                          std::make_move_iterator(index.problems.end()));
  if (index.unread > index.problems.size())
    catalog.problems.push_back(
        error(ErrorKind::Invalid, "{} entries of the archive {} can't be read", index.unread, archive.name));
  return {};
}

Status Home::add_kubes(const Archive& archive, Catalog& catalog, const Context& context) const {
  MIST_TRY_VOID(check_address(archive));
  if (archive.is_service) return add_kubes_of_service(archive, catalog);
  MIST_TRY(const registry::SnapshotStore store, this->store(archive));
  MIST_TRY(const std::optional<registry::Snapshot> snapshot, store.current());
  if (!snapshot) return never_read(archive.name);
  MIST_TRY(const registry::PackageIndex index, store.index(*snapshot));
  const std::vector<registry::TreeEntry> entries = metadata_files(index);
  MIST_TRY(const auto texts, store.read_files(*snapshot, entries, kSmallFile, context));
  for (std::size_t i = 0; i < entries.size(); ++i) {
    std::string directory = Path(entries[i].path).parent_path().string();
    const BrokenKube which{.archive = archive.name,
                           .name = std::string(name_of(directory)),
                           .version = std::string(version_in(directory))};
    if (!texts[i].ok()) {
      catalog.problems.push_back(Error(texts[i].error())
                                     .with_frame(fmt::format("while reading the archive {}", archive.name))
                                     .with_detail(which));
      continue;
    }
    auto k3 = k3_at(archive, directory, *texts[i]);
    if (k3.ok())
      catalog.kubes.push_back(
          {.archive = archive.name, .directory = std::move(directory), .k3 = *std::move(k3)});
    else
      catalog.problems.push_back(std::move(k3).error().with_detail(which));
  }
  return {};
}

Result<Catalog> Home::catalog(const Context& context) const {
  MIST_TRY(const std::vector<Archive> archives, this->archives());
  if (archives.empty()) return no_archive();
  Catalog catalog{.kubes = {}, .problems = {}, .archives = archives};
  for (const Archive& each : archives) {
    Status read = add_kubes(each, catalog, context);
    MIST_TRY_VOID(context.check());
    if (!read.ok()) catalog.unread.push_back({each.name, std::move(read).error()});
  }
  if (catalog.kubes.empty() && !catalog.unread.empty()) return catalog.unread.front().why;
  return catalog;
}

Result<Listed> Home::choose(const Catalog& catalog, std::string_view text) {
  const Wanted wanted = parse_wanted(text);
  const auto unread = std::ranges::find(catalog.unread, wanted.archive, &Unread::archive);
  if (unread != catalog.unread.end()) return unread->why;
  const Listed* found = nullptr;
  for (const Listed& each : catalog.kubes) {
    if (each.k3.name != wanted.name || (!wanted.archive.empty() && each.archive != wanted.archive)) continue;
    if (wanted.version.empty() ? each.yanked : each.k3.version.to_string() != wanted.version) continue;
    if (found != nullptr && found->archive != each.archive) return in_two_archives(*found, each);
    if (found == nullptr || is_preferred(each.k3.version, found->k3.version)) found = &each;
  }
  if (found == nullptr) return not_found(catalog, wanted);
  return *found;
}

Result<Listed> Home::choose_for(const Catalog& catalog, const std::string& name,
                                std::span<const Dependency> needs) {
  MIST_TRY_VOID(refuse_unread(catalog, name, needs));
  std::vector<const Listed*> fitting;
  for (const Listed& each : catalog.kubes) {
    const auto is_fit = [&](const Dependency& need) { return fits(need, each.k3.version); };
    if (each.k3.name == name && !each.yanked && std::ranges::all_of(needs, is_fit)) fitting.push_back(&each);
  }
  if (fitting.empty()) {
    if (auto failure = broken_dependency(catalog, name, needs)) return *std::move(failure);
    return error(ErrorKind::NotFound, "no archive has a fitting version of {}", name);
  }
  const std::vector<const Listed*> found = of_named_archives(catalog, fitting, needs);
  const Listed* chosen = found.front();
  for (const Listed* const each : found) {
    if (each->archive != chosen->archive)
      return in_two_archives(*chosen, *each)
          .with_hint(fmt::format("install it first, from one of them: kpm install {}/{}:{}", chosen->archive,
                                 name, chosen->k3.version.to_string()));
    if (is_preferred(each->k3.version, chosen->k3.version)) chosen = each;
  }
  return *chosen;
}

Result<std::optional<Listed>> Home::version_before(const Catalog& catalog, const K3& of,
                                                   std::string_view archive) {
  const Listed* found = nullptr;
  for (const Listed& each : catalog.kubes) {
    if (each.k3.name != of.name || each.yanked || !(each.k3.version < of.version)) continue;
    if (!archive.empty() && each.archive != archive) continue;
    if (found != nullptr && found->archive != each.archive) return in_two_archives(*found, each);
    if (found == nullptr || found->k3.version < each.k3.version) found = &each;
  }
  return found == nullptr ? std::optional<Listed>() : std::optional(*found);
}

Result<K3> Home::read_k3(const Path& directory) const {
  const Path file = directory / kMetadataFile;
  MIST_TRY(const std::string text, files_.read(file, kSmallFile));
  return parse_k3(text, file.string());
}

Result<std::optional<Kube>> Home::working_copy(const std::string& name) const {
  const Path directory = root_ / name;
  if (!is_dns1123_label(name) || !files_.exists(directory / kMetadataFile)) return std::optional<Kube>();
  MIST_TRY(K3 k3, read_k3(directory));
  return std::optional(kube_in(std::move(k3), directory, true));
}

Result<Kube> Home::in_directory(const Path& directory) const {
  if (!files_.exists(directory / kMetadataFile))
    return error(ErrorKind::NotFound, "there is no {} in {}", kMetadataFile, directory.string())
        .with_hint("every Kube has one; mistctl package init DIRECTORY --template kube begins a Kube");
  MIST_TRY(K3 k3, read_k3(directory));
  return kube_in(std::move(k3), directory, false);
}

Kube Home::kube_in(K3 k3, Path directory, bool is_working_copy) const {
  Kube kube{.k3 = std::move(k3),
            .directory = std::move(directory),
            .package = {},
            .is_working_copy = is_working_copy};
  const Path module = kube.directory / registry::kModuleFile;
  kube.package = files_.exists(module) ? module : kube.directory;
  return kube;
}

Result<registry::PackageTree> Home::tree_of(const Listed& listed, const Context& context) const {
  MIST_TRY(registry::PackageTree tree, fetched_tree(listed, context));
  MIST_TRY_VOID(check_is_listed(listed, tree));
  const auto module = std::ranges::find(tree.files, registry::kModuleFile, &registry::PackageFile::path);
  if (module != tree.files.end()) MIST_TRY_VOID(check_module(listed.k3, module->bytes));
  return tree;
}

Result<registry::PackageTree> Home::fetched_tree(const Listed& listed, const Context& context) const {
  MIST_TRY(const std::vector<Archive> archives, this->archives());
  const auto archive = std::ranges::find(archives, listed.archive, &Archive::name);
  if (archive == archives.end())
    return error(ErrorKind::NotFound, "the archive {} was removed meanwhile", listed.archive);
  MIST_TRY_VOID(check_address(*archive));
  if (archive->is_service) {
    MIST_TRY(registry::PackageContent content,
             service(*archive).package(listed.digest, *transport_to(*archive), context));
    if (auto* const tree = std::get_if<registry::PackageTree>(&content)) return std::move(*tree);
    return tree_of_module(listed.k3, std::get<registry::PackageModule>(content));
  }
  MIST_TRY(const registry::SnapshotStore store, this->store(*archive));
  MIST_TRY(const std::optional<registry::Snapshot> snapshot, store.current());
  if (!snapshot) return never_read(listed.archive);
  MIST_TRY(const registry::PackageIndex index, store.index(*snapshot));
  const auto located = index.find_path(listed.directory);
  if (!located.ok() || !located->is_tree)
    return changed_meanwhile(listed, fmt::format("there is no directory {}", listed.directory));
  MIST_TRY(registry::PackageContent content, store.read(*snapshot, *located, context));
  return std::get<registry::PackageTree>(std::move(content));
}

Status Home::write_tree(const registry::PackageTree& tree, const Path& target) {
  std::vector<TreeFile> files;
  files.reserve(tree.files.size());
  for (const registry::PackageFile& file : tree.files) files.push_back({file.path, file.bytes});
  return mist::write_tree(files_, target, files, {.hidden = true, .durable = false});
}

Result<FileLock> Home::lock(const Context& context) const {
  MIST_TRY_VOID(config::make_private_directory(files_, root_));
  return FileLock::acquire(root_ / ".lock", context);
}

Result<Kube> Home::unpack(const Listed& listed, const Context& context) {
  MIST_TRY(const registry::PackageTree tree, tree_of(listed, context));
  // Nothing is written then, so that `root_` may be read-only.
  if (files_.exists(root_ / listed.k3.full_name())) return keep(listed, tree);
  MIST_TRY(const FileLock lock, this->lock(context));
  return keep(listed, tree);
}

Result<Kube> Home::keep(const Listed& listed, const registry::PackageTree& tree) {
  const Path target = root_ / listed.k3.full_name();
  if (!files_.exists(target)) {
    MIST_TRY_VOID(write_tree(tree, target));
  } else {
    MIST_TRY(const registry::PackageTree there, registry::read_directory_tree(files_, target));
    if (there != tree)
      return error(ErrorKind::Conflict, "{} in the archive {} isn't what {} has", listed.k3.full_name(),
                   listed.archive, target.string())
          .with_hint(fmt::format("a version must not change; remove {} to take the archive's bytes",
                                 target.string()));
  }
  Kube kube = kube_in(listed.k3, target, false);
  MIST_TRY(const std::vector<Archive> all, archives());
  const auto archive = std::ranges::find(all, listed.archive, &Archive::name);
  if (archive != all.end() && archive->is_service) kube.service = archive->url;
  return kube;
}

Status Home::check_no_copy(const std::string& name) const {
  const Path target = root_ / name;
  if (!files_.exists(target)) return {};
  return error(ErrorKind::Conflict, "there is a working copy of {} already", name)
      .with_hint(fmt::format("it is {}; remove it to begin again", target.string()));
}

Result<Kube> Home::get(const Listed& listed, const Context& context) {
  const Path target = root_ / listed.k3.name;
  MIST_TRY_VOID(check_no_copy(listed.k3.name));
  MIST_TRY(registry::PackageTree tree, tree_of(listed, context));
  // Another kpm may have made it meanwhile.
  MIST_TRY(const FileLock lock, this->lock(context));
  MIST_TRY_VOID(check_no_copy(listed.k3.name));
  MIST_TRY_VOID(keep(listed, tree));
  const std::string digest = registry::digest_of(tree).str();
  // It is opened with editors and shells that run what they find in such files.
  std::erase_if(tree.files, [](const registry::PackageFile& file) { return is_hidden_path(file.path); });
  // That of a copy that was removed. A get that ends before the new one is written leaves none: K3.yaml
  // counts.
  MIST_TRY_VOID(files_.remove(origin_file(listed.k3.name)));
  MIST_TRY_VOID(write_tree(tree, target));
  MIST_TRY_VOID(write_origin(listed, digest));
  return kube_in(listed.k3, target, true);
}

Result<std::vector<std::string>> Home::working_copies() const {
  std::vector<std::string> names;
  if (!files_.is_directory(root_)) return names;
  MIST_TRY(const std::vector<DirectoryEntry> entries, files_.list(root_));
  // The directories of versions have dots in their names.
  for (const DirectoryEntry& each : entries)
    if (is_dns1123_label(each.name) && files_.exists(root_ / each.name / kMetadataFile))
      names.push_back(each.name);
  return names;
}

Status Home::write_origin(const Listed& listed, const std::string& digest) {
  const Value origin = Value::object({{"archive", Value(listed.archive)},
                                      {"version", Value(listed.k3.version.to_string())},
                                      {"digest", Value(digest)}});
  return files_.write(origin_file(listed.k3.name), encoding::to_yaml(origin), {.durable = false});
}

Result<Home::Origin> Home::origin_of(const std::string& name) const {
  const Path file = origin_file(name);
  if (!files_.exists(file)) {
    // Its user made it, or an older kpm.
    MIST_TRY(K3 k3, read_k3(root_ / name));
    return Origin{.version = std::move(k3.version)};
  }
  MIST_TRY(const std::string text, files_.read(file, kSmallFile));
  MIST_TRY(const Value document, encoding::parse_yaml(text, {.strict = true, .file = file.string()}));
  auto version = encoding::SemVer::parse(document.string_at("version"));
  if (!version.ok())
    return wrong(document, file, "it doesn't name the version that the working copy was made from")
        .with_hint(fmt::format("remove the file; kpm diff then goes by {}", kMetadataFile));
  return Origin{.archive = std::string(document.string_at("archive")),
                .version = *std::move(version),
                .digest = std::string(document.string_at("digest"))};
}

Error Home::no_working_copy(const std::string& name) const {
  Error failure = error(ErrorKind::NotFound, "there is no working copy of {}", name);
  const auto copies = working_copies();
  const std::vector<std::string_view> names =
      copies.ok() ? std::vector<std::string_view>(copies->begin(), copies->end())
                  : std::vector<std::string_view>();
  const std::string_view suggestion = nearest(name, names);
  failure.hint = suggestion.empty() ? fmt::format("kpm get {} makes one in {}", name, root_.string())
                                    : fmt::format("did you mean {}?", suggestion);
  return failure;
}

Error Home::no_original(const std::string& name, const std::string& version) const {
  std::vector<std::string> unpacked;
  const std::string prefix = name + '-';
  if (const auto entries = files_.list(root_); entries.ok())
    for (const DirectoryEntry& each : *entries)
      if (each.is_directory && each.name.starts_with(prefix) &&
          encoding::SemVer::parse(each.name.substr(prefix.size())).ok())
        unpacked.push_back(each.name.substr(prefix.size()));
  Error failure = error(ErrorKind::NotFound, "{}-{} isn't unpacked in {}, and no archive has it", name,
                        escape_controls(version), root_.string());
  failure.hint = "kpm update reads again what the archives hold";
  if (!unpacked.empty())
    failure.hint +=
        fmt::format("; kpm diff {}:{} compares with a version that is here", name, unpacked.back());
  return failure;
}

Result<Path> Home::original(const std::string& name, const Origin& origin, const Context& context) {
  const std::string version = origin.version.to_string();
  Path directory = root_ / fmt::format("{}-{}", name, version);
  if (files_.exists(directory)) return directory;
  const auto catalog = this->catalog(context);
  if (!catalog.ok() && catalog.error().kind != ErrorKind::NotFound) return catalog.error();
  if (!catalog.ok()) return no_original(name, version);
  const auto listed = choose(
      *catalog, fmt::format("{}{}{}:{}", origin.archive, origin.archive.empty() ? "" : "/", name, version));
  if (!listed.ok() && listed.error().kind != ErrorKind::NotFound) return listed.error();
  if (!listed.ok()) return no_original(name, version);
  MIST_TRY(Kube kube, unpack(*listed, context));
  return std::move(kube.directory);
}

Result<Comparison> Home::compare(std::string_view text, std::size_t context_lines, const Context& context) {
  const auto colon = text.find(':');
  const std::string name(text.substr(0, colon));
  if (!is_dns1123_label(name))
    return error(ErrorKind::Invalid, "{} can't be the name of a working copy", escape_controls(text))
        .with_hint("write NAME, or NAME:VERSION to compare with another version");
  if (!files_.is_directory(root_ / name)) return no_working_copy(name);
  Origin origin;
  if (colon != text.npos) {
    auto version = encoding::SemVer::parse(text.substr(colon + 1));
    if (!version.ok())
      return error(ErrorKind::Invalid, "{} is not a version", escape_controls(text.substr(colon + 1)))
          .with_hint(fmt::format("such as kpm diff {}:1.0.3", name));
    origin.version = *std::move(version);
  } else {
    MIST_TRY(origin, origin_of(name));
  }
  Comparison comparison{.copy = root_ / name, .original = {}, .changes = {}};
  MIST_TRY(comparison.original, original(name, origin, context));
  MIST_TRY(const registry::PackageTree before, registry::read_directory_tree(files_, comparison.original));
  MIST_TRY(const registry::PackageTree after, registry::read_directory_tree(files_, comparison.copy));
  if (!origin.digest.empty() && registry::digest_of(before).str() != origin.digest)
    return error(ErrorKind::Conflict, "{} isn't what the working copy was made from",
                 comparison.original.string())
        .with_hint(
            fmt::format("remove it, and kpm diff unpacks it again; or kpm diff {}:{} compares with what "
                        "is there",
                        name, origin.version.to_string()));
  comparison.changes = changes_between(before, after, context_lines);
  return comparison;
}

}  // namespace mist::kpm
