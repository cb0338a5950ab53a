#include "config/config.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/output_file.h"
#include "base/text.h"
#include "config/redact.h"
#include "encoding/yaml.h"

namespace mist::config {
namespace {

using encoding::Value;

constexpr std::string_view kApiVersion = "mistletoe.dev/v1alpha1";
constexpr std::string_view kKind = "MistletoeConfig";
constexpr std::uint64_t kMaxConfigBytes = std::uint64_t{4} << 20;

// The remotes that the original writes into a new configuration.
constexpr std::string_view kDefaultHttps = "https://github.com/gsfraley/mistletoe-registry.git";
constexpr std::string_view kDefaultSsh = "git@github.com:gsfraley/mistletoe-registry.git";

constexpr std::string_view kOciScheme = "oci://";

// "registry.example/team", as mirrors are told apart by.
std::string_view bare_prefix(std::string_view written) {
  if (written.starts_with(kOciScheme)) written.remove_prefix(kOciScheme.size());
  while (written.ends_with('/')) written.remove_suffix(1);
  return written;
}

/// Walks the document and turns what it finds into registries; knows where everything stands in the text.
class Reader {
 public:
  Reader(std::string_view text, const std::string& file, std::vector<std::string>* warnings)
      : lines_(split(text, '\n')), file_(file), warnings_(warnings) {}

  Result<std::vector<Registry>> read(const Value& document) const {
    if (!document.is_object())
      return fail(document, fmt::format("the configuration is {}, not an object", described(document)),
                  fmt::format("begin with 'apiVersion: {}' and 'kind: {}'", kApiVersion, kKind));
    MIST_TRY_VOID(expect_text(document, "apiVersion", kApiVersion));
    MIST_TRY_VOID(expect_text(document, "kind", kKind));
    warn_of_unknown(document, "", {"apiVersion", "kind", "metadata", "spec"});
    const Value* spec = document.find("spec");
    if (spec == nullptr || spec->is_null()) return std::vector<Registry>{};
    if (!spec->is_object())
      return fail(*spec, "spec is not an object", "write 'spec:' with 'registries:' below");
    warn_of_unknown(*spec, "spec.", {"registries", "caches", "remoteBases", "mirrors", "countInstalls"});
    return read_registries(spec->find("registries"));
  }

  /// Of a document that read() took.
  Result<RemoteBases> read_remote_bases(const Value& document) const {
    const Value* const found = document.at_path({"spec", "remoteBases"});
    if (found == nullptr || found->is_null()) return RemoteBases::Public;
    if (*found == Value("public")) return RemoteBases::Public;
    if (*found == Value("anywhere")) return RemoteBases::Anywhere;
    if (*found == Value("none")) return RemoteBases::None;
    return fail(*found, "spec.remoteBases must be public, anywhere or none",
                "it says where the remote bases of packages may be that aren't on this machine");
  }

  Result<bool> read_counts_installs(const Value& document) const {
    const Value* const found = document.at_path({"spec", "countInstalls"});
    if (found == nullptr || found->is_null()) return false;
    if (found->is_bool()) return found->as_bool();
    return fail(*found, "spec.countInstalls is neither true nor false",
                "true: catalogs are told which of their packages are installed, once a day for each");
  }

  Result<std::vector<Mirror>> read_mirrors(const Value& document) const {
    std::vector<Mirror> mirrors;
    const Value* const list = document.at_path({"spec", "mirrors"});
    if (list == nullptr || list->is_null()) return mirrors;
    if (!list->is_array())
      return fail(*list, "spec.mirrors is not a list",
                  "write 'mirrors:' with '- prefix: registry.example' and 'places: [oci-layout:…]' below");
    for (const Value& item : list->as_array()) {
      MIST_TRY(Mirror mirror, read_mirror(item));
      if (std::ranges::find(mirrors, mirror.prefix, &Mirror::prefix) != mirrors.end())
        return fail(item, fmt::format("two mirrors are for {}", mirror.prefix),
                    "write all of its places into one entry");
      mirrors.push_back(std::move(mirror));
    }
    return mirrors;
  }

