// Runs a libFuzzer target without libFuzzer: every file of the directories named, then every prefix and some
// changed copies of the small ones, so that the seeds alone already reach far in an ordinary test run.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Bytes = std::vector<char>;

void run(const Bytes& bytes) {
  // A copy of exactly this size lets AddressSanitizer see one byte too far.
  const std::vector<std::uint8_t> exact(bytes.begin(), bytes.end());
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

void run_around(const Bytes& seed) {
  constexpr std::size_t kSmall = 600;
  run(seed);
  if (seed.size() > kSmall) return;
  for (std::size_t size = 0; size < seed.size(); ++size)
    run(Bytes(seed.begin(), seed.begin() + static_cast<std::ptrdiff_t>(size)));
  std::uint32_t state = 1;
  for (int round = 0; round < 200 && !seed.empty(); ++round) {
    Bytes changed = seed;
    for (int i = 0; i < 1 + round % 3; ++i) {
      state = state * 1664525 + 1013904223;
      changed[(state >> 8) % changed.size()] = static_cast<char>(state >> 24);
    }
    run(changed);
  }
}

}  // namespace

int main(int count, char** names) {
  std::size_t files = 0;
  run({});
  for (int i = 1; i < count; ++i) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(names[i])) {
      if (!entry.is_regular_file()) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      run_around(Bytes(std::istreambuf_iterator<char>(file), {}));
      ++files;
    }
  }
  std::printf("%zu seeds replayed\n", files);
  return count > 1 && files == 0 ? 1 : 0;
}
