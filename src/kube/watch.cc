#include "kube/watch.h"

#include <algorithm>
#include <span>

#include "encoding/json.h"
#include "http/retry.h"
#include "http/unanswered.h"
#include "kube/line_framer.h"

namespace mist::kube {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kLongestEvent = std::size_t{64} << 20;
// Of the server; the same range as client-go's reflector, so that many watches don't end together.
constexpr Duration kShortestWatch = 5min;
constexpr Duration kFirstBackOff = 200ms;
constexpr Duration kLongestBackOff = 30s;
// Of a server that answers and can't list: a single object may be the obstacle, as one that can't be
// converted, and somebody who has repaired it waits for that to be noticed.
constexpr Duration kLongestListBackOff = 10s;
// A server that asks to wait longer is asked again after that.
constexpr Duration kLongestAskedWait = 60s;
constexpr int kFailuresBeforeWarning = 3;
// A server sends watches away (429) for as long as its own copy of the collection can't be made, for which
// one object that can't be converted is enough. Only a list tells why.
constexpr int kSentAwayBeforeList = 4;
// A line that can't be read comes again from the same version; a list leads past it.
constexpr int kUnreadableBeforeList = 5;

std::string key_of(const Value& object) {
  return fmt::format("{}/{}", object.string_at({"metadata", "namespace"}),
                     object.string_at({"metadata", "name"}));
}

// A random number in [0, 1).
double fraction(Random& random) {
  std::uint32_t bits = 0;
  random.fill(std::as_writable_bytes(std::span(&bits, 1)));
  return bits / 4294967296.0;
}

bool worth_waiting(ErrorKind kind) { return kind == ErrorKind::Retryable || kind == ErrorKind::Timeout; }

}  // namespace

Watcher::Watcher(ResourceInfo resource, Asked asked, Dependencies dependencies)
    : resource_(std::move(resource)), asked_(std::move(asked)), dependencies_(std::move(dependencies)) {}

void Watcher::remember(const Value& object) {
  Value last = Value::object();
  for (const std::string_view field : {"uid", "labels"})
    if (const Value* value = object.at_path({"metadata", field})) last.set(field, *value);
  Known& known = known_[key_of(object)];
  known.text = encoding::to_json(last);
  known.text.shrink_to_fit();
  known.lists = lists_;
}

// As the server's own event of a deletion has it, with the version by which the object is known to be gone.
Result<Value> Watcher::remembered(std::string_view key, const Known& known) const {
  MIST_TRY(Value metadata, encoding::parse_json(known.text));
  const std::size_t slash = key.find('/');
  metadata.set("name", key.substr(slash + 1));
  if (slash > 0) metadata.set("namespace", key.substr(0, slash));
  metadata.set("resourceVersion", version_);
  return Value::object({{"apiVersion", resource_.gvk.api_version()},
                        {"kind", resource_.gvk.kind},
                        {"metadata", std::move(metadata)}});
}

Result<bool> Watcher::list(const WatchHandler& handler, const Context& context) {
  bool wanted = true;
  const auto take = [&](const std::vector<Value>& items, bool first) {
    if (first) ++lists_;
    for (const Value& item : items) {
      remember(item);
      wanted = handler({WatchEventType::Added, item});
      if (!wanted) return false;
    }
    return true;
  };
  MIST_TRY(version_, dependencies_.list(take, context));
  if (!wanted) return false;
  for (auto known = known_.begin(); known != known_.end();) {
    if (known->second.lists == lists_) {
      ++known;
      continue;
    }
    MIST_TRY(const Value object, remembered(known->first, known->second));
    known = known_.erase(known);
    if (!handler({WatchEventType::Deleted, object})) return false;
  }
  Value complete = Value::object({{"apiVersion", resource_.gvk.api_version()}, {"kind", resource_.gvk.kind}});
  complete["metadata"].set("resourceVersion", version_);
  return handler({WatchEventType::Bookmark, complete});
}

bool Watcher::take_line(std::string_view line, const WatchHandler& handler, Connection& connection) {
  auto event = encoding::parse_json(line, {.cut_deep = true});
  Value* object = event ? event->find("object") : nullptr;
  if (object == nullptr || !object->is_object()) {
    connection.broken = error(ErrorKind::Retryable, "the server sent a watch event that can't be read");
    connection.unreadable = true;
    return false;
  }
  const std::string_view type = event->string_at("type");
  if (type == "ERROR") {
    Error failure = status_error(*object, 0, asked_);
    if (failure.kind == ErrorKind::Gone)
      connection.relist = true;
    else
      (worth_waiting(failure.kind) ? connection.broken : connection.fatal) = std::move(failure);
    return false;
  }
  const bool known_type = type == "ADDED" || type == "MODIFIED" || type == "DELETED" || type == "BOOKMARK";
  const std::string_view version = object->string_at({"metadata", "resourceVersion"});
  if (!known_type || version.empty()) {
    connection.broken = error(ErrorKind::Retryable, "the server sent a watch event of an unknown type");
    connection.unreadable = true;
    return false;
  }
  connection.progressed = true;
  version_ = version;
  if (type == "BOOKMARK") return true;

  WatchEvent told;
  if (type == "DELETED") {
    told.type = WatchEventType::Deleted;
    known_.erase(key_of(*object));
  } else {
    told.type = type == "ADDED" ? WatchEventType::Added : WatchEventType::Modified;
    remember(*object);
  }
  told.object = std::move(*object);
  if (told.object.string_at("kind") != resource_.gvk.kind) {
    // PartialObjectMetadata: callers know the kind that they asked for.
    told.object.set("apiVersion", resource_.gvk.api_version());
    told.object.set("kind", resource_.gvk.kind);
  }
  connection.handler_ended = !handler(told);
  return !connection.handler_ended;
}

