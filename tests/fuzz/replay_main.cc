// replay TARGET DIRECTORY...: runs a fuzz target without libFuzzer: every file of the directories named, then
// every prefix and some changed copies of the small ones, so that the seeds alone already reach far in an
// ordinary test run.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "targets.h"

namespace {

using Bytes = std::vector<char>;

void run(const mist::fuzz::Target& target, const Bytes& bytes) {
  // A copy of exactly this size lets AddressSanitizer see one byte too far.
  const auto exact = std::make_unique<char[]>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), exact.get());
  target.run({exact.get(), bytes.size()});
}

void run_around(const mist::fuzz::Target& target, const Bytes& seed) {
  constexpr std::size_t kSmall = 600;
  run(target, seed);
  if (seed.size() > kSmall) return;
  for (std::size_t size = 0; size < seed.size(); ++size)
    run(target, Bytes(seed.begin(), seed.begin() + static_cast<std::ptrdiff_t>(size)));
  std::uint32_t state = 1;
  for (int round = 0; round < 200 && !seed.empty(); ++round) {
    Bytes changed = seed;
    for (int i = 0; i < 1 + round % 3; ++i) {
      state = state * 1664525 + 1013904223;
      changed[(state >> 8) % changed.size()] = static_cast<char>(state >> 24);
    }
    run(target, changed);
  }
}

}  // namespace

int main(int count, char** words) {
  const mist::fuzz::Target* const target = count > 1 ? mist::fuzz::find_target(words[1]) : nullptr;
  if (target == nullptr) {
    std::fprintf(stderr, "there is no target %s (targets.cc)\n", count > 1 ? words[1] : "without a name");
    return 2;
  }
  std::size_t files = 0;
  run(*target, {});
  for (int i = 2; i < count; ++i) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(words[i])) {
      if (!entry.is_regular_file()) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      run_around(*target, Bytes(std::istreambuf_iterator<char>(file), {}));
      ++files;
    }
  }
  std::printf("%zu seeds replayed\n", files);
  return files == 0 ? 1 : 0;
}