  Result<CacheLimits> read_cache_limits(const Value& document) const {
    CacheLimits limits;
    const Value* caches = document.at_path({"spec", "caches"});
    if (caches == nullptr || caches->is_null()) return limits;
    if (!caches->is_object())
      return fail(*caches, "spec.caches is not an object", "write 'caches: {packages: 1Gi}'");
    warn_of_unknown(*caches, "spec.caches.", {"packages", "registries"});
    MIST_TRY(limits.packages, read_size(*caches, "packages", limits.packages));
    MIST_TRY(limits.registries, read_size(*caches, "registries", limits.registries));
    return limits;
  }

 private:
  Result<Mirror> read_mirror(const Value& item) const {
    constexpr std::string_view kWhat = "a mirror";
    if (!item.is_object())
      return fail(item, "an entry of spec.mirrors is not an object",
                  "write '- prefix: registry.example' and 'places: [oci-layout:…]'");
    warn_of_unknown(item, "spec.mirrors: ", {"prefix", "places", "only"});
    Mirror mirror;
    MIST_TRY(const std::string prefix, required_text(item, kWhat, "prefix"));
    mirror.prefix = bare_prefix(prefix);
    if (mirror.prefix.find("://") != std::string::npos)
      return fail(item, "the prefix of a mirror is a URL",
                  "write the host, or the host and a path: registry.example/team");
    const Value* const places = item.find("places");
    if (places == nullptr || !places->is_array() || places->size() == 0)
      return fail(places == nullptr ? item : *places,
                  fmt::format("the mirror of {} has no list of places", mirror.prefix),
                  "write 'places: [oci-layout:/media/mirror, oci://mirror.example/registry.example]'");
    for (const Value& place : places->as_array()) {
      const bool is_place = place.is_string() && (place.as_string().starts_with(kOciScheme) ||
                                                  place.as_string().starts_with("oci-layout:") ||
                                                  place.as_string().starts_with("oci-archive:"));
      if (!is_place)
        return fail(place, fmt::format("a place of the mirror of {} can't be used", mirror.prefix),
                    "write oci://HOST/PATH, oci-layout:DIR or oci-archive:FILE");
      mirror.places.push_back(place.as_string());
    }
    if (const Value* const only = item.find("only"); only != nullptr && !only->is_null()) {
      if (!only->is_bool())
        return fail(*only, fmt::format("only of the mirror of {} is neither true nor false", mirror.prefix),
                    "true: the registry itself is never asked");
      mirror.only = only->as_bool();
    }
    return mirror;
  }

  static std::string described(const Value& value) {
    return value.is_null() ? "empty" : fmt::format("of type {}", encoding::kind_name(value.kind()));
  }

  Error fail(const Value& place, std::string message, std::string hint) const {
    SourceLocation where{
        .file = file_, .line = place.position().line, .column = place.position().column, .excerpt = {}};
    // The line may hold a URL with credentials.
    if (where.line > 0 && where.line <= lines_.size()) where.excerpt = redact_urls(lines_[where.line - 1]);
    return error(ErrorKind::Invalid, "{}", message).with_hint(std::move(hint)).at(std::move(where));
  }

  Status expect_text(const Value& document, std::string_view key, std::string_view wanted) const {
    const Value* value = document.find(key);
    if (value == nullptr)
      return fail(document, fmt::format("the configuration has no {}", key),
                  fmt::format("add '{}: {}'", key, wanted));
    if (!value->is_string() || value->as_string() != wanted)
      return fail(*value, fmt::format("{} must be '{}'", key, wanted),
                  "this version of mistctl reads only that");
    return {};
  }

  void warn_of_unknown(const Value& object, std::string_view prefix,
                       std::initializer_list<std::string_view> known) const {
    if (warnings_ == nullptr) return;
    for (const auto& [key, value] : object.as_object()) {
      if (std::ranges::find(known, key) != known.end()) continue;
      const std::string_view suggestion = nearest(key, std::span(known.begin(), known.size()));
      warnings_->push_back(
          fmt::format("{}:{}: the key {}{} is not known and has no effect{}", file_, value.position().line,
                      prefix, key, suggestion.empty() ? "" : fmt::format("; did you mean {}?", suggestion)));
    }
  }

