// libFuzzer's entry into the target that MIST_FUZZ_TARGET names (tools/fuzz.sh).
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const mist::fuzz::Target* const target = [] {
    const char* const name = std::getenv("MIST_FUZZ_TARGET");
    const mist::fuzz::Target* const found = name == nullptr ? nullptr : mist::fuzz::find_target(name);
    if (found == nullptr) {
      std::fprintf(stderr, "MIST_FUZZ_TARGET names no target; there are:\n");
      for (const mist::fuzz::Target& each : mist::fuzz::targets())
        std::fprintf(stderr, "%.*s\n", static_cast<int>(each.name.size()), each.name.data());
      std::exit(2);
    }
    return found;
  }();
  target->run({reinterpret_cast<const char*>(data), size});
  return 0;
}
