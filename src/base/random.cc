#include "base/random.h"

#include <sys/random.h>

#include <cerrno>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace mist {

std::string Random::token(std::size_t bytes) {
  std::vector<std::byte> raw(bytes);
  fill(raw);
  return hex(raw);
}

void SystemRandom::fill(std::span<std::byte> out) {
  while (!out.empty()) {
    const ssize_t got = ::getrandom(out.data(), out.size(), 0);
    MIST_CHECK(got > 0 || errno == EINTR, "getrandom failed");
    if (got > 0) out = out.subspan(static_cast<std::size_t>(got));
  }
}

}  // namespace mist
