#include "main/line_log.h"

#include <fmt/core.h>
#include <unistd.h>

#include "base/text.h"

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
  const std::string_view level = event.level == EventLevel::Warning ? "warning"
                                 : event.level == EventLevel::Info  ? "info"
                                                                    : "debug";
  const std::string line =
      fmt::format("{} {} {}\n", format_micro_time(clock_.now()), level, escape_controls(event.text));
  const std::lock_guard lock(mutex_);
  print_to(2, line);
}

}  // namespace mist
