#include "sigstore/signing_config.h"

#include <algorithm>
#include <set>
#include <span>

#include "base/text.h"
#include "encoding/json.h"
#include "http/url.h"
#include "oci/reference.h"

namespace mist::sigstore {
namespace {

using encoding::Value;

constexpr std::string_view kConfigType = "application/vnd.dev.sigstore.signingconfig.v0.2+json";
constexpr int kConfigDepth = 16;
constexpr std::size_t kMostServices = 100;
constexpr int kOne[] = {1};
constexpr int kOneAndTwo[] = {1, 2};

class ConfigReader {
 public:
  explicit ConfigReader(const std::string& file) : file_(file) {}

  Error fail(std::string_view member, std::string_view why) const {
    return error(ErrorKind::Invalid, "the signing configuration {} can't be used", file_)
        .with_because(fmt::format("{}: {}", member, why))
        .with_hint(
            "it is Sigstore's signing_config.json, version 0.2; `cosign signing-config create` writes one");
  }

  Result<std::vector<Service>> services(const Value& document, std::string_view key) const {
    std::vector<Service> list;
    const Value* const value = document.find(key);
    if (value == nullptr || value->is_null()) return list;
    if (!value->is_array() || value->size() > kMostServices)
      return fail(key, fmt::format("it is not a list of at most {}", kMostServices));
    for (const Value& each : value->as_array()) {
      MIST_TRY(Service service, this->service(each, fmt::format("{}[{}]", key, list.size())));
      list.push_back(std::move(service));
    }
    return list;
  }

  Status selection(const Value& document, std::string_view key, ServiceList& list) const {
    const Value* const value = document.find(key);
    if (value == nullptr || value->is_null()) return {};
    const std::string_view selector = value->string_at("selector");
    if (selector == "ANY") {
      list.selector = Selector::Any;
    } else if (selector == "ALL") {
      list.selector = Selector::All;
    } else if (selector == "EXACT") {
      list.selector = Selector::Exact;
      const std::int64_t count = value->int_at("count");
      if (count < 1 || count > static_cast<std::int64_t>(kMostServices))
        return fail(key, fmt::format("with EXACT, count is from 1 to {}", kMostServices));
      list.count = static_cast<std::size_t>(count);
    } else {
      return fail(key, "selector is not ANY, ALL or EXACT");
    }
    return {};
  }

 private:
  Result<Service> service(const Value& value, const std::string& place) const {
    if (!value.is_object()) return fail(place, "it is not an object");
    Service service{.url = std::string(value.string_at("url")),
                    .version = 0,
                    .run_by = std::string(value.string_at("operator"))};
    while (service.url.ends_with('/')) service.url.pop_back();
    if (!is_safe_url(service.url)) return fail(place, "url is not an https:// address without a query");
    const std::int64_t version = value.int_at("majorApiVersion");
    constexpr std::int64_t kMostVersion = 1000;
    if (version < 1 || version > kMostVersion) return fail(place, "it has no majorApiVersion");
    service.version = static_cast<int>(version);
    const Value* const period = value.find("validFor");
    if (period == nullptr || !period->is_object()) return fail(place, "it has no validFor");
    MIST_TRY(service.period.from, time(*period, "start", place));
    MIST_TRY(service.period.until, time(*period, "end", place));
    if (!service.period.from) return fail(place, "validFor has no start");
    return service;
  }

  Result<std::optional<WallTime>> time(const Value& period, std::string_view key,
                                       const std::string& place) const {
    const Value* const given = period.find(key);
    if (given == nullptr || given->is_null()) return std::optional<WallTime>();
    const std::optional<WallTime> time =
        given->is_string() ? parse_time(given->as_string()) : std::optional<WallTime>();
    if (!time) return fail(place, fmt::format("validFor.{} is no time", key));
    return time;
  }

