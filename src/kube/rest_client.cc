#include "kube/rest_client.h"

#include <algorithm>

#include "base/duration.h"
#include "base/text.h"
#include "encoding/json.h"
#include "http/over_limit.h"
#include "http/retry.h"
#include "http/unstarted.h"
#include "http/url.h"
#include "kube/api_failure.h"
#include "kube/api_path.h"
#include "kube/secret_mask.h"
#include "kube/watch.h"

namespace mist::kube {
namespace {

using http::Repeat;

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kApplyPatch = "application/apply-patch+yaml";
constexpr std::string_view kMergePatch = "application/merge-patch+json";
constexpr int kListAttempts = 3;
// A server sends a bookmark about every minute; a watch that is silent for longer has probably lost its
// connection.
constexpr Duration kWatchIdle = std::chrono::seconds(150);

// Metadata only where the server can, everything where it can't (aggregated APIs may not).
std::string accept_of(const ListOptions& options, std::string_view as) {
  if (!options.metadata_only) return std::string(kJson);
  return fmt::format("application/json;as={};g=meta.k8s.io;v=v1,application/json", as);
}

std::string display(const ObjectRef& ref) {
  return apimachinery::ObjectKey{ref.resource.gvk.group_kind(), ref.resource.namespaced ? ref.ns : "",
                                 ref.name}
      .display();
}

void put_kind_first(Value& item, const GroupVersionKind& gvk) {
  item.erase("apiVersion");
  item.erase("kind");
  Value::Object& members = item.as_object();
  members.insert(members.begin(),
                 {Value::Member{"apiVersion", gvk.api_version()}, Value::Member{"kind", gvk.kind}});
}

std::string_view propagation_policy(Propagation propagation) {
  switch (propagation) {
    case Propagation::Background:
      return "Background";
    case Propagation::Foreground:
      return "Foreground";
    case Propagation::Orphan:
      return "Orphan";
  }
  return "Background";
}

constexpr std::size_t kPageBytes = std::size_t{32} << 20;              // that a page of a list is to have
constexpr std::uint64_t kLargestPageBytes = std::uint64_t{128} << 20;  // that one of several items may have
constexpr std::uint64_t kLargestList = std::uint64_t{8} << 30;         // bytes
constexpr std::size_t kMostPages = 20'000;

// How many items the next page of a list has.
class PageSize {
 public:
  explicit PageSize(const ListOptions& options)
      : limit_(options.page_size), largest_(std::max(options.page_size, options.largest_page)) {}

  int limit() const { return limit_; }  // 0: all at once
  std::size_t pages() const { return pages_; }
  std::uint64_t bytes() const { return bytes_; }

  // After a page that did not come: whether a smaller one is worth asking for. Of a server that needs too
  // long only once: it may be one that hangs.
  bool shrink(const RestClient::Transfer& transfer) {
    const bool slow = transfer.too_slow && !slow_;
    if (limit_ <= 1 || !(transfer.too_large || slow)) return false;
    slow_ = slow_ || transfer.too_slow;
    limit_ = largest_ = std::max(1, limit_ / 16);
    return true;
  }

  void seen(std::size_t bytes, std::size_t items) {
    ++pages_;
    bytes_ += bytes;
    if (limit_ == 0 || items == 0 || bytes == 0) return;
    const std::size_t fit = kPageBytes / std::max<std::size_t>(1, bytes / items);
    limit_ = static_cast<int>(std::clamp<std::size_t>(fit, 1, static_cast<std::size_t>(largest_)));
  }

