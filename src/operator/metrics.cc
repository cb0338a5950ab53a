#include "operator/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "operator/process_metrics.h"

namespace mist::operator_ {
namespace {

// A label's value: quotes, backslashes and newlines escaped.
std::string label_value(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? std::string_view("\\n") : std::string_view(&c, 1);
  }
  return out + '"';
}

void begin(std::string& text, std::string_view name, std::string_view type, std::string_view help) {
  fmt::format_to(std::back_inserter(text), "# HELP {0} {2}\n# TYPE {0} {1}\n", name, type, help);
}

// A histogram's lines. `label`: "controller=\"app\"".
template <std::size_t N>
void add_histogram(std::string& out, std::string_view name, const std::string& label,
                   const std::array<double, N>& bounds, const std::array<std::uint64_t, N + 1>& buckets,
                   double seconds) {
  const auto to = std::back_inserter(out);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < N; ++i) {
    sum += buckets[i];
    fmt::format_to(to, "{}_bucket{{{},le=\"{}\"}} {}\n", name, label, bounds[i], sum);
  }
  sum += buckets.back();
  fmt::format_to(to,
                 "{0}_bucket{{{1},le=\"+Inf\"}} {2}\n"
                 "{0}_sum{{{1}}} {3}\n"
                 "{0}_count{{{1}}} {2}\n",
                 name, label, sum, seconds);
}

void add_queues(std::string& out, const std::map<std::string, QueueState>& queues) {
  if (queues.empty()) return;
  const auto to = std::back_inserter(out);
  const auto each = [&](std::string_view metric, auto QueueState::* number) {
    for (const auto& [name, state] : queues)
      fmt::format_to(to, "{}{{name={}}} {}\n", metric, label_value(name), state.*number);
  };
  begin(out, "workqueue_depth", "gauge", "Current depth of workqueue");
  each("workqueue_depth", &QueueState::depth);
  begin(out, "workqueue_adds_total", "counter", "Total number of adds handled by workqueue");
  each("workqueue_adds_total", &QueueState::additions);
  begin(out, "workqueue_retries_total", "counter", "Total number of retries handled by workqueue");
  each("workqueue_retries_total", &QueueState::retries);
  begin(out, "workqueue_queue_duration_seconds", "histogram",
        "How long in seconds an item stays in workqueue before being requested");
  for (const auto& [name, state] : queues)
    add_histogram(out, "workqueue_queue_duration_seconds", "name=" + label_value(name), QueueWaits::kBuckets,
                  state.waits.buckets, state.waits.seconds);
}

// One item moves from a reason to another; empty ones aren't counted.
void move(std::map<std::string, std::size_t, std::less<>>& counts, std::string_view before,
          std::string_view now) {
  if (const auto old = counts.find(before); !before.empty() && old != counts.end() && --old->second == 0)
    counts.erase(old);
  if (!now.empty()) ++counts[std::string(now)];
}

void add_process(std::string& out) {
  const auto to = std::back_inserter(out);
  const ProcessMetrics use = process_metrics();
  begin(out, "process_cpu_seconds_total", "counter", "Total user and system CPU time spent in seconds");
  fmt::format_to(to, "process_cpu_seconds_total {}\n", use.cpu_seconds);
  begin(out, "process_resident_memory_bytes", "gauge", "Resident memory size in bytes");
  fmt::format_to(to, "process_resident_memory_bytes {}\n", use.resident_bytes);
  begin(out, "process_start_time_seconds", "gauge", "Start time of the process since unix epoch in seconds");
  fmt::format_to(to, "process_start_time_seconds {:.2f}\n", use.start_seconds);
}

}  // namespace

Metrics::Controller& Metrics::controller(std::string_view name) {
  auto found = controllers_.find(name);
  if (found == controllers_.end()) found = controllers_.emplace(std::string(name), Controller()).first;
  return found->second;
}

void Metrics::reconciled(std::string_view controller_name, bool ok, Duration took) {
  const double seconds = std::chrono::duration<double>(took).count();
  const std::lock_guard lock(mutex_);
  Controller& counts = controller(controller_name);
  ++(ok ? counts.succeeded : counts.failed);
  counts.seconds += seconds;
  ++counts.buckets[static_cast<std::size_t>(std::ranges::lower_bound(kBuckets, seconds) - kBuckets.begin())];
}

Metrics::Working::Working(Metrics& metrics, std::string_view controller)
    : metrics_(metrics), controller_(controller) {
  const std::lock_guard lock(metrics_.mutex_);
  ++metrics_.controller(controller_).active;
}

Metrics::Working::~Working() {
  const std::lock_guard lock(metrics_.mutex_);
  --metrics_.controller(controller_).active;
}

