#include "kube/discovery.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "apimachinery/built_in_groups.h"
#include "apimachinery/conditions.h"
#include "base/parallel.h"
#include "base/text.h"
#include "crypto/digest.h"
#include "kube/api_down.h"

namespace mist::kube {
namespace {

// In the file and in memory, of kinds that only another version of the server replaces.
constexpr auto kMaxCatalogAge = std::chrono::minutes(10);
// So long what the server said of a kind that may be replaced, or of all kinds, counts without asking whether
// it still does.
constexpr auto kConfirmedFor = std::chrono::seconds(5);
constexpr std::uint64_t kLargestCatalog = 16 << 20;
constexpr std::size_t kParallelGroups = 16;

const std::string kAggregated =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";
const std::string kPlain = "application/json";

std::int64_t seconds_of(WallTime time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

bool is_aggregated(const Value& list) { return list.string_at("kind") == "APIGroupDiscoveryList"; }

}  // namespace

Discovery::Discovery(Dependencies dependencies, const DiscoveryCache& cache)
    : dependencies_(std::move(dependencies)) {
  if (cache.directory.empty()) return;
  const std::string name = crypto::sha256(cache.identity).hex();
  file_ = cache.directory / fmt::format("discovery-{}", name.substr(0, 32));
}

void Discovery::invalidate() {
  const std::lock_guard lock(mutex_);
  known_ = {};
  confirmed_.reset();
  distrust_file_ = true;
}

Result<ResourceInfo> Discovery::resource_for(const GroupKind& kind, const std::string& version,
                                             const Context& context) {
  MIST_TRY(Loaded loaded, load(context));
  const ApiResource* found = loaded.catalog->find(kind, version);
  if (found != nullptr && !loaded.fresh && !apimachinery::is_built_in_group(kind.group)) {
    MIST_TRY(loaded, load_current(context));
    found = loaded.catalog->find(kind, version);
  }
  if (found == nullptr && !loaded.fresh) {
    MIST_TRY(loaded, load(context, loaded.catalog.get()));
    found = loaded.catalog->find(kind, version);
  }
  if (found == nullptr) return unknown(kind, version, *loaded.catalog, context);
  return found->info;
}

Result<ResourceInfo> Discovery::resource_for_alias(std::string_view word, const Context& context) {
  MIST_TRY(Loaded loaded, load(context));
  const ApiResource* found = loaded.catalog->find_alias(word);
  if (found == nullptr && !loaded.fresh) {
    MIST_TRY(loaded, load(context, loaded.catalog.get()));
    found = loaded.catalog->find_alias(word);
  }
  if (found == nullptr) return unknown(apimachinery::parse_group_kind(word), "", *loaded.catalog, context);
  return found->info;
}

Result<std::vector<ResourceInfo>> Discovery::all_resources(const Context& context) {
  MIST_TRY(const Loaded loaded, current(context));
  return loaded.catalog->preferred();
}

Result<ServedApis> Discovery::served_apis(const Context& context) {
  MIST_TRY(const Loaded loaded, current(context));
  return loaded.catalog->served();
}

Result<std::vector<DownApi>> Discovery::apis_down(const Context& context) {
  MIST_TRY(const Loaded loaded, current(context));
  std::vector<DownApi> down;
  for (const std::string& stale : loaded.catalog->stale) {
    const auto slash = stale.find('/');
    DownApi api{stale.substr(0, slash), slash == std::string::npos ? "" : stale.substr(slash + 1), {}};
    api.because = condition_of(api.service(), context);
    down.push_back(std::move(api));
  }
  return down;
}

// `outdated`: a catalogue that lacked something; one that another thread has put in its place meanwhile is
// new enough.
Result<Discovery::Loaded> Discovery::load(const Context& context, const ApiCatalog* outdated) {
  const std::lock_guard lock(mutex_);
  if (known_.catalog && known_.catalog.get() != outdated) {
    if (outdated == nullptr && !is_younger_than(kMaxCatalogAge)) return confirm(context);
    return Loaded{known_.catalog, outdated != nullptr};
  }
  if (outdated == nullptr && !distrust_file_) {
    if (auto kept = read_cache()) {
      known_ = *std::move(kept);
      return Loaded{known_.catalog, false};
    }
  }
  return keep(ask(context));
}

Result<Discovery::Loaded> Discovery::load_current(const Context& context) {
  const std::lock_guard lock(mutex_);
  if (known_.catalog && confirmed_ && is_younger_than(kConfirmedFor)) return Loaded{known_.catalog, false};
  return confirm(context);
}

// A list of all kinds has no kind that is missing from it, which would make us ask again.
Result<Discovery::Loaded> Discovery::current(const Context& context) {
  MIST_TRY(Loaded loaded, load(context));
  if (loaded.fresh) return loaded;
  return load_current(context);
}

// Of a clock that went back nothing follows.
bool Discovery::is_younger_than(Duration age) const {
  const WallTime asked = confirmed_.value_or(known_.asked);
  const WallTime now = dependencies_.clock.now();
  return now >= asked && now - asked < age;
}

// One small request where nothing changed.
Result<Discovery::Loaded> Discovery::confirm(const Context& context) {
  const WallTime now = dependencies_.clock.now();
  if (!known_.catalog || known_.etag.empty()) return keep(ask(context));
  auto groups = dependencies_.get({.path = "/apis", .accept = kAggregated, .known = known_.etag}, context);
  if (!groups) return keep(std::move(groups).error());
  if (!groups->value.is_null()) return keep(ask(context, *std::move(groups)));
  confirmed_ = now;
  return Loaded{known_.catalog, false};
}

Result<Discovery::Loaded> Discovery::keep(Result<Asked> asked) {
  if (!asked) return std::move(asked).error().with_frame("while asking the cluster which kinds it serves");
  known_ = *std::move(asked);
  known_.asked = dependencies_.clock.now();
  confirmed_ = known_.asked;
  distrust_file_ = false;
  write_cache(known_);
  return Loaded{known_.catalog, true};
}

// `groups`: the answer to /apis, if it is there already.
Result<Discovery::Asked> Discovery::ask(const Context& context, std::optional<Answer> groups) const {
  constexpr std::array<std::string_view, 2> kPaths = {"/api", "/apis"};
  std::array<Answer, 2> answers;
  const std::size_t questions = groups ? 1 : 2;
  MIST_TRY_VOID(parallel_for(questions, questions, [&](std::size_t i) -> Status {
    MIST_TRY(answers[i], dependencies_.get({.path = std::string(kPaths[i]), .accept = kAggregated}, context));
    return {};
  }));
  if (groups) answers[1] = *std::move(groups);
  ApiCatalog catalog;
  if (!is_aggregated(answers[0].value) || !is_aggregated(answers[1].value)) {
    MIST_TRY_VOID(ask_group_versions(answers[0].value, answers[1].value, catalog, context));
    return Asked{std::make_shared<const ApiCatalog>(std::move(catalog)), {}, {}};
  }
  for (const Answer& list : answers) MIST_TRY_VOID(catalog.add_aggregated(list.value));
  return Asked{std::make_shared<const ApiCatalog>(std::move(catalog)), std::move(answers[1].etag), {}};
}

Result<Value> Discovery::get(const std::string& path, const std::string& accept,
                             const Context& context) const {
  MIST_TRY(Answer answer, dependencies_.get({.path = path, .accept = accept}, context));
  return std::move(answer.value);
}

Status Discovery::ask_group_versions(const Value& core, const Value& groups, ApiCatalog& into,
                                     const Context& context) const {
  struct GroupVersion {
    std::string path, name;
    Value resources;
    bool stale = false;
  };
  std::vector<GroupVersion> wanted;
  if (const Value* versions = core.find("versions"); versions != nullptr && versions->is_array())
    for (const Value& version : versions->as_array())
      if (version.is_string())
        wanted.push_back({"/api/" + version.as_string(), version.as_string(), {}, false});
  const Value* all = groups.find("groups");
  if (wanted.empty() || all == nullptr || !all->is_array())
    return error(ErrorKind::Invalid, "the server's answer to /api and /apis is not a discovery document")
        .with_hint("check the server address of the context");
  for (const Value& group : all->as_array()) {
    const std::string preferred(group.string_at({"preferredVersion", "groupVersion"}));
    std::vector<std::string> names;
    if (!preferred.empty()) names.push_back(preferred);
    if (const Value* versions = group.find("versions"); versions != nullptr && versions->is_array())
      for (const Value& version : versions->as_array())
        if (const std::string_view name = version.string_at("groupVersion");
            !name.empty() && name != preferred)
          names.emplace_back(name);
    for (std::string& name : names) wanted.push_back({"/apis/" + name, std::move(name), {}, false});
  }
  MIST_TRY_VOID(parallel_for(wanted.size(), kParallelGroups, [&](std::size_t i) -> Status {
    auto resources = get(wanted[i].path, kPlain, context);
    // One aggregated API that is down must not hide all others.
    if (!resources) {
      const ErrorKind kind = resources.error().kind;
      if (kind != ErrorKind::Retryable && kind != ErrorKind::NotFound) return std::move(resources).error();
      wanted[i].stale = true;
      return {};
    }
    wanted[i].resources = *std::move(resources);
    return {};
  }));
  for (const GroupVersion& one : wanted) {
    if (one.stale)
      into.add_stale(one.name);
    else
      MIST_TRY_VOID(into.add_group_version(one.resources));
  }
  return {};
}

// The first line of the file is the time when the server was asked, in seconds since 1970, and the ETag of
// its answer to /apis, if it had one.
std::optional<Discovery::Asked> Discovery::read_cache() const {
  if (file_.empty()) return std::nullopt;
  const auto text = dependencies_.fs.read(file_, kLargestCatalog);
  if (!text) return std::nullopt;
  const auto newline = text->find('\n');
  if (newline == std::string::npos) return std::nullopt;
  const std::string_view heading = std::string_view(*text).substr(0, newline);
  const std::string_view time = heading.substr(0, heading.find(' '));
  const std::string_view etag = time.size() == heading.size() ? "" : heading.substr(time.size() + 1);
  std::int64_t asked = 0;
  const char* end = time.data() + time.size();
  if (const auto [stop, failure] = std::from_chars(time.data(), end, asked);
      failure != std::errc() || stop != end)
    return std::nullopt;
  const std::int64_t age = seconds_of(dependencies_.clock.now()) - asked;
  if (age < 0 || age >= std::chrono::seconds(kMaxCatalogAge).count()) return std::nullopt;
  auto catalog = ApiCatalog::parse(std::string_view(*text).substr(newline + 1));
  if (!catalog) return std::nullopt;
  return Asked{std::make_shared<const ApiCatalog>(*std::move(catalog)), std::string(etag),
               WallTime(std::chrono::seconds(asked))};
}

void Discovery::write_cache(const Asked& asked) const {
  if (file_.empty()) return;
  const std::string etag = asked.etag.empty() ? std::string() : " " + asked.etag;
  const std::string text = fmt::format("{}{}\n{}", seconds_of(asked.asked), etag, asked.catalog->to_text());
  Status made = dependencies_.fs.make_directories(file_.parent_path(), 0700);
  if (made) made = dependencies_.fs.write(file_, text, {.mode = 0600, .durable = false, .exclusive = false});
  if (!made) dependencies_.events.debug("the discovery cache can't be written: " + made.error().to_line());
}

// The aggregator's own words about an API service that doesn't answer.
std::string Discovery::condition_of(const std::string& service, const Context& context) const {
  const auto there = get("/apis/apiregistration.k8s.io/v1/apiservices/" + service, kPlain, context);
  if (!there.ok()) return there.error().to_line();
  const Value* const condition = apimachinery::condition_of(*there, "Available");
  if (condition == nullptr) return "it has no condition yet";
  if (condition->string_at("status") == "True")
    return "it is available now, but the cluster has not learned its kinds yet: it will in a moment";
  return fmt::format("{}: {}", condition->string_at("reason"), condition->string_at("message"));
}

Error Discovery::unknown(const GroupKind& kind, const std::string& version, const ApiCatalog& catalog,
                         const Context& context) const {
  const std::string name = apimachinery::to_string(kind);
  for (const std::string& stale : catalog.stale) {
    const bool same_group = !kind.group.empty() && stale.starts_with(kind.group + "/");
    const std::string_view stale_version = std::string_view(stale).substr(stale.find('/') + 1);
    if (!same_group || (!version.empty() && version != stale_version)) continue;
    const std::string service = fmt::format("{}.{}", stale_version, kind.group);
    return api_down(kind, service, condition_of(service, context), dependencies_.kubectl);
  }
  if (const std::vector<std::string> versions = catalog.versions_of(kind); !versions.empty())
    return error(ErrorKind::NotFound, "the cluster serves {} in {}, not in {}", name, join(versions, ", "),
                 version)
        .with_hint(fmt::format("write apiVersion: {}{}{}", kind.group, kind.group.empty() ? "" : "/",
                               versions.front()));
  Error failure = error(ErrorKind::NotFound, "the cluster has no kind {}", name);
  for (const ApiResource& entry : catalog.resources)
    if (entry.info.gvk.kind == kind.kind)
      return std::move(failure).with_hint(
          fmt::format("{} is in the API group \"{}\"", kind.kind, entry.info.gvk.group));
  std::vector<std::string_view> kinds;
  for (const ApiResource& entry : catalog.resources) kinds.push_back(entry.info.gvk.kind);
  if (const std::string_view best = nearest(kind.kind, kinds); !best.empty())
    return std::move(failure).with_hint(fmt::format("did you mean {}?", best));
  return std::move(failure).with_hint("install its CustomResourceDefinition first");
}

}  // namespace mist::kube