 private:
  int limit_;
  int largest_;
  bool slow_ = false;
  std::size_t pages_ = 0;
  std::uint64_t bytes_ = 0;
};

bool has_precondition(const Value& object) {
  return !object.string_at({"metadata", "resourceVersion"}).empty();
}

}  // namespace

RestClient::RestClient(std::shared_ptr<http::Transport> transport, RestOptions options,
                       Dependencies dependencies)
    : transport_(std::move(transport)),
      options_(std::move(options)),
      dependencies_(dependencies),
      discovery_({.get = [this](const Discovery::Question& question,
                                const Context& context) { return discover(question, context); },
                  .fs = dependencies.fs,
                  .clock = dependencies.clock,
                  .events = dependencies.events,
                  .kubectl = kubectl()},
                 options_.discovery_cache),
      open_api_({.get = [this](const Discovery::Question& question,
                               const Context& context) { return discover(question, context); },
                 .fs = dependencies.fs,
                 .clock = dependencies.clock,
                 .events = dependencies.events},
                options_.discovery_cache) {}

// A dry run and the write that follows are warned of in the same words.
void RestClient::warn_once(const std::string& words) {
  constexpr std::size_t kMostRemembered = 1000;
  {
    const std::scoped_lock lock(warnings_mutex_);
    if (warned_.size() >= kMostRemembered) warned_.clear();
    if (!warned_.insert(words).second) return;
  }
  dependencies_.events.warn(words);
}

std::string RestClient::describe() const {
  return options_.context.empty() ? options_.server
                                  : fmt::format("{} (context {})", options_.server, options_.context);
}

std::optional<Duration> RestClient::clock_skew() const {
  const std::int64_t skew = skew_;
  if (skew == kNoSkew) return std::nullopt;
  return Duration(skew);
}

Asked RestClient::asked(std::string verb, std::string object) const {
  return {
      .verb = std::move(verb), .object = std::move(object), .server = options_.server, .user = options_.user};
}

Asked RestClient::asked(std::string verb, const ObjectRef& ref) const {
  Asked what = asked(std::move(verb), display(ref));
  what.objects = true;
  return what;
}

Asked RestClient::asked_for(std::string verb, const ResourceInfo& resource,
                            const ListOptions& options) const {
  std::string what = resource.resource;
  if (!resource.gvk.group.empty()) what += "." + resource.gvk.group;
  if (resource.namespaced) what += options.ns.empty() ? " in all namespaces" : " in namespace " + options.ns;
  Asked all = asked(std::move(verb), std::move(what));
  all.objects = true;
  return all;
}

http::Request RestClient::request(std::string method, const std::string& path, const Query& query,
                                  std::string accept) const {
  http::Request request;
  request.method = std::move(method);
  request.url = http::join_url(options_.server, path);
  if (!query.empty()) request.url += "?" + http::query_of(query);
  request.headers.push_back({"Accept", std::move(accept)});
  request.repeat = request.method == "GET" ? Repeat::Safe : Repeat::Unsafe;
  return request;
}

// The error of a request that had all its time, and ends with `failure`.
Error RestClient::over_request_timeout(Error failure) const {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(options_.request_timeout).count();
  if (http::is_unstarted(failure))
    return http::undelivered(http::Sent::Nothing, fmt::format("no request to {} could begin within {} s",
                                                              options_.server, seconds))
        .with_because(std::move(failure.because))
        .with_hint(std::move(failure.hint));
  return http::undelivered(http::Sent::Maybe,
                           fmt::format("{} did not answer within {} s", options_.server, seconds))
      .with_hint("the API server, or a proxy on the way, hangs or is overloaded: try again later");
}

Result<Value> RestClient::exchange(http::Request request, const Asked& asked, const Context& context,
                                   const Value& sent, Transfer* transfer) {
  request.time_limit = options_.request_timeout;
  const bool writes = request.await_answer > Duration::zero();
  auto response = transport_->send(request, context);
  if (response) answered_ = true;
  if (transfer != nullptr && response) {
    transfer->bytes = response->body.size();
    transfer->too_slow = response->status == 504;
    transfer->unchanged = response->status == 304;
    transfer->etag = http::find_header(response->headers, "ETag");
  }
  if (!response) {
    Error failure = std::move(response).error();
    // Other failures are repeated, and their last answer counts.
    const bool given_up = failure.kind == ErrorKind::Cancelled || failure.kind == ErrorKind::Timeout;
    if (writes && given_up && http::maybe_acted_on(failure)) ++unanswered_;
    // Our own limit for one request isn't the end of the caller's time.
    const bool too_late = failure.kind == ErrorKind::Timeout && context.check().ok();
    if (transfer != nullptr) {
      transfer->too_slow = too_late && !http::is_unstarted(failure);
      transfer->too_large = http::is_over_limit(failure);
    }
    if (too_late) failure = over_request_timeout(std::move(failure));
    return std::move(failure).with_frame(
        fmt::format("while trying to {} {} on {}", asked.verb, asked.object, describe()));
  }
  if (const auto date = http::parse_http_date(http::find_header(response->headers, "Date")))
    skew_ = std::chrono::duration_cast<Duration>(*date - dependencies_.clock.now()).count();
  const bool secret = about_secrets(asked.object);
  for (const std::string& text : warnings_of(response->headers))
    warn_once(fmt::format("{}: {}", asked.object, secret ? mask_secret_values(text, sent) : text));
  if (transfer != nullptr && transfer->unchanged) return Value();
  auto answer = decode_answer(*response, asked);
  if (!answer.ok() && is_not_served(answer.error())) discovery_.invalidate();
  return answer;
}

Result<Discovery::Answer> RestClient::discover(const Discovery::Question& question, const Context& context) {
  http::Request wire = request("GET", question.path, {}, question.accept);
  if (!question.known.empty()) wire.headers.push_back({"If-None-Match", question.known});
  Transfer transfer;
  MIST_TRY(Value value, exchange(std::move(wire), asked("read", question.path), context, {}, &transfer));
  return Discovery::Answer{std::move(value), std::move(transfer.etag)};
}

namespace {

std::string path_of(const ObjectRef& ref, const std::string& subresource) {
  return subresource.empty() ? object_path(ref) : object_path(ref) + "/" + subresource;
}

// The server reads what is applied as YAML, in which some characters of JSON's strings may not stand as they
// are, or end a line: DEL, U+0080 to U+009F, U+2028, U+2029, U+FEFF, U+FFFE and U+FFFF. Everything else
// stays.
std::string as_yaml_too(std::string json) {
  const auto is_rare = [](char c) { return c == '\x7f' || c == '\xc2' || c == '\xe2' || c == '\xef'; };
  if (std::ranges::none_of(json, is_rare)) return json;
  std::string text;
  text.reserve(json.size());
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(i < json.size() ? json[i] : 0); };
  for (std::size_t i = 0; i < json.size(); ++i) {
    const unsigned a = byte(i), b = byte(i + 1), c = byte(i + 2);
    unsigned code = 0;
    std::size_t length = 1;
    if (a == 0x7f) code = a;
    if (a == 0xc2 && b >= 0x80 && b <= 0x9f) code = b, length = 2;
    if ((a == 0xe2 && b == 0x80 && (c == 0xa8 || c == 0xa9)) || (a == 0xef && b == 0xbb && c == 0xbf) ||
        (a == 0xef && b == 0xbf && c >= 0xbe))
      code = (a & 0x0f) << 12 | (b & 0x3f) << 6 | (c & 0x3f), length = 3;
    if (code == 0) {
      text += json[i];
      continue;
    }
    text += fmt::format("\\u{:04x}", code);
    i += length - 1;
  }
  return text;
}

}  // namespace

