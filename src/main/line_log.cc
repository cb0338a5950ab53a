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

// " blueprint=app": what the text doesn't say. Values with spaces are quoted.
std::string beside_text(const MessageFields& fields) {
  std::string out;
  for (const MessageField& each : fields) {
    if (each.in_text) continue;
    const std::string value = escape_controls(each.value);
    const bool is_plain = !value.empty() && value.find_first_of(" \"=") == std::string::npos;
    out += fmt::format(" {}={}", each.name, is_plain ? value : encoding::to_json(encoding::Value(value)));
  }
  return out;
}

}  // namespace

std::string LineLog::line_of(const Message& event) const {
  const LevelNames level = names_of(event.level);
  std::string time = format_micro_time(clock_.now()), text = escape_controls(event.text);
  if (format_ == Format::Text)
    return fmt::format("{} {} {}{}\n", time, level.text, text, beside_text(event.fields));
  encoding::Value line =
      encoding::Value::object({{"time", std::move(time)}, {"level", level.json}, {"msg", std::move(text)}});
  for (const MessageField& each : event.fields) line.set(each.name, escape_controls(each.value));
  return encoding::to_json(line) + "\n";
}

void LineLog::message(const Message& event) {
  if (!shows(event.level)) return;
  const std::string line = line_of(event);
  const std::lock_guard lock(mutex_);
  print_to(2, line);
}

}  // namespace mist
