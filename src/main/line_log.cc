#include "main/line_log.h"

#include <fmt/core.h>

#include "base/text.h"
#include "encoding/json.h"
#include "main/printing.h"

namespace mist {
namespace {

struct LevelNames {
  std::string_view text, json;
};

LevelNames names_of(EventLevel level) {
  switch (level) {
    case EventLevel::Warning:
      return {"warning", "WARN"};
    case EventLevel::Info:
      return {"info", "INFO"};
    case EventLevel::Debug:
      break;
  }
  return {"debug", "DEBUG"};
}

}  // namespace

std::string LineLog::line_of(const Message& event) const {
  const LevelNames level = names_of(event.level);
  std::string time = format_micro_time(clock_.now()), text = escape_controls(event.text);
  if (format_ == Format::Text) return fmt::format("{} {} {}\n", time, level.text, text);
  return encoding::to_json(encoding::Value::object(
             {{"time", std::move(time)}, {"level", level.json}, {"msg", std::move(text)}})) +
         "\n";
}

void LineLog::message(const Message& event) {
  if (!shows(event.level)) return;
  const std::string line = line_of(event);
  const std::lock_guard lock(mutex_);
  print_to(2, line);
}

}  // namespace mist