Result<Value> RestClient::exchange_with_body(std::string method, const std::string& path, const Query& query,
                                             std::string content_type, const Value& body, Repeat repeat,
                                             const Asked& asked, const Context& context) {
  http::Request wire = request(std::move(method), path, query, std::string(kJson));
  wire.headers.push_back({"Content-Type", std::move(content_type)});
  wire.body = as_yaml_too(encoding::to_json(body));
  // A part of an object as it was read: it would replace what nobody has read.
  if (wire.body.find(encoding::kTooDeep) != std::string::npos)
    return error(ErrorKind::Invalid, "cannot {} {}: what it has there nests too deep", asked.verb,
                 asked.object);
  wire.repeat = repeat;
  const bool dry = body.find("dryRun") != nullptr ||
                   std::ranges::find(query, "dryRun", &Query::value_type::first) != query.end();
  if (!dry) wire.await_answer = options_.await_answer;
  auto answer = exchange(std::move(wire), asked, context, body);
  if (!answer.ok() && !unanswering_webhook(answer.error()).empty())
    answer = with_configuration(std::move(answer).error(), context);
  if (answer.ok() || !about_secrets(asked.object)) return answer;
  return mask_secret_values(std::move(answer).error(), body);
}

// Adds which configuration the webhook is in, and where it runs: the server's message only has its own name.
Error RestClient::with_configuration(Error failure, const Context& context) {
  constexpr auto kLimit = std::chrono::seconds(5);
  const std::string webhook(unanswering_webhook(failure));
  std::vector<std::string> places, commands, namespaces;
  for (const auto& [kind, plural] :
       {std::pair("ValidatingWebhookConfiguration", "validatingwebhookconfigurations"),
        std::pair("MutatingWebhookConfiguration", "mutatingwebhookconfigurations")}) {
    const ResourceInfo resource{{"admissionregistration.k8s.io", "v1", kind}, plural, false, {}};
    const auto all = list(resource, {}, context.with_timeout(kLimit));
    if (!all.ok()) continue;
    for (const Value& each : all->items) {
      const Value* const webhooks = each.find("webhooks");
      if (webhooks == nullptr || !webhooks->is_array()) continue;
      const auto one = std::ranges::find_if(webhooks->as_array(), [&](const Value& candidate) {
        return candidate.string_at("name") == webhook;
      });
      if (one == webhooks->as_array().end()) continue;
      namespaces.emplace_back(one->string_at({"clientConfig", "service", "namespace"}));
      const std::string name = escape_controls(each.string_at({"metadata", "name"}));
      places.push_back(fmt::format("{} {}", kind, name));
      commands.push_back(fmt::format("{} delete {} {}", kubectl(), lower_case(kind), name));
    }
  }
  if (places.empty()) return failure;
  if (const ApiFailure* const known = failure.detail<ApiFailure>()) {
    ApiFailure more = *known;
    more.webhook_namespaces = std::move(namespaces);
    failure.details.set(std::move(more));
  }
  // Several may have one of that name, and the server doesn't say which it asked.
  return std::move(failure).with_hint(
      fmt::format("repair what answers for the webhook {} of {}; or, if it may be done without, {}", webhook,
                  join(places, " or of "), join(commands, " or ")));
}