  // "512Mi", "2Gi", or bytes as a number.
  Result<std::uint64_t> read_size(const Value& caches, std::string_view key, std::uint64_t fallback) const {
    const Value* value = caches.find(key);
    if (value == nullptr || value->is_null()) return fallback;
    if (value->is_int() && value->as_int() >= 0) return static_cast<std::uint64_t>(value->as_int());
    if (value->is_string())
      if (const std::optional<std::uint64_t> size = parse_size(value->as_string())) return *size;
    return fail(*value, fmt::format("spec.caches.{} must be a size", key),
                "write a whole number of Ki, Mi, Gi or Ti, as in 512Mi, or of bytes");
  }

  Result<std::string> required_text(const Value& object, std::string_view what, std::string_view key) const {
    const Value* value = object.find(key);
    if (value == nullptr)
      return fail(object, fmt::format("{} has no {}", what, key), fmt::format("add '{}: …' to it", key));
    if (!value->is_string() || value->as_string().empty())
      return fail(*value, fmt::format("{} of {} must be a text, not {}", key, what, described(*value)),
                  fmt::format("write '{}: …', in quotes if it looks like a number", key));
    const std::string& text = value->as_string();
    if (text.front() == '-' ||
        std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
      return fail(*value, fmt::format("{} of {} begins with '-' or holds a control character", key, what),
                  "correct it, or remove the entry");
    return text;
  }

  Result<std::vector<Registry>> read_registries(const Value* list) const {
    std::vector<Registry> registries;
    if (list == nullptr || list->is_null()) return registries;
    if (!list->is_array())
      return fail(*list, "spec.registries must be a list",
                  "write each registry as '- name: …' with defaultRemote and remotes");
    std::set<std::string> names;
    for (const Value& item : list->as_array()) {
      MIST_TRY(Registry registry, read_registry(item));
      if (!names.insert(registry.name).second)
        return fail(item, fmt::format("two registries are named {}", registry.name), "rename or remove one");
      registries.push_back(std::move(registry));
    }
    return registries;
  }

  Result<Registry> read_registry(const Value& item) const {
    if (!item.is_object())
      return fail(item, "an entry of spec.registries is not an object",
                  "write '- name: …' with its keys below");
    Registry registry;
    MIST_TRY(registry.name, required_text(item, "a registry", "name"));
    if (!is_registry_name(registry.name))
      return fail(*item.find("name"),
                  fmt::format("'{}' can't name a registry", escape_controls(registry.name)),
                  "use letters, digits, '.', '_' and '-', at most 63, beginning with a letter or digit");
    const std::string what = fmt::format("the registry {}", registry.name);
    warn_of_unknown(item, what + ": ", {"name", "defaultRemote", "remotes"});
    MIST_TRY(registry.remotes, read_remotes(item, what));
    if (item.find("defaultRemote") == nullptr && registry.remotes.size() == 1) {
      registry.default_remote = registry.remotes.front().name;
      return registry;
    }
    MIST_TRY(registry.default_remote, required_text(item, what, "defaultRemote"));
    if (std::ranges::find(registry.remotes, registry.default_remote, &Remote::name) == registry.remotes.end())
      return fail(*item.find("defaultRemote"),
                  fmt::format("{} has no remote named {}", what, escape_controls(registry.default_remote)),
                  fmt::format("name one of its remotes: {}", remote_names(registry)));
    return registry;
  }

  static std::string remote_names(const Registry& registry) {
    std::vector<std::string> names;
    for (const Remote& remote : registry.remotes) names.push_back(remote.name);
    return join(names, ", ");
  }

  Result<std::vector<Remote>> read_remotes(const Value& registry, const std::string& what) const {
    const Value* list = registry.find("remotes");
    if (list == nullptr || !list->is_array() || list->size() == 0)
      return fail(list == nullptr ? registry : *list, fmt::format("{} has no list of remotes", what),
                  "add 'remotes:' with '- name: default' and 'git: {url: …}' below");
    std::vector<Remote> remotes;
    for (const Value& item : list->as_array()) {
      if (!item.is_object())
        return fail(item, fmt::format("a remote of {} is not an object", what), "write '- name: …'");
      Remote remote;
      MIST_TRY(remote.name, required_text(item, fmt::format("a remote of {}", what), "name"));
      if (std::ranges::find(remotes, remote.name, &Remote::name) != remotes.end())
        return fail(item, fmt::format("two remotes of {} are named {}", what, remote.name), "rename one");
      warn_of_unknown(item, fmt::format("{}, remote {}: ", what, remote.name),
                      {"name", "git", "directory", "oci", "helm", "catalog"});
      MIST_TRY(remote.source, read_source(item, fmt::format("the remote {} of {}", remote.name, what)));
      remotes.push_back(std::move(remote));
    }
    return remotes;
  }

  using Source = decltype(Remote::source);

  Result<Source> read_source(const Value& item, const std::string& what) const {
    struct Form {
      std::string_view name, key;
    };
    constexpr std::array kForms{Form{"git", "url"}, Form{"directory", "path"}, Form{"oci", "url"},
                                Form{"helm", "url"}, Form{"catalog", "url"}};
    const Form* form = nullptr;
    std::size_t count = 0;
    for (const Form& each : kForms) {
      if (item.find(each.name) == nullptr) continue;
      form = &each;
      ++count;
    }
    if (count != 1)
      return fail(item,
                  fmt::format("{} must have exactly one of git, directory, oci, helm and catalog", what),
                  "write 'git: {url: …}', 'directory: {path: …}', 'oci: {url: oci://…}', 'helm: {url: …}' or "
                  "'catalog: {url: …}'");
    const Value& source = *item.find(form->name);
    if (!source.is_object())
      return fail(source, fmt::format("{} of {} is not an object", form->name, what),
                  fmt::format("write '{}:' with '{}: …' below", form->name, form->key));
    warn_of_unknown(source, fmt::format("{}: {}.", what, form->name), {form->key});
    MIST_TRY(std::string text, required_text(source, what, form->key));
    if (form->name == "git") return Source(GitSource{std::move(text)});
    if (form->name == "directory") return Source(DirectorySource{std::move(text)});
    if (form->name == "helm") return Source(HelmSource{std::move(text)});
    if (form->name == "catalog") return Source(CatalogSource{std::move(text)});
    if (!text.starts_with("oci://"))
      return fail(source, fmt::format("the url of {} doesn't begin with oci://", what),
                  "write 'oci: {url: oci://registry.example/team}'");
    return Source(OciSource{std::move(text)});
  }

  std::vector<std::string_view> lines_;
  const std::string& file_;
  std::vector<std::string>* warnings_;
};

Value remote_document(const Remote& remote) {
  Value result = Value::object({{"name", remote.name}});
  if (const auto* git = std::get_if<GitSource>(&remote.source))
    result.set("git", Value::object({{"url", git->url}}));
  else if (const auto* directory = std::get_if<DirectorySource>(&remote.source))
    result.set("directory", Value::object({{"path", directory->path}}));
  else if (const auto* helm = std::get_if<HelmSource>(&remote.source))
    result.set("helm", Value::object({{"url", helm->url}}));
  else if (const auto* catalog = std::get_if<CatalogSource>(&remote.source))
    result.set("catalog", Value::object({{"url", catalog->url}}));
  else
    result.set("oci", Value::object({{"url", std::get<OciSource>(remote.source).url}}));
  return result;
}

Value registry_document(const Registry& registry) {
  Value remotes = Value::array();
  for (const Remote& remote : registry.remotes) remotes.push_back(remote_document(remote));
  return Value::object(
      {{"name", registry.name}, {"defaultRemote", registry.default_remote}, {"remotes", std::move(remotes)}});
}

Value empty_document() {
  return Value::object({{"apiVersion", kApiVersion},
                        {"kind", kKind},
                        {"spec", Value::object({{"registries", Value::array()}})}});
}

// `advice` stands before those that there are.
Error without_registry(const Config& config, std::string_view name, std::string_view advice) {
  std::vector<std::string_view> names;
  for (const Registry& registry : config.registries()) names.push_back(registry.name);
  Error failure = error(ErrorKind::NotFound, "there is no registry named {}", escape_controls(name));
  const std::string_view suggestion = nearest(name, names);
  if (!suggestion.empty()) return std::move(failure).with_hint(fmt::format("did you mean {}?", suggestion));
  const std::vector<std::string> texts(names.begin(), names.end());
  return std::move(failure).with_hint(
      fmt::format("{}{}", advice,
                  texts.empty() ? "none is configured" : fmt::format("configured: {}", join(texts, ", "))));
}

}  // namespace

const Remote& Registry::remote() const {
  const auto found = std::ranges::find(remotes, default_remote, &Remote::name);
  MIST_CHECK(found != remotes.end());
  return *found;
}

namespace {

// As configured.
const std::string& place_of(const Remote& remote) {
  if (const auto* git = std::get_if<GitSource>(&remote.source)) return git->url;
  if (const auto* oci = std::get_if<OciSource>(&remote.source)) return oci->url;
  if (const auto* helm = std::get_if<HelmSource>(&remote.source)) return helm->url;
  if (const auto* catalog = std::get_if<CatalogSource>(&remote.source)) return catalog->url;
  return std::get<DirectorySource>(remote.source).path;
}

bool has_login(const std::string& place) { return redact_urls(place) != place; }

}  // namespace

std::string display(const Remote& remote) {
  const std::string& place = place_of(remote);
  return std::holds_alternative<DirectorySource>(remote.source) ? place : redact_urls(place);
}

bool is_registry_name(std::string_view name) {
  const auto alphanumeric = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !name.empty() && name.size() <= 63 && alphanumeric(name.front()) &&
         std::ranges::all_of(name,
                             [&](char c) { return alphanumeric(c) || c == '.' || c == '_' || c == '-'; });
}

Config Config::defaults() {
  Config config;
  config.document_ = empty_document();
  Registry registry{.name = std::string(kDefaultRegistry), .default_remote = "github-https", .remotes = {}};
  registry.remotes.push_back({"github-https", GitSource{std::string(kDefaultHttps)}});
  registry.remotes.push_back({"github-ssh", GitSource{std::string(kDefaultSsh)}});
  MIST_CHECK(config.add_registry(std::move(registry)).ok());
  return config;
}

Result<Config> Config::parse(std::string_view text, const std::string& file,
                             std::vector<std::string>* warnings) {
  encoding::YamlOptions options;
  options.strict = true;
  options.file = file;
  Result<Value> document = encoding::parse_yaml(text, options);
  if (!document) {
    Error failure = std::move(document).error();
    if (failure.where) failure.where->excerpt = redact_urls(failure.where->excerpt);
    failure.message = redact_urls(failure.message);
    return std::move(failure).with_frame("while reading the configuration");
  }
  Config config;
  if (document->is_null()) {
    config.document_ = empty_document();
    return config;
  }
  const Reader reader(text, file, warnings);
  MIST_TRY(config.registries_, reader.read(*document).in("while reading the configuration"));
  MIST_TRY(config.counts_installs_,
           reader.read_counts_installs(*document).in("while reading the configuration"));
  MIST_TRY(config.remote_bases_, reader.read_remote_bases(*document).in("while reading the configuration"));
  MIST_TRY(config.cache_limits_, reader.read_cache_limits(*document).in("while reading the configuration"));
  MIST_TRY(config.mirrors_, reader.read_mirrors(*document).in("while reading the configuration"));
  config.document_ = *std::move(document);
  return config;
}

std::string Config::serialize() const { return encoding::to_yaml(document_); }

Value Config::view() const { return redact(document_); }

bool Config::has_credentials() const {
  const auto in_remote = [](const Remote& remote) {
    return !std::holds_alternative<DirectorySource>(remote.source) && has_login(place_of(remote));
  };
  return std::ranges::any_of(
             registries_,
             [&](const Registry& each) { return std::ranges::any_of(each.remotes, in_remote); }) ||
         std::ranges::any_of(mirrors_,
                             [](const Mirror& each) { return std::ranges::any_of(each.places, has_login); });
}

const Registry* Config::find_registry(std::string_view name) const {
  const auto found = std::ranges::find(registries_, name, &Registry::name);
  return found == registries_.end() ? nullptr : &*found;
}

Status Config::add_registry(Registry registry) {
  if (!is_registry_name(registry.name))
    return error(ErrorKind::Invalid, "'{}' can't name a registry", escape_controls(registry.name))
        .with_hint("use letters, digits, '.', '_' and '-', at most 63, beginning with a letter or digit");
  if (find_registry(registry.name) != nullptr)
    return error(ErrorKind::Conflict, "there is a registry named {} already", registry.name)
        .with_hint(fmt::format("choose another name, or remove it first: mistctl registry remove {}",
                               registry.name));
  std::set<std::string_view> remotes;
  for (const Remote& remote : registry.remotes)
    if (!remotes.insert(remote.name).second)
      return error(ErrorKind::Invalid, "two remotes of {} are named {}", registry.name, remote.name)
          .with_hint("give each remote a name of its own");
  if (!remotes.contains(registry.default_remote))
    return error(ErrorKind::Invalid, "the registry {} has no remote named {}", registry.name,
                 registry.default_remote)
        .with_hint("name one of its remotes as the default");
  Value& list = document_["spec"]["registries"];
  if (list.is_null()) list = Value::array();
  list.push_back(registry_document(registry));
  registries_.push_back(std::move(registry));
  return {};
}

Status Config::remove_registry(std::string_view name) {
  if (find_registry(name) == nullptr) return without_registry(*this, name, "");
  std::erase_if(registries_, [&](const Registry& registry) { return registry.name == name; });
  std::erase_if(document_["spec"]["registries"].as_array(),
                [&](const Value& item) { return item.string_at("name") == name; });
  return {};
}

void Config::set_mirror(Mirror mirror) {
  Value& list = document_["spec"]["mirrors"];
  if (list.is_null()) list = Value::array();
  const auto known = std::ranges::find(mirrors_, mirror.prefix, &Mirror::prefix);
  if (known == mirrors_.end()) list.push_back(Value::object({{"prefix", mirror.prefix}}));
  Value& entry = *std::ranges::find_if(list.as_array(), [&](const Value& each) {
    return bare_prefix(each.string_at("prefix")) == mirror.prefix;
  });
  entry.set("places", Value(Value::Array(mirror.places.begin(), mirror.places.end())));
  // False is what it is without the key.
  if (mirror.only || entry.find("only") != nullptr) entry.set("only", mirror.only);
  if (known == mirrors_.end())
    mirrors_.push_back(std::move(mirror));
  else
    *known = std::move(mirror);
}

Status Config::remove_mirror(std::string_view prefix) {
  if (std::erase_if(mirrors_, [&](const Mirror& each) { return each.prefix == prefix; }) == 0)
    return error(ErrorKind::NotFound, "no mirror of {} is configured", escape_controls(prefix));
  Value& spec = document_["spec"];
  std::erase_if(spec["mirrors"].as_array(),
                [&](const Value& each) { return bare_prefix(each.string_at("prefix")) == prefix; });
  if (mirrors_.empty()) spec.erase("mirrors");
  return {};
}

Result<Config> Config::load(const FileSystem& files, const Paths& paths, EventSink& events) {
  Result<std::string> text = files.read(paths.config_file, kMaxConfigBytes);
  if (!text) {
    if (text.error().kind == ErrorKind::NotFound) return defaults();
    return std::move(text).error().with_frame("while reading the configuration");
  }
  std::vector<std::string> warnings;
  MIST_TRY(Config config, parse(*text, paths.config_file.string(), &warnings));
  for (std::string& warning : warnings) events.warn(std::move(warning));
  return config;
}

Status edit(FileSystem& files, const Paths& paths, EventSink& events, const Context& context,
            const std::function<Status(Config&)>& change) {
  MIST_TRY_VOID(make_private_directory(files, paths.config_file.parent_path()));
  // Beside the file, not the file itself: writing replaces the file, and with it the lock.
  Path lock_path = paths.config_file;
  lock_path += ".lock";
  MIST_TRY(FileLock lock, FileLock::acquire(lock_path, context));
  MIST_TRY(Config config, Config::load(files, paths, events));
  const std::string before = config.serialize();
  MIST_TRY_VOID(change(config));
  std::string after = config.serialize();
  if (after == before && files.exists(paths.config_file)) return {};
  // People link their configuration into a repository; replacing the link would cut it off.
  MIST_TRY(const Path target, link_target(paths.config_file));
  return files.write(target, after, {.mode = 0600, .durable = true, .exclusive = false})
      .in("while writing the configuration");
}

Error unknown_registry(const Config& config, std::string_view name) {
  return without_registry(
      config, name, fmt::format("add it with: mistctl registry add {} -g URL; ", escape_controls(name)));
}

}  // namespace mist::config
