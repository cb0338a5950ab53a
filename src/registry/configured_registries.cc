#include "registry/configured_registries.h"

#include <utility>
#include <variant>

#include "base/text.h"
#include "base/url.h"
#include "http/url.h"
#include "registry/catalog_view.h"
#include "registry/git_url.h"
#include "registry/helm_view.h"
#include "registry/local_source.h"
#include "registry/mirrored_chart.h"
#include "registry/mirrored_view.h"

namespace mist::registry {
namespace {

// A host in place of a name is an OCI registry, of which the scheme was left out.
Error unknown_registry_of(const config::Config& config, const std::string& name, std::string_view rest) {
  Error failure = config::unknown_registry(config, name);
  if (rest.empty() || name.find('.') == std::string::npos) return failure;
  failure.hint = fmt::format("did you mean {}{}{}? Otherwise: mistctl registry add {} -g URL", oci::kScheme,
                             name, escape_controls(rest), name);
  return failure;
}

// "https://git@registry.example:5000/team" → "registry.example"; empty: it has none, or is "git@host:path".
std::string host_in(std::string_view address) {
  const std::string url = fmt::format("{}{}", is_url(address) ? "" : "https://", address);
  const std::optional<UrlParts> parts = split_url(url);
  return parts ? lower_case(parts->host) : std::string();
}

std::string host_named_by(const config::DirectorySource&) { return {}; }
std::string host_named_by(const auto& source) { return host_in(source.url); }

}  // namespace

ConfiguredRegistries::ConfiguredRegistries(FileSystem& files, EventSink& events, const config::Paths& paths,
                                           const Git& git, const OciAccess& web)
    : files_(files), events_(events), paths_(paths), git_(git), web_(web) {}

Result<config::Config> ConfiguredRegistries::load() const {
  NullEventSink silent;
  EventSink& events = warned_.exchange(true) ? silent : events_;
  return config::Config::load(files_, paths_, events);
}

config::CacheLimits ConfiguredRegistries::cache_limits() const {
  const Result<config::Config> config = load();
  const config::CacheLimits limits = config.ok() ? config->cache_limits() : config::CacheLimits();
  return limits.within(paths_.cache_limit);
}

Result<std::set<std::string>> ConfiguredRegistries::hosts() const {
  MIST_TRY(const config::Config config, load());
  std::set<std::string> all;
  for (const config::Registry& registry : config.registries())
    for (const config::Remote& remote : registry.remotes)
      std::visit([&](const auto& source) { all.insert(host_named_by(source)); }, remote.source);
  for (const config::Mirror& mirror : config.mirrors()) all.insert(host_in(mirror.prefix));
  all.erase("");
  return all;
}

Result<std::optional<std::string>> ConfiguredRegistries::oci_url(const std::string& name,
                                                                 std::string_view rest) const {
  MIST_TRY(const config::Config config, load());
  const config::Registry* registry = config.find_registry(name);
  if (registry == nullptr) return unknown_registry_of(config, name, rest);
  const auto* const oci = std::get_if<config::OciSource>(&registry->remote().source);
  return oci != nullptr ? std::optional(oci->url) : std::nullopt;
}

Result<std::optional<oci::Reference>> ConfiguredRegistries::oci_reference(const PackageRef& reference) const {
  if (const auto* const there = std::get_if<oci::Reference>(&reference.form())) return std::optional(*there);
  const auto* const named = std::get_if<RegistryRef>(&reference.form());
  if (named == nullptr) return std::optional<oci::Reference>();
  MIST_TRY(const std::optional<std::string> url,
           oci_url(named->registry, fmt::format("/{}:{}", named->path, named->version)));
  if (!url) return std::optional<oci::Reference>();
  MIST_TRY(const oci::Repository repository, repository_below(*url, named->path));
  MIST_TRY(oci::Reference there,
           oci::Reference::parse(fmt::format("{}:{}", repository.str(), named->version)));
  return std::optional(std::move(there));
}

Result<std::unique_ptr<RegistryView>> ConfiguredRegistries::open(const std::string& name) const {
  MIST_TRY(const config::Config config, load());
  const config::Registry* registry = config.find_registry(name);
  if (registry == nullptr) return config::unknown_registry(config, name);
  MIST_TRY(std::unique_ptr<RegistryView> view,
           open_view(*registry, paths_, files_, git_, events_, web_, health_));
  const std::string address = copied_address(*registry);
  if (copies_ == nullptr || config.mirrors().empty() || address.empty()) return view;
  return with_mirrors(std::move(view), name, address, *copies_);
}

std::string copied_address(const config::Registry& registry) {
  const auto& source = registry.remote().source;
  if (const auto* const git = std::get_if<config::GitSource>(&source)) return git->url;
  if (const auto* const helm = std::get_if<config::HelmSource>(&source)) return chart_address(helm->url);
  const auto* const catalog = std::get_if<config::CatalogSource>(&source);
  return catalog != nullptr ? catalog->url : std::string();
}

Status ConfiguredRegistries::add(config::Registry registry, const Context& context) const {
  for (config::Remote& remote : registry.remotes) {
    if (auto* git = std::get_if<config::GitSource>(&remote.source)) {
      MIST_TRY(const GitUrl url, GitUrl::parse(git->url, working_directory()));
      if (url.transport() == GitUrl::Transport::File) git->url = url.text();
    } else if (auto* oci = std::get_if<config::OciSource>(&remote.source)) {
      MIST_TRY(oci->url, oci::parse_prefix(oci->url));
    } else if (auto* helm = std::get_if<config::HelmSource>(&remote.source)) {
      MIST_TRY(helm->url, parse_helm_url(helm->url));
    } else if (auto* catalog = std::get_if<config::CatalogSource>(&remote.source)) {
      MIST_TRY(catalog->url, parse_catalog_url(catalog->url));
    } else {
      // Relative means "from here" on a command line, but "from the file" in the configuration.
      std::string& path = std::get<config::DirectorySource>(remote.source).path;
      path =
          std::get<LocalRef>(PackageRef(LocalRef{path}).anchored(working_directory()).form()).path.string();
    }
  }
  return config::edit(files_, paths_, events_, context,
                      [&](config::Config& config) { return config.add_registry(registry); });
}

Status ConfiguredRegistries::remove(const std::string& name, const Context& context) const {
  return config::edit(files_, paths_, events_, context,
                      [&](config::Config& config) { return config.remove_registry(name); });
}

}  // namespace mist::registry
