#include "cli/output/jsonl_progress.h"

#include "cli/output/output.h"
#include "cli/output/report.h"

namespace mist::cli {
namespace {

using encoding::Value;

double seconds(Duration duration) {
  return static_cast<double>(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count()) / 1000;
}

std::string_view level_of(EventLevel level) {
  switch (level) {
    case EventLevel::Debug:
      return "debug";
    case EventLevel::Info:
      return "info";
    case EventLevel::Warning:
      return "warning";
  }
  return "info";
}

Value planned_object(const PlanAnnounced::Object& object) {
  Value fields{Value::Array{}}, after{Value::Array{}};
  for (const PlanAnnounced::Field& field : object.fields)
    fields.push_back(Value::object({{"path", field.path},
                                    {"file", text_or_null(field.file)},
                                    {"line", field.line == 0 ? Value() : Value(std::int64_t{field.line})}}));
  for (const PlanAnnounced::Awaited& awaited : object.after)
    after.push_back(Value::object({{"object", awaited.object}, {"reason", text_or_null(awaited.reason)}}));
  return Value::object({{"object", object.object},
                        {"group", object.group},
                        {"action", object.action},
                        {"reason", text_or_null(object.reason)},
                        {"fields", std::move(fields)},
                        {"after", std::move(after)},
                        {"moreAfter", object.more_after}});
}

void write_line(Output& err, WallTime now, Value event) {
  event.set("time", format_micro_time(now));
  err.write(json_line(err, event));
}

}  // namespace

void JsonlProgress::line(Value event) { write_line(err_, clock_.now(), std::move(event)); }

void JsonlProgress::message(const Message& event) {
  if (!options_.shows(event.level)) return;
  line(Value::object({{"event", "message"}, {"level", level_of(event.level)}, {"text", event.text}}));
}

void JsonlProgress::began(const ActivityBegan& event) {
  if (options_.quiet) return;
  const std::lock_guard lock(mutex_);
  running_.emplace(event.id, Running{event.text, clock_.steady_now()});
  line(Value::object({{"event", "began"}, {"text", event.text}}));
}

void JsonlProgress::ended(const ActivityEnded& event) {
  const std::lock_guard lock(mutex_);
  const auto found = running_.find(event.id);
  if (found == running_.end()) return;
  line(Value::object({{"event", "ended"},
                      {"text", found->second.text},
                      {"ok", event.ok},
                      {"seconds", seconds(clock_.steady_now() - found->second.since)}}));
  running_.erase(found);
}

void JsonlProgress::progressed(const ActivityProgress& event) {
  const std::lock_guard lock(mutex_);
  const auto found = running_.find(event.id);
  if (found == running_.end()) return;
  line(Value::object({{"event", "progress"},
                      {"text", found->second.text},
                      {"bytes", event.done},
                      {"totalBytes", event.total}}));
}

void JsonlProgress::object(const ObjectProgress& event) {
  if (options_.quiet) return;
  const std::lock_guard lock(mutex_);
  std::pair<std::string, std::string> now{event.state, event.detail};
  const auto [found, is_new] = last_.try_emplace(event.object, now);
  if (!is_new && found->second == now) return;
  found->second = std::move(now);
  line(Value::object({{"event", "object"},
                      {"object", event.object},
                      {"state", event.state},
                      {"detail", text_or_null(event.detail)}}));
}

void JsonlProgress::planned(const PlanAnnounced& event) {
  if (options_.quiet) return;
  const std::lock_guard lock(mutex_);
  last_.clear();
  Value objects{Value::Array{}};
  for (const PlanAnnounced::Object& object : event.objects) objects.push_back(planned_object(object));
  line(Value::object({{"event", "plan"},
                      {"operation", event.operation},
                      {"namespace", event.ns},
                      {"release", event.release},
                      {"revision", number_or_null(event.revision)},
                      {"objects", std::move(objects)}}));
}

void write_finished_event(Output& err, WallTime now, Duration elapsed, ExitCode code, const Error* failure) {
  write_line(err, now,
             Value::object(
                 {{"event", "finished"},
                  {"exitCode", static_cast<std::int64_t>(code)},
                  {"seconds", seconds(elapsed)},
                  {"error", failure == nullptr ? Value() : *error_to_value(*failure, code).find("error")}}));
}

}  // namespace mist::cli
