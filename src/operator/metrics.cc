#include "operator/metrics.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <utility>

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

// Of /proc/self/statm; 0: it can't be read.
std::uint64_t resident_bytes() {
  unsigned long long size = 0, resident = 0;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/self/statm", "re"),
                                                             &std::fclose);
  if (!file || std::fscanf(file.get(), "%llu %llu", &size, &resident) != 2) return 0;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

void Metrics::reconciled(std::string_view controller, bool ok, Duration took) {
  const double seconds = std::chrono::duration<double>(took).count();
  const std::lock_guard lock(mutex_);
  auto found = controllers_.find(controller);
  if (found == controllers_.end()) found = controllers_.emplace(std::string(controller), Controller()).first;
  Controller& counts = found->second;
  ++(ok ? counts.succeeded : counts.failed);
  counts.seconds += seconds;
  ++counts.buckets[static_cast<std::size_t>(std::ranges::lower_bound(kBuckets, seconds) - kBuckets.begin())];
}

void Metrics::lacks(std::string what) {
  const std::lock_guard lock(mutex_);
  lacking_ = std::move(what);
}

std::string Metrics::lacking() const {
  const std::lock_guard lock(mutex_);
  return lacking_;
}

void Metrics::watch_queue(std::function<QueueState()> queue) {
  const std::lock_guard lock(mutex_);
  queue_ = std::move(queue);
}

void Metrics::watch_traces(std::function<std::uint64_t()> dropped) {
  const std::lock_guard lock(mutex_);
  dropped_spans_ = std::move(dropped);
}

std::string Metrics::text() const {
  std::string out;
  const auto to = std::back_inserter(out);
  const std::lock_guard lock(mutex_);
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
  for (const auto& [name, counts] : controllers_) {
    const std::string label = label_value(name);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < kBuckets.size(); ++i) {
      sum += counts.buckets[i];
      fmt::format_to(to, "controller_runtime_reconcile_time_seconds_bucket{{controller={},le=\"{}\"}} {}\n",
                     label, kBuckets[i], sum);
    }
    sum += counts.buckets.back();
    fmt::format_to(to,
                   "controller_runtime_reconcile_time_seconds_bucket{{controller={0},le=\"+Inf\"}} {1}\n"
                   "controller_runtime_reconcile_time_seconds_sum{{controller={0}}} {2}\n"
                   "controller_runtime_reconcile_time_seconds_count{{controller={0}}} {1}\n",
                   label, sum, counts.seconds);
  }
  if (queue_) {
    const QueueState queue = queue_();
    begin(out, "workqueue_depth", "gauge", "Current depth of workqueue");
    fmt::format_to(to, "workqueue_depth{{name=\"operator\"}} {}\n", queue.depth);
    begin(out, "workqueue_adds_total", "counter", "Total number of adds handled by workqueue");
    fmt::format_to(to, "workqueue_adds_total{{name=\"operator\"}} {}\n", queue.additions);
  }
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
  begin(out, "process_resident_memory_bytes", "gauge", "Resident memory size in bytes");
  fmt::format_to(to, "process_resident_memory_bytes {}\n", resident_bytes());
  begin(out, "mistletoe_build_info", "gauge", "The version of mistletoe-operator");
  fmt::format_to(to, "mistletoe_build_info{{version={}}} 1\n", label_value(version_));
  return out;
}

}  // namespace mist::operator_