Watcher::Connection Watcher::connect(const WatchHandler& handler, const Context& context) {
  Connection connection;
  LineFramer framer(kLongestEvent);
  const auto on_line = [&](std::string_view line) { return take_line(line, handler, connection); };
  const auto on_piece = [&](std::string_view piece) {
    const LineFramer::State state = framer.feed(piece, on_line);
    if (state == LineFramer::State::TooLong)
      connection.broken = error(ErrorKind::Retryable, "the server sent a watch event without end");
    connection.unreadable |= state == LineFramer::State::TooLong;
    return state == LineFramer::State::Open;
  };
  const Duration timeout =
      kShortestWatch + std::chrono::duration_cast<Duration>(kShortestWatch * fraction(dependencies_.random));
  auto response = dependencies_.open(version_, timeout, on_piece, context);
  if (connection.handler_ended || connection.relist || connection.broken || connection.fatal)
    return connection;
  if (!response) {
    Error failure = std::move(response).error();
    connection.away = true;
    connection.unopened = http::is_unanswered(failure);
    (worth_waiting(failure.kind) ? connection.broken : connection.fatal) = std::move(failure);
  } else if (response->status < 200 || response->status > 299) {
    Error failure = answer_error(*response, asked_);
    // A load balancer, or an API server whose etcd is away, answers in place of the one that was there.
    connection.away = connection.unopened = response->status >= 500;
    connection.sent_away = response->status == 429;
    connection.asked_wait = http::parse_retry_after(http::find_header(response->headers, "Retry-After"),
                                                    dependencies_.clock.now());
    if (failure.kind == ErrorKind::Gone)
      connection.relist = true;
    else
      (worth_waiting(failure.kind) ? connection.broken : connection.fatal) = std::move(failure);
  }
  return connection;
}

// No sooner than asked; a little later, so that all watches that were sent away don't come back at once.
Duration Watcher::back_off(int failures, Duration longest, std::optional<Duration> asked) {
  longest = std::min(longest, kFirstBackOff * (1 << std::min(failures, 10)));
  const auto own = std::chrono::duration_cast<Duration>(longest * (0.5 + fraction(dependencies_.random) / 2));
  return own + std::min(asked.value_or(Duration::zero()), kLongestAskedWait);
}

Status Watcher::run(const WatchHandler& handler, const Context& context) {
  MIST_TRY(bool wanted, list(handler, context));
  int failures = 0;
  int unreadable = 0;  // in a row
  int sent_away = 0;   // in a row
  bool relist = false;
  while (wanted) {
    MIST_TRY_VOID(context.check());
    Connection connection;
    Duration longest = kLongestBackOff;
    if (relist) {
      auto listed = list(handler, context);
      if (listed)
        wanted = *listed, relist = false;
      else if (!worth_waiting(listed.error().kind))
        return std::move(listed).error();
      else
        connection.broken = std::move(listed).error();
      if (!connection.broken) continue;
      if (!http::is_unanswered(*connection.broken)) longest = kLongestListBackOff;
      if (dependencies_.unlisted) dependencies_.unlisted(*connection.broken);
    } else {
      const SteadyTime began = dependencies_.clock.steady_now();
      connection = connect(handler, context);
      if (connection.handler_ended) return {};
      // A stream that the server ends at once, again and again, must not make us ask without pause.
      // Nor must one that hangs before it answers anything, or that it can't open the watch, count as a quiet
      // watch, however long it took.
      const bool useful =
          connection.progressed || (!connection.unopened && dependencies_.clock.steady_now() - began > 1s);
      if (useful) failures = 0;
      if (connection.progressed) unreadable = 0;
      unreadable = connection.unreadable ? unreadable + 1 : unreadable;
      sent_away = connection.sent_away ? sent_away + 1 : 0;
      relist = connection.relist || unreadable == kUnreadableBeforeList || sent_away == kSentAwayBeforeList;
      if (relist) unreadable = sent_away = 0;
      if (!connection.broken && !connection.fatal && useful) continue;
    }
    MIST_TRY_VOID(context.check());
    if (connection.fatal) return *std::move(connection.fatal);
    // A server that was away may come back with an older state (etcd restored from a snapshot). Of a version
    // that it hasn't reached yet it would tell nothing, and say nothing of that. A stream that only broke may
    // have been cut on the way.
    if (connection.away && (connection.unopened || failures > 0)) relist = true;
    if (++failures == kFailuresBeforeWarning && connection.broken)
      dependencies_.events.warn(fmt::format("the watch of {} is interrupted, trying again: {}", asked_.object,
                                            connection.broken->to_line()));
    Duration pause = back_off(failures, longest, connection.asked_wait);
    if (const auto left = context.remaining()) pause = std::min(pause, *left);
    dependencies_.clock.sleep(pause, context.stop());
  }
  return {};
}

}  // namespace mist::kube