  const std::string& file_;
};

// Those that may be used now, the highest version first and otherwise in their order; one of each operator.
std::vector<Service> usable(std::span<const Service> services, std::span<const int> versions, WallTime now) {
  std::vector<Service> found;
  std::ranges::copy_if(services, std::back_inserter(found), [&](const Service& each) {
    return std::ranges::find(versions, each.version) != versions.end() && each.period.holds(now);
  });
  std::ranges::stable_sort(found, std::ranges::greater{}, &Service::version);
  std::set<std::string> operators;
  std::erase_if(found, [&](const Service& each) {
    return !each.run_by.empty() && !operators.insert(each.run_by).second;
  });
  return found;
}

class Chooser {
 public:
  Chooser(const std::string& file, WallTime now) : file_(file), now_(now) {}

  Error too_few(std::string_view key, std::size_t wanted, std::size_t found) const {
    return error(ErrorKind::Invalid,
                 "the signing configuration {} has {} of {} that can be used now, and {} {} needed", file_,
                 found, key, wanted, wanted == 1 ? "is" : "are")
        .with_because(
            fmt::format("a service counts within its validFor ({} is now), and if mistctl knows its "
                        "majorApiVersion",
                        format_time(now_)))
        .with_hint("get the current signing_config.json of that Sigstore, or set this machine's clock");
  }

  Result<std::vector<Service>> of(const ServiceList& list, std::string_view key,
                                  std::span<const int> versions, std::size_t least) const {
    std::vector<Service> found = usable(list.services, versions, now_);
    const std::size_t wanted = list.selector == Selector::Exact ? list.count : least;
    if (found.size() < wanted) return too_few(key, wanted, found.size());
    if (list.selector == Selector::Exact) found.resize(list.count);
    if (list.selector == Selector::Any && found.size() > 1) found.resize(1);
    return found;
  }

 private:
  const std::string& file_;
  WallTime now_;
};

}  // namespace

bool is_safe_url(std::string_view url) {
  const Result<http::Url> parsed = http::Url::parse(url);
  if (!parsed || !parsed->user.empty() || !parsed->query.empty()) return false;
  return parsed->scheme == "https" || oci::is_loopback_host(parsed->authority());
}

Result<SigningConfig> SigningConfig::parse(std::string_view text, const std::string& file) {
  MIST_TRY(const Value document,
           encoding::parse_json(text, {.strict = true, .max_depth = kConfigDepth, .file = file}));
  const ConfigReader reader(file);
  if (document.string_at("mediaType") != kConfigType)
    return reader.fail("mediaType", fmt::format("it is not {}", kConfigType));
  SigningConfig config{.authorities = {}, .issuers = {}, .logs = {}, .timestamps = {}, .file = file};
  MIST_TRY(config.authorities, reader.services(document, "caUrls"));
  MIST_TRY(config.issuers, reader.services(document, "oidcUrls"));
  MIST_TRY(config.logs.services, reader.services(document, "rekorTlogUrls"));
  MIST_TRY(config.timestamps.services, reader.services(document, "tsaUrls"));
  MIST_TRY_VOID(reader.selection(document, "rekorTlogConfig", config.logs));
  MIST_TRY_VOID(reader.selection(document, "tsaConfig", config.timestamps));
  return config;
}

Result<ChosenServices> SigningConfig::choose(WallTime now) const {
  const Chooser chooser(file, now);
  const std::vector<Service> found = usable(authorities, kOne, now);
  if (found.empty()) return chooser.too_few("caUrls", 1, 0);
  ChosenServices chosen{.authority = found.front()};
  if (const std::vector<Service> where = usable(issuers, kOne, now); !where.empty())
    chosen.issuer = where.front();
  MIST_TRY(chosen.logs, chooser.of(logs, "rekorTlogUrls", kOneAndTwo, 1));
  MIST_TRY(chosen.timestamps, chooser.of(timestamps, "tsaUrls", kOne, 0));
  const bool needs_timestamp =
      std::ranges::any_of(chosen.logs, [](const Service& each) { return each.version > 1; });
  if (needs_timestamp && chosen.timestamps.empty()) return chooser.too_few("tsaUrls", 1, 0);
  return chosen;
}

}  // namespace mist::sigstore
