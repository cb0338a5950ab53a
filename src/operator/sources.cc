#include "operator/sources.h"

#include <algorithm>

#include "base/doubled_pause.h"
#include "base/text.h"
#include "encoding/json.h"
#include "kube/service_proxy.h"
#include "operator/log_fields.h"

namespace mist::operator_ {
namespace {

using reconcile::HttpAnswer;
using reconcile::HttpQuestion;

// One for each source up to this: those that are slow to answer keep few others waiting.
constexpr std::size_t kMostSenders = 16;
// As many tries in a row have to fail until an answer is no longer believed, or is known to be missing: one
// lost packet is no news.
constexpr int kMostFailures = 3;
// And a program that was just started has that long until it is known to have no answer.
constexpr Duration kLeastSilence = std::chrono::minutes(1);
constexpr Duration kLongestPause = std::chrono::minutes(5);
constexpr Duration kUnknownPause = std::chrono::seconds(3);

kube::ProxyRequest request_of(const HttpQuestion& question) {
  return {.target = question.target == HttpQuestion::Target::Pod ? kube::ProxyRequest::Target::Pod
                                                                 : kube::ProxyRequest::Target::Service,
          .ns = question.ns,
          .name = question.name,
          .scheme = question.scheme,
          .port = question.port,
          .path = question.path,
          .time_limit = question.timeout,
          .limit = reconcile::kMostAnswer};
}

}  // namespace

Sources::Sources(kube::Client& client, Clock& clock, EventSink& events, Observer::Wake wake)
    : client_(client), clock_(clock), events_(events), wake_(std::move(wake)), queue_(clock) {}

Sources::~Sources() {
  for (std::jthread& each : senders_) each.request_stop();
}

HttpAnswer Sources::ask(const Item& item, const std::string& node, const HttpQuestion& question) {
  asking_.insert(node);
  const Key key{item, node};
  const std::lock_guard lock(mutex_);
  const auto [entry, is_new] = sources_.try_emplace(key, Source{.question = question});
  Source& source = entry->second;
  const bool is_asked = !is_new && source.question == question;
  if (is_asked && !source.rests) return source.answer;
  if (!is_asked) source = succeeding(source, question);
  begin_turn(key, source);
  return source.answer;
}

// Of a new question.
Sources::Source Sources::succeeding(const Source& source, const HttpQuestion& question) {
  if (source.question.asks_same(question))
    return {
        .question = question, .before = source.last_answer(), .answered_another = source.answered_another};
  return {.question = question, .answered_another = source.has_answered()};
}

void Sources::begin_turn(const Key& key, Source& source) {
  source.rests = source.is_overdue = false;
  source.turn = ++turns_;
  source.since = clock_.steady_now();
  add(key);
}

void Sources::add(const Key& key, Duration delay) {
  queue_.add(key, delay);
  if (senders_.size() < std::min(sources_.size(), kMostSenders))
    senders_.emplace_back([this](const std::stop_token& stop) { work(stop); });
}

void Sources::finish(const Item& item, const std::set<std::string>& kept) {
  const std::lock_guard lock(mutex_);
  for (auto at = sources_.lower_bound({item, {}}); at != sources_.end() && at->first.first == item;) {
    const std::string& node = at->first.second;
    Source& source = at->second;
    if (!asking_.contains(node) && !(kept.contains(node) && source.has_answered())) {
      at = sources_.erase(at);
      continue;
    }
    if (!asking_.contains(node) && !source.rests) rest(at->first, source);
    ++at;
  }
}

void Sources::rest(const Key& key, Source& source) {
  source = {.question = std::move(source.question),
            .since = clock_.steady_now(),
            .before = source.last_answer(),
            .answered_another = source.answered_another,
            .rests = true};
  add(key, kLongestRest);
}

void Sources::take_over(const Item& item, Sources& from) {
  std::map<Key, Source> taken;
  {
    const std::lock_guard lock(from.mutex_);
    for (auto at = from.sources_.lower_bound({item, {}});
         at != from.sources_.end() && at->first.first == item; ++at)
      if (at->second.has_answered()) taken.insert(*at);
  }
  const std::lock_guard lock(mutex_);
  for (auto& [key, source] : taken)
    rest(key, sources_.insert_or_assign(key, std::move(source)).first->second);
}

bool Sources::answered(const Item& item, const std::string& node) {
  const std::lock_guard lock(mutex_);
  const auto source = sources_.find({item, node});
  return source != sources_.end() && source->second.has_answered() && !source->second.is_overdue;
}

void Sources::work(const std::stop_token& stop) {
  while (const std::optional<Key> key = queue_.take(stop)) {
    if (const auto next = next_turn(*key)) {
      const Result<Value> answer = send(next->first, stop);
      if (stop.stop_requested()) return;
      take(*key, next->second, answer);
    }
    queue_.succeeded(*key);
  }
}

// nullopt: nobody asks any more, or it rests. After one that has rested long enough nobody waits any more:
// the object that it needs doesn't come back, it seems. If that comes back all the same, the last answer
// counts.
std::optional<std::pair<HttpQuestion, std::uint64_t>> Sources::next_turn(const Key& key) {
  const std::lock_guard lock(mutex_);
  const auto found = sources_.find(key);
  if (found == sources_.end()) return std::nullopt;
  Source& source = found->second;
  if (!source.rests) return std::pair(source.question, source.turn);
  const Duration left = kLongestRest - (clock_.steady_now() - source.since);
  if (left > Duration()) {
    queue_.add(key, left);
    return std::nullopt;
  }
  source.is_overdue = true;
  wake_(key.first);
  return std::nullopt;
}

Result<Value> Sources::send(const HttpQuestion& question, const std::stop_token& stop) const {
  const kube::ProxyRequest request = request_of(question);
  MIST_TRY(const std::string body,
           kube::proxied_get(client_, request, Context(stop).with_timeout(question.timeout)));
  auto value = encoding::parse_json(body);
  if (!value.ok())
    return error(ErrorKind::Invalid, "the answer of {} isn't JSON: {}", request.display(),
                 value.error().message);
  return value;
}

void Sources::take(const Key& key, std::uint64_t turn, const Result<Value>& answer) {
  const std::lock_guard lock(mutex_);
  const auto found = sources_.find(key);
  // The question of its next turn is in the queue already.
  if (found == sources_.end() || found->second.turn != turn) return;
  Source& source = found->second;
  const HttpAnswer was = source.answer;
  if (answer.ok()) {
    source.failures = source.silences = 0;
    source.before.reset();
    source.answered_another = false;
    source.answer = {.body = *answer};
  } else {
    fail(source, answer.error());
    events_.debug(fmt::format("{} of {}/{}: {}", key.second, key.first.instance.first,
                              key.first.instance.second, source.answer.failure),
                  fields_of(key.first, Named::No));
  }
  queue_.add(key, pause_after(source));
  if (source.answer.body != was.body || source.answer.failure != was.failure ||
      source.answer.stale != was.stale)
    wake_(key.first);
}

// Where nobody reaches a source that never answered, nobody knows whether it has an answer, unless that was
// found out before.
void Sources::fail(Source& source, const Error& failure) const {
  const SteadyTime now = clock_.steady_now();
  const bool has_body = source.last_answer().has_value();
  const bool is_unknown = kube::is_unreached(failure) && !has_body && !source.answer.stale;
  if (is_unknown) source.since = now;
  source.silences = is_unknown ? 0 : source.silences + 1;
  ++source.failures;
  source.answer.failure =
      failure.because.empty() ? failure.message : fmt::format("{}: {}", failure.message, failure.because);
  // The answer to another question says that there is a program, which has longer.
  const Duration least = source.answered_another ? kLongestRest : kLeastSilence;
  const bool may_just_begin = source.is_unanswered() && now - source.since < least;
  source.answer.stale = source.silences >= kMostFailures && !may_just_begin;
  if (!source.answer.stale) return;
  // It is as if it had never rested.
  if (source.before) source.answer.body = source.before;
  source.answered_another = false;
}

// Doubled with each failure in a row: of a source that has answered, the interval. As long as there is no
// answer, what needs it waits, so that it is noticed soon.
Duration Sources::pause_after(const Source& source) {
  const Duration interval = source.question.interval;
  if (source.is_unanswered())
    return doubled_pause(std::min(interval, kUnknownPause), std::max(source.failures - 1, 0), kLongestPause);
  return doubled_pause(interval, source.failures, std::max(interval, kLongestPause));
}

}  // namespace mist::operator_
