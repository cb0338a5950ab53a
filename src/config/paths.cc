#include "config/paths.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/safe_directory.h"
#include "base/text.h"
#include "config/cache_limits.h"

namespace mist::config {
namespace {

std::optional<std::string> non_empty(const Environment& environment, std::string_view name) {
  std::optional<std::string> value = environment(name);
  if (value && value->empty()) return std::nullopt;
  return value;
}

// HOME may be missing for services; the user database then still knows.
std::optional<std::string> home_directory(const Environment& environment) {
  if (auto home = non_empty(environment, "HOME")) return home;
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 4096> buffer;
  if (::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr)
    return std::nullopt;
  if (entry.pw_dir == nullptr || *entry.pw_dir == '\0') return std::nullopt;
  return entry.pw_dir;
}

Path absolute_path(const Path& path) {
  std::error_code failed;
  const Path result = std::filesystem::absolute(path, failed);
  return (failed ? path : result).lexically_normal();
}

Result<std::optional<std::uint64_t>> cache_limit_of(const Environment& environment) {
  const auto text = non_empty(environment, "MIST_CACHE_LIMIT");
  if (!text) return std::optional<std::uint64_t>();
  const std::optional<std::uint64_t> size = parse_size(*text);
  if (size) return size;
  return error(ErrorKind::Invalid, "MIST_CACHE_LIMIT is \"{}\", which is not a size", escape_controls(*text))
      .with_hint("write a whole number of Ki, Mi, Gi or Ti, as in 512Mi");
}

// "/a/b/" names what "/a/b" names, with one step more.
Path without_slash(const Path& path) {
  return path.has_filename() || !path.has_relative_path() ? path : path.parent_path();
}

bool is_below(const Path& path, const Path& directory) {
  return std::ranges::mismatch(directory, without_slash(path)).in1 == directory.end();
}

Error explain(Error failure, std::string_view variable) {
  if (failure.kind != ErrorKind::Forbidden) return failure;
  const std::string elsewhere = fmt::format(
      "set {} to a directory of your own, or, where nobody else can get in, name it in MIST_SAFE_DIRECTORY",
      variable);
  failure.hint = failure.hint.empty() ? elsewhere : fmt::format("{}; or {}", failure.hint, elsewhere);
  return std::move(failure).with_frame("while looking for a place to keep Mistletoe's files in");
}

}  // namespace

Environment process_environment() {
  return [](std::string_view name) -> std::optional<std::string> {
    const char* value = std::getenv(std::string(name).c_str());
    if (value == nullptr) return std::nullopt;
    return value;
  };
}

Result<Paths> Paths::from_environment(const Environment& environment, const Path& program) {
  const auto own_home = non_empty(environment, "MIST_HOME_LOCATION");
  const auto user_home = home_directory(environment);
  if (!own_home && !user_home)
    return error(ErrorKind::Invalid, "there is no home directory to keep the configuration in")
        .with_hint("set HOME, or set MIST_HOME_LOCATION to a directory");

  Paths paths;
  paths.home = absolute_path(own_home ? Path(*own_home) : Path(*user_home) / ".mistletoe");
  const auto config_file = non_empty(environment, "MIST_CONFIG_LOCATION");
  paths.config_file = config_file ? absolute_path(*config_file) : paths.home / "config.yaml";
  if (const auto trust = non_empty(environment, "MIST_TRUST_LOCATION"))
    paths.named_trust_policy = absolute_path(*trust);
  paths.state = paths.home / "state";
  if (own_home || !user_home) {
    paths.cache = paths.home / "cache";
  } else {
    // The XDG specification has relative paths ignored.
    const auto xdg = non_empty(environment, "XDG_CACHE_HOME");
    paths.cache = absolute_path(xdg && Path(*xdg).is_absolute() ? Path(*xdg) : Path(*user_home) / ".cache") /
                  "mistletoe";
  }
  const auto came_along = [&](std::string_view variable, std::string_view name) {
    const auto elsewhere = non_empty(environment, variable);
    return elsewhere
               ? absolute_path(*elsewhere)
               : (absolute_path(program).parent_path() / "../share/mistletoe" / name).lexically_normal();
  };
  paths.engines = came_along("MIST_ENGINES_LOCATION", "engines");
  paths.schemas = came_along("MIST_SCHEMAS_LOCATION", "schemas");
  MIST_TRY(paths.cache_limit, cache_limit_of(environment));
  if (const auto safe = non_empty(environment, "MIST_SAFE_DIRECTORY"))
    for (const std::string_view each : split(*safe, ':'))
      if (!each.empty()) paths.safe.push_back(without_slash(absolute_path(Path(each))));
  return paths;
}

namespace {

bool is_named_safe(const Paths& paths, const Path& place) {
  return std::ranges::any_of(paths.safe, [&](const Path& safe) { return is_below(place, safe); });
}

}  // namespace

Status check_trusted_file(const Paths& paths, const Path& file) {
  return is_named_safe(paths, file) ? Status() : check_safe_file(file);
}

Status check_place(const Paths& paths, const Path& place, std::string_view variable) {
  if (is_named_safe(paths, place)) return {};
  Status safe = check_safe_directory(place);
  return safe.ok() ? std::move(safe) : explain(std::move(safe).error(), variable);
}

Status check_places(const Paths& paths) {
  // The directories that lead to the state and to the cache are checked on the way.
  for (const Path& place : {paths.state, paths.registries(), paths.packages(), paths.renders(),
                            paths.discovery(), paths.exec_credentials()})
    MIST_TRY_VOID(check_place(paths, place, "MIST_HOME_LOCATION"));
  return {};
}

Status make_private_directory(FileSystem& files, const Path& path) {
  return files.make_directories(path, 0700);
}

}  // namespace mist::config