Metrics::Answering::Answering(Metrics& metrics, std::string path)
    : metrics_(metrics), path_(std::move(path)) {
  const std::lock_guard lock(metrics_.mutex_);
  ++metrics_.webhooks_[path_].active;
}

void Metrics::Answering::ends(int code, Duration took) {
  const std::lock_guard lock(metrics_.mutex_);
  Webhook& webhook = metrics_.webhooks_[path_];
  ++webhook.requests[code];
  webhook.times.add(took);
}

Metrics::Answering::~Answering() {
  const std::lock_guard lock(metrics_.mutex_);
  --metrics_.webhooks_[path_].active;
}

void Metrics::Times::add(Duration took) {
  const double passed = std::chrono::duration<double>(took).count();
  seconds += passed;
  const auto bucket = std::ranges::lower_bound(kAnswerBuckets, passed) - kAnswerBuckets.begin();
  ++buckets[static_cast<std::size_t>(bucket)];
}

void Metrics::converted(const std::string& blueprint, const std::string& kind, bool ok, std::size_t objects,
                        Duration took) {
  const std::lock_guard lock(mutex_);
  Converted& counts = converted_[{blueprint, kind, ok}];
  counts.objects += objects;
  counts.times.add(took);
}

void Metrics::sends_to(std::string host) {
  const std::lock_guard lock(mutex_);
  host_ = std::move(host);
}

void Metrics::requested(std::string_view method, int status) {
  const std::lock_guard lock(mutex_);
  ++requests_[{std::string(method), status}];
}

void Metrics::instance(std::string_view blueprint, std::string_view ns, std::string_view before,
                       std::string_view now) {
  const std::lock_guard lock(mutex_);
  auto& of_blueprint = instances_[std::string(blueprint)];
  Counts& counts = of_blueprint[std::string(ns)];
  move(counts, before, now);
  if (counts.empty()) of_blueprint.erase(std::string(ns));
}

void Metrics::stalled(std::string_view blueprint, std::string_view ns, bool now) {
  const std::lock_guard lock(mutex_);
  auto& of_blueprint = stalled_[std::string(blueprint)];
  std::size_t& count = of_blueprint[std::string(ns)];
  if (now)
    ++count;
  else if (count == 0 || --count == 0)
    of_blueprint.erase(std::string(ns));
}

void Metrics::pending_delete(std::string_view blueprint, std::string_view ns, std::optional<WallTime> before,
                             std::optional<WallTime> now) {
  const std::lock_guard lock(mutex_);
  auto& of_blueprint = pending_[std::string(blueprint)];
  std::multiset<WallTime>& times = of_blueprint[std::string(ns)];
  if (const auto old = before ? times.find(*before) : times.end(); old != times.end()) times.erase(old);
  if (now) times.insert(*now);
  if (times.empty()) of_blueprint.erase(std::string(ns));
  if (of_blueprint.empty()) pending_.erase(std::string(blueprint));
}

void Metrics::release(std::string_view before, std::string_view now) {
  const std::lock_guard lock(mutex_);
  move(releases_, before, now);
}

void Metrics::rejected(const std::string& blueprint, std::optional<bool> now) {
  const std::lock_guard lock(mutex_);
  if (now)
    rejected_[blueprint] = *now;
  else
    rejected_.erase(blueprint);
}

void Metrics::not_watched(const std::string& blueprint, std::optional<std::set<std::string>> namespaces) {
  const std::lock_guard lock(mutex_);
  if (namespaces)
    not_watched_[blueprint] = *std::move(namespaces);
  else
    not_watched_.erase(blueprint);
}

void Metrics::keeps_no_blueprints() {
  const std::lock_guard lock(mutex_);
  instances_.clear();
  stalled_.clear();
  pending_.clear();
  rejected_.clear();
  not_watched_.clear();
}

void Metrics::keeps_no_releases() {
  const std::lock_guard lock(mutex_);
  releases_.clear();
}

void Metrics::lacks(std::string what) {
  const std::lock_guard lock(mutex_);
  lacking_ = std::move(what);
}

std::string Metrics::lacking() const {
  const std::lock_guard lock(mutex_);
  return lacking_;
}

void Metrics::watch_queue(const std::string& name, std::function<QueueState()> queue) {
  const std::lock_guard lock(asking_);
  if (queue)
    queues_[name] = std::move(queue);
  else
    queues_.erase(name);
}

void Metrics::watch_traces(std::function<std::uint64_t()> dropped) {
  const std::lock_guard lock(asking_);
  dropped_spans_ = std::move(dropped);
}

