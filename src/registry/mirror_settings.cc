#include "registry/mirror_settings.h"

#include <algorithm>

#include "base/text.h"
#include "config/redact.h"
#include "registry/address_name.h"
#include "registry/oci_mirrors.h"

namespace mist::registry {
namespace {

// The key that tells two prefixes apart. A wrong prefix has to be found too, to be removed.
std::string prefix_key(const std::string& text) {
  Result<std::string> parsed = parse_mirror_prefix(text);
  return parsed ? *std::move(parsed) : text;
}

const config::Mirror* find_mirror(const config::Config& config, const std::string& prefix) {
  const auto& mirrors = config.mirrors();
  const auto found = std::ranges::find_if(
      mirrors, [&](const config::Mirror& each) { return prefix_key(each.prefix) == prefix_key(prefix); });
  return found == mirrors.end() ? nullptr : &*found;
}

std::string readable(const std::string& place) { return escape_controls(config::redact_urls(place)); }

std::string readable(const std::vector<std::string>& places) {
  std::vector<std::string> texts;
  for (const std::string& each : places) texts.push_back(readable(each));
  return join(texts, ", ");
}

Error not_mirrored(const config::Config& config, const std::string& prefix) {
  std::vector<std::string> texts;
  for (const config::Mirror& each : config.mirrors()) texts.push_back(readable(each.prefix));
  const std::vector<std::string_view> prefixes(texts.begin(), texts.end());
  const std::string_view suggestion = nearest(prefix, prefixes);
  std::string hint =
      texts.empty() ? "none is configured" : fmt::format("mirrors are configured of {}", join(texts, ", "));
  if (!suggestion.empty()) hint = fmt::format("did you mean {}?", suggestion);
  return error(ErrorKind::NotFound, "no mirror of {} is configured", readable(prefix))
      .with_hint(std::move(hint));
}

// The registry comes last by itself.
Status check_is_elsewhere(const OciPlace& place, const std::string& prefix) {
  if (place.kind != OciPlace::Kind::Registry || prefix_key(place.prefix) != prefix) return {};
  return error(ErrorKind::Invalid, "{} is the registry itself, not a mirror of it", place.prefix)
      .with_hint("name where copies of it are; the registry is asked when they lack something");
}

}  // namespace

Result<OciPlace> MirrorSettings::place_of(const std::string& text, const Path& base) const {
  MIST_TRY(OciPlace place, OciPlace::parse(text));
  if (place.kind == OciPlace::Kind::Registry) return place;
  place.path = (base / place.path).lexically_normal();
  if (!place.path.has_filename() && place.path.has_relative_path()) place.path = place.path.parent_path();
  return place;
}

// In a file, paths are relative to the file; on the command line, to the working directory.
Result<std::vector<OciPlace>> MirrorSettings::places_of(const std::vector<std::string>& texts) const {
  std::vector<OciPlace> places;
  for (const std::string& text : texts) {
    MIST_TRY(OciPlace place, place_of(text, dependencies_.working_directory));
    if (std::ranges::find(places, place.str(), &OciPlace::str) != places.end())
      return error(ErrorKind::Invalid, "{} is named twice", readable(place.str()))
          .with_hint("leave one of them out");
    places.push_back(std::move(place));
  }
  return places;
}

// The key that tells a place of the file from another one.
std::string MirrorSettings::key_of(const std::string& written) const {
  const Result<OciPlace> place = place_of(written, dependencies_.paths.config_file.parent_path());
  if (!place) return written;
  return place->kind == OciPlace::Kind::Registry ? prefix_key(place->prefix) : place->str();
}

Result<std::vector<config::Mirror>> MirrorSettings::list() const {
  MIST_TRY(const config::Config config,
           config::Config::load(dependencies_.files, dependencies_.paths, dependencies_.events));
  return config.mirrors();
}

Result<config::Mirror> MirrorSettings::add(const Addition& addition, const Context& context) const {
  MIST_TRY(const std::string prefix, parse_mirror_prefix(addition.prefix));
  MIST_TRY(const std::vector<OciPlace> places, places_of(addition.places));
  for (const OciPlace& each : places) MIST_TRY_VOID(check_is_elsewhere(each, prefix));
  config::Mirror mirror{.prefix = prefix, .places = {}};
  const auto change = [&](config::Config& config) -> Status {
    if (const config::Mirror* const there = find_mirror(config, prefix); there != nullptr) mirror = *there;
    const bool changes_only = addition.only && *addition.only != mirror.only;
    std::vector<std::string> added;
    for (const OciPlace& each : places) {
      const std::string key = key_of(each.str());
      const bool is_there =
          std::ranges::any_of(mirror.places, [&](const std::string& text) { return key_of(text) == key; });
      if (is_there && !changes_only)
        return error(ErrorKind::Conflict, "{} is a mirror of {} already", readable(each.str()), prefix)
            .with_hint("mistctl registry mirror list shows them in the order in which they are asked");
      if (!is_there) added.push_back(each.str());
    }
    const auto where = addition.order == MirrorOrder::First ? mirror.places.begin() : mirror.places.end();
    mirror.places.insert(where, added.begin(), added.end());
    mirror.only = addition.only.value_or(mirror.only);
    config.set_mirror(mirror);
    return {};
  };
  MIST_TRY_VOID(
      config::edit(dependencies_.files, dependencies_.paths, dependencies_.events, context, change));
  return mirror;
}

Result<config::Mirror> MirrorSettings::remove(const std::string& prefix,
                                              const std::vector<std::string>& places,
                                              const Context& context) const {
  MIST_TRY(const std::vector<OciPlace> named, places_of(places));
  config::Mirror removed;
  const auto change = [&](config::Config& config) -> Status {
    const config::Mirror* const there = find_mirror(config, prefix);
    if (there == nullptr) {
      MIST_TRY_VOID(parse_mirror_prefix(prefix));
      return not_mirrored(config, prefix);
    }
    config::Mirror left = removed = *there;
    if (named.empty()) return config.remove_mirror(removed.prefix);
    removed.places.clear();
    for (const OciPlace& each : named) {
      const std::string key = key_of(each.str());
      const auto found =
          std::ranges::find_if(left.places, [&](const std::string& text) { return key_of(text) == key; });
      if (found == left.places.end())
        return error(ErrorKind::NotFound, "{} is no mirror of {}", readable(each.str()), left.prefix)
            .with_hint(fmt::format("its mirrors: {}", readable(there->places)));
      removed.places.push_back(*found);
      left.places.erase(found);
    }
    if (left.places.empty()) return config.remove_mirror(left.prefix);
    config.set_mirror(std::move(left));
    return {};
  };
  MIST_TRY_VOID(
      config::edit(dependencies_.files, dependencies_.paths, dependencies_.events, context, change));
  return removed;
}

std::vector<OciPlace> MirrorSettings::missing_layouts(const config::Mirror& mirror) const {
  std::vector<OciPlace> missing;
  for (const std::string& text : mirror.places) {
    Result<OciPlace> place = place_of(text, dependencies_.paths.config_file.parent_path());
    if (place && place->kind != OciPlace::Kind::Registry && !dependencies_.files.exists(place->path))
      missing.push_back(*std::move(place));
  }
  return missing;
}

bool is_left_to_mirrors(std::span<const config::Mirror> mirrors, std::string_view address) {
  // An address may be a host alone, which is no repository.
  const std::optional<AddressName> name = AddressName::of(address, "any");
  if (!name) return false;
  std::string identity = name->repository.identity().substr(oci::kScheme.size());
  identity.resize(identity.rfind('/'));
  std::size_t longest = 0;
  bool only = false;
  for (const config::Mirror& each : mirrors) {
    const std::string prefix = prefix_key(each.prefix);
    const bool fits = identity == prefix || identity.starts_with(prefix + "/");
    if (!fits || prefix.size() < longest) continue;
    longest = prefix.size();
    only = each.only;
  }
  return only;
}

}  // namespace mist::registry
