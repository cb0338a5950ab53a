#pragma once
// The real machine of mistletoe-catalog, as its main makes it.

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/context.h"
#include "base/fs.h"
#include "base/process.h"
#include "base/pulse.h"
#include "base/random.h"
#include "main/line_log.h"

namespace mist {

struct Machine {
  Path program;  ///< this one's file
  Context context;
  Pulse& pulse;
  SystemClock& clock;
  LineLog& log;
  HostFileSystem files = {};
  HostProcessRunner processes = {};
  SystemRandom random = {};
};

inline std::optional<std::string> environment(std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

}  // namespace mist