void Metrics::add_controllers(std::string& out) const {
  const auto to = std::back_inserter(out);
  begin(out, "controller_runtime_reconcile_total", "counter",
        "Total number of reconciliations per controller");
  for (const auto& [name, counts] : controllers_)
    fmt::format_to(to,
                   "controller_runtime_reconcile_total{{controller={0},result=\"error\"}} {1}\n"
                   "controller_runtime_reconcile_total{{controller={0},result=\"success\"}} {2}\n",
                   label_value(name), counts.failed, counts.succeeded);
  begin(out, "controller_runtime_reconcile_errors_total", "counter",
        "Total number of reconciliation errors per controller");
  for (const auto& [name, counts] : controllers_)
    fmt::format_to(to, "controller_runtime_reconcile_errors_total{{controller={}}} {}\n", label_value(name),
                   counts.failed);
  begin(out, "controller_runtime_reconcile_time_seconds", "histogram",
        "Length of time per reconciliation per controller");
  for (const auto& [name, counts] : controllers_)
    add_histogram(out, "controller_runtime_reconcile_time_seconds", "controller=" + label_value(name),
                  kBuckets, counts.buckets, counts.seconds);
  begin(out, "controller_runtime_active_workers", "gauge", "Number of currently used workers per controller");
  for (const auto& [name, counts] : controllers_)
    fmt::format_to(to, "controller_runtime_active_workers{{controller={}}} {}\n", label_value(name),
                   counts.active);
}

void Metrics::add_requests(std::string& out) const {
  begin(out, "rest_client_requests_total", "counter",
        "Number of HTTP requests, partitioned by status code, method, and host");
  for (const auto& [key, count] : requests_)
    fmt::format_to(std::back_inserter(out), "rest_client_requests_total{{code={},host={},method={}}} {}\n",
                   label_value(key.second == 0 ? "<error>" : std::to_string(key.second)), label_value(host_),
                   label_value(key.first), count);
}

void Metrics::add_kept(std::string& out) const {
  const auto to = std::back_inserter(out);
  const auto add = [&out](const std::string& blueprint, std::string_view ns, const Counts& counts) {
    for (const auto& [reason, count] : counts)
      fmt::format_to(std::back_inserter(out),
                     "mistletoe_instances{{blueprint={},namespace={},reason={}}} {}\n",
                     label_value(blueprint), label_value(ns), label_value(reason), count);
  };
  begin(out, "mistletoe_instances", "gauge",
        "Instances of blueprints by the reason of their condition Ready");
  for (const auto& [blueprint, by_namespace] : instances_) {
    Counts together;
    for (const auto& [ns, counts] : by_namespace) {
      if (by_namespace.size() <= kMostNamespaces) add(blueprint, ns, counts);
      for (const auto& [reason, count] : counts) together[reason] += count;
    }
    if (by_namespace.size() > kMostNamespaces) add(blueprint, "", together);
  }
  begin(out, "mistletoe_instances_stalled", "gauge",
        "Instances of blueprints that did not become ready within the deadline of their blueprint");
  const auto show = [&](const std::string& blueprint, std::string_view ns, std::size_t count) {
    fmt::format_to(to, "mistletoe_instances_stalled{{blueprint={},namespace={}}} {}\n",
                   label_value(blueprint), label_value(ns), count);
  };
  for (const auto& [blueprint, by_namespace] : stalled_) {
    std::size_t together = 0;
    for (const auto& [ns, count] : by_namespace) {
      if (by_namespace.size() <= kMostNamespaces) show(blueprint, ns, count);
      together += count;
    }
    // A series that ends is no 0 to those who alert on it.
    if (by_namespace.empty() || by_namespace.size() > kMostNamespaces) show(blueprint, "", together);
  }
  // A time and no age, which would be that of the last scrape.
  constexpr std::string_view kPending = "mistletoe_oldest_pending_delete_timestamp_seconds";
  begin(out, kPending, "gauge",
        "Since when the oldest delete of an object of a blueprint's instances is held back, in unix time");
  const auto show_time = [&](const std::string& blueprint, std::string_view ns, WallTime since) {
    fmt::format_to(to, "{}{{blueprint={},namespace={}}} {:.0f}\n", kPending, label_value(blueprint),
                   label_value(ns), std::chrono::duration<double>(since.time_since_epoch()).count());
  };
  for (const auto& [blueprint, by_namespace] : pending_) {
    WallTime oldest = WallTime::max();
    for (const auto& [ns, times] : by_namespace) {
      if (by_namespace.size() <= kMostNamespaces) show_time(blueprint, ns, *times.begin());
      oldest = std::min(oldest, *times.begin());
    }
    if (by_namespace.size() > kMostNamespaces) show_time(blueprint, "", oldest);
  }
  begin(out, "mistletoe_blueprint_rejected", "gauge",
        "1 while the revision of the blueprint in its ConfigMap is rejected");
  for (const auto& [name, is_rejected] : rejected_)
    fmt::format_to(to, "mistletoe_blueprint_rejected{{blueprint={}}} {}\n", label_value(name),
                   is_rejected ? 1 : 0);
  begin(out, "mistletoe_blueprint_not_watched", "gauge",
        "In how many namespaces the instances of the blueprint can't be listed");
  const auto show_unwatched = [&](const std::string& blueprint, std::string_view ns, std::size_t count) {
    fmt::format_to(to, "mistletoe_blueprint_not_watched{{blueprint={},namespace={}}} {}\n",
                   label_value(blueprint), label_value(ns), count);
  };
  for (const auto& [name, namespaces] : not_watched_) {
    const bool by_itself = !namespaces.empty() && namespaces.size() <= kMostNamespaces;
    if (!by_itself) show_unwatched(name, "", namespaces.size());
    if (by_itself)
      for (const std::string& ns : namespaces) show_unwatched(name, ns, 1);
  }
  begin(out, "mistletoe_releases", "gauge", "Releases by the reason of their condition Ready");
  for (const auto& [reason, count] : releases_)
    fmt::format_to(to, "mistletoe_releases{{reason={}}} {}\n", label_value(reason), count);
}

