#include "base/kernel_setting.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <thread>

#include "base/handle.h"
#include "base/text.h"

namespace mist {

Status write_kernel_setting(const Path& file, std::string_view value) {
  const UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd) return errno_error("open", file, errno);
  if (::write(fd.get(), value.data(), value.size()) != static_cast<ssize_t>(value.size()))
    return errno_error("write", file, errno);
  return {};
}

Result<std::string> read_kernel_setting(const Path& file) { return HostFileSystem().read(file); }

bool has_word(std::string_view list, std::string_view word) {
  const auto words = split(trim(list), ' ');
  return std::ranges::find(words, word) != words.end();
}

std::uint64_t kernel_count(const Path& file, std::string_view name) {
  const auto text = read_kernel_setting(file);
  if (!text.ok()) return 0;
  std::uint64_t count = 0;
  for (const std::string_view line : split(*text, '\n')) {
    const auto words = split(line, ' ');
    if (words.size() == 2 && words[0] == name)
      std::from_chars(words[1].data(), words[1].data() + words[1].size(), count);
  }
  return count;
}

void remove_control_group(const Path& directory) {
  constexpr int kTries = 200;
  for (int i = 0; i < kTries && ::rmdir(directory.c_str()) != 0 && errno == EBUSY; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

}  // namespace mist
