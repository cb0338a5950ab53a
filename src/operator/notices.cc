#include "operator/notices.h"

#include <algorithm>

#include "base/cut_text.h"
#include "base/text.h"
#include "operator/log_fields.h"
#include "operator/words.h"

namespace mist::operator_ {
namespace {

// The server's limit.
constexpr std::size_t kMostEventText = 1024;

const Value* condition_in(const Value& conditions, std::string_view type) {
  if (!conditions.is_array()) return nullptr;
  const auto found = std::ranges::find_if(conditions.as_array(),
                                          [&](const Value& each) { return each.string_at("type") == type; });
  return found == conditions.as_array().end() ? nullptr : &*found;
}

}  // namespace

void Notices::of_instance(const Value& instance, const Value& conditions, const Context& context) {
  const Value* now = condition_in(conditions, "Ready");
  const Value* had = instance.at_path({"status", "conditions"});
  const Value* before = had == nullptr ? nullptr : condition_in(*had, "Ready");
  if (now == nullptr) return;
  const auto same = [&](std::string_view field) {
    return before != nullptr && before->string_at(field) == now->string_at(field);
  };
  const std::string_view reason = now->string_at("reason");
  const bool failed = reason == "Failed" && !(same("reason") && same("message"));
  // Becoming ready at once is no news: an Event would be one request more for each instance.
  const bool ready = now->string_at("status") == "True" && before != nullptr && !same("status");
  if (failed || ready) tell(instance, failed, reason, now->string_at("message"), context);
  for (const std::string_view type : {"Oscillating", "RecordComplete", "Stalled"}) {
    const Value* const told = condition_in(conditions, type);
    if (told == nullptr || (had != nullptr && condition_in(*had, type) != nullptr)) continue;
    tell(instance, true, type == "Oscillating" ? type : told->string_at("reason"), told->string_at("message"),
         context);
  }
}

void Notices::tell(const Value& about, bool warning, std::string_view reason, std::string_view message,
                   const Context& context) {
  const std::string_view ns = about.string_at({"metadata", "namespace"}),
                         name = about.string_at({"metadata", "name"});
  const std::string place = ns.empty() ? "default" : std::string(ns);
  const std::string now = format_time(clock_.now());
  const Value event = Value::object(
      {{"apiVersion", "v1"},
       {"kind", "Event"},
       {"metadata", Value::object({{"name", fmt::format("{}.{:x}.{}", name,
                                                        clock_.now().time_since_epoch().count(), ++told_)},
                                   {"namespace", place}})},
       {"involvedObject", Value::object({{"apiVersion", about.string_at("apiVersion")},
                                         {"kind", about.string_at("kind")},
                                         {"namespace", ns},
                                         {"name", name},
                                         {"uid", about.string_at({"metadata", "uid"})}})},
       {"type", warning ? "Warning" : "Normal"},
       {"reason", reason},
       {"message", cut_text(message, kMostEventText - 3)},
       {"source", Value::object({{"component", kManager}})},
       {"firstTimestamp", now},
       {"lastTimestamp", now},
       {"count", 1}});
  const kube::ResourceInfo events{{"", "v1", "Event"}, "events", true, {}};
  if (const auto made = client_.create(events, place, event, context); !made.ok())
    events_.debug(
        fmt::format("an Event about {} can't be written: {}", id_of(about).display(), made.error().to_line()),
        fields_of(id_of(about)));
}

}  // namespace mist::operator_
