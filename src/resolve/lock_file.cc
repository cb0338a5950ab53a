#include "resolve/lock_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <initializer_list>

#include "base/text.h"
#include "encoding/value.h"
#include "encoding/yaml.h"

namespace mist::resolve {
namespace {

using encoding::Value;

constexpr std::string_view kApiVersion = "mistletoe.dev/v1";
constexpr std::string_view kKind = "MistLock";
constexpr std::string_view kComment =
    "# Written by mistctl: the versions that were resolved. Commit this file.\n";
constexpr std::string_view kDigest = "sha256:";
constexpr std::size_t kDigits = 64;
constexpr const char* kResolveAgain = "restore the file from version control, or delete it and resolve again";

bool is_digest(std::string_view text) {
  if (!text.starts_with(kDigest)) return false;
  text.remove_prefix(kDigest.size());
  return text.size() == kDigits && is_lower_hex(text);
}

// Of a repository whose objects are named by SHA-1 or by SHA-256.
bool is_commit(std::string_view text) {
  return (text.size() == 40 || text.size() == kDigits) && is_lower_hex(text);
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Status read(std::vector<LockedPackage>& packages, std::vector<LockedRemote>& remotes) {
    MIST_TRY_VOID(no_merge_conflict());
    MIST_TRY(const Value document, encoding::parse_yaml(text_, {.strict = true, .file = file_}));
    MIST_TRY_VOID(header(document));
    MIST_TRY(packages, packages_of(document));
    MIST_TRY(remotes, remotes_of(document));
    return {};
  }

 private:
  Status header(const Value& document) {
    if (!document.is_object()) return fail(document, "this is not a lock file", kResolveAgain);
    MIST_TRY(const Value* kind, text_member(document, "kind", "the lock file"));
    if (kind->as_string() != kKind) return fail(*kind, fmt::format("kind must be {}", kKind), kResolveAgain);
    MIST_TRY(const Value* api, text_member(document, "apiVersion", "the lock file"));
    if (api->as_string() != kApiVersion)
      return fail(*api, fmt::format("this mistctl reads {}, not {}", kApiVersion, shown(*api)),
                  "a newer mistctl wrote the file: use that one");
    return {};
  }

  Result<std::vector<LockedPackage>> packages_of(const Value& document) {
    std::vector<LockedPackage> packages;
    const Value* list = document.find("packages");
    if (list == nullptr)
      return fail(document, "the lock file has no packages", "write 'packages: []' if there are none");
    if (!list->is_array()) return fail(*list, "packages must be a list", kResolveAgain);
    for (const Value& each : list->as_array()) {
      MIST_TRY(LockedPackage one, package(each));
      if (std::ranges::find(packages, one.name, &LockedPackage::name) != packages.end())
        return fail(each, fmt::format("{} is locked twice", escape_controls(one.name)),
                    "keep one of the two, or delete the file and resolve again");
      packages.push_back(std::move(one));
    }
    std::ranges::sort(packages, {}, &LockedPackage::name);
    return packages;
  }

  Result<std::vector<LockedRemote>> remotes_of(const Value& document) {
    std::vector<LockedRemote> remotes;
    const Value* list = document.find("remotes");
    if (list == nullptr || list->is_null()) return remotes;
    if (!list->is_array()) return fail(*list, "remotes must be a list", kResolveAgain);
    for (const Value& each : list->as_array()) {
      MIST_TRY(LockedRemote one, remote(each));
      if (std::ranges::find(remotes, one.name, &LockedRemote::name) != remotes.end())
        return fail(each, fmt::format("{} is locked twice", escape_controls(one.name)),
                    "keep one of the two, or delete the file and resolve again");
      remotes.push_back(std::move(one));
    }
    std::ranges::sort(remotes, {}, &LockedRemote::name);
    return remotes;
  }

  Result<LockedRemote> remote(const Value& value) {
    if (!value.is_object()) return fail(value, "a remote must be an object", kResolveAgain);
    LockedRemote out;
    MIST_TRY(const Value* name, text_member(value, "name", "a remote"));
    out.name = name->as_string();
    if (value.find("commit") != nullptr) {
      MIST_TRY(const Value* commit, text_member(value, "commit", out.name));
      out.commit = commit->as_string();
      if (!is_commit(out.commit))
        return fail(*commit, fmt::format("{} is not a commit", shown(*commit)),
                    "a commit is 40 or 64 hexadecimal digits");
      if (value.find("digest") == nullptr) return out;
    }
    MIST_TRY(const Value* digest, text_member(value, "digest", out.name));
    out.digest = digest->as_string();
    if (!is_digest(out.digest))
      return fail(*digest, fmt::format("{} is not a digest", shown(*digest)),
                  "a digest is sha256: and 64 hexadecimal digits");
    return out;
  }

  /// YAML's own complaint about these lines helps nobody.
  Status no_merge_conflict() const {
    std::uint32_t number = 0;
    for (const std::string_view line : split(text_, '\n')) {
      ++number;
      if (!line.starts_with("<<<<<<< ")) continue;
      return error(ErrorKind::Invalid, "a merge left a conflict here")
          .with_hint("keep the lines of both sides, each package once, or take one side and resolve again")
          .at({.file = file_, .line = number, .column = 1, .excerpt = std::string(line)});
    }
    return {};
  }

  Result<LockedPackage> package(const Value& value) {
    if (!value.is_object()) return fail(value, "a package must be an object", kResolveAgain);
    LockedPackage out;
    MIST_TRY(const Value* name, text_member(value, "name", "a package"));
    out.name = name->as_string();
    MIST_TRY(out.version, version(value, out.name));
    MIST_TRY(const Value* source, text_member(value, "source", out.name));
    out.origin.source = source->as_string();
    MIST_TRY(const Value* digest, text_member(value, "digest", out.name));
    out.origin.digest = digest->as_string();
    if (!is_digest(out.origin.digest))
      return fail(*digest, fmt::format("{} is not a digest", shown(*digest)),
                  "a digest is sha256: and 64 hexadecimal digits");
    const Value* dependencies = value.find("dependencies");
    if (dependencies == nullptr || dependencies->is_null()) return out;
    if (!dependencies->is_object())
      return fail(*dependencies, "dependencies must be an object", kResolveAgain);
    for (const auto& [key, each] : dependencies->as_object()) {
      if (!each.is_object()) return fail(each, "a dependency must be an object", kResolveAgain);
      LockedDependency& dependency = out.dependencies[key];
      MIST_TRY(dependency.version, version(each, key));
      MIST_TRY(const Value* range, text_member(each, "range", key));
      dependency.range = range->as_string();
      if (auto parsed = VersionRange::parse(dependency.range); !parsed.ok())
        return std::move(parsed).error().at(place(*range));
    }
    return out;
  }

  Result<Version> version(const Value& object, std::string_view owner) const {
    MIST_TRY(const Value* value, text_member(object, "version", owner));
    auto parsed = Version::parse(value->as_string());
    if (!parsed.ok()) return std::move(parsed).error().at(place(*value));
    return parsed;
  }

  Result<const Value*> text_member(const Value& object, std::string_view key, std::string_view owner) const {
    const Value* value = object.find(key);
    if (value == nullptr)
      return fail(object, fmt::format("{} has no {}", escape_controls(owner), key), kResolveAgain);
    // 1.10 without quotes is a number, and another one than 1.10.
    if (!value->is_string())
      return fail(*value,
                  fmt::format("the {} of {} must be text, not {}", key, escape_controls(owner),
                              encoding::kind_name(value->kind())),
                  "put it in quotes");
    if (value->as_string().empty())
      return fail(*value, fmt::format("the {} of {} is empty", key, escape_controls(owner)), kResolveAgain);
    return value;
  }

  static std::string shown(const Value& text) {
    return fmt::format("\"{}\"", escape_controls(std::string_view(text.as_string()).substr(0, 80)));
  }

  SourceLocation place(const Value& value) const {
    SourceLocation where{
        .file = file_, .line = value.position().line, .column = value.position().column, .excerpt = {}};
    const std::vector<std::string_view> lines = split(text_, '\n');
    if (where.line > 0 && where.line <= lines.size()) where.excerpt = lines[where.line - 1];
    return where;
  }
  Error fail(const Value& value, std::string message, std::string hint) const {
    return error(ErrorKind::Invalid, "{}", message).with_hint(std::move(hint)).at(place(value));
  }

  std::string_view text_;
  const std::string& file_;
};

Value to_value(const LockedPackage& package) {
  Value out = Value::object({{"name", package.name},
                             {"version", package.version.to_string()},
                             {"source", package.origin.source},
                             {"digest", package.origin.digest}});
  if (package.dependencies.empty()) return out;
  Value dependencies = Value::object();
  for (const auto& [name, each] : package.dependencies)
    dependencies.set(name, Value::object({{"range", each.range}, {"version", each.version.to_string()}}));
  out.set("dependencies", std::move(dependencies));
  return out;
}

}  // namespace

LockFile LockFile::of(const Solution& solution,
                      const std::function<Origin(const std::string&, const Version&)>& origin) {
  LockFile out;
  for (const Selected& each : solution.packages)  // by id already
    out.packages_.push_back({each.package, each.version, origin(each.package, each.version), {}});
  for (const Selected& each : solution.packages) {
    std::map<std::string, VersionRange> asked;  // by whom
    for (const Asker& by : each.askers) {
      const auto [at, is_new] = asked.try_emplace(by.package, by.range);
      if (!is_new && at->second != by.range) at->second = at->second & by.range;
    }
    for (const auto& [name, range] : asked) {
      const auto asker = std::ranges::find(out.packages_, name, &LockedPackage::name);
      if (asker == out.packages_.end()) continue;  // the root
      std::string text = range.to_string();
      // Two ranges may have something in common that no text expresses.
      if (!VersionRange::parse(text).ok()) text = each.version.to_string();
      asker->dependencies[each.package] = {std::move(text), each.version};
    }
  }
  return out;
}

Result<LockFile> LockFile::parse(std::string_view text, const std::string& file) {
  LockFile out;
  MIST_TRY_VOID(Reader(text, file).read(out.packages_, out.remotes_));
  return out;
}

std::string LockFile::to_text() const {
  Value packages = Value::array();
  for (const LockedPackage& each : packages_) packages.push_back(to_value(each));
  Value document =
      Value::object({{"apiVersion", kApiVersion}, {"kind", kKind}, {"packages", std::move(packages)}});
  Value remotes = Value::array();
  for (const LockedRemote& each : remotes_) {
    Value remote = Value::object({{"name", each.name}});
    if (!each.commit.empty()) remote.set("commit", each.commit);
    if (!each.digest.empty()) remote.set("digest", each.digest);
    remotes.push_back(std::move(remote));
  }
  if (!remotes_.empty()) document.set("remotes", std::move(remotes));
  return std::string(kComment) + encoding::to_yaml(document);
}

const LockedRemote* LockFile::find_remote(std::string_view name) const {
  const auto found = std::ranges::lower_bound(remotes_, name, {}, &LockedRemote::name);
  return found != remotes_.end() && found->name == name ? &*found : nullptr;
}

void LockFile::set_remotes(std::vector<LockedRemote> remotes) {
  std::ranges::stable_sort(remotes, {}, &LockedRemote::name);
  remotes_.clear();
  for (LockedRemote& each : remotes) {
    if (remotes_.empty() || remotes_.back().name != each.name)
      remotes_.push_back(std::move(each));
    else if (!each.commit.empty() && remotes_.back().digest != each.digest)
      remotes_.back().digest.clear();
  }
}

const LockedPackage* LockFile::find(std::string_view name) const {
  const auto found = std::ranges::lower_bound(packages_, name, {}, &LockedPackage::name);
  return found != packages_.end() && found->name == name ? &*found : nullptr;
}

std::map<std::string, Version> LockFile::versions() const {
  std::map<std::string, Version> out;
  for (const LockedPackage& each : packages_) out.emplace(each.name, each.version);
  return out;
}

Status LockFile::check_consistent() const {
  const auto fail = [](std::string message) {
    return error(ErrorKind::Invalid, "{}", message)
        .with_hint("resolve the dependencies again; versions that still fit are kept");
  };
  for (const LockedPackage& package : packages_)
    for (const auto& [name, dependency] : package.dependencies) {
      const LockedPackage* locked = find(name);
      if (locked == nullptr)
        return fail(fmt::format("{} depends on {} {}, which is not in the lock", package.name, name,
                                dependency.range));
      if (locked->version.to_string() != dependency.version.to_string())
        return fail(fmt::format("{} depends on {} {}, but {} is locked", package.name, name,
                                dependency.version.to_string(), locked->version.to_string()));
      // The wider reading: which one the resolution had isn't recorded.
      const auto range = VersionRange::parse(dependency.range, Prereleases::AsHelm);
      if (!range.ok() || !range->contains(locked->version))
        return fail(fmt::format("{} depends on {} {}, and {} is not in that range", package.name, name,
                                dependency.range, locked->version.to_string()));
    }
  return {};
}

}  // namespace mist::resolve