Result<ResourceInfo> RestClient::resource_for(const GroupKind& kind, const std::string& version,
                                              const Context& context) {
  return discovery_.resource_for(kind, version, context);
}

Result<ResourceInfo> RestClient::resource_for_alias(std::string_view word, const Context& context) {
  return discovery_.resource_for_alias(word, context);
}

Result<std::vector<ResourceInfo>> RestClient::all_resources(const Context& context) {
  return discovery_.all_resources(context);
}

Result<ServedApis> RestClient::served_apis(const Context& context) { return discovery_.served_apis(context); }

Result<std::vector<DownApi>> RestClient::apis_down(const Context& context) {
  return discovery_.apis_down(context);
}

Result<Value> RestClient::server_version(const Context& context) {
  return exchange(request("GET", "/version", {}, std::string(kJson)), asked("read", "the version"), context);
}

Result<Value> RestClient::get(const ObjectRef& ref, const Context& context) {
  return exchange(request("GET", object_path(ref), {}, std::string(kJson)), asked("read", ref), context);
}

Result<ObjectList> RestClient::list(const ResourceInfo& resource, const ListOptions& options,
                                    const Context& context) {
  ObjectList all;
  const auto take = [&](std::vector<Value>& items, bool first) {
    if (first) all.items.clear();
    all.items.reserve(all.items.size() + items.size());
    std::ranges::move(items, std::back_inserter(all.items));
    return options.most == 0 || all.items.size() < options.most;
  };
  MIST_TRY(all.resource_version, list_pages(resource, options, take, context));
  if (options.most > 0 && all.items.size() > options.most) all.items.resize(options.most);
  return all;
}

Result<std::string> RestClient::list_pages(const ResourceInfo& resource, const ListOptions& options,
                                           const PageHandler& page, const Context& context) {
  const Asked what = asked_for("list", resource, options);
  ListOptions pages = options;
  for (int attempt = 1;; ++attempt) {
    auto version = list_once(resource, pages, what, page, context);
    if (!version && is_copy_not_ready(version.error()))
      return why_not_listed(resource, options.ns, what, std::move(version).error(), context);
    if (version || version.error().kind != ErrorKind::Gone || attempt == kListAttempts) return version;
    // The continue token was too old. A collection that is too large for the server's memory of versions is
    // read in one piece in the end, as client-go does.
    if (attempt + 1 == kListAttempts && options.most == 0) pages.page_size = 0;
  }
}

// A list with a limit and without selectors is answered without the server's own copy, and so with the reason
// why there is none. Page by page, as one object may be it; nothing of them is kept.
Error RestClient::why_not_listed(const ResourceInfo& resource, const std::string& ns, const Asked& what,
                                 Error failure, const Context& context) {
  const auto next_page = [](std::vector<Value>&, bool) { return true; };
  auto all = list_once(resource, {.ns = ns}, what, next_page, context);
  return all.ok() || is_copy_not_ready(all.error()) || context.stop().stop_requested()
             ? std::move(failure)
             : std::move(all).error();
}

