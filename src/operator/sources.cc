#include "operator/sources.h"

#include <algorithm>

#include "base/doubled_pause.h"
#include "base/text.h"
#include "encoding/json.h"
#include "kube/service_proxy.h"

namespace mist::operator_ {
namespace {

using reconcile::HttpAnswer;
using reconcile::HttpQuestion;

// One for each source up to this: those that are slow to answer keep few others waiting.
constexpr std::size_t kMostSenders = 16;
// As many tries in a row have to fail until an answer is no longer believed, or is known to be missing: one
// lost packet is no news.
constexpr int kMostFailures = 3;
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

// Doubled with each failure in a row: of a source that has answered, the interval. As long as there is no
// answer, what needs it waits, so that it is noticed soon.
Duration pause_after(const HttpQuestion& question, const HttpAnswer& answer, int failures) {
  if (!answer.body)
    return doubled_pause(std::min(question.interval, kUnknownPause), std::max(failures - 1, 0),
                         kLongestPause);
  return doubled_pause(question.interval, failures, std::max(question.interval, kLongestPause));
}

}  // namespace

Sources::Sources(kube::Client& client, Clock& clock, EventSink& events, Observer::Wake wake)
    : client_(client), events_(events), wake_(std::move(wake)), queue_(clock) {}

Sources::~Sources() {
  for (std::jthread& each : senders_) each.request_stop();
}

HttpAnswer Sources::ask(const Item& item, const std::string& node, const HttpQuestion& question) {
  asking_.insert(node);
  const Key key{item, node};
  const std::lock_guard lock(mutex_);
  const auto [entry, is_new] = sources_.try_emplace(key, Source{.question = question});
  if (!is_new && entry->second.question == question) return entry->second.answer;
  entry->second = {.question = question};
  queue_.add(key);
  if (senders_.size() < std::min(sources_.size(), kMostSenders))
    senders_.emplace_back([this](const std::stop_token& stop) { work(stop); });
  return {};
}

void Sources::finish(const Item& item) {
  const std::lock_guard lock(mutex_);
  for (auto at = sources_.lower_bound({item, {}}); at != sources_.end() && at->first.first == item;)
    at = asking_.contains(at->first.second) ? std::next(at) : sources_.erase(at);
}

void Sources::work(const std::stop_token& stop) {
  while (const std::optional<Key> key = queue_.take(stop)) {
    std::optional<HttpQuestion> question;
    {
      const std::lock_guard lock(mutex_);
      if (const auto source = sources_.find(*key); source != sources_.end())
        question = source->second.question;
    }
    // Without a question nobody asks any more.
    if (question) {
      const Result<Value> answer = send(*question, stop);
      if (stop.stop_requested()) return;
      take(*key, *question, answer);
    }
    queue_.succeeded(*key);
  }
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

void Sources::take(const Key& key, const HttpQuestion& question, const Result<Value>& answer) {
  const std::lock_guard lock(mutex_);
  const auto found = sources_.find(key);
  // Its next question is in the queue already.
  if (found == sources_.end() || found->second.question != question) return;
  Source& source = found->second;
  HttpAnswer now = source.answer;
  if (answer.ok()) {
    source.failures = 0;
    now = {.body = *answer};
  } else {
    ++source.failures;
    now.failure = answer.error().because.empty()
                      ? answer.error().message
                      : fmt::format("{}: {}", answer.error().message, answer.error().because);
    now.stale = source.failures >= kMostFailures;
    events_.debug(fmt::format("{} of {}/{}: {}", key.second, key.first.instance.first,
                              key.first.instance.second, now.failure));
  }
  const bool is_news = now.body != source.answer.body || now.failure != source.answer.failure ||
                       now.stale != source.answer.stale;
  source.answer = std::move(now);
  queue_.add(key, pause_after(question, source.answer, source.failures));
  if (is_news) wake_(key.first);
}

}  // namespace mist::operator_
