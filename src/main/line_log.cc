#include "main/line_log.h"

#include <fmt/core.h>
#include <unistd.h>

#include "base/text.h"
#include "encoding/json.h"

namespace mist {

void print_to(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void LineLog::message(const Message& event) {
  if (!shows(event.level)) return;
  const bool is_json = format_ == Format::Json;
  const std::string_view level = event.level == EventLevel::Warning ? is_json ? "WARN" : "warning"
                                 : event.level == EventLevel::Info  ? is_json ? "INFO" : "info"
                                 : is_json                          ? "DEBUG"
                                                                    : "debug";
  const std::string time = format_micro_time(clock_.now());
  const std::string line =
      is_json ? encoding::to_json(encoding::Value::object(
                    {{"time", time}, {"level", level}, {"msg", escape_controls(event.text)}})) +
                    "\n"
              : fmt::format("{} {} {}\n", time, level, escape_controls(event.text));
  const std::lock_guard lock(mutex_);
  print_to(2, line);
}

}  // namespace mist