Result<std::string> RestClient::list_once(const ResourceInfo& resource, const ListOptions& options,
                                          const Asked& what, const PageHandler& take,
                                          const Context& context) {
  const auto endless = [&](std::string_view because) {
    return error(ErrorKind::Invalid, "cannot list {}: the list of {} does not end", what.object, what.server)
        .with_because(std::string(because))
        .with_hint("check what answers at that address: an aggregated API server, or a proxy on the way");
  };
  std::string version, next;
  PageSize size(options);
  bool first = true, more = true;
  while (more) {
    Query query;
    if (!options.label_selector.empty()) query.emplace_back("labelSelector", options.label_selector);
    if (!options.field_selector.empty()) query.emplace_back("fieldSelector", options.field_selector);
    if (size.limit() > 0) query.emplace_back("limit", std::to_string(size.limit()));
    if (!next.empty()) query.emplace_back("continue", next);
    http::Request asking = request("GET", collection_path(resource, options.ns), query,
                                   accept_of(options, "PartialObjectMetadataList"));
    if (size.limit() > 1) asking.response_limit = kLargestPageBytes;
    Transfer transfer;
    auto answer = exchange(std::move(asking), what, context, {}, &transfer);
    // A server that never answered anything hangs, however little it is asked for.
    if (!answer.ok() && (answered_ || transfer.too_large) && size.shrink(transfer)) {
      dependencies_.events.debug(fmt::format("listing {} again with {} items a page: {}", what.object,
                                             size.limit(), answer.error().message));
      continue;
    }
    MIST_TRY(Value page, std::move(answer));
    Value* items = page.find("items");
    if (items == nullptr || (!items->is_array() && !items->is_null()))
      return error(ErrorKind::Invalid, "cannot list {}: {} answered something that is not a list",
                   what.object, what.server)
          .with_hint("check the server address of the context, and proxies on the way");
    const std::size_t count = items->is_array() ? items->size() : 0;
    std::vector<Value> objects;
    if (items->is_array()) objects = std::move(items->as_array());
    std::erase_if(objects, [](const Value& item) { return !item.is_object(); });
    for (Value& item : objects) {
      put_kind_first(item, resource.gvk);
      if (!options.metadata_only) continue;
      std::erase_if(item.as_object(), [](const Value::Member& member) {
        return member.key != "apiVersion" && member.key != "kind" && member.key != "metadata";
      });
    }
    if (version.empty()) version = page.string_at({"metadata", "resourceVersion"});
    if (!take(objects, std::exchange(first, false))) return version;
    std::string token(page.string_at({"metadata", "continue"}));
    if (!token.empty() && token == next)
      return endless("it answered the continue token that it was asked with");
    next = std::move(token);
    more = !next.empty();
    size.seen(transfer.bytes, count);
    if (more && size.pages() >= kMostPages)
      return endless(fmt::format("after {} pages there was still a continue token", size.pages()));
    if (size.bytes() > kLargestList)
      return endless(fmt::format("it has more than {} GiB", kLargestList >> 30));
  }
  return version;
}

Result<Value> RestClient::create(const ResourceInfo& resource, const std::string& ns, const Value& object,
                                 const Context& context, DryRun dry_run) {
  const std::string name(object.string_at({"metadata", "name"}));
  Query query = {{"fieldManager", std::string(kFieldManager)}};
  if (dry_run == DryRun::Server) query.emplace_back("dryRun", "All");
  return exchange_with_body("POST", collection_path(resource, ns), query, std::string(kJson), object,
                            dry_run == DryRun::Server ? Repeat::Safe : Repeat::Unsafe,
                            asked("create", ObjectRef{resource, ns, name}), context);
}

Result<Value> RestClient::update(const ObjectRef& ref, const Value& object, const Context& context) {
  // The resourceVersion makes a second try of an update that had arrived a conflict instead of a second
  // write.
  const Repeat repeat = has_precondition(object) ? Repeat::Safe : Repeat::Unsafe;
  return exchange_with_body("PUT", object_path(ref), {{"fieldManager", std::string(kFieldManager)}},
                            std::string(kJson), object, repeat, asked("update", ref), context);
}