// Those of operators without a webhook have none of them.
void Metrics::add_webhooks(std::string& out) const {
  const auto to = std::back_inserter(out);
  if (!webhooks_.empty()) {
    begin(out, "controller_runtime_webhook_requests_total", "counter",
          "Total number of requests to webhooks by HTTP status code");
    for (const auto& [path, webhook] : webhooks_)
      for (const auto& [code, count] : webhook.requests)
        fmt::format_to(to, "controller_runtime_webhook_requests_total{{code=\"{}\",webhook={}}} {}\n", code,
                       label_value(path), count);
    begin(out, "controller_runtime_webhook_requests_in_flight", "gauge",
          "Current number of requests to webhooks being served");
    for (const auto& [path, webhook] : webhooks_)
      fmt::format_to(to, "controller_runtime_webhook_requests_in_flight{{webhook={}}} {}\n",
                     label_value(path), webhook.active);
    begin(out, "controller_runtime_webhook_latency_seconds", "histogram",
          "Histogram of the latency of processing requests to webhooks");
    for (const auto& [path, webhook] : webhooks_)
      add_histogram(out, "controller_runtime_webhook_latency_seconds", "webhook=" + label_value(path),
                    kAnswerBuckets, webhook.times.buckets, webhook.times.seconds);
  }
  if (converted_.empty()) return;
  const auto labels = [](const auto& key) {
    const auto& [blueprint, kind, ok] = key;
    return fmt::format("blueprint={},kind={},result=\"{}\"", label_value(blueprint), label_value(kind),
                       ok ? "success" : "error");
  };
  begin(out, "mistletoe_conversion_objects_total", "counter",
        "Objects in ConversionReviews of the API server, by whether the review succeeded");
  for (const auto& [key, counts] : converted_)
    fmt::format_to(to, "mistletoe_conversion_objects_total{{{}}} {}\n", labels(key), counts.objects);
  begin(out, "mistletoe_conversion_seconds", "histogram",
        "How long in seconds a ConversionReview of the API server took");
  for (const auto& [key, counts] : converted_)
    add_histogram(out, "mistletoe_conversion_seconds", labels(key), kAnswerBuckets, counts.times.buckets,
                  counts.times.seconds);
}

std::string Metrics::text() const {
  std::string out;
  const auto to = std::back_inserter(out);
  {
    const std::lock_guard lock(mutex_);
    add_controllers(out);
    add_requests(out);
    add_kept(out);
    add_webhooks(out);
  }
  const std::lock_guard lock(asking_);
  std::map<std::string, QueueState> queues;
  for (const auto& [name, state] : queues_) queues.emplace(name, state());
  add_queues(out, queues);
  if (!lease_.empty()) {
    begin(out, "leader_election_master_status", "gauge",
          "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates "
          "master");
    fmt::format_to(to, "leader_election_master_status{{name={}}} {}\n", label_value(lease_), leads_ ? 1 : 0);
  }
  if (const std::int64_t slots = slots_; slots >= 0) {
    begin(out, "mistletoe_shard_slots", "gauge",
          "How many of the 64 slots of namespaces this replica works in");
    fmt::format_to(to, "mistletoe_shard_slots {}\n", slots);
  }
  if (dropped_spans_) {
    begin(out, "mistletoe_trace_spans_dropped_total", "counter",
          "Trace spans dropped before a collector accepted them");
    fmt::format_to(to, "mistletoe_trace_spans_dropped_total {}\n", dropped_spans_());
  }
  add_process(out);
  begin(out, "mistletoe_build_info", "gauge", "The version of mistletoe-operator");
  fmt::format_to(to, "mistletoe_build_info{{version={}}} 1\n", label_value(version_));
  return out;
}

}  // namespace mist::operator_
