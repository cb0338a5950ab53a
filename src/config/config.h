#pragma once
// The user's configuration file, `kind: MistletoeConfig` (docs/formats/registry.md, schemas/
// mistletoe-config.schema.json): today, which registries there are. It keeps the original's schema; keys that
// we don't know are kept when the file is rewritten, comments are not.
//
// Config is a plain value, one thread at a time. `load` and `edit` may be used from any thread and by many
// processes at once.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/context.h"
#include "base/event.h"
#include "base/fs.h"
#include "base/result.h"
#include "config/cache_limits.h"
#include "config/paths.h"
#include "encoding/value.h"

namespace mist::config {

inline constexpr std::string_view kDefaultRegistry = "mistletoe";

struct GitSource {
  std::string url;  ///< may carry credentials: print it through display()
  friend bool operator==(const GitSource&, const GitSource&) = default;
};
struct DirectorySource {
  std::string path;  ///< relative: to the directory of the configuration file
  friend bool operator==(const DirectorySource&, const DirectorySource&) = default;
};
/// Repositories of an OCI registry that begin alike.
struct OciSource {
  std::string url;  ///< "oci://registry.example/team", or the host alone; print it through display()
  friend bool operator==(const OciSource&, const OciSource&) = default;
};

/// A chart repository of Helm's: an index.yaml and archives.
struct HelmSource {
  /// "https://charts.example.com". `registry add` takes none with credentials, but the file may be edited by
  /// hand: print it through display().
  std::string url;
  friend bool operator==(const HelmSource&, const HelmSource&) = default;
};

/// A catalog: packages that it tested, by a REST API.
struct CatalogSource {
  std::string url;  ///< "https://catalog.example.com"; print it through display()
  friend bool operator==(const CatalogSource&, const CatalogSource&) = default;
};

/// One way to reach a registry; all remotes of a registry hold the same packages.
struct Remote {
  std::string name;
  std::variant<GitSource, DirectorySource, OciSource, HelmSource, CatalogSource> source;
  friend bool operator==(const Remote&, const Remote&) = default;
};

struct Registry {
  std::string name;
  std::string default_remote;   ///< names one of `remotes`; parse checks it
  std::vector<Remote> remotes;  ///< never empty

  const Remote& remote() const;  ///< the default one
  friend bool operator==(const Registry&, const Registry&) = default;
};

/// Where a remote is, for people and logs: its URL without credentials, or its directory as it is written.
std::string display(const Remote& remote);

/// Where copies of a registry's artifacts are (registry/oci_mirrors.h).
struct Mirror {
  std::string prefix;               ///< what repositories begin with: "registry.example", or with a path
  std::vector<std::string> places;  ///< as OciPlace::parse takes them, in the order in which they are asked
  bool only = false;                ///< the registry itself is never asked
  friend bool operator==(const Mirror&, const Mirror&) = default;
};

/// Where packages may have remote bases: formats::RemoteBases.
enum class RemoteBases : std::uint8_t { Public, Anywhere, None };

/// Letters, digits, '.', '_' and '-', beginning with a letter or digit, at most 63: it stands in references
/// and in file names.
bool is_registry_name(std::string_view name);

class Config {
 public:
  /// The configuration while there is no file: the registry "mistletoe" with the original's remotes.
  static Config defaults();

  /// `file` is named in errors. Empty text gives a configuration without registries. `warnings`, if given,
  /// gets a sentence for each key that is kept but not known. Errors: Invalid, with line and hint.
  static Result<Config> parse(std::string_view text, const std::string& file,
                              std::vector<std::string>* warnings = nullptr);

  /// YAML, unknown keys included.
  std::string serialize() const;

  /// The document without credentials, for `config view`.
  encoding::Value view() const;

  const std::vector<Registry>& registries() const { return registries_; }
  const Registry* find_registry(std::string_view name) const;
  /// As the file says; Paths::cache_limit isn't looked at.
  const CacheLimits& cache_limits() const { return cache_limits_; }
  RemoteBases remote_bases() const { return remote_bases_; }
  /// Whether catalogs are told that a package of theirs was installed (registry/install_notice.h).
  bool counts_installs() const { return counts_installs_; }
  const std::vector<Mirror>& mirrors() const { return mirrors_; }
  /// Whether a remote or a mirror has a URL with some in it, which display() and redact_urls hide.
  bool has_credentials() const;

  /// Errors: Conflict (the name is taken), Invalid (the name is none, no remote, names twice).
  Status add_registry(Registry registry);
  /// Errors: NotFound, with the nearest name.
  Status remove_registry(std::string_view name);

  /// Replaces the entry with its prefix where it stands, or adds it behind the others.
  void set_mirror(Mirror mirror);
  /// `prefix`: as mirrors() has it. Errors: NotFound.
  Status remove_mirror(std::string_view prefix);

  /// Reads `paths.config_file`; a missing file is `defaults()`. Warnings go to `events`. Errors: as parse and
  /// FileSystem::read.
  static Result<Config> load(const FileSystem& files, const Paths& paths, EventSink& events);

 private:
  encoding::Value document_;  // the whole file; registries_ is what we understood of it
  std::vector<Registry> registries_;
  CacheLimits cache_limits_;
  std::vector<Mirror> mirrors_;
  RemoteBases remote_bases_ = RemoteBases::Public;
  bool counts_installs_ = false;
};

/// Reads the file (or the defaults), lets `change` work on it and writes it back, whole or not at all, mode
/// 0600, while holding a lock, so that no writer loses another's change. Nothing is written when `change`
/// fails or changes nothing in an existing file. Errors: of `change`, as load, Timeout and Cancelled while
/// waiting for the lock.
Status edit(FileSystem& files, const Paths& paths, EventSink& events, const Context& context,
            const std::function<Status(Config&)>& change);

/// The error for a registry that isn't configured: NotFound, naming the nearest and how to add it.
Error unknown_registry(const Config& config, std::string_view name);

}  // namespace mist::config