Result<Value> RestClient::apply(const ObjectRef& ref, const Value& object, const ApplyOptions& options,
                                const Context& context) {
  Query query = {{"fieldManager", options.field_manager},
                 {"force", options.force ? "true" : "false"},
                 // Of an apply it only looks for duplicate keys, by parsing the body again; we print none.
                 {"fieldValidation", "Ignore"}};
  if (options.dry_run == DryRun::Server) query.emplace_back("dryRun", "All");
  return exchange_with_body("PATCH", path_of(ref, options.subresource), query, std::string(kApplyPatch),
                            object, options.insist ? Repeat::Safe : Repeat::Unsafe, asked("apply", ref),
                            context);
}

Result<Value> RestClient::merge_patch(const ObjectRef& ref, const Value& patch, const Context& context,
                                      DryRun dry_run, const std::string& subresource) {
  const bool dry = dry_run == DryRun::Server;
  const Repeat repeat = dry || has_precondition(patch) ? Repeat::Safe : Repeat::Unsafe;
  Query query = {{"fieldManager", std::string(kFieldManager)}};
  if (dry) query.emplace_back("dryRun", "All");
  return exchange_with_body("PATCH", path_of(ref, subresource), query, std::string(kMergePatch), patch,
                            repeat, asked("patch", ref), context);
}

Result<Value> RestClient::remove(const ObjectRef& ref, const DeleteOptions& options, const Context& context) {
  Value body = Value::object({{"apiVersion", "v1"},
                              {"kind", "DeleteOptions"},
                              {"propagationPolicy", propagation_policy(options.propagation)}});
  if (!options.uid.empty()) body["preconditions"].set("uid", options.uid);
  if (!options.resource_version.empty())
    body["preconditions"].set("resourceVersion", options.resource_version);
  // Where there is a body, the server reads no option from the address; its audit log and metrics do.
  Query query;
  if (options.dry_run == DryRun::Server) {
    body.set("dryRun", Value::array({"All"}));
    query.emplace_back("dryRun", "All");
  }
  // With a precondition a second try can't hit an object that came later.
  const bool again = options.insist && body.find("preconditions") != nullptr;
  return exchange_with_body("DELETE", object_path(ref), query, std::string(kJson), body,
                            again ? Repeat::Safe : Repeat::Unsafe, asked("delete", ref), context);
}

Result<http::Response> RestClient::open_watch(const ResourceInfo& resource, const ListOptions& options,
                                              const std::string& version, Duration timeout,
                                              const http::BodyPiece& piece, const Asked& what,
                                              const Context& context) {
  Query query = {{"watch", "1"}, {"allowWatchBookmarks", "true"}, {"resourceVersion", version}};
  query.emplace_back("timeoutSeconds",
                     std::to_string(std::chrono::duration_cast<std::chrono::seconds>(timeout).count()));
  if (!options.label_selector.empty()) query.emplace_back("labelSelector", options.label_selector);
  if (!options.field_selector.empty()) query.emplace_back("fieldSelector", options.field_selector);
  http::Request wire = request("GET", collection_path(resource, options.ns), query,
                               accept_of(options, "PartialObjectMetadata"));
  wire.idle_timeout = kWatchIdle;
  // The watcher knows from where to go on, and lists again after an outage: none may be waited out below it.
  wire.repeat = Repeat::Never;
  auto response = transport_->stream(wire, piece, context);
  if (!response)
    return std::move(response).error().with_frame(
        fmt::format("while trying to {} {} on {}", what.verb, what.object, describe()));
  const bool secret = about_secrets(what.object);
  for (const std::string& text : warnings_of(response->headers))
    warn_once(fmt::format("{}: {}", what.object, secret ? mask_secret_values(text, {}) : text));
  return response;
}

Status RestClient::watch(const ResourceInfo& resource, const ListOptions& options,
                         const WatchHandler& handler, const Context& context) {
  const Asked what = asked_for("watch", resource, options);
  Watcher watcher(resource, what,
                  {.list = [&](const Watcher::PageHandler& page,
                               const Context& inner) { return list_pages(resource, options, page, inner); },
                   .open =
                       [&](const std::string& version, Duration timeout, const http::BodyPiece& piece,
                           const Context& inner) {
                         return open_watch(resource, options, version, timeout, piece, what, inner);
                       },
                   .clock = dependencies_.clock,
                   .random = dependencies_.random,
                   .events = dependencies_.events,
                   .unlisted = options.unlisted});
  return watcher.run(handler, context);
}

Status RestClient::pod_log(const std::string& ns, const std::string& pod, const PodLogOptions& options,
                           const LogPiece& piece, const Context& context) {
  const ObjectRef ref{{{"", "v1", "Pod"}, "pods", true, {}}, ns, pod};
  const Asked what = asked("read the log of", display(ref));
  Query query;
  if (!options.container.empty()) query.emplace_back("container", options.container);
  if (options.previous) query.emplace_back("previous", "true");
  if (options.follow) query.emplace_back("follow", "true");
  if (options.tail_lines >= 0) query.emplace_back("tailLines", std::to_string(options.tail_lines));
  if (options.limit_bytes > 0) query.emplace_back("limitBytes", std::to_string(options.limit_bytes));
  http::Request wire = request("GET", object_path(ref) + "/log", query, "text/plain, */*");
  // A container may be silent for long; without follow the server answers at once.
  wire.idle_timeout = options.follow ? std::chrono::hours(24) : options_.request_timeout;
  wire.repeat = Repeat::Unsafe;  // a second try would repeat what was handed on
  if (!options.follow) wire.time_limit = options_.request_timeout;
  auto response = transport_->stream(wire, piece, context);
  if (!response)
    return std::move(response).error().with_frame(
        fmt::format("while trying to {} {} on {}", what.verb, what.object, describe()));
  if (response->status < 200 || response->status > 299) return answer_error(*response, what);
  return {};
}

namespace {

// Whether an answer that isn't good is the target's. The API server says that there is no such object (404)
// or port (400), and no endpoint, or none that can be connected to (502, 503). All else that it says is about
// itself, or about the account; and it isn't always with a Status that it says that it is busy (429).
bool is_of_target(int status, bool is_servers) {
  if (status == 429) return false;
  return !is_servers || status == 400 || status == 404 || status == 502 || status == 503;
}

Error without_answer(Error failure, const ProxyRequest& wanted) {
  // The API server has taken the request, and waits as we do.
  if (failure.kind == ErrorKind::Timeout && !http::is_unstarted(failure))
    return error(ErrorKind::Timeout, "{} did not answer within {}", wanted.display(),
                 format_elapsed(wanted.time_limit));
  return http::is_over_limit(failure) ? std::move(failure) : std::move(failure).with_detail(Unreached{});
}

}  // namespace

Result<std::string> RestClient::proxied_get(const ProxyRequest& wanted, const Context& context) {
  const std::string target = wanted.port.empty()
                                 ? fmt::format("{}:{}:", wanted.scheme, wanted.name)
                                 : fmt::format("{}:{}:{}", wanted.scheme, wanted.name, wanted.port);
  http::Request wire = request(
      "GET",
      fmt::format("/api/v1/namespaces/{}/{}/{}/proxy{}", wanted.ns,
                  wanted.target == ProxyRequest::Target::Pod ? "pods" : "services", target, wanted.path),
      {}, "application/json, */*");
  wire.repeat = Repeat::Unsafe;  // the caller asks again, in its own time
  wire.time_limit = wire.idle_timeout = wanted.time_limit;
  wire.response_limit = wanted.limit;
  auto response = transport_->send(wire, context);
  if (!response) return without_answer(std::move(response).error(), wanted);
  if (response->status >= 200 && response->status <= 299) return std::move(response->body);
  // The API server speaks of itself with a Status; anything else is the application's own answer.
  const auto said = encoding::parse_json(response->body);
  const bool is_servers = said.ok() && said->string_at("kind") == "Status";
  const ErrorKind kind = response->status == 404   ? ErrorKind::NotFound
                         : response->status == 403 ? ErrorKind::Forbidden
                                                   : ErrorKind::Retryable;
  Error failure = error(kind, "{} answers with {}", wanted.display(), response->status)
                      .with_because(escape_controls(is_servers ? said->string_at("message") : ""));
  return is_of_target(response->status, is_servers) ? std::move(failure)
                                                    : std::move(failure).with_detail(Unreached{});
}

}  // namespace mist::kube
